#!/bin/sh
# skyline's traffic against a real vLLM, held against what the server says of it:
#     tests/interop/vllm_traffic.sh http://127.0.0.1:8000 TOKENIZER [skyline]
# TOKENIZER is the served model's: its folder, its tokenizer.json or a Hugging Face id. The model must take 4,000 tokens;
# a small one on a processor will do, and takes about five minutes. Reports are printed, and kept in the folder that is
# named at the end. Each part says what it checks; the first that fails ends the script.
set -eu
url=$1 tokenizer=$2 skyline=${3:-skyline}
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
cd "$out"
# The machine may be busy with the server: what is checked here is not whether the latencies can be trusted.
bench() { "$skyline" bench "$@" --engine vllm --url "$url" --allow-invalid --quiet --out "$out"; }
newest() { ls -td "$out"/*/ | head -n 1; }
check() { python3 "$here/vllm_traffic.py" "$1" "$(newest)"; }

echo '== 500 prompts of 1 to 3,900 tokens on each endpoint: asked = prompt_tokens - what the server adds, each of them'
cat > lengths.toml <<'EOF'
name = "lengths"
horizon_s = 60
warmup_s = 0
drain_s = 120
seed = 1
arrival = { kind = "poisson", rate_per_s = 15 }
[[classes]]
name = "all_lengths"
input_tokens = { kind = "log_normal", median = 250, sigma = 1.3, min = 1, max = 3900 }
output_tokens = { kind = "constant", value = 4 }
prompt = { kind = "templates", templates = ["Is this as long as it should be?", "Déjà vu: naïve (in 1987)?"] }
EOF
for endpoint in chat completions; do
    bench lengths.toml --requests 500 --tokenizer "$tokenizer" --endpoint "$endpoint"
    check exact
done

echo '== the prefix-cache hit rate of the plan and of the server, within five points'
cat > prefixes.toml <<'EOF'
name = "prefixes"
horizon_s = 60
warmup_s = 0
drain_s = 60
seed = 1
arrival = { kind = "poisson", rate_per_s = 5 }
[[classes]]
name = "assistant"
input_tokens = { kind = "log_normal", median = 80, sigma = 0.7, max = 1000 }
output_tokens = { kind = "constant", value = 8 }
shared_prefix = { count = 10, tokens = { kind = "uniform", min = 200, max = 500 }, zipf = 1, warm = 0.3 }
prompt = { kind = "templates", templates = ["What is it?"] }
EOF
bench prefixes.toml --requests 200 --tokenizer "$tokenizer"
check prefixes

echo '== a trace as Mooncake writes them, twice as fast, each request at its recorded moment'
python3 "$here/vllm_traffic.py" write_trace > trace.jsonl
bench --trace trace.jsonl --time-scale 0.5 --tokenizer "$tokenizer"
check trace

echo "all checks passed; the runs are in $out"
