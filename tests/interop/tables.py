"""Compares the tables of a run, as other programs read them, with its summary.

    python3 -m venv venv && venv/bin/pip install pandas pyarrow polars duckdb jsonschema
    skyline simulate short_chat 60 --hardware h100 --out results
    skyline report results/<run> --format csv,jsonl,parquet
    skyline report --json-schema summary > schema.json
    venv/bin/python tests/interop/tables.py results/<run> schema.json
"""

import json
import pathlib
import sys

import duckdb
import jsonschema
import numpy
import pandas
import polars
import pyarrow.parquet

folder = pathlib.Path(sys.argv[1])
summary = json.loads((folder / "summary.json").read_text())
jsonschema.Draft202012Validator.check_schema(schema := json.loads(pathlib.Path(sys.argv[2]).read_text()))
jsonschema.validate(summary, schema, cls=jsonschema.Draft202012Validator)

# Every reader finds the same rows.
arrow = pyarrow.parquet.read_table(folder / "requests.parquet")
requests = pandas.read_parquet(folder / "requests.parquet")
frames = {
    "pyarrow": arrow.to_pandas(),
    "polars": polars.read_parquet(folder / "requests.parquet").to_pandas(),
    "duckdb": duckdb.sql(f"select * from '{folder}/requests.parquet'").df(),
    "csv": pandas.read_csv(folder / "requests.csv"),
    "jsonl": pandas.read_json(folder / "requests.jsonl", lines=True),
}
for reader, frame in frames.items():
    assert list(frame.columns) == list(requests.columns), reader
    for column in requests.columns:
        if pandas.api.types.is_numeric_dtype(requests[column]):
            ours, theirs = requests[column].astype(float), frame[column].astype(float)
            assert numpy.allclose(ours, theirs, rtol=1e-12, atol=0, equal_nan=True), (reader, column)
        else:
            same = (requests[column] == frame[column]) | (requests[column].isna() & frame[column].isna())
            assert same.all(), (reader, column)

# Their percentiles are those of the summary: numpy interpolates as Skyline does.
measured = requests[requests.phase == "measured"]
assert len(measured) == summary["requests"]["planned"]
for metric in ["ttft", "ttft_from_send", "tpot", "e2e", "schedule_lag"]:
    samples = measured[f"{metric}_ms"].dropna()
    for name, share in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99_9", 0.999)]:
        reported = summary["latency"][metric][name]["value_ms"]
        assert reported is None or numpy.isclose(numpy.quantile(samples, share), reported, rtol=1e-12), (metric, name)

# So are those of gaps: a gap of k tokens is k samples. Answers that failed are left out, as there.
tokens = pandas.read_parquet(folder / "tokens.parquet")
tokens = tokens[tokens.request_index.isin(measured["index"][measured.outcome == "completed"])]
if (measured.outcome == "completed").all():
    gaps = tokens.dropna(subset=["itl_ms"])
    samples = numpy.repeat(gaps.itl_ms, gaps.tokens)
    assert len(samples) == summary["latency"]["itl"]["n"]
    for name, share in [("p50", 0.5), ("p99", 0.99)]:
        reported = summary["latency"]["itl"][name]["value_ms"]
        assert numpy.isclose(numpy.quantile(samples, share), reported, rtol=1e-12), name
assert numpy.isclose(tokens.tokens.sum(), measured.output_tokens[measured.outcome == "completed"].sum())

# The tidy summary has the same figures.
tidy = pandas.read_csv(folder / "summary.csv").set_index(["scope", "metric", "statistic"])
assert tidy.loc[("run", "ttft", "p99")].value == summary["latency"]["ttft"]["p99"]["value_ms"]

server, client = summary["server"] or {}, summary["client"]
for gauge, metric in [("running", "server_running_requests"), ("kv_usage", "server_kv_usage")]:
    if gauge in server.get("gauges", {}):
        assert tidy.loc[("run", metric, "mean")].value == server["gauges"][gauge]["mean"], gauge
if client and client["peak_memory_bytes"] is not None:
    assert tidy.loc[("run", "client_memory", "max")].value == client["peak_memory_bytes"]

columns = json.loads(arrow.schema.metadata[b"skyline.columns"])
assert [column["name"] for column in columns] == list(requests.columns)
print(f"{len(requests)} requests and {len(tokens)} chunks are read alike by pyarrow, pandas, polars and duckdb")
