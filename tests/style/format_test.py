"""clang-format-19 has nothing to change in any C++ source."""
import subprocess

import tree

tree.need_tool("clang-format-19")
sources = tree.files(".cpp", ".h", ".c")
done = subprocess.run(["clang-format-19", "--dry-run", "-Werror", *sources], cwd=tree.ROOT, capture_output=True, text=True)
faults = [line for line in done.stderr.splitlines() if ": error:" in line]
if faults:
    print("mend with: clang-format-19 -i FILE")
if done.returncode and not faults:
    faults = [done.stderr]
tree.finish(faults, len(sources))
