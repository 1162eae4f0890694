"""The tree speaks of itself alone: no paths of the machine it was written on, no notes of unfinished work."""
import re

import tree

FORBIDDEN = [
    (re.compile(r"(?<![\w.])/(work|home|root|Users)/"), "a path of somebody's machine"),
    (re.compile(r"(?<![\w.$}])/tmp/"), "a fixed path under the temporary folder; take a fresh one"),
    (re.compile("TO" + "DO|FIX" + r"ME|\bXX" + r"X\b"), "a note of unfinished work"),
    (re.compile(r"\bissue #?\d+", re.IGNORECASE), "a number only its tracker understands"),
]
ENDINGS = (".cpp", ".h", ".c", ".def", ".md", ".sh", ".py", ".txt", ".cmake", ".in", ".coll", ".json")

faults = []
sources = tree.files(*ENDINGS) + ["README.md", "CMakeLists.txt", "CMakePresets.json"]
for path in sources:
    if path == "tests/style/words_test.py":
        continue
    for number, line in enumerate(tree.read(path).splitlines(), 1):
        for pattern, reason in FORBIDDEN:
            if pattern.search(line):
                faults.append(f"{path}:{number}: {reason}: {line.strip()[:100]}")
tree.finish(faults, len(sources))
