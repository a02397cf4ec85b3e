"""The official `anthropic` client against a running `skyline mock`: messages, streamed and not, thinking, tools, errors.
Messages and their events are also held to the strict types of the package.

    python -m venv /tmp/anthropic && /tmp/anthropic/bin/pip install anthropic
    /tmp/anthropic/bin/python tests/interop/clients/anthropic_client.py http://127.0.0.1:8000
"""

import json
import sys
import urllib.request

import anthropic
from anthropic.types import Message, RawMessageStreamEvent
from pydantic import TypeAdapter

url = sys.argv[1].rstrip("/")
client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
model = json.load(urllib.request.urlopen(f"{url}/v1/models"))["data"][0]["id"]
said = [{"role": "user", "content": "Say something short."}]
tool = {"name": "look_up", "description": "Looks up", "input_schema": {"type": "object"}}

for asked, headers, kinds in [
    ({}, {}, ["text"]),
    ({"system": "Be brief."}, {"x-skyline-fault": "reasoning"}, ["thinking", "text"]),
    ({"tools": [tool], "tool_choice": {"type": "any"}}, {}, ["tool_use"]),
]:
    common = {"model": model, "max_tokens": 50, "messages": said, "extra_headers": headers, **asked}
    whole = client.messages.create(**common)
    TypeAdapter(Message).validate_python(whole.to_dict())
    events = list(client.messages.create(stream=True, **common))
    for event in events:
        TypeAdapter(RawMessageStreamEvent).validate_python(event.to_dict())
    with client.messages.stream(**common) as stream:
        streamed = stream.get_final_message()
    for message in (whole, streamed):
        assert [block.type for block in message.content] == kinds, message
        assert message.stop_reason in ("end_turn", "max_tokens", "tool_use"), message
    assert streamed.usage.output_tokens > 0 and whole.usage.input_tokens > 0, (whole, streamed)

limited = client.messages.create(model=model, max_tokens=1, messages=said)
assert limited.stop_reason == "max_tokens" and limited.usage.output_tokens == 1, limited

results = [
    *said,
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look_up", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "one two three"}]},
]
longer = client.messages.create(model=model, max_tokens=1, messages=results)
assert longer.usage.input_tokens == limited.usage.input_tokens + 3, longer

for fault, expected in [
    ("http_401", anthropic.AuthenticationError), ("http_429", anthropic.RateLimitError),
    ("http_503", anthropic.InternalServerError), ("reset_before_headers", anthropic.APIConnectionError),
]:
    try:
        client.messages.create(model=model, max_tokens=8, messages=said, extra_headers={"x-skyline-fault": fault})
    except expected:
        continue
    raise AssertionError(f"{fault} did not raise {expected.__name__}")
try:
    client.messages.create(model="no-such-model", max_tokens=8, messages=said)
    raise AssertionError("an unknown model was served")
except anthropic.NotFoundError as error:
    assert "does not exist" in str(error), error
try:
    for _ in client.messages.create(
        model=model, max_tokens=8, messages=said, stream=True, extra_headers={"x-skyline-fault": "error_mid_stream"},
    ):
        pass
    raise AssertionError("an error in the stream went unseen")
except anthropic.APIError as error:
    assert "EngineCore" in str(error), error
print(f"anthropic {anthropic.__version__}: all checks passed against {model}")
