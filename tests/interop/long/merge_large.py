#!/usr/bin/env python3
"""Merges the shards of a large run, and says what that costs.

merge_large.py SKYLINE [TOKENS [SHARDS [RATE [ANSWER [FOLDER]]]]]

A run of so many tokens (100 million) at so many requests a second (1,000), whose answers have so many tokens (100), is
simulated, its log is split into so many shards (8) as generators would have written them, and these are merged. The
figures of the merged run must be those of the whole one. Time and peak memory are printed with the sizes of the logs.
1e9 tokens take about 40 GB of disk.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

WORKLOAD = """
name = "large"
horizon_s = {seconds}
warmup_s = 0
seed = 7
arrival = {{ kind = "poisson", rate_per_s = {rate} }}
[[classes]]
name = "chat"
input_tokens = {{ kind = "constant", value = 200 }}
output_tokens = {{ kind = "constant", value = {answer} }}
"""


def timed(*command):
    """Runs a command; its wall time and CPU time in seconds, and its peak memory in MB."""
    began = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode in (0, 1, 3), command
    return time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


class Shard:
    """The log of one shard, each line sealed with its number and checksum."""

    def __init__(self, folder, header, number, of, measured):
        folder.mkdir(parents=True)
        self.file, self.lines, self.run = open(folder / "run.jsonl", "wb"), 0, 0
        header = {**header, "shard": {"number": number, "of": of}}
        header["plan"] = {**header["plan"], "measured_requests": measured}
        self.run = self.write(json.dumps({"header": header}, separators=(",", ":")).encode())

    def write(self, line):
        self.lines += 1
        line = line[:-1] + b',"line":%d' % self.lines
        total = zlib.crc32(line, self.run)
        self.file.write(line + b',"crc32":"%08x"}\n' % total)
        return total


def split(log, folder, of):
    """Splits a log by the indices of its requests."""
    with open(log, "rb") as lines:
        header = json.loads(next(lines))["header"]
    measured = header["plan"]["measured_requests"]
    shares = [(measured + of - 1 - number) // of for number in range(of)]
    shards = [Shard(folder / f"shard-{n + 1}", header, n + 1, of, shares[n]) for n in range(of)]
    with open(log, "rb") as lines:
        next(lines)
        for line in lines:
            line = line[: line.rindex(b',"line":')] + b"}"
            if line.startswith(b'{"request":{"index":'):
                index = int(line[20 : line.index(b",", 20)])
                shards[index % of].write(line)
            else:
                [shard.write(line) for shard in shards]
    for shard in shards:
        shard.file.close()
    return [str(folder / f"shard-{n + 1}") for n in range(of)]


def figures(folder):
    """What a summary says of the run, without what says which run it is."""
    summary = json.loads((folder / "summary.json").read_text())
    summary["run"] = {key: value for key, value in summary["run"].items() if key != "command"}
    return summary


def main():
    skyline = sys.argv[1]
    tokens = int(float(sys.argv[2])) if len(sys.argv) > 2 else 100_000_000
    of = int(sys.argv[3]) if len(sys.argv) > 3 else 8
    rate = float(sys.argv[4]) if len(sys.argv) > 4 else 1000
    answer = int(sys.argv[5]) if len(sys.argv) > 5 else 100
    folder = Path(tempfile.mkdtemp(dir=sys.argv[6] if len(sys.argv) > 6 else None))
    try:
        workload = folder / "large.toml"
        workload.write_text(WORKLOAD.format(seconds=tokens / answer / rate, rate=rate, answer=answer))
        plain = ["--ttft", "50ms", "--itl", "exponential:10ms", "--slots", "10000000"]
        timed(skyline, "simulate", str(workload), *plain, "--out", str(folder / "whole"))
        (whole,) = (folder / "whole").iterdir()
        size = (whole / "run.jsonl").stat().st_size
        print(f"{tokens / 1e6:.0f} million tokens: a log of {size / 1e6:.0f} MB, {size / tokens:.1f} bytes a token")
        shards = split(whole / "run.jsonl", folder, of)
        out = ["--out", str(folder / "merged"), "--allow-invalid"]
        seconds, cpu, memory = timed(skyline, "merge", *shards, *out)
        print(f"{of} shards merged in {seconds:.0f} s, {cpu:.0f} s of CPU time; peak memory {memory:.0f} MB")
        (merged,) = (folder / "merged").iterdir()
        assert figures(merged) == figures(whole), "the merged run says something else"
        print("the merged figures are those of the whole run")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
