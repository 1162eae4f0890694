#!/usr/bin/env python3
"""Time and peak memory of compile + verify over doubling series, by calling the program as a user does.

    python3 bench/compile_series.py [--collc build/release/frontend/collc] [--quick] [-o bench/results/DATE-what.md]

CPU time is the process's own (user + system), which a neighbour's load disturbs less than wall time; medians of three.
Memory is its peak resident set; below some 16 MB that of the Python process it was forked from shows. `growth` is the
factor in CPU time for a factor of two in instructions, from the row before: 2 is linear. Goals are about CPU time. Exit
status 1 when one is missed.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import table

# (series, file, rank counts, extra arguments of a rank count)
SERIES = [
    ("ring", "lib:ring", [64, 128, 256, 512, 1024], lambda n: []),
    ("ring, not fused", "lib:ring", [64, 128, 256, 512], lambda n: ["--no-fuse"]),
    ("ring by puts", "lib:ring", [64, 128, 256, 512], lambda n: ["--transfers", "put"]),
    ("hierarchical, 8 a node", "lib:hierarchical", [64, 128, 256, 512], lambda n: ["--nodes", str(n // 8)]),
    # Many lanes a rank.
    ("all-pairs", "lib:allpairs", [16, 32, 64, 128, 256], lambda n: []),
    ("one-shot", "lib:oneshot", [32, 64, 128, 256, 512], lambda n: []),
    ("direct all-to-all", "lib:direct_alltoall", [32, 64, 128, 256, 512], lambda n: []),
    ("one-shot by puts", "lib:oneshot", [32, 64, 128, 256], lambda n: ["--transfers", "put"]),
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
    """(CPU seconds, wall seconds, peak MB) of a command that must succeed: medians, and the highest peak."""
    seconds, wall, peak = [], [], 0
    for _ in range(repetitions):
        with tempfile.TemporaryFile() as output:
            start = time.monotonic()
            child = subprocess.Popen(command, stdout=output, stderr=output)
            _, status, usage = os.wait4(child.pid, 0)
            wall.append(time.monotonic() - start)
            child.returncode = os.waitstatus_to_exitcode(status)
            if child.returncode:
                output.seek(0)
                sys.exit(f"{' '.join(command)}: status {child.returncode}\n{output.read().decode()[-2000:]}")
        seconds.append(usage.ru_utime + usage.ru_stime)
        peak = max(peak, usage.ru_maxrss / 1000)
    return statistics.median(seconds), statistics.median(wall), peak


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    table.add_arguments(parser)
    parser.add_argument("--quick", action="store_true", help="the small half of each series, once, no goals (for tests)")
    arguments = parser.parse_args()
    collc, repetitions = arguments.collc, 1 if arguments.quick else 3

    lines = table.begin("Compile and verify together") + [
        "| series | ranks | instructions | CPU s | wall s | peak MB | growth | goal |",
        "|---|---|---|---|---|---|---|---|",
    ]
    missed = 0

    def row(name, ranks, instructions, measured, growth):
        nonlocal missed
        seconds, wall, megabytes = measured
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
            f"| {name} | {ranks} | {instructions} | {seconds:.3f} | {wall:.3f} | {megabytes:.0f} | {growth_text} | {', '.join(verdicts) or '-'} |")
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
            measured = measure([collc, "check", file, *options], repetitions)
            growth = None
            if before and before[1] >= LEAST_SECONDS:
                growth = (measured[0] / before[1]) ** (1 / math.log2(instructions / before[0]))
            row(name, ranks, instructions, measured, growth)
            before = (instructions, measured[0])
    if not arguments.quick:
        command = [collc, "compile", "lib:ring", "--ranks", "4096", "--rank", "5", "--emit", "plan", "-o", os.devnull]
        row("one rank of a ring", 4096, "-", measure(command, repetitions), None)

    verdict = f"{missed} goals missed." if missed else "All goals met."
    lines += ["", "No goals were judged." if arguments.quick else verdict]
    print(lines[-1])
    table.finish(arguments, lines)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
