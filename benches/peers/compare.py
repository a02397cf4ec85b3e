"""CPU and memory of load generators side by side, on the same bytes from a server that is not the bottleneck.

    cargo build --profile dist && cargo build --profile dist --examples
    pip download vllm==0.33.0 --no-deps && unzip -j vllm-0.33.0-*.whl vllm/vllm-rs
    python3 benches/peers/compare.py --peer ./vllm-rs --tokenizer FOLDER [--rounds 5] [--load NAME | --arrivals]

Each round runs every client once against a fresh server; rounds alternate, so that other work of the machine affects
all clients alike. Two costs of each run are measured, user and system time together, all threads:

    under load   from the moment the server reads the first request until the client has read its last byte
    in all       of the whole process, start-up and report included

The tables are medians over the rounds, and ratios of those medians.

With `--arrivals` the table is of how requests arrive, at several rates: A² of the gaps between the moments at which the
server's kernel received them, and how long after the moments of the plan these are where the client stores its plan.
Each round has a seed of its own. The first row is of the machine: of a loop that only waits for such moments.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

from arrivals import arrival_figures, arrival_head, arrival_rows, machine_figures
from client_run import RELEASE, TESTS, WORKLOAD, ClientRun

MODEL = "tiny-llama"
# The client that the others are compared with.
PEER = "vllm-rs"
# What asks nobody and only waits.
MACHINE = "the machine alone"

# All requests in a burst that the seed makes exactly as many as requested, and nothing after it.
BURST = """[arrival]
kind = "stages"
stages = [{{ duration_s = {burst_s}, from_rate_per_s = 10000 }}, {{ duration_s = 1, from_rate_per_s = 0 }}]"""
STEADY = """[arrival]
kind = "poisson"
rate_per_s = {rate}"""


def steady(rate, requests, tokens, gap_us, **more):
    """A Poisson process of so many requests a second, so many in all."""
    return dict(
        rate=rate, requests=requests, tokens=tokens, gap_us=gap_us, cap=None,
        seed=1, burst_s=None, length=f"requests = {requests}", **more,
    )


def short(gap_us, target):
    ms = gap_us / 1_000
    return steady(
        title=f"Short requests: 1,000 a second, Poisson, 8 tokens {ms:g} ms apart, each event a packet of its own",
        rate=1_000, requests=10_000, tokens=8, gap_us=gap_us, target=target,
    )


# Gap between two tokens of a stream in microseconds; none where they leave flat out.
LOADS = {
    "flat": dict(
        title="Flat out: 200 requests of 2,000 tokens, 8 at a time, 64 events a write",
        requests=200, tokens=2_000, gap_us=None, cap=8, rate=None,
        seed=45, burst_s=0.02, length="horizon_s = 1", target=1 / 2,
    ),
    "paced": dict(
        title="Paced: 100 streams of 2,000 tokens at 200 a second, each event a packet of its own",
        requests=100, tokens=2_000, gap_us=5_000, cap=None, rate=None,
        seed=27, burst_s=0.01, length="horizon_s = 1", target=1 / 2,
    ),
    "short": short(gap_us=5_000, target=2 / 3),
    "brief": short(gap_us=1_000, target=0.6),
}

# Requests a second whose arrivals are looked at, and the requests of a run.
ARRIVALS = {20: 500, 200: 2_000, 1_000: 10_000, 4_000: 40_000}


def skyline(engine, options):
    def command(load, url, folder):
        arrival = (BURST if load["rate"] is None else STEADY).format(**load)
        workload = folder / "load.toml"
        workload.write_text(WORKLOAD.format(arrival=arrival, **load))
        cap = ["--max-concurrency", str(load["cap"])] if load["cap"] else []
        return [
            str(options.skyline), "bench", str(workload), "--engine", engine, "--url", url, "--out", str(folder),
            # Loads beyond what a machine can be trusted with are what is asked for here.
            "--json", "--quiet", "--no-calibration", "--allow-invalid", *cap, *options.skyline_option,
        ]

    return command, TESTS[engine], lambda out: json.loads(out)["requests"]["completed"]


def vllm_rs(options):
    def command(load, url, folder):
        rate = [] if load["rate"] is None else ["--request-rate", str(load["rate"])]
        cap = ["--max-concurrency", str(load["cap"])] if load["cap"] else []
        return [
            str(options.peer), "bench", "serve", "--backend", "openai-chat", "--endpoint", "/v1/chat/completions",
            "--base-url", url, "--model", MODEL, "--tokenizer", str(options.tokenizer), "--dataset-name", "random",
            "--random-input-len", "16", "--random-output-len", str(load["tokens"]), "--num-prompts",
            str(load["requests"]), "--seed", str(load["seed"]), "--ignore-eos", "--disable-tqdm", *rate, *cap,
        ]

    def completed(out):
        return int(next(line for line in out.splitlines() if line.startswith("Successful requests")).split()[-1])

    return command, 0, completed


def bare(options):
    def command(load, url, _):
        flags = [str(load["requests"]), str(load["tokens"]), str(load["cap"] or 0), str(load["rate"] or 0)]
        return [str(options.release / "examples" / "bare_client"), url, *flags]

    return command, 0, lambda out: int(out.split()[0])


def completed_run(load, client, options, arrivals=False):
    """One run, all of whose requests completed."""
    command, tests, completed = client
    run = ClientRun(
        lambda url, folder: command(load, url, folder), options.release, tests, load["requests"], load["gap_us"],
        arrivals,
    )
    try:
        done = completed(run.said)
    except Exception:
        sys.exit(f"{' '.join(run.command)}\nfailed:\n{run.said}\n{run.words}")
    assert done == load["requests"], f"{done} of {load['requests']} completed: {' '.join(run.command)}"
    return run


def cost_figures(run):
    """The figures of one run's cost."""
    begin, end, usage = run.begin, run.end, run.usage
    seconds = end.at - begin.at
    under_load, in_all = end.client_cpu - begin.client_cpu, usage.ru_utime + usage.ru_stime
    return {
        "under load, µs a token": under_load / run.tokens * 1e6,
        "under load, µs a request": under_load / run.requests * 1e6,
        "in all, µs a token": in_all / run.tokens * 1e6,
        "in all, µs a request": in_all / run.requests * 1e6,
        "peak memory, MB": run.peak_mb,
        "to the first request, s": begin.at - run.started,
        "load, s": seconds,
        "cores of the client": under_load / seconds,
        "cores of the server": (end.server_cpu - begin.server_cpu) / seconds,
    }


def rounds(name, clients, options, figures_of):
    """The figures of every run of each client; the clients take turns."""
    runs = {client: [] for client in clients}
    for number in range(options.rounds):
        for client, how in clients.items():
            figures = figures_of(how, number)
            runs[client].append(figures)
            if options.raw:
                with options.raw.open("a") as raw:
                    raw.write(json.dumps({"load": name, "client": client, **figures}) + "\n")
    return runs


def cost_tables(clients, options):
    for name in options.load or LOADS:
        load = LOADS[name]
        table(load, rounds(name, clients, options, lambda how, _: cost_figures(completed_run(load, how, options))))


def arrival_table(clients, options):
    poisson = {MACHINE: None} | {name: clients[name] for name in ["skyline", PEER] if name in clients}
    arrival_head()
    for rate, requests in ARRIVALS.items():
        load = steady(rate, requests, tokens=1, gap_us=None)

        def figures(how, number):
            if how is None:
                return machine_figures(options.release, rate, requests, 1 + number)
            return arrival_figures(completed_run({**load, "seed": 1 + number}, how, options, arrivals=True))

        arrival_rows(load, rounds(f"arrivals at {rate}/s", poisson, options, figures))


def table(load, runs):
    """A row for each client: medians, and the ratio of its median to the peer's."""
    unit = "request" if load["rate"] else "token"
    costs = [f"under load, µs a {unit}", f"in all, µs a {unit}"]
    others = ["peak memory, MB", "to the first request, s", "load, s", "cores of the client", "cores of the server"]

    def median(client, figure):
        return statistics.median(run[figure] for run in runs[client])

    print(f"\n{load['title']}; wanted {load['target']:.2f} of {PEER} under load\n")
    head = ["client"]
    for cost in costs:
        head += [cost, "least–most", f"of {PEER}'s"]
    print("| " + " | ".join(head + others) + " |\n" + "|---" * len(head + others) + "|")
    for client, measured in runs.items():
        cells = [client]
        for cost in costs:
            every = [run[cost] for run in measured]
            ratio = f"{median(client, cost) / median(PEER, cost):.2f}" if PEER in runs else ""
            cells += [f"{median(client, cost):.3g}", f"{min(every):.3g}–{max(every):.3g}", ratio]
        cells += [f"{median(client, other):.3g}" for other in others]
        print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skyline", type=Path, help="[default: the build for publishing]")
    parser.add_argument("--skyline-option", action="append", default=[], help="one more word for `skyline bench`")
    parser.add_argument("--release", type=Path, default=RELEASE, help="folder of the build for publishing")
    parser.add_argument("--peer", type=Path, help="vLLM's `vllm-rs`")
    parser.add_argument("--tokenizer", type=Path, help="folder of a tokenizer for the peer's prompts")
    parser.add_argument("--rounds", type=int, default=5)
    tables = parser.add_mutually_exclusive_group()
    tables.add_argument("--load", choices=LOADS, action="append", help="[default: all]")
    tables.add_argument("--arrivals", action="store_true", help="how requests arrive, and not what they cost")
    parser.add_argument("--raw", type=Path, help="append every run to this file, one JSON object a line")
    options = parser.parse_args()
    options.skyline = options.skyline or options.release / "skyline"
    clients = {
        "skyline": skyline("openai", options),
        "skyline, counts in every chunk": skyline("vllm", options),
        "bare epoll loop": bare(options),
    }
    if options.peer:
        version = subprocess.run([options.peer, "--version"], capture_output=True, text=True, check=True)
        clients[PEER] = vllm_rs(options)
        print(version.stdout.strip(), end="; ")
    print(f"{platform.platform()}, {os.cpu_count()} CPUs, load average {os.getloadavg()[0]:.1f}, "
          f"{options.rounds} rounds")
    (arrival_table if options.arrivals else cost_tables)(clients, options)


if __name__ == "__main__":
    main()
