//! The series of a run: families of points that share a name.

use crate::analysis::{
    Attainment, Figure, FigureKey, FigureKind, Judgement, LatencyRow, LatencyTable, Metric, Part, PartName,
    Percentile, Status, Summary,
};
use crate::record::PartKind;
use crate::report::interchange::facts;
use crate::report::sides::side_figures;
use crate::report::unit::Unit;

type Labels = Vec<(&'static str, String)>;

/// Series that share a name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Family {
    /// Its name without the program's name before it and the unit's after it.
    pub(super) name: String,
    /// What it is, in one sentence without its full stop.
    pub(super) help: String,
    pub(super) unit: Unit,
    /// Values in the base unit, each with what tells it from the others.
    pub(super) points: Vec<(Labels, f64)>,
}

impl Family {
    /// Of the values in `unit` those that are known.
    fn new(
        name: impl Into<String>,
        help: impl Into<String>,
        unit: Unit,
        values: impl IntoIterator<Item = (Labels, Option<f64>)>,
    ) -> Self {
        let point =
            |(labels, value): (Labels, Option<f64>)| Some((labels, value? / f64::from(unit.per_base)));
        let points = values.into_iter().filter_map(point).collect();
        Self { name: name.into(), help: help.into(), unit, points }
    }
}

/// Every figure that is known; one that is not has no point, and a family without a point is left out.
pub(super) fn families(summary: &Summary) -> Vec<Family> {
    let scopes = scopes(summary);
    let mut all = state(summary);
    all.extend(Metric::LATENCIES.into_iter().flat_map(|metric| latency(metric, &scopes)));
    all.extend(requests(summary));
    let others = Metric::ALL.iter().copied().filter(|metric| metric.kind() != FigureKind::Latency);
    all.extend(others.map(|metric| figure(metric, summary, &scopes)));
    all.extend(offered(summary));
    all.extend(sides(summary));
    all.retain(|family| !family.points.is_empty());
    all
}

/// What tells a run from others: what its series are labelled with, facts, and as `label_NAME` what a user
/// labelled it with.
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
struct Scope<'a> {
    labels: Labels,
    /// Which requests; absent: all.
    part: Option<PartName>,
    latency: &'a LatencyTable,
    slo: &'a Attainment,
}

/// The run and each part of it, where a breakdown has more than one.
fn scopes(summary: &Summary) -> Vec<Scope<'_>> {
    let (latency, slo) = (&summary.latency, &summary.slo);
    let mut scopes = vec![Scope { labels: own_labels(summary), part: None, latency, slo }];
    let several = |part: &&Part| part.kind == PartKind::Tag || summary.parts_of(part.kind).len() > 1;
    let has_rows = |part: &&Part| !matches!(part.kind, PartKind::Phase | PartKind::Turn);
    scopes.extend(summary.parts.iter().filter(has_rows).filter(several).map(|part| Scope {
        labels: labels_of(summary, part),
        part: Some(PartName { kind: Some(part.kind), name: part.name.clone() }),
        latency: &part.latency,
        slo: &part.slo,
    }));
    scopes
}

/// The run's labels and the part's, which stands in place of one of the same name.
fn labels_of(summary: &Summary, part: &Part) -> Labels {
    let mut labels = own_labels(summary);
    labels.retain(|(name, _)| *name != part.kind.name());
    labels.push((part.kind.name(), part.name.clone()));
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
    let undecided = |judgement: &Judgement| (met(judgement).0, yes(judgement.status == Status::Undecided));
    let started = Some(summary.run.started_at.as_nanosecond() as f64 / 1e9);
    let window = Some(summary.window.counted_s());
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
            "1 where the objective was met, 0 where it was missed or is undecided",
            Unit::YES,
            summary.objectives.iter().map(met),
        ),
        Family::new(
            "objective_undecided",
            "1 where the run cannot tell whether the objective was met",
            Unit::YES,
            summary.objectives.iter().map(undecided),
        ),
    ]
}

/// Percentiles, their intervals, mean, longest and number of samples of one latency.
fn latency(metric: Metric, scopes: &[Scope<'_>]) -> [Family; 7] {
    let rows = || scopes.iter().filter_map(|scope| Some((&scope.labels, scope.latency.row(metric)?)));
    let what = metric.info().meaning;
    let by_quantile = |ending: &str, help: &str, unit, value: fn(&Percentile) -> Option<f64>| {
        let points = rows().flat_map(|(labels, row)| {
            row.shown().map(move |shown| {
                let labels = with(labels.clone(), "quantile", shown.quantile.fraction().to_string());
                (labels, value(shown))
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
        ("in_flight", counts.in_flight),
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

/// A rate, a share or a number of the catalogue, of the run and of each of its parts that has one.
fn figure(metric: Metric, summary: &Summary, scopes: &[Scope<'_>]) -> Family {
    let info = metric.info();
    // Where no request has an SLO, all that completed would count as good.
    let is_there = |scope: &&Scope<'_>| {
        (scope.part.is_none() || info.of_parts) && (metric != Metric::Goodput || scope.slo.declared)
    };
    let values = scopes.iter().filter(is_there).map(|scope| {
        let key = FigureKey { part: scope.part.clone(), ..FigureKey::from_metric(metric) };
        (scope.labels.clone(), key.read(summary).and_then(Figure::exact))
    });
    let help = format!("{}: {}", info.title, info.meaning);
    Family::new(series_name(metric), help, info.unit.into(), values)
}

/// The name of a figure in files without its unit, which ends the series' name: `output_tokens_by_gpu`.
pub(super) fn series_name(metric: Metric) -> String {
    let field = match metric {
        Metric::Goodput => "goodput_requests",
        other => other.field(),
    };
    let name = field.strip_suffix("_rate").unwrap_or(field);
    name.replace("_per_s", "").replace("_per_", "_by_")
}

/// Rates that are no figures of the catalogue.
fn offered(summary: &Summary) -> [Family; 3] {
    let rates = &summary.rates;
    let of = |name, help, unit, value| Family::new(name, help, unit, [(own_labels(summary), value)]);
    let (requests, tokens) = (Unit::REQUESTS_PER_SECOND, Unit::TOKENS_PER_SECOND);
    [
        of("offered_requests", "Requests scheduled in the window", requests, rates.offered_requests_per_s),
        of("sent_requests", "Requests dispatched in the window", requests, rates.achieved_requests_per_s),
        of(
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
