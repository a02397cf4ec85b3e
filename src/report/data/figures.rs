//! The figures of a summary as a tidy table: a row a figure, so that those of many runs can be laid end to end.

use std::io;

use csv::Writer;
use serde::Serialize;
use serde_json::Value;

use super::csv::text;
use crate::analysis::{Attainment, Figure, Group, LatencyTable, Metric, Percentile, SampleWarning, Summary};
use crate::report::sides::{Known, SideFigure, side_figures};
use crate::report::{Out, RunReport};

/// A figure.
#[derive(Debug, Serialize)]
pub(super) struct FigureRow<'a> {
    /// The moment at which the run began, which tells it from others.
    pub(super) run: &'a str,
    /// The seed of its plan.
    pub(super) seed: u64,
    /// Whose it is: `run`, `class`, `priority`, `tenant` or `model`.
    pub(super) scope: &'static str,
    /// The name of the workload, class, priority, tenant or model.
    pub(super) name: &'a str,
    /// What was measured, such as `ttft`.
    pub(super) metric: &'a str,
    /// What is told of it, such as `p99`.
    pub(super) statistic: &'a str,
    /// The figure; empty where it is not known.
    pub(super) value: Option<f64>,
    /// The least that it can be, where only bounds are known.
    pub(super) at_least: Option<f64>,
    /// The most that it can be, where only bounds are known and there is a most.
    pub(super) at_most: Option<f64>,
    /// Its unit; empty where it has none.
    pub(super) unit: &'static str,
    /// Samples that it rests on.
    pub(super) n: Option<u64>,
    /// Lower end of its 95 % interval.
    pub(super) interval_low: Option<f64>,
    /// Upper end.
    pub(super) interval_high: Option<f64>,
    /// Where the interval comes from: `sections` of the run, or `order_statistics`, which take samples as independent.
    pub(super) interval: &'static str,
    /// A reservation: `too_few_samples` or `indicative`.
    pub(super) mark: &'static str,
}

/// `summary.csv`.
pub(in crate::report) fn summary_csv(report: RunReport<'_>, out: Out<'_>) -> io::Result<()> {
    let summary = report.summary;
    let mut table = Rows(Writer::from_writer(out));
    let started = summary.run.started_at.to_string();
    let workload = text(summary.run.workload.as_str().into());
    let run = Scope { run: &started, seed: summary.run.seed, kind: "run", name: &workload };
    table.run(run, summary)?;
    let groups = [
        ("class", &summary.by_class),
        ("priority", &summary.by_priority),
        ("tenant", &summary.by_tenant),
        ("model", &summary.by_model),
    ];
    for (kind, groups) in groups {
        for group in groups {
            table.group(Scope { kind, name: &text(group.name.as_str().into()), ..run }, group)?;
        }
    }
    table.0.flush()
}

/// Whose figures they are.
#[derive(Clone, Copy)]
struct Scope<'a> {
    run: &'a str,
    seed: u64,
    kind: &'static str,
    name: &'a str,
}

impl<'a> Scope<'a> {
    fn row(
        self,
        metric: &'a str,
        statistic: &'a str,
        value: Option<f64>,
        unit: &'static str,
    ) -> FigureRow<'a> {
        FigureRow {
            run: self.run,
            seed: self.seed,
            scope: self.kind,
            name: self.name,
            metric,
            statistic,
            value,
            at_least: None,
            at_most: None,
            unit,
            n: None,
            interval_low: None,
            interval_high: None,
            interval: "",
            mark: "",
        }
    }

    /// A figure of the server or of this client.
    fn side(self, figure: &SideFigure) -> FigureRow<'a> {
        let (value, at_least, at_most) = match figure.value {
            Known::Exactly(value) => (Some(value), None, None),
            Known::Within(least, most) => (None, Some(least), most),
        };
        let row = self.row(figure.metric, figure.statistic.name(), value, figure.unit.sign());
        FigureRow { at_least, at_most, n: figure.n, mark: mark(figure.mark), ..row }
    }

    /// The same of a figure of which perhaps only bounds are known.
    fn open(self, metric: &'a str, statistic: &'a str, figure: Figure) -> FigureRow<'a> {
        let open = Some(figure).filter(|figure| figure.exact().is_none());
        FigureRow {
            at_least: open.map(Figure::at_least),
            at_most: open.and_then(Figure::at_most),
            ..self.row(metric, statistic, figure.exact(), "ms")
        }
    }
}

struct Rows<W: io::Write>(Writer<W>);

impl<W: io::Write> Rows<W> {
    fn push(&mut self, row: &FigureRow<'_>) -> io::Result<()> {
        self.0.serialize(row).map_err(io::Error::from)
    }

    fn run(&mut self, scope: Scope<'_>, summary: &Summary) -> io::Result<()> {
        self.push(&scope.row("verdict", "valid", Some(f64::from(u8::from(summary.verdict.valid))), ""))?;
        for judged in &summary.objectives {
            let open = judged.value.is_none();
            let (low, high) = judged.interval.unwrap_or_default();
            let objective = text(judged.objective.text.as_str().into());
            let key = &judged.objective.key;
            let percentile = key.percentile_row(summary);
            self.push(&FigureRow {
                at_least: judged.at_least.filter(|_| open),
                at_most: judged.at_most.filter(|_| open),
                interval_low: low,
                interval_high: high,
                interval: percentile.map_or("", |(row, quantile)| interval(row.percentile(quantile))),
                mark: mark(judged.mark),
                ..scope.row("objective", &objective, judged.value, key.metric.info().unit.sign())
            })?;
            let met = Some(f64::from(u8::from(judged.passed())));
            self.push(&scope.row("objective_met", &objective, met, ""))?;
        }
        self.latencies(scope, &summary.latency)?;
        self.section(scope, "requests", &summary.requests)?;
        self.section(scope, "rates", &summary.rates)?;
        self.promises(scope, &summary.slo)?;
        self.section(scope, "failures", &summary.failures)?;
        for line in &summary.failures.kinds {
            self.push(&scope.row("failures", &line.kind.to_string(), Some(line.count as f64), "requests"))?;
        }
        self.section(scope, "tokens", &summary.tokens)?;
        self.section(scope, "stalls", &summary.stalls)?;
        self.section(scope, "in_flight", &summary.in_flight)?;
        side_figures(summary).iter().try_for_each(|figure| self.push(&scope.side(figure)))
    }

    fn group(&mut self, scope: Scope<'_>, group: &Group) -> io::Result<()> {
        self.latencies(scope, &group.latency)?;
        let counts = [
            ("planned", group.requests),
            ("completed", group.completed),
            ("failed", group.failed),
            ("censored", group.censored),
        ];
        for (statistic, count) in counts {
            self.push(&scope.row("requests", statistic, Some(count as f64), "requests"))?;
        }
        let shares = [
            ("error_rate", group.error_rate),
            ("reject_rate", group.reject_rate),
            ("timeout_rate", group.timeout_rate),
        ];
        for (statistic, share) in shares {
            self.push(&scope.row("failures", statistic, share, "share"))?;
        }
        self.promises(scope, &group.slo)
    }

    /// How promises were kept; nothing where nobody was promised anything, for all that completed would then count as good.
    fn promises(&mut self, scope: Scope<'_>, slo: &Attainment) -> io::Result<()> {
        if slo.declared { self.section(scope, "slo", slo) } else { Ok(()) }
    }

    fn latencies(&mut self, scope: Scope<'_>, latencies: &LatencyTable) -> io::Result<()> {
        for (metric, row) in latencies.iter() {
            let name = Metric::name(metric);
            let n = Some(row.n);
            self.push(&FigureRow { n, ..scope.row(name, "mean", row.mean_ms, "ms") })?;
            self.push(&FigureRow { n, ..scope.row(name, "std", row.std_ms, "ms") })?;
            self.push(&FigureRow { n, ..scope.open(name, "min", row.min) })?;
            for percentile in &row.percentiles {
                let statistic = percentile.quantile.to_string();
                let (low, high) = percentile.best_interval();
                self.push(&FigureRow {
                    n,
                    interval_low: low,
                    interval_high: high,
                    interval: interval(percentile),
                    mark: mark(percentile.mark),
                    ..scope.open(name, &statistic, percentile.figure)
                })?;
            }
            self.push(&FigureRow { n, ..scope.open(name, "max", row.max) })?;
            self.push(&FigureRow { n, ..scope.row(name, "censored", Some(row.censored as f64), "samples") })?;
        }
        Ok(())
    }

    /// Every number of a part of the summary, under its own name there; what is not known is a row without a value.
    fn section(&mut self, scope: Scope<'_>, metric: &str, part: &impl Serialize) -> io::Result<()> {
        self.numbers(scope, metric, "", &serde_json::to_value(part)?)
    }

    fn numbers(&mut self, scope: Scope<'_>, metric: &str, before: &str, part: &Value) -> io::Result<()> {
        let Value::Object(fields) = part else { return Ok(()) };
        for (key, value) in fields {
            let statistic = format!("{before}{key}");
            match value {
                Value::Object(_) => self.numbers(scope, metric, &format!("{statistic}."), value)?,
                Value::Null | Value::Number(_) => {
                    self.push(&scope.row(metric, &statistic, value.as_f64(), unit(metric, key)))?;
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
        (_, "chunks") => "chunks",
        _ => "requests",
    })
}

pub(super) const fn mark(mark: Option<SampleWarning>) -> &'static str {
    match mark {
        None => "",
        Some(SampleWarning::TooFewSamples) => "too_few_samples",
        Some(SampleWarning::Indicative) => "indicative",
    }
}

const fn interval(percentile: &Percentile) -> &'static str {
    match (percentile.batch_interval, percentile.interval) {
        (Some(_), _) => "sections",
        (None, (None, None)) => "",
        (None, _) => "order_statistics",
    }
}
