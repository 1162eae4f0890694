#!/usr/bin/env python3
"""Bus bandwidth of the CPU executor against Open MPI's MPI_Allreduce: 2 ranks, f32 sum, same machine, same run.

    python3 bench/run_vs_openmpi.py [--collc build/release/frontend/collc] [--rounds 3] [-o bench/results/DATE-what.md]

Needs mpicxx and mpirun (Debian: apt-get install openmpi-bin libopenmpi-dev); exits with 77 and says so without them.
The two alternate, `--rounds` times each, so that a neighbour's load hits both; medians over the rounds are compared.
Exit status 1 when the goal is missed: twice Open MPI's bus bandwidth at 64 MiB.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import table
from table import ROOT

SIZES = [8 << (3 * i) for i in range(8)] + [64 << 20]  # 8 B, 64 B, ... 16 MiB, and the size of the goal
GOAL_SIZE, GOAL_RATIO = 64 << 20, 2.0


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr[-2000:]}{done.stdout[-2000:]}")
    return done.stdout


def openmpi(program):
    command = ["mpirun", "-n", "2", "--allow-run-as-root", "--bind-to", "none", program, *map(str, SIZES)]
    rows = [json.loads(line) for line in run(command).splitlines() if line.startswith("{")]
    return {row["size"]: row for row in rows}


def collc(program, size):
    command = [program, "run", "examples/ring.coll", "--ranks", "2", "--size", str(size), "--dtype", "f32", "--op", "sum", "--json"]
    return json.loads(run(command))["rows"][0]["out_of_place"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    table.add_arguments(parser)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    for tool in ("mpicxx", "mpirun"):
        if shutil.which(tool) is None:
            print(f"skipped: no {tool} here; Debian: apt-get install openmpi-bin libopenmpi-dev")
            return 77

    begun = table.begin("The CPU executor against Open MPI")
    ours = {size: [] for size in SIZES}
    theirs = {size: [] for size in SIZES}
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "openmpi_allreduce")
        run(["mpicxx", "-O2", "-std=c++17", "bench/openmpi_allreduce.cpp", "-o", program])
        for _ in range(arguments.rounds):
            measured = openmpi(program)
            for size in SIZES:
                theirs[size].append(measured[size]["busbw_gbps"])
                ours[size].append(collc(arguments.collc, size)["busbw_gbps"])

    version = run(["mpirun", "--version"]).splitlines()[0]
    lines = begun + [
        f"All-reduce of f32, sum, 2 ranks; median of {arguments.rounds} alternating rounds.",
        f"Peer: {version}. Bus bandwidth in GB/s (1e9 bytes a second).",
        "",
        "| bytes | collc | Open MPI | ratio |",
        "|---|---|---|---|",
    ]
    ratios = {}
    for size in SIZES:
        a, b = statistics.median(ours[size]), statistics.median(theirs[size])
        ratios[size] = a / b
        lines.append(f"| {size} | {a:.4f} | {b:.4f} | {a / b:.2f} |")
    met = ratios[GOAL_SIZE] >= GOAL_RATIO
    lines += ["", f"Goal at 64 MiB, a ratio of {GOAL_RATIO:g}: {'met' if met else 'missed'} ({ratios[GOAL_SIZE]:.2f})."]
    print("\n".join(lines))
    table.finish(arguments, lines)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
