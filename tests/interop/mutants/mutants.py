#!/usr/bin/env python3
"""Mutation testing: changes a seeded sample of places in the rooms that decide, one at a time, and runs that room's tests.

Prints for each room how many changes its tests catch, with the 95 % interval (Wilson, 1927), and those that they miss.
`mutants.txt` beside this file names those that no test can catch, each with the reason.

    tests/interop/mutants/mutants.py [--sample 40] [--seed 1] [ROOM…]

cargo-mutants (`cargo install cargo-mutants`) lists the changes. All that are drawn are written into one copy of the tree,
where a function with body B and changed body C becomes `{ if crate::mutant_is(N) { C } else { B } }`, and N is read from
the environment (mutant schemata: Untch, Offutt & Harrold, 1993). So one build of the unit tests serves all changes.
A change that does not compile is replaced by the next one drawn. So is one that this scheme cannot switch: in constants, in
functions that constants call, in functions that return an opaque type other than an iterator.
"""

import argparse
import hashlib
import json
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TREE = ROOT / "target/mutants/tree"
# The files of each room, and the paths of its tests.
ROOMS = {
    "stream": (["src/engine/stream/**/*.rs"], ["engine::"]),
    "percentile": (["src/analysis/figures/**/*.rs"], ["analysis::"]),
    "interval": (["src/analysis/latency/**/*.rs", "src/analysis/statistics/**/*.rs"], ["analysis::"]),
    "verdict": (["src/analysis/verdict/**/*.rs"], ["analysis::", "experiment::"]),
    "runner": (["src/runner/**/*.rs"], ["runner::"]),
    "record": (["src/record/**/*.rs"], ["record::", "analysis::", "session::stored::"]),
}
SWITCH = """
/// Whether the change of this number is on.
pub(crate) fn mutant_is(number: u32) -> bool {
    static ON: std::sync::LazyLock<Option<u32>> =
        std::sync::LazyLock::new(|| std::env::var("MUTANT").ok()?.parse().ok());
    *ON == Some(number)
}
/// One of two iterators.
pub(crate) enum Either<A, B> {
    One(A),
    Other(B),
}
impl<A: Iterator, B: Iterator<Item = A::Item>> Iterator for Either<A, B> {
    type Item = A::Item;
    fn next(&mut self) -> Option<A::Item> {
        match self {
            Self::One(one) => one.next(),
            Self::Other(other) => other.next(),
        }
    }
}
"""
# Comments, strings and characters, in which braces mean nothing; and braces.
LEXEME = re.compile(
    r"""//[^\n]*|/\*.*?\*/|\bb?r(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\u\{\w+\}|\\x\w\w|\\.|[^'\\])'|[{}]""", re.DOTALL
)


def drawn(room, seed):
    """The changes of a room in the order of their draw, by the hash of seed and name: the same wherever the lines lie."""
    files = [word for glob in ROOMS[room][0] for word in ("--file", glob)]
    command = ["cargo", "mutants", "--list", "--json", "--diff", "--exclude", "**/fuzzing.rs", *files]
    mutants, seen = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout), Counter()
    for mutant in mutants:
        mutant["id"] = re.sub(r":\d+:\d+:", ":", mutant["name"], count=1)
        seen[mutant["id"]] += 1
        mutant["id"] += f" #{seen[mutant['id']]}"
        mutant["room"] = room
    return sorted(mutants, key=lambda mutant: hashlib.sha256(f"{seed} {mutant['id']}".encode()).digest())


def body(text, start, end):
    """Where the body of the function at these places begins, its brace left out."""
    depth, begin = 0, None
    for lexeme in LEXEME.finditer(text, start, end):
        if lexeme[0] == "{":
            begin = lexeme.end() if depth == 0 else begin
            depth += 1
        elif lexeme[0] == "}":
            depth -= 1
    return begin


def write_file(file, mutants):
    """Writes these changes, all of one file, into the copy. Gives the lines of each change and of its function."""
    text = (ROOT / file).read_text()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def places(span):
        return [starts[span[end]["line"] - 1] + span[end]["column"] - 1 for end in ("start", "end")]

    functions = []  # the outermost ones, from the first to the last
    for start, end in sorted({tuple(places(mutant["function"]["span"])) for mutant in mutants}):
        if not functions or start >= functions[-1][1]:
            functions.append((start, end))
    written, done, lines = "", 0, []
    for start, end in functions:
        begin = body(text, start, end)
        head, original = text[start:begin], text[begin : end - 1]
        opaque = "-> impl Iterator" in head
        one, other, close = ("crate::Either::One({", "crate::Either::Other({", "})") if opaque else ("",) * 3
        written += text[done:start]
        first = written.count("\n") + 1
        written += re.sub(r"\bconst (?=(async )?fn\b)", "", head)
        here = [mutant for mutant in mutants if start <= places(mutant["span"])[0] < end]
        ranges = []
        for mutant in here:
            at, to = places(mutant["span"])
            changed = text[begin:at] + mutant["replacement"] + text[to : end - 1]
            written += f"\nif crate::mutant_is({mutant['number']}) {{{one}\n"
            line = written.count("\n") + 1
            written += changed
            ranges.append((mutant, line, written.count("\n") + 1))
            written += f"\n{close}}} else {{{other}"
        written += "\n" + original + "\n" + f"{close}}}" * len(here) + "\n}"
        lines += [(*of_mutant, first, written.count("\n") + 1) for of_mutant in ranges]
        done = end
    (TREE / file).write_text(written + text[done:])
    return lines


def plain_name(mutant):
    """The function's name without parameters of types."""
    return re.sub(r"<[^<>]*>", "", mutant["function"]["function_name"])


def build(mutants):
    """Writes the changes and builds the tests: the program of the tests, or the changes that do not build, with the reason."""
    lines = {}
    for file in {mutant["file"] for mutant in mutants}:
        lines[file] = write_file(file, [mutant for mutant in mutants if mutant["file"] == file])
    command = [os.environ.get("CARGO", "cargo"), "test", "--lib", "--no-run", "--message-format=json"]
    env = os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target"), "CARGO_INCREMENTAL": "0", "CARGO_PROFILE_TEST_DEBUG": "0"}
    said = subprocess.run(command, cwd=TREE, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    said = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    faults = {}
    for message in (one["message"] for one in said if one["reason"] == "compiler-message"):
        if message["level"] != "error" or not message["spans"]:
            continue
        spans = [span for span in message["spans"] if span["is_primary"]]
        of_change, of_function = [], []
        for span in spans:
            for mutant, first, last, function_first, function_last in lines.get(span["file_name"], []):
                if first <= span["line_start"] <= last:
                    of_change.append(mutant["id"])
                elif function_first <= span["line_start"] <= function_last:
                    of_function.append(mutant["id"])
        called = re.search(r"non-const .*`([^`]+)` in ", message["message"])
        of_constant = [one["id"] for one in mutants if called and f"::{called[1]}".endswith(f"::{plain_name(one)}")]
        blamed = of_constant or of_change or of_function
        if not blamed:
            sys.exit(f"the copy does not build: {message['rendered']}")
        kind = "does not compile" if blamed is of_change else "cannot be switched"
        faults |= {one: f"{kind}: {message['message']}" for one in blamed}
    programs = [one["executable"] for one in said if one.get("executable")]
    if not programs and not faults:
        sys.exit(f"the copy does not build: run cargo test --lib --no-run in {TREE}")
    return (None if faults else programs[0]), faults


def passes(program, number, filters, limit):
    """Whether these tests pass while the change of this number is on; a run that takes too long does not."""
    settings = {"MUTANT": str(number), "INSTA_UPDATE": "no", "INSTA_WORKSPACE_ROOT": str(TREE), "CARGO_MANIFEST_DIR": str(TREE)}
    settings |= {"PROPTEST_MAX_SHRINK_ITERS": "0", "PROPTEST_RNG_SEED": "1", "RUST_BACKTRACE": "0"}
    tests = subprocess.Popen(
        [program, *filters],
        cwd=TREE,
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30)),
    )
    timer = threading.Timer(limit, os.killpg, (tests.pid, signal.SIGKILL))
    timer.start()
    for line in tests.stdout:
        if line.rstrip().endswith("... FAILED"):
            os.killpg(tests.pid, signal.SIGKILL)
            break
    failed = tests.wait() != 0
    timer.cancel()
    return not failed


def wilson(caught, of):
    """The share and its 95 % interval, in percent."""
    share, z = caught / of, 1.959964
    middle, scale = share + z * z / (2 * of), 1 + z * z / of
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    low, high = 100 * (middle - half) / scale, 100 * (middle + half) / scale
    return f"{100 * share:.0f} % (95 % interval {low:.0f} to {high:.0f} %)"


def copy_tree():
    """Copies what git knows of the tree, with a switch for the changes."""
    shutil.rmtree(TREE, ignore_errors=True)
    for file in subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        if (ROOT / file).is_file():
            (TREE / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, TREE / file)
    with (TREE / "src/lib.rs").open("a") as lib:
        lib.write(SWITCH)


def build_enough(order, size):
    """Builds at least so many changes of each room: the program, the changes in it, and why the others are not."""
    faults = {one["id"]: "cannot be switched: in a constant" for room in order.values() for one in room if not one["function"]}
    # Half as many again as asked for, since some will not compile.
    program, wide = None, {room: size * 3 // 2 for room in order}
    while not program:
        usable = {}
        for room, mutants in order.items():
            while sum(one["id"] not in faults for one in mutants[: wide[room]]) < size and wide[room] < len(mutants):
                wide[room] += 1
            usable[room] = [one for one in mutants[: wide[room]] if one["id"] not in faults]
        program, found = build([one for room in usable.values() for one in room])
        faults |= found
        print(f"{len(found)} changes do not build", file=sys.stderr)
    return program, usable, faults


def is_missed(program, mutant, limit):
    """Whether the room's tests pass with this change. Those nearest to it come first, since most changes fail them."""
    module = mutant["file"].removeprefix("src/").removesuffix(".rs").removesuffix("/mod").split("/")
    near = [["::".join(module) + "::"], ["::".join(module[:-1]) + "::"]]
    return all(passes(program, mutant["number"], tests, limit) for tests in [*near, ROOMS[mutant["room"]][1]])


def measure(room, program, sample, explained, replaced):
    """Runs the room's tests with each of these changes and prints what they miss."""
    begun = time.monotonic()
    if not passes(program, 0, ROOMS[room][1], 600):
        sys.exit(f"{room}: its tests fail without any change: {program} {' '.join(ROOMS[room][1])} in {TREE}")
    limit = max(60, 5 * (time.monotonic() - begun))
    missed = [one for one in sample if is_missed(program, one, limit)]
    caught, known = len(sample) - len(missed), sum(one["id"] in explained for one in missed)
    print(f"{room}: {caught} of {len(sample)} caught, {wilson(caught, len(sample))}; {known} of the missed explained", end="")
    print("".join(f"; replaced: {count} {why}" for why, count in replaced.items()))
    for one in missed:
        print(f"  missed: {one['id']}", f"({explained[one['id']]})" if one["id"] in explained else "")
        changes = [line for line in one["diff"].splitlines()[2:] if line.startswith(("+", "-"))]
        print("".join(f"    {line}\n" for line in changes), end="", flush=True)


def main():
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--sample", type=int, default=40)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("rooms", nargs="*", metavar="ROOM", default=list(ROOMS))
    asked = asked.parse_args()
    if unknown := set(asked.rooms) - set(ROOMS):
        sys.exit(f"no room {', '.join(unknown)}; there are {', '.join(ROOMS)}")
    order = {room: drawn(room, asked.seed) for room in asked.rooms}
    for number, mutant in enumerate((one for room in order.values() for one in room), 1):
        mutant["number"] = number
    copy_tree()
    program, usable, faults = build_enough(order, asked.sample)
    explained = dict(line.rsplit(" | ", 1) for line in (Path(__file__).parent / "mutants.txt").read_text().splitlines())
    for room, mutants in usable.items():
        sample = mutants[: asked.sample]
        before = order[room][: order[room].index(sample[-1])]
        replaced = Counter(faults[one["id"]].split(":")[0] for one in before if one["id"] in faults)
        measure(room, program, sample, explained, replaced)


if __name__ == "__main__":
    main()
