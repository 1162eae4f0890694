"""clang-tidy-19 with the allow-list of /.clang-tidy finds nothing in the libraries and the program.

    tidy_test.py BUILD_FOLDER

A file takes seconds, mostly for parsing the standard library, so a clean answer is kept under BUILD_FOLDER/tidy by a hash
of all that it depends on: the file, our headers it reaches, its compile command, the list of checks.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import tree

tree.need_tool("clang-tidy-19")
build = os.path.abspath(sys.argv[1])
CHECKED = ("ir/", "dsl/", "passes/", "codegen/", "topologies/", "runtime/", "frontend/")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
SEARCH = ["", "runtime/include", "dsl/include"]
reached_by = {}


def reached(path):
    """Our files that `path` includes, itself among them."""
    seen, waiting = {path}, [path]
    while waiting:
        current = waiting.pop()
        if current not in reached_by:
            found = []
            for name in INCLUDE.findall(tree.read(current)):
                for folder in SEARCH + [os.path.dirname(current)]:
                    candidate = os.path.normpath(os.path.join(folder, name))
                    if os.path.isfile(os.path.join(tree.ROOT, candidate)):
                        found.append(candidate)
                        break
            reached_by[current] = found
        for name in reached_by[current]:
            if name not in seen:
                seen.add(name)
                waiting.append(name)
    return sorted(seen)


def key_of(path, command):
    digest = hashlib.sha256()
    for part in [tree.read(".clang-tidy"), command] + [tree.read(name) for name in reached(path)]:
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()


def check(job):
    """The complaints about one file; none also when it was found clean before."""
    path, marker = job
    if os.path.exists(marker):
        return []
    done = subprocess.run(["clang-tidy-19", "--quiet", "-p", build, path], cwd=tree.ROOT, capture_output=True, text=True)
    if done.returncode == 0:
        open(marker, "w").close()
        return []
    complaints = [line for line in done.stdout.splitlines() if re.search(r": (error|warning):", line)]
    return complaints or [f"{path}: clang-tidy failed: {done.stderr.strip()[-500:]}"]


with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
    commands = {os.path.relpath(entry["file"], tree.ROOT): entry["command"] for entry in json.load(file)}
os.makedirs(os.path.join(build, "tidy"), exist_ok=True)
jobs = []
for path in sorted(commands):
    if path.startswith(CHECKED):
        jobs.append((path, os.path.join(build, "tidy", key_of(path, commands[path]))))
with ThreadPoolExecutor(max_workers=2) as pool:
    faults = [complaint for complaints in pool.map(check, jobs) for complaint in complaints]
tree.finish(sorted(set(faults)), len(jobs))
