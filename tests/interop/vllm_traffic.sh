#!/bin/sh
# skyline's traffic against a real vLLM, compared with the server's own figures:
#     tests/interop/vllm_traffic.sh http://127.0.0.1:8000 TOKENIZER [skyline [part ...]]
# TOKENIZER is the served model's: its folder, its tokenizer.json or a Hugging Face id. The model must take 4,000 tokens;
# a small one on a processor will do. All parts (lengths, prefixes, replay, conversation, quality) take about four minutes.
# Reports are printed, and kept in the folder that is named at the end. Each part says what it checks; the first that
# fails ends the script.
set -eu
url=$1 tokenizer=$2 skyline=${3:-skyline}
shift "$(($# < 3 ? $# : 3))"
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
cd "$out"

# The machine may be busy with the server: but for `replay`, what is checked does not depend on whether latencies can be
# trusted.
bench() { "$skyline" bench "$@" --engine vllm --url "$url" --tokenizer "$tokenizer" --allow-invalid --quiet --out "$out"; }
newest() { ls -td "$out"/*/ | head -n 1; }
check() { python3 "$here/vllm_traffic.py" "$1" "$(newest)"; }
# A workload of one class, given the rate and the class.
workload() {
    printf 'name = "%s"\nhorizon_s = 30\nwarmup_s = 0\ndrain_s = 120\nseed = 1\n' "$1"
    printf 'arrival = { kind = "poisson", rate_per_s = %s }\n' "$2"
    cat
}

lengths() {
    echo '== 500 prompts of 1 to 3,900 tokens on each endpoint: asked = prompt_tokens - what the server adds, each of them'
    workload lengths 15 > lengths.toml <<'EOF'
[[classes]]
name = "all_lengths"
input_tokens = { kind = "log_normal", median = 250, sigma = 1.3, min = 1, max = 3900 }
output_tokens = { kind = "constant", value = 4 }
prompt = { kind = "templates", templates = ["Is this as long as it should be?", "Déjà vu: naïve (in 1987)?"] }
EOF
    for endpoint in chat completions; do
        bench lengths.toml --requests 500 --endpoint "$endpoint"
        check lengths
    done
}

prefixes() {
    echo '== the prefix-cache hit rate of the plan and of the server, within five points'
    workload prefixes 5 > prefixes.toml <<'EOF'
[[classes]]
name = "assistant"
input_tokens = { kind = "log_normal", median = 80, sigma = 0.7, max = 1000 }
output_tokens = { kind = "constant", value = 8 }
shared_prefix = { count = 10, tokens = { kind = "uniform", min = 200, max = 500 }, zipf = 1, warm = 0.3 }
prompt = { kind = "templates", templates = ["What is it?"] }
EOF
    bench prefixes.toml --requests 200
    check prefixes
}

replay() {
    echo '== a trace as Mooncake writes them, twice as fast, each request at its recorded moment'
    python3 "$here/vllm_traffic.py" write_trace > trace.jsonl
    bench --trace trace.jsonl --time-scale 0.5
    check replay
}

conversation() {
    echo '== conversations of three turns, each with all that was said before, the answers of the server too'
    workload conversation 2 > conversation.toml <<'EOF'
[[classes]]
name = "talk"
input_tokens = { kind = "uniform", min = 20, max = 60 }
output_tokens = { kind = "uniform", min = 8, max = 40 }
conversation = { turns = 3, think_time_s = 0.5, first_input_tokens = 200 }
prompt = { kind = "templates", templates = ["What is it?"] }
EOF
    bench conversation.toml
    check conversation
}

quality() {
    echo '== golden prompts before and under load, and answers that must conform to a JSON Schema'
    workload quality 2 > quality.toml <<'EOF'
[[checks]]
name = "says_something"
prompt = "hello there"
max_tokens = 16
expect = { min_characters = 5 }
[[classes]]
name = "object"
input_tokens = { kind = "uniform", min = 20, max = 60 }
output_tokens = { kind = "constant", value = 200 }
prompt = { kind = "templates", templates = ["What is it?"] }
[classes.answer]
kind = "json_schema"
schema = { type = "object", properties = { city = { enum = ["Oslo", "Paris"] }, open = { type = "boolean" } }, required = ["city", "open"], additionalProperties = false }
EOF
    bench quality.toml
    check quality
}

for part in ${@:-lengths prefixes replay conversation quality}; do "$part"; done
echo "all checks passed; the runs are in $out"
