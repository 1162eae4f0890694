"""Every `$ collc ...` line of a README's console blocks runs, from the root, with exit status 0.

    readme_test.py COLLC

And the first program shown in the root README is `examples/ring.coll`, but for comments.
"""
import glob
import os
import re
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(path):
    with open(path, encoding="utf-8") as file:
        return BLOCK.findall(file.read())


def words(text):
    """The program without comments and spacing."""
    return re.sub(r"//[^\n]*", "", text).split()


program = sys.argv[1]
faults, ran = [], 0
readme = os.path.join(ROOT, "README.md")
for path in [readme, *sorted(glob.glob(os.path.join(ROOT, "*", "README.md")))]:
    for kind, body in blocks(path):
        for line in body.splitlines() if kind == "console" else []:
            if not line.startswith("$ collc "):
                continue
            ran += 1
            command = [program, *shlex.split(line[2:], comments=True)[1:]]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
            if done.returncode or not done.stdout.strip():
                faults.append(f"{os.path.relpath(path, ROOT)}: `{line[2:]}`: status {done.returncode}\n{done.stdout}{done.stderr}")

with open(os.path.join(ROOT, "examples/ring.coll"), encoding="utf-8") as file:
    shown = next(body for kind, body in blocks(readme) if body.startswith("algorithm ring"))
    if words(file.read()) != words(shown):
        faults.append("README.md: the ring shown differs from examples/ring.coll")

for fault in faults:
    print(fault)
print(f"{ran} command(s), {len(faults)} fault(s)")
sys.exit(1 if faults or not ran else 0)
