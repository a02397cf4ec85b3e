//! The walk over the figures of a run: those of the catalogue, of the run and of its parts, then of both sides.

use super::figure::RunFigure;
use super::sides::sides;
use crate::analysis::{
    Attainment, Figure, FigureKey, FigureKind, Judgement, LatencyTable, Metric, Part, Status, Summary, Unit,
};
use crate::record::PartKind;

/// Returns every figure of a run, then those of its parts. What nobody knows or reports is not there.
pub(in crate::report) fn run_figures(summary: &Summary) -> Vec<RunFigure<'_>> {
    let mut all = state(summary);
    all.extend(summary.objectives.iter().flat_map(objective));
    all.extend(latencies(&summary.latency));
    all.extend(outcomes(summary));
    all.extend(catalogued(&summary.slo, |key| key.read(summary)));
    all.extend(offered(summary));
    all.extend(sides(summary));
    all.extend(summary.parts.iter().filter(|part| has_rows(part)).flat_map(of_part));
    all
}

/// Whether the figures of a part have rows of their own.
pub(super) fn has_rows(part: &Part) -> bool {
    !matches!(part.kind, PartKind::Phase | PartKind::Turn | PartKind::Agent | PartKind::PromptLength)
}

fn of_part(part: &Part) -> impl Iterator<Item = RunFigure<'_>> {
    let counts = [
        ("planned", part.requests),
        ("completed", part.completed),
        ("failed", part.failed),
        ("censored", part.censored),
    ];
    let counts = counts.map(|(outcome, count)| requests(outcome, count));
    let figures = latencies(&part.latency).chain(counts).chain(catalogued(&part.slo, |key| part.figure(&key)));
    figures.map(move |figure| RunFigure { part: Some(part), ..figure })
}

fn exactly<'a>(metric: &'static str, meaning: &'static str, unit: Unit, value: f64) -> RunFigure<'a> {
    RunFigure::new(metric, meaning, unit, Some(Figure::Exact(value)))
}

fn yes<'a>(metric: &'static str, meaning: &'static str, is_so: bool) -> RunFigure<'a> {
    exactly(metric, meaning, Unit::YES, f64::from(u8::from(is_so)))
}

/// Returns the figures that describe the run as a whole.
fn state(summary: &Summary) -> Vec<RunFigure<'_>> {
    let (verdict, started) = (&summary.verdict, summary.run.started_at.as_nanosecond() as f64 / 1e9);
    vec![
        yes("run_valid", "1 where the figures can be trusted, 0 where the run is INVALID", verdict.valid),
        yes("run_overloaded", "1 where the server did not keep up", verdict.is_overloaded()),
        exactly("run_started_timestamp", "The run's zero, since the Unix epoch", Unit::SECONDS, started),
        exactly("run_window", "Length of the stretch that is measured", Unit::SECONDS, summary.window.counted_s()),
    ]
}

/// Whether an objective was met, and whether that is known.
fn objective(judged: &Judgement) -> [RunFigure<'_>; 2] {
    let (met, open) = (judged.passed(), judged.status == Status::Undecided);
    let both = [
        yes("objective_met", "1 where the objective was met, 0 where it was missed or is undecided", met),
        yes("objective_undecided", "1 where the run cannot tell whether the objective was met", open),
    ];
    both.map(|figure| figure.counted("objective", judged.objective.text.as_str()))
}

/// The statistics of each latency.
fn latencies(table: &LatencyTable) -> impl Iterator<Item = RunFigure<'_>> {
    table.iter().flat_map(|(metric, row)| {
        let figure = |value| RunFigure::new(metric.name(), metric.info().meaning, Unit::MILLISECONDS, value);
        let percentiles = row.shown().map(|shown| RunFigure {
            interval: shown.interval,
            effective_samples: shown.effective_samples,
            unresolvable: shown.unresolvable,
            mark: shown.mark,
            ..figure(Some(shown.figure)).statistic(shown.quantile.to_string())
        });
        let exact = |value: Option<f64>| figure(value.map(Figure::Exact));
        let censored = exact(Some(row.censored as f64)).statistic("censored");
        let mut all = vec![
            exact(row.mean_ms).statistic("mean"),
            exact(row.std_ms).statistic("std"),
            figure(Some(row.min)).statistic("min"),
        ];
        all.extend(percentiles);
        all.push(figure(Some(row.max)).statistic("max"));
        all.push(RunFigure { unit: Unit::SAMPLES, ..censored });
        let n = Some(row.n);
        all.into_iter().map(move |figure| RunFigure { n, ..figure })
    })
}

/// Returns how many requests had an outcome, or were planned, which is none.
fn requests<'a>(outcome: &'static str, count: u64) -> RunFigure<'a> {
    let meaning = "Planned requests of the window by outcome";
    let figure = exactly("requests", meaning, Unit::REQUESTS, count as f64);
    if outcome == "planned" { figure.statistic(outcome) } else { figure.counted("outcome", outcome) }
}

/// Returns counts of what became of the requests, and of the kinds of failures.
fn outcomes(summary: &Summary) -> Vec<RunFigure<'_>> {
    let counts = &summary.requests;
    let outcomes = [
        ("planned", counts.planned),
        ("completed", counts.completed),
        ("failed", counts.failed),
        ("cancelled", counts.cancelled),
        ("censored", counts.censored),
        ("in_flight", counts.in_flight),
        ("never_due", counts.never_due),
        ("unrecorded", counts.unrecorded),
    ];
    let kinds = summary.failures.kinds.iter().map(|failure| {
        let count = exactly("failures", "Failed requests by kind", Unit::REQUESTS, failure.count as f64);
        count.counted("kind", failure.kind.to_string())
    });
    outcomes.into_iter().map(|(outcome, count)| requests(outcome, count)).chain(kinds).collect()
}

/// The rates, shares, numbers and costs of the catalogue. Where no request has an SLO, all that completed would count
/// as good.
fn catalogued<'a>(
    slo: &'a Attainment,
    read: impl Fn(FigureKey) -> Option<Figure> + 'a,
) -> impl Iterator<Item = RunFigure<'a>> {
    let declared = slo.declared;
    let is_there =
        move |metric: &Metric| metric.kind() != FigureKind::Latency && (declared || *metric != Metric::Goodput);
    Metric::ALL.iter().copied().filter(is_there).filter_map(move |metric| {
        let (info, value) = (metric.info(), read(FigureKey::from_metric(metric))?);
        Some(RunFigure::new(info.key, info.meaning, info.unit, Some(value)))
    })
}

/// Rates that are no figures of the catalogue.
fn offered(summary: &Summary) -> impl Iterator<Item = RunFigure<'_>> {
    let (requests, tokens) = (Unit::REQUESTS_PER_SECOND, Unit::TOKENS_PER_SECOND);
    let rates = &summary.rates;
    let offered = [
        ("offered_requests", "Requests scheduled in the window", requests, rates.offered_requests_per_s),
        ("sent_requests", "Requests dispatched in the window", requests, rates.achieved_requests_per_s),
        ("cached_input_tokens", "Prompt tokens from a prefix cache", tokens, rates.cached_input_tokens_per_s),
    ];
    offered.into_iter().filter_map(|(metric, meaning, unit, rate)| Some(exactly(metric, meaning, unit, rate?)))
}
