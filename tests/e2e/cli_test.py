"""The command line as users see it: exit statuses, JSON keys, arrays, texts.

    cli_test.py COLLC [--update] [-k PATTERN]

Texts that must not change unseen stand in tests/golden/cli: NAME.args is a command, one word a line; NAME.out is what it
prints (standard output, then standard error, then the exit status). --update rewrites them; read the difference.
Every id of frontend/diagnostics.def must have been printed by some case here: the last test looks.
"""
import glob
import json
import os
import pty
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import numpy
except ImportError:
    numpy = None

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOLDEN = os.path.join(ROOT, "tests", "golden", "cli")
COLLC = None
SEEN_IDS = set()

RING = """algorithm ring implements allreduce {
  chunks ranks
  for s in 0 ..< ranks - 1, r in 0 ..< ranks {
    let c = r - s
    buf[r + 1][c] += buf[r][c]
  }
  for s in 0 ..< ranks - 1, r in 0 ..< ranks {
    let c = r + 1 - s
    buf[r + 1][c] = buf[r][c]
  }
}
"""
# One step short: the last chunk of every rank lacks a contribution.
SHORT_RING = RING.replace("ranks - 1, r", "ranks - 2, r", 1)
GATHER = """algorithm two implements allgather {
  chunks 1
  for r in 0 ..< ranks, s in 1 ..< ranks { buf[r + s][r] = buf[r][r] }
}
"""
VARIABLE = """algorithm direct implements alltoallv {
  chunks 1
  for i in 0 ..< ranks, j in 0 ..< ranks { out[j][i] = in[i][j] }
}
"""


class Done:
    def __init__(self, words, done):
        self.words, self.status = words, done.returncode
        self.out = done.stdout.decode("utf-8", "replace")
        self.err = done.stderr.decode("utf-8", "replace")
        SEEN_IDS.update(re.findall(r"(?:error|warning): .* \[(\w+)\]$", self.err, re.MULTILINE))

    def __str__(self):
        return f"collc {' '.join(self.words)}\n-- status {self.status}\n{self.out}{self.err}"


def collc(*words, stdin=b"", cwd=None):
    words = [str(w) for w in words]
    return Done(words, subprocess.run([COLLC, *words], input=stdin, capture_output=True, timeout=300, cwd=cwd))


def write_npy(path, descr, shape, data, version=1, order=False):
    header = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, order, tuple(shape))
    size = 10 if version == 1 else 12
    header += " " * (-(size + len(header) + 1) % 64) + "\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY" + bytes([version, 0]) + length + header.encode() + data)


def read_npy(path):
    """(descr, shape, bytes) of a version 1 file, by another reader than collc's."""
    with open(path, "rb") as file:
        text = file.read()
    assert text[:8] == b"\x93NUMPY\x01\x00", text[:8]
    length = struct.unpack("<H", text[8:10])[0]
    assert (10 + length) % 64 == 0
    header = eval(text[10 : 10 + length], {"__builtins__": {}})
    assert header["fortran_order"] is False
    return header["descr"], header["shape"], text[10 + length :]


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return path

    def path(self, name):
        return os.path.join(self.folder, name)

    def right(self, *words, **more):
        done = collc(*words, **more)
        self.assertEqual(done.status, 0, str(done))
        return done

    def answer_no(self, *words, **more):
        done = collc(*words, **more)
        self.assertEqual(done.status, 1, str(done))
        return done

    def bad(self, ids, *words, **more):
        """Exit status 2 and these ids, in some order, each at least once."""
        done = collc(*words, **more)
        self.assertEqual(done.status, 2, str(done))
        for name in ids.split():
            self.assertIn(f"[{name}]", done.err, str(done))
        return done

    def machine(self, *words, **more):
        done = collc(*words, **more)
        self.assertEqual(done.status, 3, str(done))
        self.assertIn("collc: error: ", done.err)
        return done

    def json(self, *words, **more):
        return json.loads(self.right(*words, "--json", **more).out)


class Words(Case):
    def test_help_and_version(self):
        top = self.right("--help").out
        for verb in "run compile check fmt opt targets list".split():
            self.assertIn(f"  collc {verb}", top)  # its example
            text = self.right(verb, "--help").out
            self.assertIn(f"Example:\n  collc {verb}", text)
        # The examples work as they stand.
        self.file("my.coll", RING.replace("{ chunks", "{\n  chunks"))
        examples = re.findall(r"(?m)^  collc (.*)$", top)
        self.assertEqual(len(examples), 7)
        for example in examples:
            self.right(*example.replace("64M", "64K").split(), cwd=self.folder)
        self.assertRegex(self.right("--version").out, r"^collc \d+\.\d+\.\d+\n$")

    def test_no_words(self):
        done = collc()
        self.assertEqual(done.status, 2)
        self.assertIn("Usage: collc VERB", done.err)

    def test_later_verbs_say_so(self):
        for verb in "sim explain topo bound synth import recorder verify tune bench view".split():
            done = self.bad("command_verb_not_available", verb, "x.coll", "--anything")
            self.assertEqual(done.err.count("\n"), 1, done.err)
            self.assertIn(f"the verb `{verb}` is not available in this version", done.err)

    def test_unknown_words(self):
        self.assertIn("did you mean `check`", self.bad("command_unknown_verb", "chek").err)
        self.assertIn("did you mean `--ranks`", self.bad("command_unknown_option", "run", "lib:ring", "--rank", 3).err)
        self.bad("command_bad_usage", "run", "lib:ring", "--ranks")
        self.bad("command_bad_usage", "run", "lib:ring", "lib:tree")
        self.bad("command_missing_file", "run")
        self.bad("command_missing_file", "check")
        self.bad("command_missing_file", "fmt")
        for words in (["--size", 8, "--size", 16], ["--ranks", 2, "--ranks", 2]):
            done = self.bad("command_bad_usage", "run", "lib:ring", *words)
            self.assertIn(f"`{words[0]}` is given 2 times", done.err)
        self.assertIn("`--ranks` has no value", self.bad("command_bad_usage", "run", "lib:ring", "--ranks").err)

    def test_all_faults_at_once(self):
        done = self.bad(
            "command_bad_number command_bad_size command_unknown_choice command_bad_duration command_bad_define",
            "run", "lib:ring", "--ranks", "-4", "--size", "8X", "--dtype", "f33", "--timeout", "soon", "-D", "x")
        self.assertGreaterEqual(done.err.count("error:"), 5)
        self.assertIn("did you mean `f32`", done.err)

    def test_numbers(self):
        for ranks in ["0", "-1", "99999999999999999999999", "65537", "8x", "", " 8", "1e3"]:
            if ranks:
                self.bad("command_bad_number", "compile", "lib:ring", "--ranks", ranks)
        for size in ["1.5G", "99999999999999999999", "18446744073709551615", "2000000T", "M", "-8", "1..", "4..2", "1,,2"]:
            self.bad("command_bad_size", "run", "lib:ring", "--sizes", size)
        self.bad("command_bad_number", "run", "lib:ring", "--iters", "0")
        self.bad("command_bad_size", "run", "lib:ring", "--slot-bytes", "3")
        self.bad("command_nodes_mismatch", "run", "lib:ring", "--ranks", 9, "--nodes", "4,4")
        self.bad("command_nodes_mismatch", "run", "lib:ring", "--ranks", 2, "--nodes", 3)
        for words in (["--nodes", 3], ["--ranks", 8, "--nodes", 3]):
            self.assertIn("`--nodes 3,3,2`", self.bad("command_nodes_mismatch", "compile", "lib:ring", *words).err)
        self.bad("command_nodes_mismatch", "compile", "lib:ring", "--ranks", 100, "--nodes", 40)
        self.bad("command_rank_outside", "run", "lib:sendrecv", "--ranks", 1)
        self.bad("command_bad_define", "run", "lib:ring", "-D", "pieces=2", "-D", "pieces=3")
        for size in ["8..", "..8", "8..x"]:
            self.assertEqual(self.bad("command_bad_size", "run", "lib:ring", "--sizes", size).err.count("error:"), 1)
        self.bad("command_rank_outside", "run", "lib:binomial_broadcast", "--ranks", 4, "--root", 4)
        self.bad("command_rank_outside", "compile", "lib:ring", "--ranks", 4, "--rank", 4)

    def test_conflicts(self):
        self.bad("command_option_conflict", "run", "lib:ring", "--by-load", "--by-rank")
        self.bad("command_option_conflict", "run", "lib:ring", "--size", 8, "--sizes", "8..16")
        self.bad("command_option_conflict", "run", "lib:ring", "--algorithm", "lib:ring")
        self.bad("command_option_conflict", "run", "lib:ring", "--counts", "m.csv", "--size", 8)
        self.bad("command_option_conflict", "fmt", "--write", "-")

    def test_not_available(self):
        self.bad("command_option_not_available", "run", "lib:ring", "--topo", "dgx_h100")
        self.bad("command_option_not_available", "run", "lib:ring", "--processes", 2)
        for form in ["bundle", "cuda", "ptx", "cubin", "msccl-xml", "mscclpp-json", "csv", "csv-comms"]:
            self.bad("command_option_not_available", "compile", "lib:ring", "--emit", form)
        for target in ["ptx", "cuda"]:
            self.assertIn("not available in this version", self.machine("run", "lib:ring", "--target", target).err)

    def test_files(self):
        self.machine("run", self.path("absent.coll"))
        self.machine("check", self.folder)
        self.machine("fmt", self.folder)
        self.machine("compile", "lib:ring", "--ranks", 2, "-o", os.path.join(self.folder, "no", "such", "f"))
        self.bad("command_no_algorithm", "check", self.file("empty.coll", ""))
        self.bad("command_no_algorithm", "run", self.file("empty.coll", ""))
        self.bad("command_unknown_library_name", "run", "lib:rng")
        for near in ("lib:rng", "lib:rign"):
            self.assertIn("did you mean `lib:ring`", self.bad("", "run", near).err)
        noise = random.Random(1)
        for i in range(20):
            text = bytes(noise.randrange(256) for _ in range(400))
            for head in [b"", b"collc plan", b"collc schedule 1\n", b"algorithm x implements allreduce {"]:
                done = collc("check", self.file("noise", head + text))
                self.assertIn(done.status, (1, 2), str(done))
                self.assertTrue(done.err, str(done))

    def test_progress_only_on_a_terminal(self):
        # Standard input that does not end for a while is work over two seconds.
        for terminal in (True, False):
            ours, theirs = pty.openpty() if terminal else os.pipe()
            child = subprocess.Popen([COLLC, "compile", "-", "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=theirs)
            time.sleep(3)
            out, _ = child.communicate(RING.encode(), timeout=60)
            os.close(theirs)
            shown = b""
            while True:
                try:
                    piece = os.read(ours, 4096)
                except OSError:  # how the end of a terminal reads
                    break
                if not piece:
                    break
                shown += piece
            os.close(ours)
            self.assertTrue(json.loads(out)["ok"])
            if terminal:
                self.assertRegex(shown, rb"^\rcollc: reading standard input \(\d+ s\)\x1b\[K")
                self.assertTrue(shown.endswith(b"\r\x1b[K"), shown)
            else:
                self.assertEqual(shown, b"")

    def test_no_colour_in_pipes(self):
        self.assertNotIn("\033", str(collc("check", "lib:ring")) + str(collc("run", "nothing")))


class Run(Case):
    def table(self, done):
        rows = [line.split() for line in done.out.splitlines() if line and not line.startswith("#")]
        self.assertTrue(rows, str(done))
        return rows

    def test_ring_table(self):
        done = self.right("run", self.file("ring.coll", RING), "--ranks", 8, "--sizes", "1K..64K")
        rows = self.table(done)
        self.assertEqual([row[0] for row in rows], [str(1024 << i) for i in range(7)])
        for row in rows:
            self.assertEqual(len(row), 13, row)  # five columns, then four for each mode
            self.assertEqual((int(row[1]) * 4, row[2], row[3], row[4]), (int(row[0]), "f32", "sum", "-1"))
            self.assertEqual((row[8], row[12]), ("0", "0"))
            self.assertGreater(float(row[5]), 0)
        for words in ["ring.coll: algorithm ring (allreduce), 8 ranks", "at most 1 lane a rank, 1 channel,", "slots needed", "bits equal on all ranks",
                      "exact contents", "out-of-place", "in-place", "# total: 0 wrong", "average bus bandwidth"]:
            self.assertIn(words, done.out)

    def test_every_type_and_operator(self):
        path = self.file("ring.coll", RING)
        ints, floats = "i8 u8 i32 u32 i64 u64".split(), "f16 bf16 f32 f64 f8e4m3 f8e5m2".split()
        for dtype in ints + floats:
            for op in "sum prod min max avg premul band bor bxor".split():
                words = ["run", path, "--ranks", 3, "--sizes", "0,1,200,1000", "--dtype", dtype, "--op", op, "--iters", 1]
                if (op == "premul" and dtype in ints) or (op in ("band", "bor", "bxor") and dtype in floats):
                    self.bad("command_operator_type", *words)
                else:
                    self.assertIn("# total: 0 wrong", self.right(*words).out)

    def test_sizes_mean_what_nccl_tests_mean(self):
        # S, count and busbw / algbw for 4 ranks, 4-byte elements, 4096 bytes asked for.
        for name, count, factor in [("ring", 1024, 1.5), ("ring_allgather", 256, 0.75), ("ring_reduce_scatter", 256, 0.75),
                                    ("direct_alltoall", 256, 0.75), ("binomial_gather", 256, 0.75),
                                    ("binomial_scatter", 256, 0.75), ("binomial_reduce", 1024, 1), ("chain_broadcast", 1024, 1),
                                    ("sendrecv", 1024, 1), ("direct_alltoallv", 256, None)]:
            row = self.json("run", f"lib:{name}", "--ranks", 4, "--size", "4K", "--iters", 1)["rows"][0]
            self.assertEqual((row["size_bytes"], row["count"]), (4096, count), name)
            mode = row["out_of_place"]
            self.assertAlmostEqual(mode["algbw_gbps"], 4096 / mode["time_us"] / 1e3, places=9, msg=name)
            self.assertAlmostEqual(mode["busbw_gbps"] / mode["algbw_gbps"], factor or 0.75, places=6, msg=name)
            self.assertEqual(mode["wrong"], 0)

    def test_barrier(self):
        row = self.json("run", "lib:barrier", "--ranks", 5)["rows"][0]
        self.assertEqual((row["size_bytes"], row["count"]), (0, 0))
        self.assertGreater(row["out_of_place"]["time_us"], 0)
        self.assertNotIn("busbw_gbps", row["out_of_place"])

    def test_own_collective_has_no_bandwidth(self):
        path = self.file("shift.coll", """collective shift(width) {
  chunks in width, out width
  ensure out[r][0 ..< width] == in[r - 1][0 ..< width]
}
algorithm right implements shift(1) {
  for r in 0 ..< ranks { out[r + 1][0] = in[r][0] }
}
""")
        row = self.json("run", path, "--ranks", 3, "--size", 400)["rows"][0]
        self.assertEqual((row["count"], row["out_of_place"]["wrong"]), (100, 0))
        self.assertNotIn("busbw_gbps", row["out_of_place"])

    def test_json_keys(self):
        j = self.json("run", "lib:ring", "--ranks", 4, "--sizes", "8..32", "--iters", 2)
        self.assertEqual((j["algorithm"], j["collective"], j["ranks"], j["target"], j["wrong"]), ("ring", "allreduce", 4, "cpu", 0))
        self.assertEqual([row["size_bytes"] for row in j["rows"]], [8, 16, 32])
        for mode in ("out_of_place", "in_place"):
            for row in j["rows"]:
                self.assertTrue(row[mode]["interpreter_compared"])
                self.assertLessEqual({"time_us", "algbw_gbps", "busbw_gbps", "wrong"}, set(row[mode]))
        self.assertTrue(j["verify"]["bits_equal"])
        self.assertIn("avg_busbw_gbps", j)

    def test_stdin_plan_and_schedule(self):
        words = ["--ranks", 4, "--size", "4K", "--iters", 1]
        self.right("run", "-", *words, stdin=RING.encode())
        for form in ("plan", "schedule"):
            text = self.right("compile", "-", "--ranks", 4, "--emit", form, stdin=RING.encode()).out
            done = self.right("run", "-", "--size", "4K", "--iters", 1, stdin=text.encode())
            self.assertIn("<stdin>: algorithm ring (allreduce), 4 ranks", done.out)

    def test_refused_program_is_not_run(self):
        done = self.answer_no("run", self.file("short.coll", SHORT_RING), "--ranks", 4)
        self.assertEqual(done.out, "")
        self.assertIn("refused", done.err)

    def test_saved_plan_cannot_be_chosen(self):
        path = self.path("p")
        self.right("compile", "lib:ring", "--ranks", 4, "-o", path)
        self.bad("command_option_conflict", "run", path, "--ranks", 5)
        self.bad("command_option_conflict", "run", path, "-D", "x=1")
        for words in (["--no-fuse"], ["--transfers", "staged"], ["--switch"], ["--by-load"], ["--by-rank"],
                      ["--channel-per-flow"], ["--print-after", "lanes"]):
            for verb in ("run", "check", "compile"):
                self.assertIn(f"`{words[0]}`", self.bad("command_option_conflict", verb, path, *words).err)
        self.right("run", path, "--slots", 3, "--size", 8, "--time-passes")
        # A schedule is still to be lowered.
        self.right("compile", "lib:ring", "--ranks", 4, "--emit", "schedule", "-o", path)
        self.right("check", path, "--no-fuse", "--by-rank")

    def test_in_place(self):
        done = self.right("run", "lib:ring", "--ranks", 4, "--size", "4K", "--in-place", "--iters", 1)
        self.assertEqual(len(self.table(done)[0]), 9)
        self.bad("command_not_in_place", "run", "lib:sendrecv", "--ranks", 2, "--in-place")

    def test_not_compared(self):
        done = self.right("run", "lib:ring", "--ranks", 2, "--size", 64, "--no-check", "--iters", 1)
        self.assertEqual(self.table(done)[0][8], "N/A")

    @unittest.skipIf(os.geteuid() == 0 and not os.path.exists("/usr/bin/setpriv"), "root has no limit on threads")
    def test_no_thread_to_be_had_is_the_machine(self):
        program = os.path.join(self.folder, "collc")
        shutil.copy(COLLC, program)
        os.chmod(self.folder, 0o755)
        user = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups"] if os.geteuid() == 0 else []
        limited = f"ulimit -u 300; exec {program} run lib:binomial_broadcast --ranks 5000 --size 8 --json"
        done = Done([limited], subprocess.run([*user, "bash", "-c", limited], capture_output=True, timeout=300, cwd="/"))
        self.assertEqual(done.status, 3, str(done))
        error = json.loads(done.out)["error"]
        self.assertEqual(error["code"], "unavailable")
        self.assertRegex(error["message"], r"each of 5000 ranks needs a thread, of which \d+ could be started: \w+")

    def test_time_out_is_the_machine(self):
        done = self.machine("run", "lib:ring", "--ranks", 8, "--size", "16M", "--no-check", "--timeout", "1ms")
        self.assertIn("rank", done.err)

    def test_too_much_memory_is_said(self):
        self.machine("run", "lib:ring", "--ranks", 8, "--size", "900T")

    def test_root_and_pair(self):
        row = self.json("run", "lib:chain_broadcast", "--ranks", 5, "--root", 3, "--size", 100)["rows"][0]
        self.assertEqual(row["root"], 3)
        self.json("run", "lib:sendrecv", "--ranks", 5, "--src", 4, "--dst", 2, "--size", 100)
        done = self.right("run", "lib:ring", "--ranks", 2, "--root", 1, "--size", 8)
        self.assertIn("[command_option_ignored]", done.err)

    def test_lowering_options(self):
        for words in (["--no-fuse"], ["--channel-per-flow"], ["--by-rank"], ["--by-load"], ["--transfers", "put"],
                      ["--transfers", "get"], ["--slots", 1], ["--slot-bytes", 64], ["--seed", 9], ["--nodes", "2,2,1"]):
            for name in ("lib:ring", "lib:allpairs"):
                self.assertIn("# total: 0 wrong", self.right("run", name, "--ranks", 5, "--sizes", "0,4,1K,100000", "--iters", 1, *words).out)
        self.right("run", "lib:hierarchical", "--ranks", 8, "--nodes", 2, "--size", "64K")

    def test_passes_are_timed_and_printed(self):
        done = self.right("run", "lib:ring", "--ranks", 2, "--size", 8, "--time-passes", "--print-after", "lanes")
        for word in ("parse", "elaborate", "verify", "total", "// after lanes"):
            self.assertIn(word, done.err)


class Arrays(Case):
    def ring(self, ranks, *words):
        return ["run", self.file("ring.coll", RING), "--ranks", ranks, "--in", self.path("x%r.npy"), "--out", self.path("y%r.npy"), "--iters", 1, *words]

    def test_sum_of_integers(self):
        for version in (1, 2):
            values = [[(r + 1) * (i - 7) for i in range(35)] for r in range(3)]
            for r in range(3):
                write_npy(self.path(f"x{r}.npy"), "<i4", (5, 7), struct.pack("<35i", *values[r]), version)
            self.right(*self.ring(3))
            for r in range(3):
                descr, shape, data = read_npy(self.path(f"y{r}.npy"))
                self.assertEqual((descr, shape), ("<i4", (5, 7)))
                self.assertEqual(struct.unpack("<35i", data), tuple(map(sum, zip(*values))))

    def test_every_type_round_trips(self):
        gather = self.file("gather.coll", GATHER)
        for descr, size, dtype in [("<f2", 2, None), ("<f4", 4, None), ("<f8", 8, None), ("|i1", 1, None), ("|u1", 1, None),
                                   ("<i4", 4, None), ("<u4", 4, None), ("<i8", 8, None), ("<u8", 8, None), ("<u2", 2, "bf16"),
                                   ("|u1", 1, "f8e4m3"), ("|u1", 1, "f8e5m2")]:
            noise = random.Random(size)
            parts = [bytes(noise.randrange(0x38) for _ in range(size * 6)) for _ in range(2)]
            for r in range(2):
                write_npy(self.path(f"x{r}.npy"), descr, (6,), parts[r])
            self.right("run", gather, "--ranks", 2, "--in", self.path("x%r.npy"), "--out", self.path("y%r.npy"), *(["--dtype", dtype] if dtype else []))
            for r in range(2):
                self.assertEqual(read_npy(self.path(f"y{r}.npy")), (descr, (12,), parts[0] + parts[1]))

    def test_empty_and_scalar(self):
        for shape, n in [((0,), 0), ((), 1), ((2, 0, 3), 0)]:
            for r in range(2):
                write_npy(self.path(f"x{r}.npy"), "<f4", shape, struct.pack(f"<{n}f", *[1.5] * n))
            self.right(*self.ring(2))
            self.assertEqual(read_npy(self.path("y1.npy")), ("<f4", shape, struct.pack(f"<{n}f", *[3.0] * n)))

    def test_only_ranks_with_an_in_are_read(self):
        write_npy(self.path("x2.npy"), "<f4", (2, 3), struct.pack("<6f", *range(6)))
        self.right("run", "lib:binomial_broadcast", "--ranks", 4, "--root", 2, "--in", self.path("x%r.npy"), "--out", self.path("y%r.npy"))
        for r in range(4):
            self.assertEqual(read_npy(self.path(f"y{r}.npy")), ("<f4", (2, 3), struct.pack("<6f", *range(6))))

    def test_in_place_gives_the_same(self):
        for r in range(3):
            write_npy(self.path(f"x{r}.npy"), "<f4", (10,), struct.pack("<10f", *[r + 1] * 10))
        self.right(*self.ring(3, "--in-place"))
        self.assertEqual(read_npy(self.path("y2.npy"))[2], struct.pack("<10f", *[6] * 10))

    def test_faults(self):
        good = struct.pack("<6f", *range(6))
        write_npy(self.path("x0.npy"), "<f4", (6,), good)

        def second(descr="<f4", shape=(6,), data=good, **more):
            write_npy(self.path("x1.npy"), descr, shape, data, **more)
            return self.bad("command_bad_array", *self.ring(2)).err

        self.assertIn("blocks of 4", second(shape=(4,), data=good[:16]))
        self.assertIn("type i32", second(descr="<i4"))
        self.assertIn("big-endian", second(descr=">f4"))
        self.assertIn("Fortran", second(shape=(2, 3), order=True))
        self.assertIn("does not have", second(descr="<c8", shape=(3,)))
        self.assertIn("does not have", second(descr="<i2", shape=(12,)))
        self.assertIn("bytes of elements", second(shape=(7,)))
        self.assertIn("too large", second(shape=(1 << 40, 1 << 40)))
        self.file("x1.npy", b"hello")
        self.assertIn("is not a .npy file", self.bad("command_bad_array", *self.ring(2)).err)
        self.file("x1.npy", b"\x93NUMPY\x01\x00\xff\xff{")
        self.assertIn("ends inside its header", self.bad("command_bad_array", *self.ring(2)).err)
        write_npy(self.path("x1.npy"), "<f4", (6,), good)
        self.bad("command_bad_array", *self.ring(2, "--dtype", "f16"))
        os.remove(self.path("x1.npy"))
        self.machine(*self.ring(2))
        # Blocks must divide; the pattern needs its %r.
        for r in range(2):
            write_npy(self.path(f"x{r}.npy"), "<f4", (5,), good[:20])
        self.bad("command_bad_array", "run", "lib:ring_reduce_scatter", "--ranks", 2, "--in", self.path("x%r.npy"))
        self.bad("command_bad_usage", "run", "lib:ring", "--ranks", 2, "--in", self.path("x0.npy"))
        self.machine("run", "lib:ring", "--ranks", 2, "--in", self.path("x%r.npy"), "--out", self.path("no/y%r.npy"))

    def test_counts(self):
        table = self.file("m.csv", "# elements\n3, 0, 5\n1,2,1\n\n0,4,0\n")
        counts = [[3, 0, 5], [1, 2, 1], [0, 4, 0]]
        path = self.file("v.coll", VARIABLE)
        for i in range(3):
            values = [100 * i + 10 * j + k for j in range(3) for k in range(counts[i][j])]
            write_npy(self.path(f"x{i}.npy"), "<i8", (len(values),), struct.pack(f"<{len(values)}q", *values))
        self.right("run", path, "--ranks", 3, "--counts", table, "--in", self.path("x%r.npy"), "--out", self.path("y%r.npy"))
        for j in range(3):
            values = [100 * i + 10 * j + k for i in range(3) for k in range(counts[i][j])]
            self.assertEqual(read_npy(self.path(f"y{j}.npy"))[1:], ((len(values),), struct.pack(f"<{len(values)}q", *values)))
        row = self.json("run", path, "--ranks", 3, "--counts", table, "--dtype", "i8")["rows"][0]
        self.assertEqual((row["size_bytes"], row["count"], row["out_of_place"]["wrong"]), (8, 5, 0))
        self.assertAlmostEqual(row["out_of_place"]["busbw_gbps"] / row["out_of_place"]["algbw_gbps"], 5 / 8)
        for text in ["1,2\n3,4\n", "1,2,3\n1,2,x\n1,2,3\n", "1,2,3\n", "1,2,3\n-1,2,3\n1,2,3\n", ""]:
            self.bad("command_bad_counts", "run", path, "--ranks", 3, "--counts", self.file("bad.csv", text))
        self.bad("command_option_conflict", "run", "lib:ring", "--ranks", 3, "--counts", table)

    @unittest.skipIf(numpy is None, "numpy is not installed")
    def test_against_numpy(self):
        generator = numpy.random.default_rng(1)
        for dtype in ("f2", "f4", "f8", "i1", "u1", "i4", "u4", "i8", "u8"):
            arrays = [(generator.random((4, 9)) * 100).astype(dtype) for _ in range(3)]
            for r, a in enumerate(arrays):
                numpy.save(self.path(f"x{r}.npy"), a)
            self.right(*self.ring(3, "--op", "max"))
            for r in range(3):
                got = numpy.load(self.path(f"y{r}.npy"))
                self.assertEqual(got.dtype, numpy.dtype(dtype))
                numpy.testing.assert_array_equal(got, numpy.maximum.reduce(arrays))


class Compile(Case):
    def test_forms(self):
        path = self.file("ring.coll", RING)
        self.assertTrue(self.right("compile", path, "--emit", "ast").out)
        self.assertTrue(self.right("compile", path, "--emit", "plan").out.startswith("collc plan 1\n"))
        self.assertEqual(self.right("compile", path).out, self.right("compile", path, "--emit", "plan").out)
        schedule = self.right("compile", path, "--emit", "schedule").out
        self.assertTrue(schedule.startswith("collc schedule 1\n"))
        self.assertEqual(self.right("compile", path, "--emit", "ir").out, schedule)
        self.assertEqual(self.right("compile", "-", "--emit", "ir", stdin=schedule.encode()).out, schedule)
        # A saved plan prints as it was read.
        plan = self.right("compile", path, "--ranks", 3, "-o", self.path("p")).out
        self.assertEqual(plan, "")
        with open(self.path("p"), encoding="utf-8") as file:
            self.assertEqual(self.right("compile", self.path("p")).out, file.read())
        self.bad("command_wrong_input", "compile", self.path("p"), "--emit", "schedule")
        self.bad("command_wrong_input", "compile", "-", "--emit", "ast", stdin=schedule.encode())
        self.bad("command_unknown_choice", "compile", path, "--emit", "plna")

    def test_json(self):
        j = self.json("compile", "lib:ring", "--ranks", 4)
        for key in ("instructions", "lanes_per_rank_max", "channels", "slots_needed"):
            self.assertIsInstance(j[key], int)
        self.assertEqual(j["verify"]["verdict"], "proved")
        self.assertIn("elaborate", j["passes_ms"])
        self.assertNotIn("verify", self.json("compile", "lib:ring", "--ranks", 4, "--no-verify"))
        self.assertNotIn("slots_needed", self.json("compile", "lib:ring", "--ranks", 4, "--rank", 1))

    def test_refused_plan_is_not_written(self):
        self.answer_no("compile", self.file("short.coll", SHORT_RING), "--ranks", 4, "-o", self.path("p"))
        self.assertFalse(os.path.exists(self.path("p")))
        self.right("compile", self.file("short.coll", SHORT_RING), "--ranks", 4, "--no-verify", "-o", self.path("p"))
        done = self.answer_no("check", self.path("p"))
        self.assertIn("refused", done.out)

    def test_one_ranks_part(self):
        done = self.right("compile", "lib:ring", "--ranks", 6, "--rank", 2, "-o", self.path("part"))
        self.assertIn("not verified alone", done.err)
        for verb in ("run", "check"):
            self.bad("command_part_of_plan", verb, self.path("part"))

    def test_same_input_same_bytes(self):
        for name in ("lib:ring", "lib:halving_doubling", "lib:allpairs"):
            self.assertEqual(self.right("compile", name, "--ranks", 6).out, self.right("compile", name, "--ranks", 6).out)


class Check(Case):
    def test_many_files(self):
        good, short = self.file("ring.coll", RING), self.file("short.coll", SHORT_RING)
        both = self.file("both.coll", RING + GATHER)
        done = self.answer_no("check", good, short, both, "--ranks", 4)
        self.assertIn("3 proved, 1 refused", done.out)
        self.assertRegex(done.out, r"short\.coll: ring \(allreduce\), 4 ranks: refused")
        self.assertRegex(done.out, r"short\.coll:\d+")  # the source line
        # A refusal outweighs an unreadable file and a bad one, which are all told.
        done = self.answer_no("check", self.path("absent"), short, self.file("bad.coll", "algorithm"), good)
        self.assertIn("absent", done.err)
        self.assertIn("bad.coll:1", done.err)
        self.assertIn("2 proved, 1 refused, 1 not compiled, 1 not read\n",
                      self.answer_no("check", self.path("absent"), short, self.path("bad.coll"), good, "lib:ring").out)
        self.assertIn("1 proved, 0 refused, 1 not compiled\n", self.bad("", "check", self.path("bad.coll"), good).out)
        self.right("check", good, "lib:tree", "lib:ring", "--ranks", 5)

    def test_json(self):
        j = json.loads(self.answer_no("check", self.file("short.coll", SHORT_RING), "lib:ring", "--json").out)
        self.assertFalse(j["ok"])
        short, ring = j["results"]
        self.assertEqual(short["verdict"], "refused")
        self.assertEqual(short["fault"], "missing")
        self.assertTrue(short["story"])
        self.assertEqual((ring["verdict"], ring["algorithm"], ring["ranks"], ring["exact"], ring["bits_equal"]), ("proved", "ring", 8, True, True))

    def test_story(self):
        """What every refusal has, however its sentences are worded."""
        path = self.file("short.coll", SHORT_RING)
        text = self.answer_no("check", path, "--ranks", 3).out
        head, *told = text.splitlines()
        self.assertRegex(head, r"^\S*short\.coll: ring \(allreduce\), 3 ranks: refused: missing\b.* \S*short\.coll:9$")
        self.assertTrue(told)
        self.assertTrue(all(line.startswith("  ") for line in told), text)
        self.assertRegex(told[0], r"\brank 0\b")
        # `run` and `compile` tell the same, on standard error; JSON has the same sentences.
        for verb in ("run", "compile"):
            done = self.answer_no(verb, path, "--ranks", 3)
            self.assertEqual((done.out, done.err), ("", text[text.index("refused: "):]))
            j = json.loads(self.answer_no(verb, path, "--ranks", 3, "--json").out)
            self.assertEqual((j["ok"], j["verdict"], j["fault"]), (False, "refused", "missing"))
            self.assertEqual(j["story"], [line[2:] for line in told])
        j = json.loads(self.answer_no("check", path, "--ranks", 3, "--json").out)
        self.assertEqual((j["results"][0]["story"], j["results"][0]["verdict"]), ([line[2:] for line in told], "refused"))

    def test_library_sources_are_named_so(self):
        self.assertIn('"lib:ring"', self.right("compile", "lib:ring", "--ranks", 2).out)
        self.assertRegex(self.bad("", "compile", "lib:ring", "-D", "nothing=1").err, r"^lib:ring:\d+:\d+: error: ")

    def test_bits_only_where_some_are_shared(self):
        self.assertIn("bits equal on all ranks", self.right("check", "lib:ring").out)
        for words in (["lib:sendrecv"], ["lib:ring", "--ranks", 1]):
            self.assertNotIn("bits", self.right("check", *words).out)
            row = self.json("check", *words)["results"][0]
            self.assertEqual((row["bits_shared"], "bits_equal" in row), (False, False))
        self.assertIn("1 rank:", self.right("check", "lib:ring", "--ranks", 1).out)

    def test_mutated_plans(self):
        plan = self.right("compile", "lib:ring", "--ranks", 3).out
        lines = plan.splitlines(keepends=True)
        verdicts = set()
        for at in range(len(lines)):  # without any one line, it does not parse, is refused, or says the same
            text = "".join(lines[:at] + lines[at + 1 :])
            done = collc("check", "-", stdin=text.encode())
            self.assertIn(done.status, (0, 1, 2), str(done))
            verdicts.add(done.status)
        self.assertIn(2, verdicts)
        send = next(i for i, line in enumerate(lines) if re.search(r"\brrs\b|\brrcs\b|\brr\b", line))
        moved = re.sub(r"in\[(\d)\]|in\.(\d)", lambda m: m.group(0).replace(m.group(1) or m.group(2), str((int(m.group(1) or m.group(2)) + 1) % 3)), lines[send], count=1)
        self.assertNotEqual(moved, lines[send], lines[send])
        done = self.answer_no("check", "-", stdin="".join(lines[:send] + [moved] + lines[send + 1 :]).encode())
        self.assertIn("refused", done.out)

    def test_slots(self):
        self.right("check", "lib:ring", "--ranks", 4, "--slots", 1)

    def test_limits(self):
        path = self.file("ring.coll", RING)
        done = self.right("check", path, "--ranks", 8, "--limits", "msccl,msccl-azure,mscclpp,cuda")
        self.assertIn("4 proved, 0 refused", done.out)
        # 2 (n - 1) steps, some fused: more than 64 and fewer than 256 on 64 ranks.
        done = self.answer_no("check", path, "--ranks", 64, "--limits", "msccl,msccl-azure")
        self.assertIn("limits of msccl: proved", done.out)
        self.assertIn("limits of msccl-azure: refused", done.out)
        self.bad("command_unknown_choice", "check", path, "--limits", "mscl")

    def test_parameters(self):
        path = self.file("p.coll", RING + "algorithm cut(pieces = 2) implements broadcast {\n  chunks pieces\n"
                         "  for c in 0 ..< pieces, r in 0 ..< ranks { if r != root { buf[r][c] = buf[root][c] } }\n}\n")
        self.right("check", path, "-D", "pieces=3", "--root", 1)
        self.bad("command_unknown_parameter", "check", path, "-D", "piece=3")

    def test_whole_library(self):
        for listed in self.json("list")["algorithms"]:
            done = collc("check", listed["file"], "--ranks", 8)
            self.assertEqual(done.status, 0, str(done))


class Faults(Case):
    """--json prints one object whatever happens, with the exit status that there is without it."""

    def fault(self, status, *words):
        plain, done = collc(*words), collc(*words, "--json")
        self.assertEqual((plain.status, done.status), (status, status), str(done))
        self.assertEqual(plain.err, done.err)
        return json.loads(done.out)

    def test_of_the_input(self):
        bad = self.file("bad.coll", "algorithm a implements allreduce {\n  chunks 1\n  bfu[0][0] = buf[1][0]\n}\n")
        for verb in ("run", "compile", "check", "opt"):
            j = self.fault(2, verb, bad)
            self.assertFalse(j["ok"])
            d = (j["results"][0] if verb == "check" else j)["diagnostics"][0]
            self.assertEqual((d["severity"], d["file"], d["line"], d["column"]), ("error", bad, 3, 3))
            self.assertTrue(d["id"] and d["message"])
            self.assertTrue(d["hint"])

    def test_of_the_usage(self):
        for words in (["run"], ["check"], ["compile", "lib:ring", "--ranks", "x"], ["run", "lib:ring", "--siz", 8],
                      ["list", "--ranks"], ["targets", "x"], ["opt", "--until", "fly", "lib:ring"], ["simm"],
                      ["run", "lib:ring", "--op", "band"]):
            j = self.fault(2, *words)
            self.assertFalse(j["ok"])
            self.assertEqual(j["diagnostics"][0]["file"], None)
            self.assertRegex(j["diagnostics"][0]["id"], r"^command_")

    def test_of_the_machine(self):
        for words in (["run", self.path("absent")], ["compile", self.folder], ["check", self.path("absent")],
                      ["run", "lib:ring", "--in", self.path("x%r.npy")]):
            j = self.fault(3, *words)
            self.assertEqual((j["results"][0] if words[0] == "check" else j)["error"]["code"], "file")
        self.assertEqual(self.fault(3, "run", "lib:ring", "--target", "cuda")["error"]["code"], "unavailable")

    def test_names_that_are_no_text(self):
        done = subprocess.run([COLLC, "run", b"\xff\xfe", "--json"], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 3)
        json.loads(done.stdout.decode("utf-8"))


class Formatter(Case):
    def test_library_is_formatted_and_idempotent(self):
        files = sorted(glob.glob(os.path.join(ROOT, "dsl", "lib", "*.coll")))
        self.assertTrue(files)
        self.assertEqual(self.right("fmt", "--check", *files).out, "")
        for path in files:
            once = self.right("fmt", path).out
            self.assertEqual(self.right("fmt", "-", stdin=once.encode()).out, once, path)

    def test_check_and_write(self):
        ugly = "algorithm  r implements allreduce{ chunks 1\nfor r in 0..<ranks{buf[r+1][0]=buf[r][0] } } // end\n"
        path = self.file("ugly.coll", ugly)
        self.assertEqual(self.answer_no("fmt", "--check", path).out, path + "\n")
        text = self.right("fmt", path).out
        self.assertIn("// end", text)
        self.assertEqual(self.right("fmt", "--write", path).out, "")
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), text)
        self.right("fmt", "--check", path)

    def test_faults(self):
        broken = self.file("broken.coll", "algorithm {\n")
        self.bad("", "fmt", "-i", broken)
        with open(broken, encoding="utf-8") as file:
            self.assertEqual(file.read(), "algorithm {\n")
        self.bad("command_wrong_input", "fmt", "-", stdin=b"collc plan 1\n")
        self.bad("command_option_conflict", "fmt", "-i", "--check", broken)


class Opt(Case):
    def test_list_and_states(self):
        names = [line.split()[0] for line in self.right("opt", "--list").out.splitlines()]
        self.assertEqual([p["name"] for p in self.json("opt", "--list")["passes"]], names)
        schedule = self.right("compile", "lib:ring", "--ranks", 3, "--emit", "schedule").out.encode()
        for name in [names[0], names[-1]]:
            done = self.right("opt", "-", "--until", name, stdin=schedule)
            self.assertTrue(done.out)
            self.assertEqual(self.right("opt", "lib:ring", "--ranks", 3, "--until", name).out, done.out)
        self.assertEqual(self.right("opt", "-", "--passes", ",".join(names[:2]), stdin=schedule).out,
                         self.right("opt", "-", "--until", names[1], stdin=schedule).out)
        self.assertEqual(self.right("opt", "-", stdin=schedule).out, self.right("compile", "lib:ring", "--ranks", 3).out)
        j = self.json("opt", "lib:ring", "--ranks", 3, "--until", names[-1])
        self.assertEqual((j["ok"], j["pass"], j["text"]), (True, names[-1], done.out))
        self.assertNotIn("text", self.json("opt", "lib:ring", "-o", self.path("state")))
        self.bad("command_passes_not_prefix", "opt", "lib:ring", "--passes", names[1])
        self.bad("command_unknown_choice", "opt", "lib:ring", "--until", "fly")
        self.bad("command_option_conflict", "opt", "lib:ring", "--until", names[0], "--passes", names[0])

    def test_plan_is_past_it(self):
        plan = self.right("compile", "lib:ring", "--ranks", 2).out
        self.bad("command_wrong_input", "opt", "-", stdin=plan.encode())


class Lists(Case):
    def test_list(self):
        algorithms = self.json("list")["algorithms"]
        names = {a["name"]: a for a in algorithms}
        self.assertEqual(names["ring"]["collective"], "allreduce")
        self.assertTrue(all(a["what"] for a in algorithms))
        self.assertIn("lib:ring", self.right("list").out)

    def test_targets(self):
        targets = {t["name"]: t for t in self.json("targets")["targets"]}
        self.assertTrue(targets["cpu"]["usable"])
        for name in ("ptx", "cuda", "rdma"):
            self.assertFalse(targets[name]["usable"])
            self.assertTrue(targets[name]["detail"])
        self.assertRegex(self.right("targets").out, r"(?m)^cpu +yes ")


class Golden(Case):
    def test_golden(self):
        commands = sorted(glob.glob(os.path.join(GOLDEN, "*.args")))
        self.assertTrue(commands)
        for path in commands:
            with open(path, encoding="utf-8") as file:
                words = file.read().splitlines()
            done = collc(*words, cwd=GOLDEN)
            text = f"{done.out}{done.err}-- status {done.status}\n"
            expected = path.replace(".args", ".out")
            if UPDATE:
                with open(expected, "w", encoding="utf-8") as file:
                    file.write(text)
            with open(expected, encoding="utf-8") as file:
                self.assertEqual(text, file.read(), f"{os.path.relpath(path, ROOT)}; read it, then --update")


class ZEveryDiagnostic(unittest.TestCase):
    """Runs last: unittest sorts by name."""

    def test_every_id_was_earned(self):
        if SELECTED:
            self.skipTest("only some of the tests ran")
        with open(os.path.join(ROOT, "frontend", "diagnostics.def"), encoding="utf-8") as file:
            ids = set(re.findall(r'DIAGNOSTIC\(\w+, "(\w+)"\)', file.read()))
        self.assertTrue(ids)
        self.assertEqual(ids - SEEN_IDS, set())


if __name__ == "__main__":
    COLLC = os.path.abspath(sys.argv[1])
    UPDATE = "--update" in sys.argv
    rest = [w for w in sys.argv[2:] if w != "--update"]
    SELECTED = bool(rest)
    unittest.main(argv=sys.argv[:1] + rest)
