"""CPU and memory of load generators side by side, on the same bytes from a server that is not the bottleneck.

    cargo build --release --bin skyline --example canned_server --example bare_client
    pip download vllm==0.33.0 --no-deps && unzip -j vllm-0.33.0-*.whl vllm/vllm-rs
    python3 benches/peers/compare.py --peer ./vllm-rs --tokenizer FOLDER [--rounds 5] [--load NAME]

Each round flies every client once against a fresh server; rounds alternate, so that whatever else the machine does
meets all clients alike. Two costs are taken of each flight, user and system time together, all threads:

    under load   from the moment the server reads the first request until the client has read its last byte
    in all       of the whole process, start-up and report included

The tables are medians over the rounds, and ratios of those medians.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ROOT / "target" / "release"
MODEL = "tiny-llama"

WORKLOAD = """
name = "{name}"
{length}
warmup_s = 0
drain_s = 300
seed = {seed}
{arrival}
[[classes]]
name = "only"
input_tokens = {{ kind = "constant", value = 16 }}
output_tokens = {{ kind = "constant", value = {tokens} }}
"""
# All requests in a burst that the seed makes exactly as many as asked for, and nothing after it.
BURST = """[arrival]
kind = "stages"
stages = [{{ duration_s = {burst_s}, from_rate_per_s = 10000 }}, {{ duration_s = 1, from_rate_per_s = 0 }}]"""
STEADY = """[arrival]
kind = "poisson"
rate_per_s = {rate}"""

# Gap between two tokens of a stream in microseconds; none where they leave flat out.
LOADS = {
    "flat": dict(
        title="Flat out: 200 requests of 2,000 tokens, 8 at a time, 64 events a write",
        requests=200, tokens=2_000, gap_us=None, cap=8, rate=None, seed=45, burst_s=0.02, length="horizon_s = 1", target=1 / 2,
    ),
    "paced": dict(
        title="Paced: 100 streams of 2,000 tokens at 200 a second, each event a packet of its own",
        requests=100, tokens=2_000, gap_us=5_000, cap=None, rate=None, seed=27, burst_s=0.01, length="horizon_s = 1", target=3 / 4,
    ),
    "short": dict(
        title="Short requests: 1,000 a second, Poisson, 8 tokens 5 ms apart, each event a packet of its own",
        requests=10_000, tokens=8, gap_us=5_000, cap=None, rate=1_000, seed=1, burst_s=None, length="requests = 10000", target=2 / 3,
    ),
}


def cpu_s(pid):
    """CPU time of a process and all its threads, ended ones too: Linux's clock of another process."""
    return time.clock_gettime((~pid << 3) | 2)


def unread(port):
    """Whether bytes from this port are still on their way to whoever reads them."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        local, remote, queues = fields[1], fields[2], fields[4]
        sent, received = (int(queue, 16) for queue in queues.split(":"))
        if (int(remote[-4:], 16) == port and received) or (int(local[-4:], 16) == port and sent):
            return True
    return False


def skyline(engine, options):
    def command(load, url, folder):
        arrival = (BURST if load["rate"] is None else STEADY).format(**load)
        workload = folder / "load.toml"
        workload.write_text(WORKLOAD.format(name="load", arrival=arrival, **load))
        cap = ["--max-concurrency", str(load["cap"])] if load["cap"] else []
        return [
            str(options.skyline), "bench", str(workload), "--engine", engine, "--url", url, "--out", str(folder),
            "--json", "--quiet", *cap, *options.skyline_option,
        ]

    return command, 1, lambda out: json.loads(out)["requests"]["completed"]


def vllm_rs(options):
    def command(load, url, folder):
        rate = [] if load["rate"] is None else ["--request-rate", str(load["rate"])]
        cap = ["--max-concurrency", str(load["cap"])] if load["cap"] else []
        return [
            str(options.peer), "bench", "serve", "--backend", "openai-chat", "--endpoint", "/v1/chat/completions",
            "--base-url", url, "--model", MODEL, "--tokenizer", str(options.tokenizer), "--dataset-name", "random",
            "--random-input-len", "16", "--random-output-len", str(load["tokens"]), "--num-prompts",
            str(load["requests"]), "--ignore-eos", "--disable-tqdm", *rate, *cap,
        ]

    def completed(out):
        return int(next(line for line in out.splitlines() if line.startswith("Successful requests")).split()[-1])

    return command, 0, completed


def bare(options):
    def command(load, url, _):
        flags = [str(load["requests"]), str(load["tokens"]), str(load["cap"] or 0), str(load["rate"] or 0)]
        return [str(options.release / "examples" / "bare_client"), url, *flags]

    return command, 0, lambda out: int(out.split()[0])


def fly(load, client, options):
    """One flight of one client against a server of its own."""
    make_command, tests, completed = client
    first, last = str(tests + 1), str(tests + load["requests"])
    gap = [] if load["gap_us"] is None else [str(load["gap_us"])]
    server = subprocess.Popen(
        [str(options.release / "examples" / "canned_server"), first, last, *gap], stdout=subprocess.PIPE, text=True
    )
    try:
        address = server.stdout.readline().strip()
        with tempfile.TemporaryDirectory() as folder:
            command = make_command(load, f"http://{address}", Path(folder))
            started = time.monotonic()
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            said = {}
            readers = [
                threading.Thread(target=lambda name=name: said.update({name: getattr(process, name).read()}))
                for name in ("stdout", "stderr")
            ]
            for reader in readers:
                reader.start()
            marks = []
            for word in ("begin", "end"):
                words = server.stdout.readline().split()
                assert words[0] == word, words
                while word == "end" and unread(int(address.rsplit(":", 1)[1])):
                    pass
                marks.append((time.monotonic(), cpu_s(process.pid), cpu_s(server.pid)))
            _, requests, tokens = words
            _, _, usage = os.wait4(process.pid, 0)
            process.returncode = 0
            for reader in readers:
                reader.join()
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
    try:
        done = completed(said["stdout"])
    except Exception:
        sys.exit(f"{' '.join(command)}\nfailed:\n{said['stdout']}\n{said['stderr']}")
    assert done == load["requests"], f"{done} of {load['requests']} requests completed: {' '.join(command)}"
    (begin, cpu_begin, server_begin), (end, cpu_end, server_end) = marks
    requests, tokens = int(requests), int(tokens)
    under_load, in_all = cpu_end - cpu_begin, usage.ru_utime + usage.ru_stime
    return {
        "under load, µs a token": under_load / tokens * 1e6,
        "under load, µs a request": under_load / requests * 1e6,
        "in all, µs a token": in_all / tokens * 1e6,
        "in all, µs a request": in_all / requests * 1e6,
        "system, share of all": usage.ru_stime / in_all,
        "peak memory, MB": usage.ru_maxrss / 1_024,
        "to the first request, s": begin - started,
        "load, s": end - begin,
        "cores of the client": under_load / (end - begin),
        "cores of the server": (server_end - server_begin) / (end - begin),
    }


def table(load, flights, peer):
    """The medians of every figure as rows, and the ratio to the peer's beside them."""
    unit = "request" if load["rate"] else "token"
    median = {
        name: {figure: statistics.median(flight[figure] for flight in flown) for figure in flown[0]}
        for name, flown in flights.items()
    }
    columns = [f"under load, µs a {unit}", f"in all, µs a {unit}", "peak memory, MB", "to the first request, s"]
    columns += ["load, s", "cores of the client", "cores of the server"]
    spread = columns[0]
    print(f"\n{load['title']} (wanted: {load['target']:.2f} of {peer})\n")
    print("| client | " + " | ".join(columns) + f" | least–most under load | ratio | in all |")
    print("|---" * (len(columns) + 4) + "|")
    for name, figures in median.items():
        every = [flight[spread] for flight in flights[name]]
        cells = [f"{figures[column]:.3g}" for column in columns] + [f"{min(every):.3g}–{max(every):.3g}"]
        for column in columns[:2]:
            cells.append(f"{figures[column] / median[peer][column]:.2f}" if peer in median else "")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skyline", type=Path, help="[default: the release build]")
    parser.add_argument("--skyline-option", action="append", default=[], help="one more word for `skyline bench`")
    parser.add_argument("--release", type=Path, default=RELEASE, help="folder of the release build")
    parser.add_argument("--peer", type=Path, help="vLLM's `vllm-rs`")
    parser.add_argument("--tokenizer", type=Path, help="folder of a tokenizer for the peer's prompts")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--load", choices=LOADS, action="append", help="[default: all]")
    parser.add_argument("--raw", type=Path, help="append every flight to this file, one JSON object a line")
    options = parser.parse_args()
    options.skyline = options.skyline or options.release / "skyline"
    clients = {
        "skyline": skyline("openai", options),
        "skyline, counts in every chunk": skyline("vllm", options),
        "bare epoll loop": bare(options),
    }
    if options.peer:
        version = subprocess.run([options.peer, "--version"], capture_output=True, text=True, check=True)
        clients["vllm-rs"] = vllm_rs(options)
        print(version.stdout.strip(), end="; ")
    print(f"{platform.platform()}, {os.cpu_count()} CPUs, load average {os.getloadavg()[0]:.1f}, "
          f"{options.rounds} rounds")
    for name in options.load or LOADS:
        load = LOADS[name]
        flights = {client: [] for client in clients}
        for _ in range(options.rounds):
            for client, how in clients.items():
                flight = fly(load, how, options)
                flights[client].append(flight)
                if options.raw:
                    with options.raw.open("a") as raw:
                        raw.write(json.dumps({"load": name, "client": client, **flight}) + "\n")
        table(load, flights, "vllm-rs")


if __name__ == "__main__":
    main()
