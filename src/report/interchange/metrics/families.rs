//! The series of a run: families of points that share a name.

use crate::analysis::{
    Attainment, Figure, FigureKey, FigureKind, Judgement, LatencyRow, LatencyTable, Metric, Part, PartName, Percentile,
    Status, Summary,
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
        let point = |(labels, value): (Labels, Option<f64>)| Some((labels, value? / f64::from(unit.per_base)));
        let points = values.into_iter().filter_map(point).collect();
        Self { name: name.into(), help: help.into(), unit, points }
    }
}

/// Every figure that is known; one that is not has no point, and a family without a point is left out.
pub(super) fn families(summary: &Summary) -> Vec<Family> {
    let scopes = scopes(summary);
    let mut all: Vec<Family> = of_run(summary, state(summary)).chain(objectives(summary)).collect();
    all.extend(Metric::LATENCIES.into_iter().flat_map(|metric| latency(metric, &scopes)));
    all.extend(requests(summary));
    let others = Metric::ALL.iter().copied().filter(|metric| metric.kind() != FigureKind::Latency);
    all.extend(others.map(|metric| figure(metric, summary, &scopes)));
    all.extend(of_run(summary, offered(summary)));
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

/// A series of the whole run: its name, what it is, its unit and its value.
type OfRun = (&'static str, &'static str, Unit, Option<f64>);

fn of_run(summary: &Summary, series: impl IntoIterator<Item = OfRun>) -> impl Iterator<Item = Family> {
    let labels = own_labels(summary);
    let family = move |(name, help, unit, value)| Family::new(name, help, unit, [(labels.clone(), value)]);
    series.into_iter().map(family)
}

fn yes(is_so: bool) -> Option<f64> {
    Some(f64::from(u8::from(is_so)))
}

/// What is said of the run as a whole.
fn state(summary: &Summary) -> [OfRun; 4] {
    let started = summary.run.started_at.as_nanosecond() as f64 / 1e9;
    let overloaded = yes(summary.verdict.is_overloaded());
    let trusted = "1 where the figures can be trusted, 0 where the run is INVALID";
    let window = Some(summary.window.counted_s());
    [
        ("run_valid", trusted, Unit::YES, yes(summary.verdict.valid)),
        ("run_overloaded", "1 where the server did not keep up", Unit::YES, overloaded),
        ("run_started_timestamp", "The run's zero, since the Unix epoch", Unit::SECONDS, Some(started)),
        ("run_window", "Length of the stretch that is measured", Unit::SECONDS, window),
    ]
}

/// Whether each objective was met, and whether that is known.
fn objectives(summary: &Summary) -> [Family; 2] {
    let judged: [(_, _, fn(&Judgement) -> bool); 2] = [
        ("objective_met", "1 where the objective was met, 0 where it was missed or is undecided", Judgement::passed),
        ("objective_undecided", "1 where the run cannot tell whether the objective was met", |judgement| {
            judgement.status == Status::Undecided
        }),
    ];
    judged.map(|(name, help, is_so)| {
        let points = summary.objectives.iter().map(|judgement| {
            let objective = judgement.objective.text.as_str();
            (with(own_labels(summary), "objective", objective), yes(is_so(judgement)))
        });
        Family::new(name, help, Unit::YES, points)
    })
}

/// Percentiles, their intervals, mean, longest and number of samples of one latency.
fn latency(metric: Metric, scopes: &[Scope<'_>]) -> impl Iterator<Item = Family> {
    let by_quantile: [(_, _, _, fn(&Percentile) -> Option<f64>); 4] = [
        ("", "Percentiles", Unit::MILLISECONDS, |shown| shown.figure.exact()),
        ("_interval_low", "Lower end of the percentile's 95 % interval", Unit::MILLISECONDS, |shown| shown.interval.0),
        ("_interval_high", "Upper end of the percentile's 95 % interval", Unit::MILLISECONDS, |shown| shown.interval.1),
        ("_effective_samples", "Independent samples that tell as much of the percentile", Unit::SAMPLES, |shown| {
            shown.effective_samples
        }),
    ];
    let what = metric.info().meaning;
    let by_row: [(_, _, _, fn(&LatencyRow) -> Option<f64>); 3] = [
        ("_mean", format!("Mean: {what}"), Unit::MILLISECONDS, |row| row.mean_ms),
        ("_max", format!("Longest: {what}"), Unit::MILLISECONDS, |row| row.max.exact()),
        ("_samples", "What the percentiles rest on".to_owned(), Unit::SAMPLES, |row| Some(row.n as f64)),
    ];
    let rows = || scopes.iter().filter_map(|scope| Some((&scope.labels, scope.latency.row(metric)?)));
    let of_quantiles = by_quantile.map(|(ending, help, unit, read)| {
        let points = rows().flat_map(|(labels, row)| {
            row.shown().map(move |shown| {
                let labels = with(labels.clone(), "quantile", shown.quantile.fraction().to_string());
                (labels, read(shown))
            })
        });
        Family::new(format!("{metric}{ending}"), format!("{help}: {what}"), unit, points)
    });
    let of_rows = by_row.map(|(ending, help, unit, read)| {
        let points = rows().map(|(labels, row)| (labels.clone(), read(row)));
        Family::new(format!("{metric}{ending}"), help, unit, points)
    });
    of_quantiles.into_iter().chain(of_rows)
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
    let outcomes = outcomes.map(|(outcome, count)| (with(own_labels(summary), "outcome", outcome), Some(count as f64)));
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
fn offered(summary: &Summary) -> [OfRun; 3] {
    let rates = &summary.rates;
    let (requests, tokens) = (Unit::REQUESTS_PER_SECOND, Unit::TOKENS_PER_SECOND);
    let (offered, sent) = (rates.offered_requests_per_s, rates.achieved_requests_per_s);
    let cached = rates.cached_input_tokens_per_s;
    [
        ("offered_requests", "Requests scheduled in the window", requests, offered),
        ("sent_requests", "Requests dispatched in the window", requests, sent),
        ("cached_input_tokens", "Prompt tokens from a prefix cache", tokens, cached),
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
