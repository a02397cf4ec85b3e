//! The figures of a summary as a tidy table: a row a figure, so that those of many runs can be laid end to end.

use std::io;

use csv::Writer;
use serde::Serialize;
use serde_json::Value;

use super::csv::text;
use crate::analysis::{
    Attainment, Figure, FigureKey, LatencyTable, Metric, Part, Percentile, SampleWarning, Status, Summary, Unresolvable,
};
use crate::record::PartKind;
use crate::report::run_report::{Out, RunReport};
use crate::report::sides::side_figures;

/// A figure.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct FigureRow<'a> {
    /// The moment at which the run began, which tells it from others.
    run: &'a str,
    /// The seed of its plan.
    seed: u64,
    /// Whose it is: `run`, `class`, `priority`, `tenant` or `model`.
    scope: &'static str,
    /// The name of the workload, class, priority, tenant or model.
    name: &'a str,
    /// What was measured, such as `ttft`.
    metric: &'a str,
    /// Which statistic of it, such as `p99`.
    statistic: &'a str,
    /// The figure; empty where it is not known.
    value: Option<f64>,
    /// The least that it can be, where only bounds are known.
    at_least: Option<f64>,
    /// The most that it can be, where only bounds are known and there is a most.
    at_most: Option<f64>,
    /// Its unit; empty where it has none.
    unit: &'static str,
    /// Samples that it rests on.
    n: Option<u64>,
    /// Lower end of its 95 % interval.
    interval_low: Option<f64>,
    /// Upper end.
    interval_high: Option<f64>,
    /// How many independent samples tell as much as its own.
    effective_samples: Option<f64>,
    /// Why an end of the interval is missing.
    unresolvable: Option<Unresolvable>,
    /// A reservation.
    mark: Option<SampleWarning>,
}

/// `summary.csv`.
pub(in crate::report) fn summary_csv(report: RunReport<'_>, out: Out<'_>) -> io::Result<()> {
    let summary = report.summary;
    let mut table = Rows(Writer::from_writer(out));
    let started = summary.run.started_at.to_string();
    let workload = text(summary.run.workload.as_str().into());
    let seed = summary.run.seed;
    let run = FigureRow { run: &started, seed, scope: "run", name: &workload, ..FigureRow::default() };
    table.run(run, summary)?;
    let has_rows = |part: &&Part| !matches!(part.kind, PartKind::Phase | PartKind::Turn);
    for part in summary.parts.iter().filter(has_rows) {
        let scope = part.kind.name();
        table.part(FigureRow { scope, name: &text(part.name.as_str().into()), ..run }, part)?;
    }
    table.0.flush()
}

impl<'a> FigureRow<'a> {
    /// A figure of the same requests as this row, which has none.
    fn with(self, metric: &'a str, statistic: &'a str, value: Option<f64>, unit: &'static str) -> Self {
        Self { metric, statistic, value, unit, ..self }
    }

    /// The same of a figure of which perhaps only bounds are known.
    fn open(self, metric: &'a str, statistic: &'a str, figure: Figure, unit: &'static str) -> Self {
        let (at_least, at_most) = figure.bounds();
        Self { at_least, at_most, ..self.with(metric, statistic, figure.exact(), unit) }
    }
}

struct Rows<W: io::Write>(Writer<W>);

impl<W: io::Write> Rows<W> {
    fn push(&mut self, row: &FigureRow<'_>) -> io::Result<()> {
        self.0.serialize(row).map_err(io::Error::from)
    }

    fn run(&mut self, of: FigureRow<'_>, summary: &Summary) -> io::Result<()> {
        let verdict = &summary.verdict;
        for (name, so) in [("valid", verdict.valid), ("overloaded", verdict.is_overloaded())] {
            self.push(&of.with("verdict", name, Some(f64::from(u8::from(so))), ""))?;
        }
        for judged in &summary.objectives {
            let open = judged.value.is_none();
            let (low, high) = judged.interval.unwrap_or_default();
            let objective = text(judged.objective.text.as_str().into());
            let key = &judged.objective.key;
            let percentile = key.percentile_in(summary);
            self.push(&FigureRow {
                at_least: judged.at_least.filter(|_| open),
                at_most: judged.at_most.filter(|_| open),
                interval_low: low,
                interval_high: high,
                effective_samples: percentile.and_then(|percentile| percentile.effective_samples),
                unresolvable: percentile.and_then(|percentile| percentile.unresolvable),
                mark: judged.mark,
                ..of.with("objective", &objective, judged.value, key.metric.info().unit.sign())
            })?;
            for (name, so) in
                [("objective_met", judged.passed()), ("objective_undecided", judged.status == Status::Undecided)]
            {
                self.push(&of.with(name, &objective, Some(f64::from(u8::from(so))), ""))?;
            }
        }
        self.latencies(of, &summary.latency)?;
        self.section(of, "requests", &summary.requests)?;
        self.section(of, "rates", &summary.rates)?;
        self.slo(of, &summary.slo)?;
        self.section(of, "failures", &summary.failures)?;
        for line in &summary.failures.kinds {
            self.push(&of.with("failures", &line.kind.to_string(), Some(line.count as f64), "requests"))?;
        }
        if let Some(attempts) = &summary.attempts {
            self.section(of, "attempts", attempts)?;
        }
        self.section(of, "tokens", &summary.tokens)?;
        self.section(of, "request_speed", &summary.request_speed)?;
        self.section(of, "stalls", &summary.stalls)?;
        self.section(of, "in_flight", &summary.in_flight)?;
        let costs = Metric::COSTS
            .into_iter()
            .filter_map(|metric| Some((metric, FigureKey::from_metric(metric).read(summary)?)));
        for (metric, figure) in costs {
            self.push(&of.open(metric.name(), "mean", figure, metric.info().unit.sign()))?;
        }
        side_figures(summary).into_iter().try_for_each(|figure| {
            let row = of.open(figure.metric, figure.statistic, figure.value, figure.unit.sign);
            self.push(&FigureRow { n: figure.n, mark: figure.mark, ..row })
        })
    }

    fn part(&mut self, of: FigureRow<'_>, part: &Part) -> io::Result<()> {
        self.latencies(of, &part.latency)?;
        let counts = [
            ("planned", part.requests),
            ("completed", part.completed),
            ("failed", part.failed),
            ("censored", part.censored),
        ];
        for (statistic, count) in counts {
            self.push(&of.with("requests", statistic, Some(count as f64), "requests"))?;
        }
        let shares =
            [("error_rate", part.error_rate), ("reject_rate", part.reject_rate), ("timeout_rate", part.timeout_rate)];
        for (statistic, share) in shares {
            self.push(&of.with("failures", statistic, share, "share"))?;
        }
        self.slo(of, &part.slo)
    }

    /// How SLOs were met; nothing where no request has one, for all that completed would then count as good.
    fn slo(&mut self, of: FigureRow<'_>, slo: &Attainment) -> io::Result<()> {
        if slo.declared { self.section(of, "slo", slo) } else { Ok(()) }
    }

    fn latencies(&mut self, of: FigureRow<'_>, latencies: &LatencyTable) -> io::Result<()> {
        for (metric, row) in latencies.iter() {
            let name = Metric::name(metric);
            let of = FigureRow { n: Some(row.n), ..of };
            self.push(&of.with(name, "mean", row.mean_ms, "ms"))?;
            self.push(&of.with(name, "std", row.std_ms, "ms"))?;
            self.push(&of.open(name, "min", row.min, "ms"))?;
            row.shown().try_for_each(|percentile| self.percentile(of, name, percentile))?;
            self.push(&of.open(name, "max", row.max, "ms"))?;
            self.push(&of.with(name, "censored", Some(row.censored as f64), "samples"))?;
        }
        Ok(())
    }

    fn percentile(&mut self, of: FigureRow<'_>, metric: &str, percentile: &Percentile) -> io::Result<()> {
        let statistic = percentile.quantile.to_string();
        let (low, high) = percentile.interval;
        self.push(&FigureRow {
            interval_low: low,
            interval_high: high,
            effective_samples: percentile.effective_samples,
            unresolvable: percentile.unresolvable,
            mark: percentile.mark,
            ..of.open(metric, &statistic, percentile.figure, "ms")
        })
    }

    /// Every number of a part of the summary, under its own name there; what is not known is a row without a value.
    fn section(&mut self, of: FigureRow<'_>, metric: &str, part: &impl Serialize) -> io::Result<()> {
        self.numbers(of, metric, "", &serde_json::to_value(part)?)
    }

    fn numbers(&mut self, of: FigureRow<'_>, metric: &str, before: &str, part: &Value) -> io::Result<()> {
        let Value::Object(fields) = part else { return Ok(()) };
        for (key, value) in fields {
            let statistic = format!("{before}{key}");
            match value {
                Value::Object(_) => self.numbers(of, metric, &format!("{statistic}."), value)?,
                Value::Null | Value::Number(_) => {
                    self.push(&of.with(metric, &statistic, value.as_f64(), unit(metric, &statistic)))?;
                }
                Value::Bool(_) | Value::String(_) | Value::Array(_) => {}
            }
        }
        Ok(())
    }
}

/// The unit of a figure by the end of its name.
fn unit(metric: &str, key: &str) -> &'static str {
    let of_end = [
        ("_ms", "ms"),
        ("tokens_per_s", "tokens/s"),
        ("tokens_per_s_per_gpu", "tokens/s"),
        ("attempts_per_s", "attempts/s"),
        ("_per_s", "requests/s"),
        ("_rate", "share"),
        ("_attainment", "share"),
        ("relative_error", "share"),
        ("_tokens", "tokens"),
        ("most_off", "tokens"),
        ("merged_reads", "chunks"),
    ];
    let found = of_end.into_iter().find(|(end, _)| key.ends_with(end)).map(|(_, unit)| unit);
    found.unwrap_or(match (metric, key) {
        ("stalls", "count") => "gaps",
        ("attempts", "attempts" | "retries" | "hedges" | "hedges_won") => "attempts",
        ("attempts", "first_attempt_success") => "share",
        ("attempts", "amplification") => "",
        (_, "chunks") => "chunks",
        ("request_speed", "p5" | "p50" | "p95") => "tokens/s",
        _ if key.contains("_lengths.") && key.rsplit('.').next() != Some("count") => "tokens",
        _ => "requests",
    })
}
