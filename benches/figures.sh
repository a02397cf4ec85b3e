#!/usr/bin/env bash
# All figures of `skyline guide machine`, "Accuracy, as measured", in one go, as the rows of its tables. It takes about
# an hour on a machine that does nothing else.
#
#     benches/figures.sh [VLLM_RS TOKENIZER_FOLDER] > figures.md
#
# VLLM_RS is vLLM's Rust client: pip download vllm==0.33.0 --no-deps && unzip -j vllm-0.33.0-*.whl vllm/vllm-rs
set -euo pipefail
cd "$(dirname "$0")/.."

# The product first and alone: built together with the examples it would have the features that only tests ask for.
cargo build --profile dist --locked
cp target/dist/skyline "${TMPDIR:-/tmp}/skyline-measured"
skyline=${TMPDIR:-/tmp}/skyline-measured
cargo build --profile dist --locked --examples
cargo bench --profile dist --locked --no-run

echo "$("$skyline" --version), $(rustc --version), $(date -u +%F), $(uname -sr), $(nproc) CPUs:" \
    "$(sed -n 's/^model name\s*: //p;T;q' /proc/cpuinfo)"
echo && echo "## Costs beside peers" && echo
python3 benches/peers/compare.py --skyline "$skyline" ${1:+--peer "$1"} ${2:+--tokenizer "$2"}
echo && echo "## Arrivals" && echo
python3 benches/peers/compare.py --skyline "$skyline" ${1:+--peer "$1"} ${2:+--tokenizer "$2"} --arrivals --rounds 10
echo && echo "## Limits" && echo
python3 benches/peers/limits.py --skyline "$skyline"
echo && echo "## Truth" && echo
target/dist/examples/truth "$skyline"
for bench in stamps pacing; do
    echo && echo "## ${bench^}" && echo
    cargo bench --profile dist --locked --bench "$bench"
done
echo && echo "## Rooms" && echo
for bench in stream generator analysis loopback simulate; do
    cargo bench --profile dist --locked --bench "$bench" -- --noplot
done
