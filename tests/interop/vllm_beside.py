#!/usr/bin/env python3
"""A client of vLLM and the command that `skyline translate` makes of its command line, in turn on one server.

    tests/interop/vllm_beside.py URL MODEL TOKENIZER [--client "vllm-rs bench serve"] [--skyline skyline] [--repeats 5]

URL is best a `skyline mock --ttft 50ms --itl 10ms --slots 16`, whose latencies are known. It prints a row a load: requests/s
and median TTFT of both, as medians over the repeats, and fails where they differ by more than 5 % and by more than the
client's own repeats do. Both figures of Skyline are from the file that `--format vllm` writes.
"""

import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile

LOADS = [
    ("rate inf", "--num-prompts 80"),
    ("rate inf, cap of 8", "--num-prompts 80 --max-concurrency 8"),
    ("rate inf, cap of 32", "--num-prompts 200 --max-concurrency 32"),
    ("20/s", "--num-prompts 400 --request-rate 20"),
    ("20/s, cap of 4", "--num-prompts 200 --request-rate 20 --max-concurrency 4"),
    ("20/s, burstiness 0.5", "--num-prompts 400 --request-rate 20 --burstiness 0.5"),
    ("ramp, 5 to 40/s", "--num-prompts 400 --ramp-up-strategy linear --ramp-up-start-rps 5 --ramp-up-end-rps 40"),
    ("ramp, 5 to 40/s, exponential",
     "--num-prompts 400 --ramp-up-strategy exponential --ramp-up-start-rps 5 --ramp-up-end-rps 40"),
]
FIGURES = ["request_throughput", "median_ttft_ms", "completed"]


def run(words, file):
    """What the JSON of a run says."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if not file.exists():
        sys.exit(f"{shlex.join(words)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    result = json.loads(file.read_text())
    return [result[name] for name in FIGURES]


def main():
    args = argparse.ArgumentParser(description=__doc__)
    for name in ["url", "model", "tokenizer"]:
        args.add_argument(name)
    args.add_argument("--client", default="vllm-rs bench serve")
    args.add_argument("--skyline", default="skyline")
    args.add_argument("--repeats", type=int, default=5)
    args.add_argument("--only", default="")
    args = args.parse_args()
    common = (f"--backend openai-chat --endpoint /v1/chat/completions --base-url {args.url} --model {args.model} "
              f"--tokenizer {args.tokenizer} --dataset-name random --random-input-len 64 --random-output-len 32 "
              "--ignore-eos --disable-tqdm --save-result")
    print("| load | requests/s: vLLM's client | Skyline | | median TTFT, ms: vLLM's client | Skyline | |")
    print("|---|---|---|---|---|---|---|")
    bad = []
    for name, flags in LOADS:
        if args.only not in name:
            continue
        found = {"client": [], "skyline": []}
        for seed in range(1, args.repeats + 1):
            for side in found:
                out = pathlib.Path(tempfile.mkdtemp()) / "results"
                flagged = f"{common} {flags} --seed {seed} --result-dir {out} --result-filename {side}.json"
                words = shlex.split(f"{args.client} {flagged}")
                if side == "skyline":
                    line = subprocess.run([args.skyline, "translate", "--", "vllm", "bench", "serve",
                                           *shlex.split(flagged)], capture_output=True, text=True, check=True).stdout
                    words = [args.skyline, *shlex.split(line)[1:], "--allow-invalid", "--no-calibration"]
                found[side].append(run(words, out / f"{side}.json"))
        asked = int(flags.split()[1])
        row = [name]
        for place, unit in enumerate(["requests/s", "TTFT"]):
            theirs, ours = ([one[place] for one in found[side]] for side in ["client", "skyline"])
            [their, our] = map(statistics.median, [theirs, ours])
            spread = (max(theirs) - min(theirs)) / their
            row += [f"{their:.2f} ({min(theirs):.2f} to {max(theirs):.2f})", f"{our:.2f} ({min(ours):.2f} to {max(ours):.2f})",
                    f"{our / their - 1:+.1%}"]
            if abs(our / their - 1) > max(0.05, spread):
                bad.append(f"{name}: {unit} {their:.3f} and {our:.3f}")
        if any(one[2] != asked for side in found.values() for one in side):
            bad.append(f"{name}: completed {[one[2] for side in found.values() for one in side]} of {asked}")
        print("| " + " | ".join(row) + " |", flush=True)
    if bad:
        sys.exit("\n".join(bad))


main()
