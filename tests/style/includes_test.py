"""Includes point down the architecture's table, and the public headers stand alone.

The table is about our own folders; which third-party headers a library takes is its CMakeLists' matter.
"""
import os
import re

import tree

EVERYTHING = set(tree.FOLDERS)
MAY_INCLUDE = {
    "ir": {"ir"},
    "topologies": {"topologies", "ir/support"},
    "dsl": {"dsl", "ir"},
    "passes": {"passes", "ir", "topologies"},
    "codegen": {"codegen", "ir"},
    "runtime": {"runtime", "ir"},
    "frontend": EVERYTHING,
    "examples": set(),  # an example sees what an installed user sees: the public headers
    "tests": EVERYTHING,
    "bench": EVERYTHING,
}
# Folders where `coll/...` lies.
PUBLIC = ["runtime/include", "dsl/include"]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
STANDARD = re.compile(r"^[a-z_0-9]+$")  # <vector>; C headers such as <unistd.h> are not standard C++


def fault_of(path, bracket, name):
    """Why `path` may not include `name`, or None."""
    folder = path.split("/")[0]
    if any(path.startswith(p + "/coll/") for p in PUBLIC):
        if name.startswith("coll/") or (bracket == "<" and STANDARD.match(name)):
            return None
        return "a public header includes only the standard library and other coll/ headers"
    if name.startswith("coll/"):
        if not any(os.path.exists(os.path.join(tree.ROOT, p, name)) for p in PUBLIC):
            return "there is no such public header"
        if folder in ("ir", "topologies", "passes", "codegen"):
            return f"{folder}/ is below the public interface"
        return None
    if bracket == "<":
        return None
    if not os.path.exists(os.path.join(tree.ROOT, name)):
        beside = os.path.join(tree.ROOT, os.path.dirname(path), name)
        return None if os.path.exists(beside) and ".." not in name else "a quoted include names a file from the root"
    if any(name.startswith(allowed + "/") for allowed in MAY_INCLUDE[folder]):
        return None
    return f"{folder}/ may include only: {', '.join(sorted(MAY_INCLUDE[folder])) or 'public headers'}"


faults = []
sources = tree.files(".cpp", ".h", ".c", ".def")
for path in sources:
    for number, line in enumerate(tree.read(path).splitlines(), 1):
        found = INCLUDE.match(line)
        reason = found and fault_of(path, found.group(1), found.group(2))
        if reason:
            faults.append(f"{path}:{number}: {found.group(2)}: {reason}")
tree.finish(faults, len(sources))
