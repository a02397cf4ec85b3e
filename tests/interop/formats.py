"""Reads the files of a run's formats with other people's code.

    skyline report RUN --format markdown,junit,vllm,br,openmetrics,json=RUN/all.json
    python3 tests/interop/formats.py RUN [LLM_D_BENCHMARK]

It needs `pip install junitparser prometheus_client cmarkgfm numpy opentelemetry-proto`, the binary in `target/debug` or in
the environment's SKYLINE, and for the Benchmark Report `pydantic pyyaml` and a
checkout of llm-d-benchmark, whose own model then reads it. Statistics of the vLLM file are computed again by numpy from
its lists. It prints what each reader found and fails where one disagrees.
"""

import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading

run = pathlib.Path(sys.argv[1])
summary = json.loads((run / "all.json").read_text())


def agree(what, found, expected):
    assert found == expected, f"{what}: {found!r} and not {expected!r}"
    print(f"  {what}: {found!r}")


def junit():
    from junitparser import Error, Failure, JUnitXml

    xml = JUnitXml.fromfile(str(run / "junit.xml"))
    [suite] = list(xml)
    cases = list(suite)
    objectives = summary["objectives"]
    agree("cases", len(cases), 1 + len(objectives))
    agree("valid", not cases[0].result, summary["verdict"]["outcome"] == "valid")
    kinds = {"met": None, "missed": Failure, "undecided": Error}
    for case, judged in zip(cases[1:], objectives):
        result = type(case.result[0]) if case.result else None
        agree(case.name, result, kinds[judged["status"]])
    agree("seed", {p.name: p.value for p in suite.properties()}["seed"], str(summary["run"]["seed"]))


def openmetrics():
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
    from prometheus_client.parser import text_string_to_metric_families as older

    text = (run / "metrics.prom").read_text()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    print(f"  {len(families)} families; the older format's reader finds {len(list(older(text)))}")
    agree("unit", families["skyline_ttft_seconds"].unit, "seconds")
    whole = [
        sample.value
        for sample in families["skyline_ttft_seconds"].samples
        if set(sample.labels) == {"workload", "model", "quantile"} and sample.labels["quantile"] == "0.95"
    ]
    agree("p95 of TTFT", whole, [summary["latency"]["ttft"]["p95"]["value_ms"] / 1e3])
    for name, (unit, value) in sides().items():
        agree(f"{name} unit", families[name].unit, unit)
        agree(name, [sample.value for sample in families[name].samples], [value])


def sides():
    """The figures of the server, its devices and the client that the summary has, as Prometheus gets them."""
    server, client, exported = summary["server"] or {}, summary["client"], {}
    for gauge, name, unit in [("running", "running_requests", ""), ("kv_usage", "kv_usage", "ratio")]:
        for statistic in ["mean", "max"]:
            if gauge in server.get("gauges", {}):
                ending = f"_{unit}" if unit else ""
                exported[f"skyline_server_{name}_{statistic}{ending}"] = ("", server["gauges"][gauge][statistic])
    for time, figures in server.get("times", {}).items():
        exported[f"skyline_server_{time}_mean_seconds"] = ("seconds", figures["mean_ms"] / 1e3)
    if outside := (server.get("accounts") or {}).get("ttft"):
        exported["skyline_outside_server_ttft_ratio"] = ("", outside["outside_share"])
    if energy := server.get("energy"):
        exported["skyline_devices_power_mean_watts"] = ("watts", energy["power_w"])
        exported["skyline_energy_per_output_token_mean_joules"] = ("joules", energy["per_output_token_j"])
    if client:
        exported["skyline_client_cpu_cores_mean"] = ("", client["cpu_cores"])
        if client["peak_memory_bytes"] is not None:
            exported["skyline_client_memory_max_bytes"] = ("bytes", client["peak_memory_bytes"])
    return exported


def vllm():
    import numpy

    file = json.loads((run / "vllm.json").read_text())
    good = [i for i, error in enumerate(file["errors"]) if not error]
    agree("completed", file["completed"], len(good))
    took = {
        "ttft": [file["ttfts"][i] for i in good],
        "itl": [gap for i in good for gap in file["itls"][i]],
        "e2el": [file["latencies"][i] for i in good],
        "tpot": [
            (file["latencies"][i] - file["ttfts"][i]) / (file["output_lens"][i] - 1)
            for i in good
            if file["output_lens"][i] > 1
        ],
    }
    for name, values in took.items():
        for key, value in {
            f"mean_{name}_ms": numpy.mean(values),
            f"median_{name}_ms": numpy.median(values),
            f"std_{name}_ms": numpy.std(values),
            f"p99_{name}_ms": numpy.percentile(values, 99),
            f"p99.9_{name}_ms": numpy.percentile(values, 99.9),
        }.items():
            assert abs(file[key] - value * 1e3) < 1e-6, (key, file[key], value * 1e3)
    print(f"  {len(took)} latencies as numpy has them, over {len(good)} requests")
    agree("p95 of TTFT", file["p95_ttft_ms"], summary["latency"]["ttft_from_send"]["p95"]["value_ms"])


def benchmark_report(checkout):
    sys.path.insert(0, str(pathlib.Path(checkout) / "llmdbenchmark" / "analysis"))
    from benchmark_report import import_benchmark_report

    report = import_benchmark_report(str(run / "benchmark-report.json"))
    print(f"  read as {type(report).__name__}")
    aggregate = report.results.request_performance.aggregate
    counts = summary["requests"]
    agree("total", aggregate.requests.total, counts["completed"] + counts["failed"] + counts["censored"])
    latency = aggregate.latency.time_to_first_token
    agree("p95 of TTFT", latency.p95, summary["latency"]["ttft_from_send"]["p95"]["value_ms"])
    agree("verdict", report.results.observability.skyline["verdict"]["valid"], summary["verdict"]["valid"])


def otlp():
    from google.protobuf.json_format import Parse
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    got = []

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            got.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    skyline = os.environ.get("SKYLINE", "target/debug/skyline")
    address = f"http://127.0.0.1:{server.server_port}"
    subprocess.run([skyline, "report", str(run), "--otlp", address, "--allow-invalid"], capture_output=True)
    [(path, body)] = got
    agree("path", path, "/v1/metrics")
    request = Parse(body, ExportMetricsServiceRequest())
    metrics = {metric.name: metric for metric in request.resource_metrics[0].scope_metrics[0].metrics}
    points = metrics["skyline.ttft"].gauge.data_points
    at = {"quantile": "0.95", "workload": summary["run"]["workload"], "model": summary["run"]["engine"]["model"]}
    labels = lambda point: {one.key: one.value.string_value for one in point.attributes}
    whole = [point.as_double for point in points if labels(point) == at]
    agree("p95 of TTFT", whole, [summary["latency"]["ttft"]["p95"]["value_ms"] / 1e3])


def markdown():
    import cmarkgfm

    html = cmarkgfm.github_flavored_markdown_to_html((run / "summary.md").read_text())
    (run / "summary.md.html").write_text(f"<!doctype html><meta charset=utf-8>{html}")
    agree("tables", html.count("<table>") > 1, True)
    agree("scripts", html.count("<script"), 0)


for read in [junit, openmetrics, otlp, vllm, markdown]:
    print(read.__name__)
    read()
if len(sys.argv) > 2:
    print("benchmark_report")
    benchmark_report(sys.argv[2])
