#!/usr/bin/env python3
"""What tests/interop/vllm_traffic.sh asks of runs, and the trace that it replays.

It reads the run's log and its summary as anybody could, and shares no code with what wrote them.
"""

import json
import pathlib
import random
import sys


def lines(run, key):
    with open(run / "run.jsonl") as log:
        return [line[key] for line in map(json.loads, log) if key in line]


def measured(run):
    return [record for record in lines(run, "request") if record["phase"] == "measured"]


def lengths(run):
    """Every prompt is as long as asked beside what the server adds, which is the same for all."""
    records = measured(run)
    assert len(records) == 500, len(records)
    added = {record["usage"]["prompt_tokens"] - record["input_tokens_asked"] for record in records}
    learned = lines(run, "header")[0]["prompts"]["template_tokens"]
    assert added == {learned}, (added, learned)
    asked = [record["input_tokens_asked"] for record in records]
    print(f"500 of 500 exact, of {min(asked)} to {max(asked)} tokens; the server adds {learned} to each")


def prefixes(run):
    """The server's counters tell what the plan lets expect."""
    cache = json.loads((run / "summary.json").read_text())["prefix_cache"]
    least, most, rate = cache["expected_least"], cache["expected_most"], cache["measured"]["rate"]
    assert least - 0.05 <= rate <= most + 0.05, cache
    print(f"expected {least:.1%} to {most:.1%}, measured {rate:.1%}")


def replay(run):
    """Requests left at the moments of the trace, halved, with its lengths; by the verdict's own bar none left late."""
    recorded = [json.loads(line) for line in open("trace.jsonl")]
    records = sorted(lines(run, "request"), key=lambda record: record["index"])
    assert [r["input_tokens_asked"] for r in records] == [r["input_length"] for r in recorded]
    for record, row in zip(records, recorded):
        assert abs(record["scheduled_ns"] / 1e6 - row["timestamp"] * 0.5) < 0.001, (record["index"], row)
    late = sorted((record["dispatched_ns"] - record["scheduled_ns"]) / 1e6 for record in records)
    checks = json.loads((run / "summary.json").read_text())["verdict"]["checks"]
    lag = [check for check in checks if check["rule"] == "schedule_lag"]
    assert lag and all(check["outcome"] != "failed" for check in lag), lag
    p50, p99 = late[len(late) // 2], late[int(len(late) * 0.99)]
    print(f"{len(late)} requests; schedule lag p50 {p50:.3f} ms, p99 {p99:.3f} ms")


def write_trace():
    """A minute and a half of a few users, each of whom says more at every turn, in Mooncake's format."""
    draw = random.Random(1)
    at, fresh, open_ends = 0.0, iter(range(10**6)), []
    while (at := at + draw.expovariate(4)) < 90:
        blocks = list(draw.choice(open_ends)) if open_ends and draw.random() < 0.6 else [next(fresh)]
        if len(blocks) < 6:
            blocks.append(next(fresh))
            open_ends.append(tuple(blocks))
        # The last block is not full.
        length = 512 * (len(blocks) - 1) + draw.randint(1, 511)
        row = {"timestamp": int(at * 1000), "input_length": length,
               "output_length": draw.randint(1, 30), "hash_ids": blocks}
        print(json.dumps(row))


def conversation(run):
    """The first prompt is exact; each later one holds the prompt before, its answer and the turn's own tokens.

    An answer need not split again into as many tokens as it was made of, so a tenth of it is left open.
    """
    added = lines(run, "header")[0]["prompts"]["template_tokens"]
    sessions = {}
    for record in lines(run, "request"):
        if record["outcome"]["kind"] == "completed":
            sessions.setdefault(record["turn"]["session"], {})[record["turn"]["number"]] = record
    later = 0
    for turns in sessions.values():
        assert turns[0]["usage"]["prompt_tokens"] == turns[0]["input_tokens_asked"] + added, turns[0]
        for before, record in zip(map(turns.get, range(3)), map(turns.get, range(1, 3))):
            if record is not None:
                own = record["input_tokens_asked"] - record["turn"]["history_tokens"]
                grown = record["usage"]["prompt_tokens"] - before["usage"]["prompt_tokens"]
                assert grown >= own + 0.9 * before["usage"]["completion_tokens"], (before, record)
                later += 1
    whole = sum(len(turns) == 3 for turns in sessions.values())
    assert whole >= 20, whole
    print(f"{whole} conversations of three turns; {later} later turns held all that was said before")


def quality(run):
    """The server answers golden prompts, and its answers conform to a schema that the request demands."""
    summary = json.loads((run / "summary.json").read_text())
    checks, answers = summary["quality"], summary["answers"]["by_class"][0]
    assert checks["pass_rate"] == 1 and checks["under_load"]["requested"] > 0, checks
    assert answers["valid"] > 0 and answers["invalid"] == 0, answers
    print(f"{checks['under_load']['asked']} checks passed under load; {answers['valid']} answers of the schema")


if sys.argv[1] == "write_trace":
    write_trace()
else:
    parts = [lengths, prefixes, replay, conversation, quality]
    {part.__name__: part for part in parts}[sys.argv[1]](pathlib.Path(sys.argv[2]))
