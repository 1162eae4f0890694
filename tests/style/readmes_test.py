"""Every folder that holds files has a README.md that opens with what comes in and what goes out.

A title may stand above the two lines. Hidden folders and build folders do not count.
"""
import os
import re

import tree

NEED = []
for folder, subfolders, files in os.walk(tree.ROOT):
    subfolders[:] = sorted(f for f in subfolders if not f.startswith(".") and not f.startswith("build")
                           and f != "__pycache__")
    if files and folder != tree.ROOT:
        NEED.append(os.path.relpath(folder, tree.ROOT))
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
