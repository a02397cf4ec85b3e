"""Where Skyline's limits are: start-up, plans, streams at once, memory of a stream and of a token.

    cargo build --profile dist && cargo build --profile dist --examples
    python3 benches/peers/limits.py [--streams 20000] [--part NAME]

Each part prints the rows of a table: what was measured, the figure, what is wanted.
"""

import argparse
import datetime
import json
import os
import random
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from client_run import RELEASE, TESTS, WORKLOAD, ClientRun

BURST = """[arrival]
kind = "stages"
stages = [{{ duration_s = {seconds}, from_rate_per_s = {rate} }}, {{ duration_s = 1, from_rate_per_s = 0 }}]"""

ENGINE = "openai"
# Files that a process needs in addition to its streams.
SPARE_FILES = 100


def bench(options, *flags, **load):
    """The command that runs `load`."""
    def command(url, folder):
        (folder / "load.toml").write_text(WORKLOAD.format(**load))
        return [
            str(options.skyline), "bench", str(folder / "load.toml"), "--engine", ENGINE, "--url", url, "--out",
            str(folder), "--json", "--quiet", "--no-calibration", "--allow-invalid", *flags, *options.skyline_option,
        ]

    return command


def row(what, figure, wanted):
    print(f"| {what} | {figure} | {wanted} |", flush=True)


def start_up(options):
    times = []
    for _ in range(50):
        begin = time.perf_counter()
        subprocess.run([options.skyline, "--help"], stdout=subprocess.DEVNULL, check=True)
        times.append((time.perf_counter() - begin) * 1e3)
    row("`--help`, median (fastest) of 50", f"{statistics.median(times):.1f} ({min(times):.1f}) ms", "≤ 10 ms")
    arrival = BURST.format(seconds=0.1, rate=1_000)
    load = bench(options, length="requests = 20", seed=1, arrival=arrival, tokens=4)
    times = []
    for _ in range(20):
        run = ClientRun(load, options.release, TESTS[ENGINE], 20, 1_000)
        times.append((run.begin.at - run.started) * 1e3)
    figure = f"{statistics.median(times):.0f} ({min(times):.0f}) ms"
    row("start to the first request of a `bench`, median (fastest) of 20", figure, "≤ 150 ms")


def streams(options):
    # Each process needs a file for every stream and a few for itself; root may raise the limit with `ulimit -Hn`.
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = options.streams if files == resource.RLIM_INFINITY else min(options.streams, files - SPARE_FILES)
    # All of them are open between the last of the arrivals, after 10 s, and the first of the ends.
    gap_s, tokens, ramp_s = 2, 10, 10
    load = bench(
        options, length=f"requests = {count}", seed=1, tokens=tokens,
        arrival=f'[arrival]\nkind = "constant"\nrate_per_s = {count / ramp_s}',
    )
    run = ClientRun(load, options.release, TESTS[ENGINE], count, gap_s * 1_000_000)
    summary = json.loads(run.said)
    counts, peak = summary["requests"], summary["in_flight"]["peak"]
    row(f"{count:,} streams at once: peak in flight", f"{peak:,}", "nearly all")
    row("of them completed, failed, censored",
        f"{counts['completed']:,}, {counts['failed']:,}, {counts['censored']:,}", "all, 0, 0")
    grown = run.load_peak_mb - run.idle_mb
    row("memory for each of them", f"{grown * 1_024 / count:.1f} KB", "small")


def memory(options):
    """Two runs that differ in kept tokens only, eight streams at a time."""
    held, tokens = [], 2_000
    for seconds in (0.02, 0.4):
        arrival = BURST.format(seconds=seconds, rate=10_000)
        load = bench(options, "--max-concurrency", "8", length="horizon_s = 1", seed=45, arrival=arrival, tokens=tokens)
        requests = planned(options, load)
        run = ClientRun(load, options.release, TESTS[ENGINE], requests, None)
        held.append((run.tokens, run.held_mb, run.peak_mb))
    (few, low, low_peak), (many, high, high_peak) = held
    for what, small, large in [("before the analysis", low, high), ("at the peak, analysis included", low_peak, high_peak)]:
        figure = (large - small) * 1_048_576 / (many - few)
        row(f"memory of a kept token {what} ({many:,} − {few:,} tokens)", f"{figure:.1f} bytes",
            "≤ 8 bytes" if small == low else "")


def planned(options, command):
    """How many requests the load has, by a simulation of it."""
    with tempfile.TemporaryDirectory() as folder:
        workload = command("", Path(folder))[2]
        out = subprocess.run(
            [options.skyline, "simulate", workload, "--ttft", "1ms", "--itl", "1us", "--json"],
            capture_output=True, text=True,
        )
        return json.loads(out.stdout)["summary"]["requests"]["planned"]


def plans(options):
    """A million requests, planned and not run: no server listens at their address."""
    draw, planned = random.Random(1), 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        azure, mooncake, rows = folder / "azure.csv", folder / "mooncake.jsonl", folder / "rows.jsonl"
        with azure.open("w") as lengths, mooncake.open("w") as blocks:
            lengths.write("TIMESTAMP,ContextTokens,GeneratedTokens\n")
            begin = datetime.datetime(2024, 5, 10)
            for place in range(planned):
                at, asked = begin + datetime.timedelta(milliseconds=2 * place), draw.randint(10, 4000)
                lengths.write(f"{at:%Y-%m-%d %H:%M:%S.%f}0+00:00,{asked},{1 + place % 500}\n")
                ids = [block if block < 8 else 16 * place + block for block in range(16)]
                request = {"timestamp": 2 * place, "input_length": 8192, "output_length": 1 + place % 500, "hash_ids": ids}
                blocks.write(json.dumps(request) + "\n")
        with rows.open("w") as texts:
            written = 0
            while written < 120_000_000:
                prompt = " ".join(draw.choices(["river", "photosynthesis", "of", "the", "1987"], k=draw.randint(20, 250)))
                written += texts.write(json.dumps({"prompt": prompt, "output_tokens": draw.randint(1, 400)}) + "\n")
        drawn = ["short_chat", "--requests", str(planned), "--rate", "500", "--warmup", "0s"]
        for what, words in [
            ("drawn", drawn),
            ("of a trace of lengths", ["--trace", azure]),
            ("of a trace with 8 new blocks a request", ["--trace", mooncake]),
            ("over a dataset of 120 MB", [*drawn, "--dataset", rows]),
        ]:
            command = [options.skyline, "bench", *words, "--url", "http://127.0.0.1:9", "--wait", "1ms", "--no-calibration"]
            begin = time.perf_counter()
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            seconds, cpu = time.perf_counter() - begin, usage.ru_utime + usage.ru_stime
            # 3: all was planned, and no server was found.
            assert os.waitstatus_to_exitcode(status) == 3, command
            figure = f"{seconds:.2f} s, {cpu:.2f} s of a core, {usage.ru_maxrss / 1_024:.0f} MB"
            row(f"a million requests, {what}: planned in", figure, "< 5 s")


def main():
    parts = {"start-up": start_up, "plans": plans, "streams": streams, "memory": memory}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skyline", type=Path, help="[default: the build for publishing]")
    parser.add_argument("--skyline-option", action="append", default=[], help="one more word for `skyline bench`")
    parser.add_argument("--release", type=Path, default=RELEASE, help="folder of the build for publishing")
    parser.add_argument("--streams", type=int, default=20_000)
    parser.add_argument("--part", choices=parts, action="append", help="[default: all]")
    options = parser.parse_args()
    options.skyline = options.skyline or options.release / "skyline"
    print("| what | figure | wanted |\n|---|---|---|")
    for name in options.part or parts:
        parts[name](options)


if __name__ == "__main__":
    main()
