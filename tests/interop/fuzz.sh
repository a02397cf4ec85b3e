#!/usr/bin/env bash
# Fuzzes each reader of foreign bytes, beginning from tests/fuzz/corpus and the tests' own data. Prints how long each ran and
# how often; exits 1 if anything was found, which then lies in target/fuzz. Needs a nightly toolchain and cargo-fuzz
# (`cargo install cargo-fuzz`). `cargo test` reads tests/fuzz/corpus again; `fuzz.sh gather` adds small inputs of what was reached.
#
#   tests/interop/fuzz.sh [MINUTES [TARGET…]]     [default: 30 minutes each, all targets, one after another]
#   tests/interop/fuzz.sh gather [TARGET…]
set -euo pipefail
cd "$(dirname "$0")/../.."
minutes=${1:-30}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- event_stream answer whole_answer response metrics_page workload run_log trace
cargo +nightly fuzz build --fuzz-dir tests/fuzz --target-dir target/fuzz/build
programs=target/fuzz/build/x86_64-unknown-linux-gnu/release
# Logs and traces are read from files: in memory.
export TMPDIR=/dev/shm
# An input of 1 MB that takes a hundred times as much is over the limit of memory; what is freed does not count for long.
export ASAN_OPTIONS=quarantine_size_mb=16

if [ "$minutes" = gather ]; then
  for target in "$@"; do
    gathered=$(mktemp -d)
    "$programs/$target" -merge=1 "$gathered" "tests/fuzz/corpus/$target" "target/fuzz/corpus/$target" 2>&1 | grep -E 'MERGE-OUTER.*new'
    # 60 of each, by their hashes, none over 2 kB (a log's header alone takes more).
    most=2048
    [ "$target" = run_log ] && most=6000
    find "$gathered" -type f -size "-${most}c" | sort | sed -n 1,60p | xargs cp -t "tests/fuzz/corpus/$target"
    rm -r "$gathered"
  done
  exit
fi

seed() { # TARGET PREFIX FILE…: what a target begins from, up to 20 kB of each file
  target=$1 prefix=$2
  mkdir -p "target/fuzz/corpus/$target"
  shift 2
  for file in "$@"; do
    [ -f "$file" ] || continue
    { printf '%b' "$prefix"; head -c 20000 "$file"; } > "target/fuzz/corpus/$target/$(printf '%s' "$prefix$file" | sha256sum | head -c 12)"
  done
}
transcripts=$(find tests/data/transcripts -type f)
seed event_stream '' $transcripts
for first in '\x00' '\x01' '\x02'; do seed answer "$first" $transcripts; done
seed response 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n' $transcripts
seed response '' $transcripts
seed metrics_page '' $(find tests/data/telemetry -type f)
seed workload '' workloads/*
seed run_log '' tests/data/runs/*/run.jsonl
seed whole_answer '' $transcripts
# Long inputs of one small part, which would show a reader that takes a hundred times as much memory. What repeats it is
# no part of a pipe, for its end by a closed pipe would be an error here.
many() { # TARGET BEGIN PART END
  mkdir -p "target/fuzz/corpus/$1"
  { printf '%s' "$2"; head -c 600000 < <(yes "$3" | tr -d '\n'); printf '%s' "$4"; } > "target/fuzz/corpus/$1/many-$(printf '%s' "$2$3" | sha256sum | head -c 12)"
}
for part in '{},' '[],' '{"":0},' '[0],' '1,' '"a",' '{"message":{}},' '{"delta":{"tool_calls":[{},1]}},'; do
  many whole_answer '{"choices":[' "$part" '0]}'
  many whole_answer '{"error":{"message":"no","of":[' "$part" '0]}}'
  many whole_answer '{"choices":[{"message":{"content":[' "$part" '0]}}]}'
done
many whole_answer '{"choices":[{"message":{"content":"' '\n' '"}}]}'
many whole_answer '{"choices":' '[' ''
mkdir -p target/fuzz/corpus/metrics_page
for number in $(seq 20000); do printf 'vllm:time_to_first_token_seconds_bucket{le="%s"} 1\n' "$number"; done > target/fuzz/corpus/metrics_page/many-buckets
for number in $(seq 50000); do printf 'vllm:a%s 1\n' "$number"; done > target/fuzz/corpus/metrics_page/many-series
for first in '\x00' '\x08'; do seed trace "$first" tests/data/traces/*; done

failed=0
for target in "$@"; do
  echo "== $target, $minutes minutes"
  mkdir -p "tests/fuzz/corpus/$target"
  TIMEFORMAT='%R s, %U s of CPU time'
  time "$programs/$target" "target/fuzz/corpus/$target" "tests/fuzz/corpus/$target" -artifact_prefix=target/fuzz/ \
    -max_total_time=$((minutes * 60)) -timeout=20 -max_len=1000000 -rss_limit_mb=512 -malloc_limit_mb=64 -print_final_stats=1 >"target/fuzz/$target.log" 2>&1 || failed=1
  grep -E 'stat::|DONE|panicked|ERROR|SUMMARY|Test unit' "target/fuzz/$target.log" || true
done
exit "$failed"
