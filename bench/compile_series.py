#!/usr/bin/env python3
"""Time and peak memory of compile + verify over doubling series, by calling the program as a user does.

    python3 bench/compile_series.py [--collc build/release/frontend/collc] [--quick] [-o bench/results/DATE-what.md]

Time is the process's CPU time (user + system), median of three; memory its peak resident set. `growth` is the factor in
time for a factor of two in instructions, from the row before: 2 is linear. Exit status 1 when a goal is missed.
"""
import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# (series, file, rank counts, extra arguments of a rank count)
SERIES = [
    ("ring", "lib:ring", [64, 128, 256, 512, 1024], lambda n: []),
    ("all-pairs", "lib:allpairs", [16, 32, 64], lambda n: []),
    ("hierarchical, 8 a node", "lib:hierarchical", [64, 128, 256], lambda n: ["--nodes", str(n // 8)]),
]
# (series, ranks) -> most CPU seconds, most MB.
GOALS = {
    ("ring", 256): (0.5, None),
    ("ring", 1024): (6.0, 1500),
    ("all-pairs", 64): (0.5, None),
    ("hierarchical, 8 a node", 256): (1.0, None),
    ("one rank of a ring", 4096): (10.0, 1000),
}
MOST_GROWTH = 2.3
# Below this a run is mostly process start, and its growth says nothing.
LEAST_SECONDS = 0.05


def measure(command, repetitions):
    """(CPU seconds, peak MB) of a command that must succeed: median and maximum over the repetitions."""
    seconds, peak = [], 0
    for _ in range(repetitions):
        with tempfile.TemporaryFile() as output:
            child = subprocess.Popen(command, stdout=output, stderr=output)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            if child.returncode:
                output.seek(0)
                sys.exit(f"{' '.join(command)}: status {child.returncode}\n{output.read().decode()[-2000:]}")
        seconds.append(usage.ru_utime + usage.ru_stime)
        peak = max(peak, usage.ru_maxrss / 1000)
    return statistics.median(seconds), peak


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--collc", default=os.path.join(ROOT, "build/release/frontend/collc"))
    parser.add_argument("--quick", action="store_true", help="the small half of each series, once, no goals (for tests)")
    parser.add_argument("-o", "--output", help="write the table to a file too")
    arguments = parser.parse_args()
    collc, repetitions = arguments.collc, 1 if arguments.quick else 3

    lines = [
        f"Compile and verify together, one core of {platform.machine()}, {os.cpu_count()} cores in the machine.",
        "",
        "| series | ranks | instructions | CPU s | peak MB | growth | goal |",
        "|---|---|---|---|---|---|---|",
    ]
    missed = 0

    def row(name, ranks, instructions, seconds, megabytes, growth):
        nonlocal missed
        goal = [] if arguments.quick else [
            (limit, value, unit)
            for limit, value, unit in zip(GOALS.get((name, ranks), (None, None)), (seconds, megabytes), ("s", "MB"))
            if limit is not None
        ]
        if growth is not None and not arguments.quick:
            goal.append((MOST_GROWTH, growth, "x"))
        verdicts = []
        for limit, value, unit in goal:
            missed += value > limit
            verdicts.append(f"{'missed' if value > limit else 'met'}: {limit:g} {unit}")
        growth_text = "-" if growth is None else f"{growth:.2f}"
        lines.append(
            f"| {name} | {ranks} | {instructions} | {seconds:.3f} | {megabytes:.0f} | {growth_text} | {', '.join(verdicts) or '-'} |")
        print(lines[-1], flush=True)

    print("\n".join(lines))
    for name, file, counts, extra in SERIES:
        before = None
        for ranks in counts[: len(counts) // 2 + 1] if arguments.quick else counts:
            options = ["--ranks", str(ranks), *extra(ranks)]
            said = subprocess.run([collc, "compile", file, *options, "--no-verify", "--json"], capture_output=True, text=True)
            if said.returncode:
                sys.exit(f"compile {file} {options}: {said.stderr}")
            instructions = json.loads(said.stdout)["instructions"]
            seconds, megabytes = measure([collc, "check", file, *options], repetitions)
            growth = None
            if before and before[1] >= LEAST_SECONDS:
                growth = (seconds / before[1]) ** (1 / math.log2(instructions / before[0]))
            row(name, ranks, instructions, seconds, megabytes, growth)
            before = (instructions, seconds)
    if not arguments.quick:
        command = [collc, "compile", "lib:ring", "--ranks", "4096", "--rank", "7", "--emit", "plan", "-o", os.devnull]
        row("one rank of a ring", 4096, "-", *measure(command, repetitions), None)

    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
