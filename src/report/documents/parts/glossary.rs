//! What the names of figures mean, and what other tools call the same: one text for help and pages.

use crate::analysis::{Alias, FigureInfo, FigureKind, Metric, Quantile};
use crate::report::document::{Section, Table, percentile};
use crate::units::joined;

/// A name with its meaning.
type Term = (&'static str, &'static str);

/// Returns the latencies by their names in files and objectives. Each has its formula and its names elsewhere.
fn latencies() -> impl Iterator<Item = (&'static str, &'static str, String)> {
    Metric::LATENCIES.into_iter().map(|metric| {
        let FigureInfo { formula, elsewhere, .. } = metric.info();
        let others = elsewhere.iter().map(|other| format!("{} {}", other.tool, other.name));
        (metric.name(), *formula, joined(others, ", "))
    })
}

/// Remarks on what other tools call differently.
const ELSEWHERE: [&str; 2] = [
    "GuideLLM's time per output token is e2e from sending / N; course texts divide last − first by N.",
    "Both are in summary.json under `aliases`.",
];

/// The other words of a run's page.
const WORDS: [Term; 11] = [
    ("scheduled", "the planned time of a request; latencies count from it, even if the request is dispatched later"),
    (
        "window",
        "the stretch of the run that counts; requests scheduled before it warm the server up, requests after it keep \
         the load up until the last of the window have ended",
    ),
    ("offered", "requests scheduled per second of the window; completed: those whose answer was whole in it"),
    ("in flight", "requests from their dispatch, or from their slot under the cap, to their end"),
    (
        "cut off",
        "still running when the client stopped waiting: its latencies are known only to exceed a bound, and \
         percentiles take that into account",
    ),
    (
        "SLO",
        "the bounds that a class sets for its requests; attainment is the share of requests with an SLO that met all \
         of it",
    ),
    ("stall", "a silence inside an answer over 100 ms and over five of its median gaps"),
    ("*  ~", "percentiles from too few samples to rely on, and from fewer than ten independent samples above them"),
    ("95 % interval", "of a percentile: by 20 sections of the run where it is long enough, else by order statistics"),
    ("OVERLOADED", "the server did not keep up with the load, and its latencies depend on how long the run lasted"),
    ("INVALID", "a test of the run failed, and its figures should not be relied on; the reason says which"),
];

/// The glossary of the help.
pub fn glossary() -> String {
    let term = |(name, formula, others): (&str, &str, String)| match others.as_str() {
        "" => format!("  {name:<15} {formula}\n"),
        others if formula.chars().count() + others.len() < 80 => {
            format!("  {name:<15} {formula}: {others}\n")
        }
        others => format!("  {name:<15} {formula}:\n{:18}{others}\n", ""),
    };
    let terms: String = latencies().map(term).collect();
    format!("Glossary (N: output tokens):\n{terms}{}", ELSEWHERE.join("\n"))
}

/// Returns what the names on the page mean, and what other tools call the same.
pub(crate) fn sections(aliases: &[Alias]) -> [Section; 2] {
    let latencies = latencies().map(|(name, formula, others)| {
        let others = if others.is_empty() { others } else { format!(": {others}") };
        (name, [format!("{formula}{others}")])
    });
    let others = Metric::ALL.iter().filter(|metric| metric.kind() != FigureKind::Latency);
    let glossary = Section::reference("Glossary")
        .remark(["N: output tokens."])
        .named(latencies)
        .named(others.map(|metric| (metric.name(), [metric.info().formula])))
        .named(WORDS.map(|(name, meaning)| (name, [meaning])))
        .remark(ELSEWHERE);
    let shown = |alias: &Alias, quantile| {
        let row = alias.latency.as_ref();
        row.map_or(String::new(), |row| percentile(row.percentile(quantile)))
    };
    let table = Table::over("Names elsewhere", aliases)
        .column("tool", |alias| alias.tool)
        .column("name", |alias| alias.name)
        .column("what it is", |alias| alias.formula)
        .column("skyline", |alias| alias.same_as.map_or("its own", |metric| metric.name()))
        .column("p50, ms", |alias| shown(alias, Quantile::P50))
        .column("p99, ms", |alias| shown(alias, Quantile::P99));
    [glossary, Section::reference("Names elsewhere").table(table)]
}
