#!/usr/bin/env bash
# `--prometheus` against a real Prometheus (Debian's package, or any release) that samples `skyline mock` every second: its
# figures are those of a run that reads the page itself, and of the client; the pages, matchers and mistakes are named.
#
#   tests/interop/clients/prometheus.sh [SKYLINE] [PROMETHEUS] [SECONDS]     [default: skyline prometheus 20]
#
# Exits 1 if anything differs. Uses the loopback ports 18100, 18101 and 19090.
set -u
skyline=${1:-skyline} prometheus=${2:-prometheus} seconds=${3:-20}
folder=$(mktemp -d)
started=() failed=0
trap 'kill "${started[@]}" 2>/dev/null; wait; rm -rf "$folder"' EXIT

cat >"$folder/prometheus.yml" <<'END'
global: {scrape_interval: 1s, scrape_timeout: 900ms}
scrape_configs:
  - job_name: servers
    static_configs:
      - {targets: ["127.0.0.1:18100"], labels: {namespace: bench, pod: mock-a}}
      - {targets: ["127.0.0.1:18101"], labels: {namespace: other, pod: mock-b}}
END
for port in 18100 18101; do
  "$skyline" mock --port $port --hardware a10g >"$folder/mock-$port" 2>&1 &
  started+=($!)
done
"$prometheus" --config.file "$folder/prometheus.yml" --storage.tsdb.path "$folder/tsdb" \
  --web.listen-address 127.0.0.1:19090 >"$folder/prometheus.log" 2>&1 &
started+=($!)
"$prometheus" --version 2>&1 | head -1
sleep 15

# run NAME OPTION…: a run of the same requests, kept under NAME. None is refused for what this machine is busy with.
run() {
  local name=$1
  shift
  "$skyline" bench short_chat "$seconds" --rate 3 --warmup 3s --url http://127.0.0.1:18100 --engine vllm --no-calibration \
    --allow-invalid --quiet --out "$folder/$name" "$@" >"$folder/$name.txt" 2>"$folder/$name.err"
  local code=$?
  cat "$folder/$name.err"
  return $code
}
# refuses EXIT WORDS OPTION…
refuses() {
  local exit=$1 words=$2 code
  shift 2
  run refused "$@" >/dev/null
  code=$?
  if [ $code = "$exit" ] && grep -q -- "$words" "$folder/refused.err"; then
    echo "refused: $(head -1 "$folder/refused.err")"
  else
    echo "FAILED: exit $code and not $exit with '$words': $(cat "$folder/refused.err")"
    failed=1
  fi
}

run page || failed=1
# The page as it was during the run, read by nobody that is tested.
python3 - "$folder/read.json" "$seconds" <<'END' &
import json, re, sys, time, urllib.request

rows, end = [], time.time() + float(sys.argv[2]) + 40
names = "num_requests_running", "kv_cache_usage_perc", "generation_tokens_total", "e2e_request_latency_seconds_sum", \
    "e2e_request_latency_seconds_count"
while time.time() < end:
    at, page = time.time(), urllib.request.urlopen("http://127.0.0.1:18100/metrics").read().decode()
    rows.append([at] + [float(re.search(rf"^vllm:{name}(?:\{{.*\}})? (\S+)$", page, re.M)[1]) for name in names])
    json.dump(rows, open(sys.argv[1], "w"))
    time.sleep(0.1)
END
started+=($!)
run sampled --prometheus http://127.0.0.1:19090 --prometheus-match 'namespace="bench"' || failed=1
refuses 2 'pod="mock-b"' --prometheus http://127.0.0.1:19090 --prometheus-match 'namespace="nowhere"'
refuses 2 'parse error' --prometheus http://127.0.0.1:19090 --prometheus-match 'namespace=bench'
refuses 3 'as a Prometheus' --prometheus http://127.0.0.1:18100
refuses 3 'api/v1/query' --prometheus http://127.0.0.1:19
refuses 2 'count twice' --prometheus http://127.0.0.1:19090 --metrics-url http://127.0.0.1:18101

python3 - "$folder" <<'END' || failed=1
import datetime, glob, json, sys

folder = sys.argv[1]
page, sampled = (json.load(open(glob.glob(f"{folder}/{name}/*/summary.json")[0])) for name in ("page", "sampled"))
rows = json.load(open(f"{folder}/read.json"))
header = json.loads(open(glob.glob(f"{folder}/sampled/*/run.jsonl")[0]).readline())["header"]
begun = datetime.datetime.fromisoformat(header["started_at"][:23] + "+00:00").timestamp()
failed = False

def holds(what, one, other, share):
    global failed
    away = abs(one - other) / max(abs(other), 1e-9)
    bad = away > share
    failed |= bad
    print(f"{'FAILED' if bad else 'ok':6} {what}: {one:.6g} beside {other:.6g}, {100 * away:.2f} % away")

page, sampled = page["server"], sampled["server"]
assert [one["kind"] for one in sampled["pages"]] == ["vllm"], sampled["pages"]
print(sampled["pages"][0]["url"], sampled["pages"][0]["readings"], "readings; the page", page["pages"][0]["readings"])
print("stretch", sampled["span_s"], "the page", page["span_s"])
for counter in ("generation_tokens", "requests_succeeded", "prompt_tokens"):
    holds(f"{counter} of both runs", sampled["counters"][counter], page["counters"][counter], 0.25)
for gauge in ("running", "kv_usage"):
    holds(f"mean {gauge} of both runs", sampled["gauges"][gauge]["mean"], page["gauges"][gauge]["mean"], 0.3)
for time in ("ttft", "e2e", "inter_token"):
    holds(f"mean {time} of both runs", sampled["times"][time]["mean_ms"], page["times"][time]["mean_ms"], 0.35)
# In one and the same run the page was as it was read beside it, between the same two moments.
first, last = (begun + end for end in sampled["span_s"])
nearest = lambda moment: min(rows, key=lambda row: abs(row[0] - moment))
ends = nearest(first), nearest(last)
between = [row for row in rows if first <= row[0] <= last]
mean = lambda place: sum(row[place] for row in between) / len(between)
holds("mean running in one run", sampled["gauges"]["running"]["mean"], mean(1), 0.04)
holds("mean kv_usage in one run", sampled["gauges"]["kv_usage"]["mean"], mean(2), 0.04)
holds("generation_tokens in one run", sampled["counters"]["generation_tokens"], ends[1][3] - ends[0][3], 0.015)
e2e = 1e3 * (ends[1][4] - ends[0][4]) / (ends[1][5] - ends[0][5])
holds("mean e2e in one run", sampled["times"]["e2e"]["mean_ms"], e2e, 0.02)
# In one and the same run the client counts what the server counts between two samples.
accounts = sampled["accounts"]
holds("requests by server and client", accounts["requests"]["server"], accounts["requests"]["client"], 0.03)
holds("tokens by server and client", accounts["output_tokens"]["server"], accounts["output_tokens"]["client"], 0.02)
assert accounts["ttft"]["same_requests"], accounts
holds("TTFT by server and client", accounts["ttft"]["server_ms"], accounts["ttft"]["client_ms"], 0.2)
sys.exit(failed)
END
# What is stored is read again as any other run.
"$skyline" report "$folder"/sampled/*/ --full | sed -n '/Server, by its own metrics/,/^$/p' | head -20
[ $failed = 0 ] && echo "all as expected"
exit $failed
