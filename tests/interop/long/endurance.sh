#!/usr/bin/env bash
# A long run against `skyline mock`: memory, descriptors and lag stay flat, and no request is lost. Then a sweep whose server
# is restarted after each of its runs: it goes on.
#
#   tests/interop/long/endurance.sh [MINUTES] [RATE] [PROGRAM]     [default: 60 200 skyline]
#
# A million requests: `endurance.sh 84 200`, or `endurance.sh 17 1000`. A quick try: `endurance.sh 2`. Needs Linux and 0.5 KB
# of disk a request in $TMPDIR. Exits 1 if anything grew, was lost or stopped.
set -u
minutes=${1:-60} rate=${2:-200} skyline=${3:-skyline}
requests=$((minutes * 60 * rate)) every=10
folder=$(mktemp -d)
mock= run= failed=0
trap '[ -z "$run" ] || kill "$run"; [ -z "$mock" ] || kill -9 "$mock"; rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

fail() {
  echo "FAILED: $1"
  failed=1
}

# serve PORT: starts the mock there (0: where there is room) and waits until it serves; sets `mock` and `url`.
serve() {
  "$skyline" mock --port "$1" --ttft 5ms --itl 2ms --slots 4096 >"$folder/mock" 2>&1 &
  mock=$!
  disown "$mock"
  url=
  for _ in $(seq 100); do
    url=$(sed -n 's/.* at \(http:[^ ]*\)$/\1/p' "$folder/mock")
    [ -n "$url" ] && return
    sleep 0.1
  done
  cat "$folder/mock"
  exit 1
}

resident() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status" 2>/dev/null; }
# p99 of the schedule lag of the latest requests, milliseconds.
lag() {
  tail -n $((rate * every)) "$1" | sed -n 's/.*"scheduled_ns":\([0-9]*\),"dispatched_ns":\([0-9]*\).*/\1 \2/p' |
    awk '{ printf "%.3f\n", ($2 - $1) / 1e6 }' | sort -n |
    awk '{ lag[NR] = $1 } END { if (NR) print lag[int((NR - 1) * 0.99) + 1] }'
}

serve 0
"$skyline" bench --input-tokens 8 --output-tokens 2 --rate "$rate" --requests "$requests" --url "$url" --force --allow-invalid \
  --out "$folder/results" >"$folder/report" 2>"$folder/words" &
run=$!
until log=$(ls "$folder"/results/*/run.jsonl 2>/dev/null); do
  kill -0 "$run" 2>/dev/null || { cat "$folder/words"; run=; exit 1; }
  sleep 0.2
done
printf '%8s %10s %10s %12s %11s %10s\n' 'time, s' 'requests' 'RSS, KB' 'descriptors' 'p99 lag, ms' 'mock, KB'
peak=0 begun=$SECONDS
while kill -0 "$run" 2>/dev/null; do
  # The load is over: what follows is analysis, of which the system keeps the peak.
  if tail -n 3 "$log" | grep -q '"phase":"cooldown"\|^{"footer"'; then
    sleep 0.1
    rss=$(awk '/^VmHWM/ { print $2 }' "/proc/$run/status" 2>/dev/null)
    [ "${rss:-0}" -gt "$peak" ] && peak=$rss
    continue
  fi
  sleep "$every"
  rss=$(resident "$run") open=$(ls "/proc/$run/fd" 2>/dev/null | wc -l)
  [ -n "$rss" ] || break
  printf '%8s %10s %10s %12s %11s %10s\n' $((SECONDS - begun)) "$(wc -l <"$log")" "$rss" "$open" "$(lag "$log")" \
    "$(resident "$mock")" | tee -a "$folder/samples"
done
wait "$run" || fail "the run exited with $?"
run=
cat "$folder/report"
echo "peak with the analysis after the run: $peak KB"

# The last quarter of the samples beside the second.
awk -v quarter=$(($(wc -l <"$folder/samples") / 4)) '
  function most(a, b) { return a > b ? a : b }
  { row = int((NR - 1) / (quarter > 0 ? quarter : 1)); if (row > 3) row = 3
    n[row]++; rss[row] += $3; open[row] = most(open[row], $4); lag[row] += $5 }
  END {
    if (quarter < 1) { print "FAILED: too short to tell: it needs 4 samples"; exit 1 }
    grown = rss[3] / n[3] - rss[1] / n[1]
    printf "memory grew by %d KB, descriptors by %d, p99 lag by %.3f ms\n", grown, open[3] - open[1], lag[3] / n[3] - lag[1] / n[1]
    bad = grown > 3072 || open[3] > open[1] + 16 || lag[3] / n[3] > 2 * lag[1] / n[1] + 5
    if (bad) print "FAILED: at most 3,072 KB, 16 descriptors, and twice the lag and 5 ms are allowed"
    exit bad
  }' "$folder/samples" || failed=1
recorded=$(grep -v '"phase":"cooldown"' "$log" | grep -c '^{"request"')
completed=$(grep -v '"phase":"cooldown"' "$log" | grep -c '"outcome":{"kind":"completed"}')
echo "$requests requests planned, $recorded recorded, $completed completed"
[ "$recorded" -eq "$requests" ] && [ "$completed" -eq "$requests" ] || fail "requests were lost"

echo "a sweep whose server is restarted after each run"
port=${url##*:}
"$skyline" sweep --input-tokens 8 --output-tokens 2 --rates 20,40 --samples 20 --slo ttft=500ms --pause 5s --url "$url" \
  --force --allow-invalid --out "$folder/sweep" >"$folder/report" 2>"$folder/words" &
run=$! restarts=0
while kill -0 "$run" 2>/dev/null; do
  ended=$(cat "$folder"/sweep/*/*/run.jsonl 2>/dev/null | grep -c '^{"footer"')
  if [ "$ended" -gt "$restarts" ]; then
    restarts=$ended
    kill -9 "$mock"
    sleep 1
    serve "$port"
  fi
  sleep 0.2
done
wait "$run" || fail "the sweep exited with $?: $(cat "$folder/words")"
run=
cat "$folder/report"
errors=$(cat "$folder"/sweep/*/*/run.jsonl | grep -v '"phase":"cooldown"' | grep '^{"request"' | grep -vc '"kind":"completed"')
echo "$restarts restarts, $errors requests that did not complete"
[ "$restarts" -ge 2 ] && [ "$errors" -eq 0 ] || fail "the sweep did not survive them"
exit "$failed"
