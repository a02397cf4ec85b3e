#!/bin/sh
# curl against a running `skyline mock`: tests/interop/clients/curl.sh http://127.0.0.1:8000
set -eu
url=$1
json='content-type: application/json'
body='{"messages":[{"role":"user","content":"hello there"}],"max_tokens":5,"ignore_eos":true,"stream":true}'
curl -sSf "$url/health"
curl -sSf "$url/v1/models" | grep -q max_model_len
curl -sSf "$url/version" | grep -q version
curl -sSf -H "$json" -d '{"prompt":"a b c"}' "$url/tokenize" | grep -q '"count":3'
test "$(curl -sSfN -H "$json" -d "$body" "$url/v1/chat/completions" | grep -c '^data: ')" = 7
curl -sSfN -H "$json" -d "$body" "$url/v1/chat/completions" | grep -q '^data: \[DONE\]$'
test "$(curl -sS -o /dev/null -w '%{http_code}' -H "$json" -d '{"messages":[' "$url/v1/chat/completions")" = 400
test "$(curl -sS -o /dev/null -w '%{http_code}' -H "$json" -d '{"model":"none","prompt":"a"}' "$url/v1/completions")" = 404
curl -sSf -H "$json" -d '{"prompt":"a","stop":" to"}' "$url/v1/completions" | grep -q '"stop_reason":" to"'
# 28 is curl's own time limit: the stream hangs, and its blocks are free once curl has gone.
set +e
curl -sSN -m 2 -o /dev/null -H 'x-skyline-fault: hang' -H "$json" -d "$body" "$url/v1/chat/completions" 2>/dev/null
test $? = 28 || exit 1
set -e
curl -sSf "$url/metrics" | grep -q '^vllm:num_requests_running{.*} 0\.0$'
test "$(curl -sS -o /dev/null -w '%{http_code}' -H 'x-skyline-fault: http_429' -H "$json" -d "$body" \
    "$url/v1/chat/completions")" = 429
# 56 is "failure in receiving network data": the reset.
set +e
curl -sSN -o /dev/null -H 'x-skyline-fault: reset_mid_stream' -H "$json" -d "$body" "$url/v1/chat/completions" 2>&1
test $? = 56 || exit 1
set -e
curl -sSf "$url/metrics" | grep -q '^vllm:generation_tokens_total'
curl -sSf "$url/mock/stats"
echo
echo "curl: all checks passed"
