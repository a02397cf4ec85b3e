"""The official `openai` client against a running `skyline mock`: chat, completions and responses, streamed and not, n,
embeddings, transcriptions, errors. Responses and their events are also held to the strict types of the package.

    python -m venv /tmp/openai && /tmp/openai/bin/pip install openai
    /tmp/openai/bin/python tests/interop/clients/openai_client.py http://127.0.0.1:8000
"""

import io
import sys
import wave

import openai
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

client = openai.OpenAI(base_url=sys.argv[1].rstrip("/") + "/v1", api_key="none", max_retries=0)
model = client.models.list().data[0].id
messages = [{"role": "user", "content": "Say something short."}]
forced = {"ignore_eos": True}

answer = client.chat.completions.create(model=model, messages=messages, max_tokens=8, extra_body=forced)
assert answer.usage.completion_tokens == 8 and answer.choices[0].finish_reason == "length", answer
assert len(answer.choices[0].message.content.split()) == 8, answer

stream = client.chat.completions.create(
    model=model, messages=messages, max_completion_tokens=8, n=2, stream=True,
    stream_options={"include_usage": True}, extra_body=forced,
)
texts, usage = {0: "", 1: ""}, None
for chunk in stream:
    for choice in chunk.choices:
        texts[choice.index] += choice.delta.content or ""
    usage = chunk.usage or usage
assert all(len(text.split()) == 8 for text in texts.values()), texts
assert usage.completion_tokens == 16, usage

completion = client.completions.create(model=model, prompt=["a b c", "d"], max_tokens=4, extra_body=forced)
assert len(completion.choices) == 2 and completion.usage.prompt_tokens == 4, completion
streamed = client.completions.create(model=model, prompt="a b c", max_tokens=4, stream=True, extra_body=forced)
assert len("".join(chunk.choices[0].text for chunk in streamed).split()) == 4

# Without a form the client asks for base64, and makes numbers of it.
asked = ["a b c", "d", "a b c"]
encoded = client.embeddings.create(model=model, input=asked)
numbers = client.embeddings.create(model=model, input=asked, encoding_format="float")
assert [item.embedding for item in encoded.data] == [item.embedding for item in numbers.data], encoded
assert [item.index for item in numbers.data] == [0, 1, 2] and len(numbers.data[0].embedding) == 8, numbers
assert numbers.data[0].embedding == numbers.data[2].embedding != numbers.data[1].embedding, numbers
assert numbers.usage.prompt_tokens == numbers.usage.total_tokens == 7, numbers
raw = client.embeddings.create(model=model, input="a b", encoding_format="base64")
assert isinstance(raw.data[0].embedding, str) and raw.usage.prompt_tokens == 2, raw
assert client.embeddings.create(model=model, input=[[5, 6], [7]]).usage.prompt_tokens == 3

free = client.chat.completions.create(model=model, messages=messages, max_tokens=2000, seed=1)
assert free.choices[0].finish_reason in ("stop", "length"), free

stopped = client.chat.completions.create(
    model=model, messages=messages, max_tokens=20, stop=[" to your"], extra_body=forced,
)
assert stopped.choices[0].finish_reason == "stop", stopped
assert stopped.choices[0].message.content == " the quick answer", stopped

calls = client.chat.completions.create(
    model=model, messages=messages, max_tokens=4, extra_headers={"x-skyline-fault": "tool_calls"},
)
assert calls.choices[0].message.tool_calls[0].function.name == "look_up", calls

for fault, expected in [
    ("http_401", openai.AuthenticationError), ("http_429", openai.RateLimitError),
    ("http_503", openai.InternalServerError), ("reset_before_headers", openai.APIConnectionError),
]:
    try:
        client.chat.completions.create(model=model, messages=messages, extra_headers={"x-skyline-fault": fault})
    except expected:
        continue
    raise AssertionError(f"{fault} did not raise {expected.__name__}")
try:
    client.chat.completions.create(model="no-such-model", messages=messages)
    raise AssertionError("an unknown model was served")
except openai.NotFoundError as error:
    assert "does not exist" in str(error), error
try:
    client.chat.completions.create(
        model=model, messages=messages, max_tokens=8, stream_options={"include_usage": True},
    )
    raise AssertionError("stream_options without a stream were served")
except openai.BadRequestError as error:
    assert "stream=True" in str(error), error
try:
    for _ in client.chat.completions.create(
        model=model, messages=messages, max_tokens=8, stream=True,
        extra_headers={"x-skyline-fault": "error_mid_stream"},
    ):
        pass
    raise AssertionError("an error in the stream went unseen")
except openai.APIError as error:
    assert "EngineCore" in str(error), error

response = client.responses.create(model=model, input="Say something short.", max_output_tokens=8, extra_body=forced)
assert response.status == "incomplete" and response.incomplete_details.reason == "max_output_tokens", response
assert len(response.output_text.split()) == 8 and response.usage.output_tokens == 8, response
tool = {"type": "function", "name": "look_up", "parameters": {"type": "object"}, "strict": False}
for asked, headers, kinds in [
    ({"input": messages}, {}, ["message"]),
    ({"input": messages}, {"x-skyline-fault": "reasoning"}, ["reasoning", "message"]),
    ({"input": messages, "tools": [tool], "tool_choice": "required"}, {}, ["function_call"]),
]:
    common = {"model": model, "max_output_tokens": 50, "extra_headers": headers, **asked}
    whole = client.responses.create(**common)
    TypeAdapter(Response).validate_python(whole.to_dict())
    events = list(client.responses.create(stream=True, **common))
    for event in events:
        TypeAdapter(ResponseStreamEvent).validate_python(event.to_dict())
    assert [event.sequence_number for event in events] == list(range(len(events))), events
    last = events[-1].response
    assert [item.type for item in last.output] == kinds == [item.type for item in whole.output], (last, whole)
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == last.output_text, (text, last)
try:
    for _ in client.responses.create(
        model=model, input="x", max_output_tokens=8, stream=True, extra_headers={"x-skyline-fault": "error_mid_stream"},
    ):
        last = _
    assert last.type == "response.failed" and "EngineCore" in last.response.error.message, last
except openai.APIError as error:
    assert "EngineCore" in str(error), error
def wav(seconds):
    samples = io.BytesIO()
    with wave.open(samples, "wb") as file:
        file.setnchannels(1), file.setsampwidth(2), file.setframerate(16_000)
        file.writeframes(bytes(32_000 * seconds))
    return ("speech.wav", samples.getvalue())


heard = client.audio.transcriptions.create(model=model, file=wav(2), extra_body={"max_completion_tokens": 8})
assert len(heard.text.split()) == 8 and heard.usage.type == "duration" and heard.usage.seconds == 2, heard
counted = {"max_completion_tokens": 8, "stream_include_usage": True}
chunks = list(client.audio.transcriptions.create(model=model, file=wav(2), stream=True, extra_body=counted))
text = "".join(choice["delta"]["content"] for chunk in chunks for choice in chunk.choices)
assert text == heard.text and chunks[-1].usage["completion_tokens"] == 8, chunks
assert chunks[-1].usage["prompt_tokens"] == 50, "25 tokens a second"
for asked, says in [
    ({"file": ("a.mp3", b"no audio")}, "Invalid or unsupported audio file"),
    ({"file": wav(1), "extra_body": {"stream_include_usage": True}}, "stream=True"),
]:
    try:
        client.audio.transcriptions.create(model=model, **asked)
        raise AssertionError(f"{asked} was served")
    except openai.BadRequestError as error:
        assert says in str(error), error
print(f"openai {openai.__version__}: all checks passed against {model}")
