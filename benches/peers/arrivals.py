"""How requests arrive at the server's kernel: whether their gaps are a Poisson process's, and how late they are."""

import json
import math
import statistics
import subprocess
from datetime import datetime
from itertools import pairwise

# Critical value of A² at 1 % of an exponential with estimated mean; D'Agostino and Stephens (1986), table 4.14.
LIMIT = 1.959
# Distance from 0 or 1 that a probability has at least, as in `skyline bench`.
NEAREST = 1e-12


def anderson_darling(values):
    """A² (1 + 0.6/n) against an exponential law with the mean of the values."""
    n, mean = len(values), statistics.fmean(values)
    below = [min(max(-math.expm1(-value / mean), NEAREST), 1 - NEAREST) for value in sorted(values)]
    terms = (math.log(low) + math.log1p(-high) for low, high in zip(below, reversed(below)))
    return (-n - math.fsum((2 * i + 1) * term for i, term in enumerate(terms)) / n) * (1 + 0.6 / n)


def lateness_us(log, arrivals):
    """What lies between a moment of the plan in this log and the arrival that is as many-th."""
    header, *lines = map(json.loads, log.open())
    seconds, _, fraction = header["header"]["started_at"].rstrip("Z").partition(".")
    started_ns = int(datetime.fromisoformat(f"{seconds}+00:00").timestamp()) * 10**9 + int(fraction.ljust(9, "0"))
    planned = sorted(started_ns + line["request"]["scheduled_ns"] for line in lines if "request" in line)
    return [(arrival - plan) / 1e3 for plan, arrival in zip(planned, arrivals, strict=True)]


def arrival_figures(run):
    """A² of the gaps, and where the client left a log of its plan how late requests arrived."""
    arrivals = sorted(run.arrivals)
    assert len(arrivals) == run.requests, f"{len(arrivals)} of {run.requests} arrivals have a stamp of the kernel"
    late = [us for log in run.folder.glob("*/run.jsonl") for us in lateness_us(log, arrivals)]
    return poisson_figures(arrivals, late)


def machine_figures(release, rate, moments, seed):
    """The same of a loop that only waits for such moments: what the machine adds by itself, which no client can undo."""
    loop = [release / "examples" / "bare_client", "wait", str(rate), str(moments), str(seed)]
    said = subprocess.run(loop, capture_output=True, text=True, check=True).stdout
    planned, seen = zip(*(map(int, line.split()) for line in said.splitlines()))
    return poisson_figures(seen, [(came - moment) / 1e3 for moment, came in zip(planned, seen)])


def poisson_figures(moments, late):
    """A² of the gaps between moments, and how late they were, microseconds, where that is known."""
    figures = {"A²": anderson_darling([later - earlier for earlier, later in pairwise(moments)])}
    if late:
        figures |= {"late, mean, µs": statistics.fmean(late), "late, p99, µs": statistics.quantiles(late, n=100)[98]}
    return figures


def arrival_head():
    cells = ["requests/s", "requests", "client", "A²", "least–most", f"within {LIMIT}"]
    cells += ["late, mean, µs", "late, p99, µs"]
    print("\n| " + " | ".join(cells) + " |\n" + "|---" * len(cells) + "|")


def short(figure):
    return f"{figure:,.0f}" if abs(figure) >= 100 else f"{figure:.3g}"


def arrival_rows(load, runs):
    """A row for each client: medians over its runs."""
    for client, measured in runs.items():
        def median(name):
            every = [run[name] for run in measured if name in run]
            return short(statistics.median(every)) if every else "–"

        every = [run["A²"] for run in measured]
        within = sum(a_squared <= LIMIT for a_squared in every)
        cells = [
            f"{load['rate']:,}", f"{load['requests']:,}", client, median("A²"),
            f"{short(min(every))}–{short(max(every))}", f"{within} of {len(every)}", median("late, mean, µs"),
            median("late, p99, µs"),
        ]
        print("| " + " | ".join(cells) + " |", flush=True)
