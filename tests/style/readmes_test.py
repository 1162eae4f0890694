"""Every folder with sources has a README.md that opens with what comes in and what goes out.

A title may stand above the two lines. Folders of a library's parts (a subfolder of ir/, dsl/, ...) and folders that hold
only inputs of tests are spoken for by the README above them.
"""
import os
import re

import tree

NEED = tree.FOLDERS + ["dsl/lib", "examples/embed", "tests/style", "tests/e2e"]
LINES = [re.compile(r"^(Comes in|In)\b"), re.compile(r"^(Goes out|Out)\b")]

faults = []
for folder in NEED:
    path = os.path.join(folder, "README.md")
    if not os.path.exists(os.path.join(tree.ROOT, path)):
        faults.append(f"{path}: missing")
        continue
    lines = [line.strip("*_` ") for line in tree.read(path).splitlines() if line.strip() and not line.startswith("#")]
    for number, (pattern, what) in enumerate(zip(LINES, ["Comes in: ...", "Goes out: ..."])):
        if number >= len(lines) or not pattern.match(lines[number]):
            faults.append(f"{path}: line {number + 1} under the title must read `{what}`")
if not os.path.exists(os.path.join(tree.ROOT, "README.md")):
    faults.append("README.md: missing")
tree.finish(faults, len(NEED))
