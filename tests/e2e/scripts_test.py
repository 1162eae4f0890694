"""The shell scripts are plain POSIX, and need_packages leaves apt alone when nothing is missing."""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPTS = [".ci/run", "examples/quickstart.sh", "tests/run.sh", "tests/sanitized.sh", "tests/e2e/install_test.sh"]
DASH_ONLY = ["[[", "function ", "<<<", "pipefail", "local "]
faults = []

for script in SCRIPTS + ["cmake/packages.sh"]:
    path = os.path.join(ROOT, script)
    done = subprocess.run(["sh", "-n", path], capture_output=True, text=True)
    if done.returncode:
        faults.append(f"{script}: {done.stderr.strip()}")
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            code = line.split("#")[0]
            faults += [f"{script}:{number}: `{word}` is not POSIX" for word in DASH_ONLY if word in code]


def need_packages(status, package):
    """Runs need_packages with a dpkg-query that answers `status` and an apt-get that says that it was called."""
    with tempfile.TemporaryDirectory() as folder:
        for name, body in [
            ("dpkg-query", f"printf '%s' '{status}'"),
            ("apt-get", "echo apt-get called with $* >&2"),
            ("sudo", '"$@"'),
        ]:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n{body}\n")
            os.chmod(file.name, 0o755)
        environment = dict(os.environ, PATH=folder + ":" + os.environ["PATH"])
        done = subprocess.run(["sh", "-c", f". cmake/packages.sh && need_packages {package}"], cwd=ROOT, env=environment,
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


present = need_packages("install ok installed", "cmake g++")
if present != (0, ""):
    faults.append(f"with everything there need_packages said {present}")
status, output = need_packages("deinstall ok config-files", "cmake g++")
if status or "apt-get called with update" not in output or "--no-install-recommends cmake g++" not in output:
    faults.append(f"with packages missing need_packages said {(status, output)}")

for fault in faults:
    print(fault)
sys.exit(1 if faults else 0)
