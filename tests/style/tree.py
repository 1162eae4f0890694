"""The tree's files, and how a style test reports: lines on standard output, then exit status 0, 1 or 77 (skipped)."""
import os
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDERS = ["ir", "topologies", "dsl", "passes", "codegen", "runtime", "frontend", "examples", "tests", "bench", "cmake"]
SKIPPED = 77


def files(*endings, folders=FOLDERS):
    """Paths below the root, sorted, that end in one of `endings` (all files when none is given)."""
    found = []
    for folder in folders:
        for path, subfolders, names in os.walk(os.path.join(ROOT, folder)):
            subfolders[:] = [s for s in subfolders if s != "__pycache__" and not s.startswith("build")]
            found += [os.path.relpath(os.path.join(path, n), ROOT) for n in names if n.endswith(endings or "")]
    return sorted(found)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def need_tool(name):
    if shutil.which(name) is None:
        print(f"skipped: {name} is not installed")
        sys.exit(SKIPPED)


def finish(faults, checked):
    """Prints the faults; a run that looked at nothing is a fault of its own."""
    for fault in faults:
        print(fault)
    print(f"{checked} checked, {len(faults)} fault(s)")
    sys.exit(1 if faults or not checked else 0)
