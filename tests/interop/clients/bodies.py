"""Bodies that Skyline sends to `/v1/responses` and `/v1/messages`, held to the types of the official packages: texts,
conversations, tools with their results, schemas. It stands between `skyline bench` and `skyline mock`.

    python -m venv /tmp/clients && /tmp/clients/bin/pip install openai anthropic
    /tmp/clients/bin/python tests/interop/clients/bodies.py target/debug/skyline
"""

import http.server
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import urllib.request

from anthropic.types.message_create_params import MessageCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter

TYPES = {
    "/v1/responses": TypeAdapter(ResponseCreateParamsStreaming),
    "/v1/messages": TypeAdapter(MessageCreateParamsStreaming),
}
# Fields of vLLM's that no official API has.
MORE = {"ignore_eos", "top_k", "min_tokens"}
WORKLOADS = {
    "text": 'input_tokens = 20\noutput_tokens = 8',
    "conversation": 'input_tokens = 20\noutput_tokens = 8\nconversation = { turns = 3, think_time_s = 0.05 }',
    "tools": """input_tokens = 30
output_tokens = 12
length = "natural"
answer = { kind = "tools", tools = [{ name = "search", description = "Searches" }] }
[classes.session]
steps = [{ name = "task" }, { name = "loop", turns = 4, when = "tool_call", delay_s = 0.02, input_tokens = 10 }]""",
    "schema": """input_tokens = 20
output_tokens = 20
answer = { kind = "json_schema", schema = { type = "object", properties = { a = { type = "string" } }, required = ["a"] } }""",
}
HEAD = """name = "{}"
horizon_s = 2
warmup_s = 0
drain_s = 20
arrival = {{ kind = "constant", rate_per_s = 4 }}
[[classes]]
name = "one"
"""
seen, wrong = {}, []


def check(path, body):
    fields = json.loads(body)
    kinds = sorted({item.get("type", "message") for item in fields.get("input", []) if isinstance(item, dict)})
    seen.setdefault(path, set()).update(kinds, (name for name in ("tools", "text", "output_config") if name in fields))
    for message in fields.get("messages", []):
        if isinstance(message["content"], list):
            seen[path].update(block["type"] for block in message["content"])
    kept = {name: value for name, value in fields.items() if name not in MORE}
    try:
        TYPES[path].validate_python(kept)
    except Exception as error:
        wrong.append(f"{path}: {error}\n{body[:2000]}")


class Between(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path in TYPES:
            check(self.path, body)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        request = urllib.request.Request(mock_url + self.path, data=body or None, headers=headers, method=self.command)
        try:
            answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as error:
            answer = error
        text = answer.read()
        self.send_response(answer.status)
        self.send_header("content-type", answer.headers.get("content-type", "application/json"))
        self.send_header("server", answer.headers.get("server", ""))
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = pass_on

    def log_message(self, *_):
        pass


skyline = str(pathlib.Path(sys.argv[1]).resolve())
mock = subprocess.Popen(
    [skyline, "mock", "--port", "0", "--ttft", "5ms", "--itl", "1ms", "--tool-rounds", "2"],
    stderr=subprocess.PIPE, text=True,
)
mock_url = next(found[1] for line in mock.stderr if (found := re.search(r"(http://\S+)", line)))
threading.Thread(target=mock.stderr.read, daemon=True).start()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Between)
threading.Thread(target=server.serve_forever, daemon=True).start()
try:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in WORKLOADS.items():
            file = pathlib.Path(folder) / f"{name}.toml"
            file.write_text(HEAD.format(name) + text + "\n")
            for endpoint in ("responses", "messages"):
                done = subprocess.run(
                    [skyline, "bench", file, "--url", f"http://127.0.0.1:{server.server_port}", "--endpoint", endpoint,
                     "--engine", "vllm", "--no-calibration", "--allow-invalid", "--quiet", "--out", f"{folder}/results"],
                    capture_output=True, text=True,
                )
                assert done.returncode == 0, (name, endpoint, done.stdout, done.stderr)
finally:
    mock.kill()
assert not wrong, f"{len(wrong)} bodies are not of the official types; the first: {wrong[0]}"
assert {"message", "function_call", "function_call_output", "tools", "text"} <= seen["/v1/responses"], seen
assert {"tool_use", "tool_result", "tools", "output_config"} <= seen["/v1/messages"], seen
print(f"all bodies are of the official types, with {', '.join(sorted(seen['/v1/responses'] | seen['/v1/messages']))}")
