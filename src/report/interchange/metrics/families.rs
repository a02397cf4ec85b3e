//! The families of a summary.

use super::{Family, Point, Unit};
use crate::analysis::{
    Attainment, Fact, Figure, FigureKey, FigureUnit, Group, Judgement, LatencyRow, LatencyTable, Metric,
    Percentile, Quantile, Summary,
};
use crate::report::sides::{Known, SideUnit, Statistic, side_figures};

type Labels = Vec<(&'static str, String)>;

/// Every figure that is known; one that is not has no point, and a family without a point is left out.
pub(super) fn families(summary: &Summary) -> Vec<Family> {
    let parts = parts(summary);
    let mut all = state(summary);
    for metric in Metric::LATENCIES {
        all.extend(latency(metric, &parts));
    }
    all.extend(requests(summary, &parts));
    all.extend(flows(summary, &parts));
    all.extend(sides(summary));
    all.retain(|family| !family.points.is_empty());
    all
}

/// What tells a run from others, beside what its series are labelled with: facts, and as `label_NAME` what a person labelled
/// it with.
pub(super) fn facts(summary: &Summary) -> Vec<(String, String)> {
    let run = &summary.run;
    let (engine, said) = (&run.engine, &run.deployment);
    let report = |fact| summary.reproduction.value(fact).map(str::to_owned);
    let facts = [
        ("engine", Some(engine.engine.clone())),
        ("url", Some(engine.url.clone())),
        ("server_version", report(Fact::EngineVersion)),
        ("hardware", report(Fact::Hardware)),
        ("gpus", said.gpus.map(|gpus| gpus.to_string())),
        ("precision", report(Fact::Precision)),
        ("driver", report(Fact::Driver)),
        ("seed", Some(run.seed.to_string())),
        ("plan_hash", Some(run.plan_hash.clone())),
        ("skyline_version", Some(run.skyline_version.clone())),
    ];
    let known = facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let mut all: Vec<_> = known.collect();
    for (name, value) in &said.labels {
        let legal = |sign: char| if sign.is_ascii_alphanumeric() { sign } else { '_' };
        let name = format!("label_{}", name.chars().map(legal).collect::<String>());
        // Of two labels that are spelled alike so, the first stays: no name may be there twice.
        if all.iter().all(|(other, _)| *other != name) {
            all.push((name, value.clone()));
        }
    }
    all
}

/// What every series of a run is labelled with.
pub(super) fn own_labels(summary: &Summary) -> Labels {
    let run = &summary.run;
    let model = if run.models.is_empty() { run.engine.model.clone() } else { run.models.join(",") };
    vec![("workload", run.workload.clone()), ("model", model)]
}

/// The whole run, or some of its requests.
struct Part<'a> {
    labels: Labels,
    latency: &'a LatencyTable,
    slo: &'a Attainment,
    error_rate: Option<f64>,
}

/// The run and each group of it, where a breakdown has more than one.
fn parts(summary: &Summary) -> Vec<Part<'_>> {
    let mut parts = vec![Part {
        labels: own_labels(summary),
        latency: &summary.latency,
        slo: &summary.slo,
        error_rate: summary.failures.error_rate,
    }];
    for (label, groups) in [
        ("class", &summary.by_class),
        ("priority", &summary.by_priority),
        ("tenant", &summary.by_tenant),
        ("model", &summary.by_model),
    ] {
        parts.extend(groups.iter().filter(|_| groups.len() > 1).map(|group| Part {
            labels: labels_of(summary, label, group),
            latency: &group.latency,
            slo: &group.slo,
            error_rate: group.error_rate,
        }));
    }
    parts
}

/// The run's labels and the group's, which stands in place of one of the same name.
fn labels_of(summary: &Summary, label: &'static str, group: &Group) -> Labels {
    let mut labels = own_labels(summary);
    labels.retain(|(name, _)| *name != label);
    labels.push((label, group.name.clone()));
    labels
}

fn state(summary: &Summary) -> Vec<Family> {
    let labels = own_labels(summary);
    let one = |name: &str, help: &str, unit, value: f64| {
        family(name, help, unit, [Some(Point { labels: labels.clone(), value })])
    };
    let started = summary.run.started_at.as_nanosecond() as f64 / 1e9;
    let met = |judgement: &Judgement| {
        let objective = ("objective", judgement.objective.text.clone());
        Some(Point {
            labels: labels.iter().cloned().chain([objective]).collect(),
            value: f64::from(u8::from(judgement.passed())),
        })
    };
    vec![
        one(
            "run_valid",
            "1 where the figures can be trusted, 0 where the run is INVALID",
            Unit::Yes,
            f64::from(u8::from(summary.verdict.valid)),
        ),
        one("run_started_timestamp", "The run's zero, since the Unix epoch", Unit::Seconds, started),
        one("run_window", "Length of the stretch that is measured", Unit::Seconds, summary.window.length_s()),
        family(
            "objective_met",
            "1 where the objective was met, 0 where it was missed or could not be told",
            Unit::Yes,
            summary.objectives.iter().map(met),
        ),
    ]
}

/// Percentiles, their intervals, mean, longest and number of samples of one latency.
fn latency(metric: Metric, parts: &[Part<'_>]) -> Vec<Family> {
    let rows = || parts.iter().filter_map(|part| Some((part, part.latency.row(metric)?)));
    let by_quantile = |name: String, help: String, value: fn(&Percentile) -> Option<f64>| {
        let points = rows().flat_map(|(part, row)| {
            Quantile::ALL.into_iter().map(move |quantile| {
                let value = value(row.percentile(quantile))?;
                let mut labels = part.labels.clone();
                labels.push(("quantile", quantile.fraction().to_string()));
                Some(Point { labels, value: value / 1e3 })
            })
        });
        family(&name, &help, Unit::Seconds, points)
    };
    let by_row = |name: String, help: String, value: fn(&LatencyRow) -> Option<f64>| {
        let points =
            rows().map(|(part, row)| Some(Point { labels: part.labels.clone(), value: value(row)? / 1e3 }));
        family(&name, &help, Unit::Seconds, points)
    };
    let what = metric.info().meaning;
    let samples = rows().map(|(part, row)| Some(Point { labels: part.labels.clone(), value: row.n as f64 }));
    vec![
        by_quantile(metric.to_string(), format!("Percentiles: {what}"), |shown| shown.figure.exact()),
        by_quantile(
            format!("{metric}_interval_low"),
            format!("Lower end of the percentile's 95 % interval: {what}"),
            |shown| shown.best_interval().0,
        ),
        by_quantile(
            format!("{metric}_interval_high"),
            format!("Upper end of the percentile's 95 % interval: {what}"),
            |shown| shown.best_interval().1,
        ),
        by_row(format!("{metric}_mean"), format!("Mean: {what}"), |row| row.mean_ms),
        by_row(format!("{metric}_max"), format!("Longest: {what}"), |row| row.max.exact()),
        family(&format!("{metric}_samples"), "What the percentiles rest on", Unit::Samples, samples),
    ]
}

fn requests(summary: &Summary, parts: &[Part<'_>]) -> Vec<Family> {
    let counts = &summary.requests;
    let labelled = |label, name: &str, value: f64| {
        let mut labels = own_labels(summary);
        labels.push((label, name.to_owned()));
        Some(Point { labels, value })
    };
    let outcomes = [
        ("completed", counts.completed),
        ("failed", counts.failed),
        ("censored", counts.censored),
        ("never_due", counts.never_due),
        ("unrecorded", counts.unrecorded),
    ];
    let outcomes = outcomes.map(|(outcome, count)| labelled("outcome", outcome, count as f64));
    let kinds = summary.failures.kinds.iter();
    let kinds = kinds.map(|failure| labelled("kind", &failure.kind.to_string(), failure.count as f64));
    vec![
        family("requests", "Planned requests of the window by what became of them", Unit::Requests, outcomes),
        family("failures", "Failed requests by kind", Unit::Requests, kinds),
        of_parts("error", Metric::ErrorRate, parts, |part| part.error_rate),
        of_run(summary, "reject", Metric::RejectRate),
        of_run(summary, "timeout", Metric::TimeoutRate),
    ]
}

fn flows(summary: &Summary, parts: &[Part<'_>]) -> Vec<Family> {
    let rates = &summary.rates;
    let flow = |name, help, unit, value: Option<f64>| {
        let point = value.map(|value| Point { labels: own_labels(summary), value });
        family(name, help, unit, [point])
    };
    let requests = Unit::RequestsPerSecond;
    vec![
        of_parts("slo_attainment", Metric::SloAttainment, parts, |part| part.slo.slo_attainment),
        of_parts("goodput_requests", Metric::Goodput, parts, |part| {
            part.slo.goodput_per_s.filter(|_| part.slo.declared)
        }),
        flow("offered_requests", "Requests scheduled in the window", requests, rates.offered_requests_per_s),
        flow("sent_requests", "Requests dispatched in the window", requests, rates.achieved_requests_per_s),
        of_run(summary, "completed_requests", Metric::RequestRate),
        of_run(summary, "input_tokens", Metric::InputTokens),
        flow(
            "cached_input_tokens",
            "Prompt tokens from a prefix cache",
            Unit::TokensPerSecond,
            rates.cached_input_tokens_per_s,
        ),
        of_run(summary, "output_tokens", Metric::OutputTokens),
        of_run(summary, "output_tokens_by_gpu", Metric::OutputTokensPerGpu),
    ]
}

/// Of the server, its devices and this client. Where only bounds are known there is no point.
fn sides(summary: &Summary) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    for figure in side_figures(summary) {
        let Known::Exactly(value) = figure.value else { continue };
        let mut labels = own_labels(summary);
        let (name, what) = match figure.statistic {
            Statistic::Total | Statistic::Share => (figure.metric.to_owned(), ""),
            Statistic::Mean => (format!("{}_mean", figure.metric), "Mean: "),
            Statistic::Max => (format!("{}_max", figure.metric), "Largest: "),
            Statistic::P50 | Statistic::P99 => (figure.metric.to_owned(), "Percentiles: "),
        };
        match figure.statistic {
            Statistic::P50 => labels.push(("quantile", "0.5".to_owned())),
            Statistic::P99 => labels.push(("quantile", "0.99".to_owned())),
            Statistic::Total | Statistic::Share | Statistic::Mean | Statistic::Max => {}
        }
        let (unit, value) = in_base_unit(figure.unit, value);
        let point = Some(Point { labels, value });
        match families.last_mut() {
            Some(last) if last.name == name && last.unit == unit => last.points.extend(point),
            _ => families.push(family(&name, &format!("{what}{}", figure.meaning), unit, [point])),
        }
    }
    families
}

const fn in_base_unit(unit: SideUnit, value: f64) -> (Unit, f64) {
    match unit {
        SideUnit::Milliseconds => (Unit::Seconds, value / 1e3),
        SideUnit::Share => (Unit::Ratio, value),
        SideUnit::Requests => (Unit::Requests, value),
        SideUnit::Tokens => (Unit::Tokens, value),
        SideUnit::TokensPerSecond => (Unit::TokensPerSecond, value),
        SideUnit::Preemptions | SideUnit::Devices | SideUnit::Segments => (Unit::Counted, value),
        SideUnit::Bytes => (Unit::Bytes, value),
        SideUnit::Joules => (Unit::Joules, value),
        SideUnit::Watts => (Unit::Watts, value),
        SideUnit::Cores => (Unit::Cores, value),
    }
}

fn of_parts(name: &str, metric: Metric, parts: &[Part<'_>], value: fn(&Part<'_>) -> Option<f64>) -> Family {
    let points = parts.iter().map(|part| Some(Point { labels: part.labels.clone(), value: value(part)? }));
    family(name, metric.info().meaning, unit(metric), points)
}

/// A rate or a share of the whole run.
fn of_run(summary: &Summary, name: &str, metric: Metric) -> Family {
    let value = FigureKey::of(metric).read(summary).and_then(Figure::exact);
    let point = value.map(|value| Point { labels: own_labels(summary), value });
    family(name, metric.info().meaning, unit(metric), [point])
}

const fn unit(metric: Metric) -> Unit {
    match metric.info().unit {
        FigureUnit::Milliseconds => Unit::Seconds,
        FigureUnit::RequestsPerSecond => Unit::RequestsPerSecond,
        FigureUnit::TokensPerSecond => Unit::TokensPerSecond,
        FigureUnit::Requests => Unit::Requests,
        FigureUnit::Share => Unit::Ratio,
    }
}

fn family(name: &str, help: &str, unit: Unit, points: impl IntoIterator<Item = Option<Point>>) -> Family {
    let points = points.into_iter().flatten().collect();
    Family { name: name.to_owned(), help: help.to_owned(), unit, points }
}
