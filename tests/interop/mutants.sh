#!/usr/bin/env bash
# Mutation testing: changes a seeded sample of places in the rooms that decide, one at a time, and runs that room's tests.
# Prints for each room how many changes its tests catch, with the 95 % interval (Wilson, 1927), and those that they miss.
# Needs cargo-mutants (`cargo install cargo-mutants`), jq and an hour a room on two cores.
#
#   tests/interop/mutants.sh [SAMPLE [SEED [ROOM…]]]     [default: 40 of each room, seed 1]
set -eu
cd "$(dirname "$0")/../.."
sample=${1:-40} seed=${2:-1}
[ $# -gt 2 ] && shift 2 && rooms="$*" || rooms="stream percentile interval verdict runner record"

files() {
  case $1 in
    stream) echo 'src/engine/stream/**/*.rs src/engine/stream/*.rs' ;;
    percentile) echo 'src/analysis/figures/*.rs src/analysis/figures/**/*.rs' ;;
    interval) echo 'src/analysis/latency/*.rs src/analysis/statistics/*.rs' ;;
    verdict) echo 'src/analysis/verdict/*.rs src/analysis/verdict/**/*.rs' ;;
    runner) echo 'src/runner/*.rs src/runner/**/*.rs' ;;
    record) echo 'src/record/**/*.rs' ;;
  esac
}
tests() { # the paths of the room's tests, as filters of the test program
  case $1 in
    stream) echo engine:: ;;
    percentile | interval) echo analysis:: ;;
    verdict) echo 'analysis:: experiment::' ;;
    runner) echo runner:: ;;
    record) echo 'record:: analysis::' ;;
  esac
}

for room in $rooms; do
  of=$(for file in $(files "$room"); do printf ' --file %s' "$file"; done)
  out=target/mutants/$room
  mkdir -p "$out"
  # The same sample for the same seed: the list's lines by the hash of seed and line.
  cargo mutants --list $of | while IFS= read -r name; do
    printf '%s %s\n' "$(printf '%s' "$seed$name" | sha256sum | cut -c1-16)" "$name"
  done | sort | head -n "$sample" | cut -d' ' -f2- > "$out/sample.txt"
  only=$(sed 's/[][\.*^$()+?{}|/]/\\&/g' "$out/sample.txt" | paste -sd'|')
  cargo mutants --in-place --baseline skip --timeout 300 --output "$out" $of --re "^(${only})\$" \
    -- --lib -- $(tests "$room") || true
  jq -r --arg room "$room" '
    [.outcomes[] | select(.scenario != "Baseline")] as $all
    | ([$all[] | select(.summary == "CaughtMutant" or .summary == "Timeout")] | length) as $k
    | ([$all[] | select(.summary != "Unviable")] | length) as $n
    | if $n == 0 then "\($room): none of the changes compiles" else
      ($k / $n) as $p | 1.96 as $z | (1 + $z * $z / $n) as $d
      | (($p + $z * $z / (2 * $n)) / $d) as $mid
      | ($z * (($p * (1 - $p) / $n + $z * $z / (4 * $n * $n)) | sqrt) / $d) as $half
      | "\($room): \($k) of \($n) caught, \(100 * $p | round) % (95 % interval \(100 * ($mid - $half) | round) to \(100 * ($mid + $half) | round) %)"
      end' "$out/mutants.out/outcomes.json"
  sed 's/^/  missed: /' "$out/mutants.out/missed.txt"
done
