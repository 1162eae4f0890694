#!/usr/bin/env python3
"""Does sharing lanes and channels cost time? Hierarchical all-reduce, 2 nodes of 8, on the CPU executor: lanes and
channels as the compiler assigns them, against a plan with a channel for every flow.

    python3 bench/hierarchical_lanes.py [--collc build/release/frontend/collc] [--rounds 7] [-o bench/results/DATE-what.md]

The two alternate, `--rounds` times each, and change who goes first, so that a neighbour's load hits both. The ratio of
the medians of their times says how much slower the plan with a channel for every flow is: above 1 the shared lanes win.
Exit status 1 when the goal is missed: over all sizes together (geometric mean) no slower, within what the rounds of one
plan differ among themselves.
"""
import argparse
import json
import math
import statistics
import subprocess
import sys

import table

WORLD = ["--ranks", "16", "--nodes", "2"]
SIZES = "64K..16M"
PLANS = {"shared": [], "per flow": ["--channel-per-flow"]}


def call(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr[-2000:]}{done.stdout[-2000:]}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    table.add_arguments(parser)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sizes", default=SIZES)
    arguments = parser.parse_args()

    lines = table.begin("Hierarchical all-reduce, 2 x 8: shared lanes against a channel for every flow")
    plans = {}
    times = {name: {} for name in PLANS}  # plan -> size -> microseconds of each round
    for turn in range(arguments.rounds):
        for name in list(PLANS) if turn % 2 == 0 else list(PLANS)[::-1]:
            command = [arguments.collc, "run", "lib:hierarchical", *WORLD, *PLANS[name], "--sizes", arguments.sizes, "--json"]
            said = call(command)
            plans[name] = said["plan"]
            for row in said["rows"]:
                if row["out_of_place"]["wrong"] or row["in_place"]["wrong"]:
                    sys.exit(f"{' '.join(command)}: wrong elements at {row['size_bytes']} bytes")
                times[name].setdefault(row["size_bytes"], []).append(row["out_of_place"]["time_us"])

    lines += [
        f"f32, sum, out of place; medians of {arguments.rounds} alternating rounds, microseconds a call. " + "; ".join(
            f"{name}: {p['channels']} channels, at most {p['lanes_per_rank_max']} lanes a rank" for name, p in plans.items()) + ".",
        "",
        "| bytes | shared | per flow | per flow / shared | spread of the rounds |",
        "|---|---|---|---|---|",
    ]
    logarithms, spreads = [], []
    for size in times["shared"]:
        medians = {name: statistics.median(times[name][size]) for name in PLANS}
        # How far a round is from its own plan's median, typically.
        spread = statistics.mean(
            statistics.median(abs(t / medians[name] - 1) for t in times[name][size]) for name in PLANS)
        ratio = medians["per flow"] / medians["shared"]
        logarithms.append(math.log(ratio))
        spreads.append(spread)
        lines.append(f"| {size} | {medians['shared']:.0f} | {medians['per flow']:.0f} | {ratio:.2f} | {100 * spread:.0f} % |")
    mean, tolerance = math.exp(statistics.mean(logarithms)), statistics.mean(spreads)
    met = mean >= 1 - tolerance
    lines += ["", f"Geometric mean of the ratios {mean:.2f}, spread {100 * tolerance:.0f} %. "
              f"Goal, no slower than a channel for every flow: {'met' if met else 'missed'}."]
    print("\n".join(lines))
    table.finish(arguments, lines)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
