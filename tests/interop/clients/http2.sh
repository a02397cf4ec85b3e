#!/usr/bin/env bash
# HTTP/2 by TLS and ALPN against a real nginx (Debian's package) that passes on to `skyline mock`: what is agreed on, no request
# lost when nginx leaves a connection (GOAWAY after 100 requests), and the gaps between tokens beside those of the mock's log.
#
#   tests/interop/clients/http2.sh [SKYLINE] [NGINX] [SECONDS]     [default: skyline nginx 20]
#
# Exits 1 if anything differs. Uses the loopback ports 18110 and 18443.
set -u
skyline=${1:-skyline} nginx=${2:-nginx} seconds=${3:-20}
tls=$(cd "$(dirname "$0")/../../data/tls" && pwd)
folder=$(mktemp -d)
started=() failed=0
trap 'kill "${started[@]}" 2>/dev/null; wait; rm -rf "$folder"' EXIT

cat >"$folder/nginx.conf" <<END
daemon off;
pid $folder/nginx.pid;
error_log $folder/error.log;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path $folder/body; proxy_temp_path $folder/proxy; fastcgi_temp_path $folder/fastcgi;
  uwsgi_temp_path $folder/uwsgi; scgi_temp_path $folder/scgi;
  upstream mock { server 127.0.0.1:18110; keepalive 64; }
  server {
    listen 127.0.0.1:18443 ssl http2;
    ssl_certificate $tls/server.cert.pem;
    ssl_certificate_key $tls/server.key.pem;
    keepalive_requests 100;
    location / {
      proxy_pass http://mock; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; gzip off;
    }
  }
}
END
"$skyline" mock --port 18110 --ttft uniform:20ms:60ms --itl 5ms --truth "$folder/truth.jsonl" >"$folder/mock" 2>&1 &
started+=($!)
"$nginx" -v
"$nginx" -c "$folder/nginx.conf" -e "$folder/error.log" &
started+=($!)
sleep 2

# run NAME OPTION…: some 50 requests/s, kept under NAME. None is refused for what this machine is busy with.
run() {
  local name=$1
  shift
  "$skyline" bench short_chat "$seconds" --rate 50 --output-tokens 30 --url https://127.0.0.1:18443 --engine vllm \
    --ca-cert "$tls/server.cert.pem" --no-calibration --allow-invalid --quiet --out "$folder/$name" "$@" \
    >"$folder/$name.txt" 2>&1 || { cat "$folder/$name.txt"; failed=1; }
}
run own
run shared --http2 --streams-per-connection 20
run offered --http2=offered

python3 - "$folder" <<'END' || failed=1
import glob, json, sys

folder, wrong, truth = sys.argv[1], [], {}
for line in open(f"{folder}/truth.jsonl"):
    record = json.loads(line)
    if record.get("end") == "finished":
        truth[record["id"].removeprefix("chatcmpl-")] = record

def quantiles(gaps):
    gaps = sorted(gaps)
    return [round(gaps[int(share * (len(gaps) - 1))] / 1e6, 3) for share in (0.5, 0.99)]

for name, streams in [("own", None), ("shared", 20), ("offered", 100)]:
    [run] = glob.glob(f"{folder}/{name}/*/")
    summary = json.load(open(f"{run}/summary.json"))
    requests, engine = summary["requests"], summary["run"]["engine"]
    spoken = (engine.get("http2") or {}).get("streams_per_connection")
    if spoken != streams or requests["planned"] != requests["completed"]:
        wrong.append(f"{name}: {spoken} streams a connection, {requests}")
    seen, true = [], []
    for line in open(glob.glob(f"{run}/*.jsonl")[0]):
        record = json.loads(line).get("request")
        known = record and truth.get(f"{engine['request_id_prefix']}{record['index']:012x}", {}).get("writes")
        if known and record["outcome"]["kind"] == "completed":
            # The first is that from the run's zero.
            seen += record["chunks"]["gaps_ns"][1:]
            true += [after["done_ns"] - before["done_ns"] for before, after in zip(known, known[1:])]
    (p50, p99), (true_p50, true_p99) = quantiles(seen), quantiles(true)
    print(f"{name}: gaps p50 {p50} ms of {true_p50}, p99 {p99} ms of {true_p99};",
          f"{requests['resent']} sent again; reads {(summary['client'] or {}).get('stream_reads')}")
    if abs(p50 - true_p50) > 0.1:
        wrong.append(f"{name}: gaps of {p50} ms at the median, and the mock's are {true_p50} ms")
print("\n".join(wrong))
sys.exit(bool(wrong))
END
[ $failed = 0 ] && echo ok
exit $failed
