#!/usr/bin/env bash
# A thousand agents at once, each with prompts of 20,000 tokens and more, from two cores: the run is VALID.
# Shows its memory and CPU.
#
#   tests/interop/long/many_sessions.sh [AGENTS] [SECONDS] [PROGRAM]     [default: 1000 120 skyline]
#
# The client runs on the first two cores, `skyline mock` on the others where there are more. Leave the machine alone
# meanwhile: a client that waits for a core is INVALID, as it should be. Exits 1 unless the run is VALID, and every
# agent was at work.
set -u
agents=${1:-1000} seconds=${2:-120} skyline=${3:-skyline} warmup=40
folder=$(mktemp -d)
mock=
trap '[ -z "$mock" ] || kill "$mock"; rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
others=0,1
[ "$(nproc)" -gt 2 ] && others=2-$(($(nproc) - 1))

cat >"$folder/sessions.toml" <<'TOML'
name = "many_sessions"
horizon_s = 120
warmup_s = 40
drain_s = 120
arrival = { kind = "poisson", rate_per_s = 1 }
[[classes]]
name = "agent"
input_tokens = 20000
output_tokens = 150
[classes.session]
steps = [
    { name = "task" },
    { name = "loop", turns = { kind = "uniform", min = 4, max = 12 }, input_tokens = 500, delay_s = { kind = "exponential", mean = 5.0 } },
]
TOML

taskset -c "$others" "$skyline" mock --port 0 --ttft 500ms --itl 100ms --slots 4096 >"$folder/mock" 2>&1 &
mock=$!
url=
for _ in $(seq 100); do
  url=$(sed -n 's/.* at \(http:[^ ]*\)$/\1/p' "$folder/mock")
  [ -n "$url" ] && break
  sleep 0.1
done
[ -n "$url" ] || { cat "$folder/mock"; exit 1; }

TIMEFORMAT='%R s, of them %U s in the program and %S s in the kernel of CPU'
time taskset -c 0,1 "$skyline" bench "$folder/sessions.toml" $((seconds + warmup)) --warmup "$warmup" --agents "$agents" --url "$url" \
  --out "$folder/results" --quiet >"$folder/report"
code=$?
cat "$folder/report"
summary=$(ls "$folder"/results/*/summary.json) || exit 1
echo "peak memory of the client: $(sed -n 's/.*"peak_memory_bytes": *\([0-9]*\).*/\1/p' "$summary" | head -1) bytes"
begun=$(sed -n 's/.*"turn":{"session":\([0-9]*\).*/\1/p' "$folder"/results/*/run.jsonl | sort -u | wc -l)
echo "agents at work: $begun of $agents"
[ "$code" -eq 0 ] && [ "$begun" -ge "$agents" ]
