//! The series of a run: families of points that share a name.

use crate::analysis::{
    Attainment, Group, Judgement, LatencyRow, LatencyTable, Metric, Percentile, Quantile, Summary,
};
use crate::report::interchange::facts;
use crate::report::sides::side_figures;
use crate::report::unit::Unit;

pub(super) type Labels = Vec<(&'static str, String)>;

/// Series that share a name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Family {
    /// Its name without the program's name before it and the unit's after it.
    pub(super) name: String,
    /// What it is, in one sentence without its full stop.
    pub(super) help: String,
    pub(super) unit: Unit,
    pub(super) points: Vec<LabelledValue>,
}

/// One value of a family.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LabelledValue {
    /// What tells it from the others of its family.
    pub(super) labels: Labels,
    /// In the base unit.
    pub(super) value: f64,
}

impl Family {
    /// Of the values in `unit` those that are known.
    fn new(
        name: impl Into<String>,
        help: impl Into<String>,
        unit: Unit,
        values: impl IntoIterator<Item = (Labels, Option<f64>)>,
    ) -> Self {
        let point = |(labels, value): (Labels, Option<f64>)| {
            Some(LabelledValue { labels, value: value? / f64::from(unit.per_base) })
        };
        let points = values.into_iter().filter_map(point).collect();
        Self { name: name.into(), help: help.into(), unit, points }
    }

    /// A rate or a share as the catalogue has it.
    fn of(metric: Metric, name: &str, values: impl IntoIterator<Item = (Labels, Option<f64>)>) -> Self {
        let info = metric.info();
        Self::new(name, format!("{}: {}", info.title, info.meaning), info.unit.into(), values)
    }
}

/// Every figure that is known; one that is not has no point, and a family without a point is left out.
pub(super) fn families(summary: &Summary) -> Vec<Family> {
    let parts = parts(summary);
    let mut all = state(summary);
    all.extend(Metric::LATENCIES.into_iter().flat_map(|metric| latency(metric, &parts)));
    all.extend(requests(summary));
    all.extend(rates(summary, &parts));
    all.extend(sides(summary));
    all.retain(|family| !family.points.is_empty());
    all
}

/// What tells a run from others: what its series are labelled with, facts, and as `label_NAME` what a user labelled it with.
pub(super) fn run_labels(summary: &Summary) -> Vec<(String, String)> {
    let own = own_labels(summary).into_iter().chain(facts::facts(summary));
    let mut all: Vec<_> = own.map(|(name, value)| (name.to_owned(), value)).collect();
    for (name, value) in &summary.run.deployment.labels {
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

fn with(mut labels: Labels, name: &'static str, value: impl Into<String>) -> Labels {
    labels.push((name, value.into()));
    labels
}

fn state(summary: &Summary) -> Vec<Family> {
    let labels = own_labels(summary);
    let yes = |is_so: bool| Some(f64::from(u8::from(is_so)));
    let one = |value| [(labels.clone(), value)];
    let met = |judgement: &Judgement| {
        let objective = judgement.objective.text.as_str();
        (with(labels.clone(), "objective", objective), yes(judgement.passed()))
    };
    let started = Some(summary.run.started_at.as_nanosecond() as f64 / 1e9);
    let window = Some(summary.window.length_s());
    vec![
        Family::new(
            "run_valid",
            "1 where the figures can be trusted, 0 where the run is INVALID",
            Unit::YES,
            one(yes(summary.verdict.valid)),
        ),
        Family::new(
            "run_overloaded",
            "1 where the server did not keep up",
            Unit::YES,
            one(yes(summary.verdict.is_overloaded())),
        ),
        Family::new(
            "run_started_timestamp",
            "The run's zero, since the Unix epoch",
            Unit::SECONDS,
            one(started),
        ),
        Family::new("run_window", "Length of the stretch that is measured", Unit::SECONDS, one(window)),
        Family::new(
            "objective_met",
            "1 where the objective was met, 0 where it was missed or could not be decided",
            Unit::YES,
            summary.objectives.iter().map(met),
        ),
    ]
}

/// Percentiles, their intervals, mean, longest and number of samples of one latency.
fn latency(metric: Metric, parts: &[Part<'_>]) -> [Family; 7] {
    let rows = || parts.iter().filter_map(|part| Some((&part.labels, part.latency.row(metric)?)));
    let what = metric.info().meaning;
    let by_quantile = |ending: &str, help: &str, unit, value: fn(&Percentile) -> Option<f64>| {
        let points = rows().flat_map(|(labels, row)| {
            Quantile::ALL.into_iter().map(move |quantile| {
                let labels = with(labels.clone(), "quantile", quantile.fraction().to_string());
                (labels, value(row.percentile(quantile)))
            })
        });
        Family::new(format!("{metric}{ending}"), format!("{help}: {what}"), unit, points)
    };
    let by_row = |ending: &str, help: String, unit, value: fn(&LatencyRow) -> Option<f64>| {
        let points = rows().map(|(labels, row)| (labels.clone(), value(row)));
        Family::new(format!("{metric}{ending}"), help, unit, points)
    };
    [
        by_quantile("", "Percentiles", Unit::MILLISECONDS, |shown| shown.figure.exact()),
        by_quantile(
            "_interval_low",
            "Lower end of the percentile's 95 % interval",
            Unit::MILLISECONDS,
            |shown| shown.interval.0,
        ),
        by_quantile(
            "_interval_high",
            "Upper end of the percentile's 95 % interval",
            Unit::MILLISECONDS,
            |shown| shown.interval.1,
        ),
        by_quantile(
            "_effective_samples",
            "Independent samples that tell as much of the percentile",
            Unit::SAMPLES,
            |shown| shown.effective_samples,
        ),
        by_row("_mean", format!("Mean: {what}"), Unit::MILLISECONDS, |row| row.mean_ms),
        by_row("_max", format!("Longest: {what}"), Unit::MILLISECONDS, |row| row.max.exact()),
        by_row("_samples", "What the percentiles rest on".to_owned(), Unit::SAMPLES, |row| {
            Some(row.n as f64)
        }),
    ]
}

fn requests(summary: &Summary) -> [Family; 2] {
    let counts = &summary.requests;
    let outcomes = [
        ("completed", counts.completed),
        ("failed", counts.failed),
        ("censored", counts.censored),
        ("never_due", counts.never_due),
        ("unrecorded", counts.unrecorded),
    ];
    let outcomes =
        outcomes.map(|(outcome, count)| (with(own_labels(summary), "outcome", outcome), Some(count as f64)));
    let kinds = summary.failures.kinds.iter().map(|failure| {
        let labels = with(own_labels(summary), "kind", failure.kind.to_string());
        (labels, Some(failure.count as f64))
    });
    let what = "Planned requests of the window by outcome";
    [
        Family::new("requests", what, Unit::REQUESTS, outcomes),
        Family::new("failures", "Failed requests by kind", Unit::REQUESTS, kinds),
    ]
}

/// Shares and rates, those of the catalogue first.
fn rates(summary: &Summary, parts: &[Part<'_>]) -> Vec<Family> {
    let (rates, failures) = (&summary.rates, &summary.failures);
    let whole = |value| [(own_labels(summary), value)];
    let each = |value: fn(&Part<'_>) -> Option<f64>| {
        parts.iter().map(move |part| (part.labels.clone(), value(part)))
    };
    let flow = |name, help, unit, value| Family::new(name, help, unit, whole(value));
    let (requests, tokens) = (Unit::REQUESTS_PER_SECOND, Unit::TOKENS_PER_SECOND);
    vec![
        Family::of(Metric::ErrorRate, "error", each(|part| part.error_rate)),
        Family::of(Metric::RejectRate, "reject", whole(failures.reject_rate)),
        Family::of(Metric::TimeoutRate, "timeout", whole(failures.timeout_rate)),
        Family::of(Metric::SloAttainment, "slo_attainment", each(|part| part.slo.slo_attainment)),
        Family::of(
            Metric::Goodput,
            "goodput_requests",
            each(|part| part.slo.goodput_per_s.filter(|_| part.slo.declared)),
        ),
        Family::of(Metric::RequestRate, "completed_requests", whole(rates.completed_requests_per_s)),
        Family::of(Metric::InputTokens, "input_tokens", whole(rates.input_tokens_per_s)),
        Family::of(Metric::OutputTokens, "output_tokens", whole(rates.output_tokens_per_s)),
        Family::of(
            Metric::OutputTokensPerGpu,
            "output_tokens_by_gpu",
            whole(rates.output_tokens_per_s_per_gpu),
        ),
        flow("offered_requests", "Requests scheduled in the window", requests, rates.offered_requests_per_s),
        flow("sent_requests", "Requests dispatched in the window", requests, rates.achieved_requests_per_s),
        flow(
            "cached_input_tokens",
            "Prompt tokens from a prefix cache",
            tokens,
            rates.cached_input_tokens_per_s,
        ),
    ]
}

/// Of the server, its devices and this client. Where only bounds are known there is no point.
fn sides(summary: &Summary) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    for figure in side_figures(summary) {
        let (ending, what, quantile) = match figure.statistic {
            "mean" => ("_mean", "Mean: ", None),
            "max" => ("_max", "Largest: ", None),
            "p50" => ("", "Percentiles: ", Some("0.5")),
            "p99" => ("", "Percentiles: ", Some("0.99")),
            _ => ("", "", None),
        };
        let mut labels = own_labels(summary);
        labels.extend(quantile.map(|quantile| ("quantile", quantile.to_owned())));
        let (name, help) = (format!("{}{ending}", figure.metric), format!("{what}{}", figure.meaning));
        let family = Family::new(name, help, figure.unit, [(labels, figure.value.exact())]);
        match families.last_mut() {
            Some(last) if last.name == family.name && last.unit == family.unit => {
                last.points.extend(family.points);
            }
            _ => families.push(family),
        }
    }
    families
}
