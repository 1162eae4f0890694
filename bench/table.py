"""What the benches share: where they ran, and tables kept under results/."""
import os
import platform
import shlex
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COLLC = "build/release/frontend/collc"


def machine():
    """One sentence: cores, processor, kernel, and how busy it was when the bench began."""
    model = platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} cores, {model}, Linux {platform.release()}; load average {load:.1f} at the start."


def command():
    """As one would type it, without --collc and -o, which only say where files lie."""
    words, left = [os.path.relpath(os.path.abspath(sys.argv[0]), ROOT)], iter(sys.argv[1:])
    for word in left:
        if word in ("--collc", "-o", "--output"):
            next(left, None)
        elif not word.startswith(("--collc=", "--output=")):
            words.append(word)
    return "`python3 " + " ".join(shlex.quote(word) for word in words) + "`"


def add_arguments(parser):
    parser.add_argument("--collc", default=os.path.join(ROOT, COLLC), help=f"the program (default {COLLC})")
    parser.add_argument("-o", "--output", help="write the table to a file too")


def begin(title):
    """The first lines of a table's file, as a list to append to."""
    return [f"# {title}", "", f"Machine: {machine()}", f"Command: {command()}", ""]


def finish(arguments, lines):
    if arguments.output:
        os.makedirs(os.path.dirname(os.path.abspath(arguments.output)), exist_ok=True)
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
