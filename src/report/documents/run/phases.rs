//! A run by the phases of its load, and latency recovery: how long after a burst until latency is back.

use crate::analysis::wording::{counted, percent, seconds};
use crate::analysis::{LoadPhase, Metric, Quantile, Recovery, RecoveryOutcome, Summary};
use crate::report::document::{ALWAYS, Section, Table};
use crate::units::three_digits;

pub(super) fn section(summary: &Summary) -> Section {
    let mut section = Section::detail("By phase of the load, ms");
    if !summary.by_phase.is_empty() {
        section.table(phases(&summary.by_phase));
    }
    let Some(recovery) = &summary.recovery else { return section };
    section.facts("latency recovery", Some(in_words(recovery)));
    section.facts("back", recovery.bound_ms().map(|bound| bound_in_words(recovery, bound)));
    if recovery.bursts.len() > 1 {
        section.table(bursts(recovery));
    }
    section
}

fn phases(phases: &[LoadPhase]) -> Table {
    let mut table = Table::of("By phase of the load: latencies, ms", phases)
        .column("", name)
        .column(("s", 6), |phase| phase.seconds)
        .column(("requests", 4), |phase| phase.requests)
        .column(("per s", 7), |phase| phase.scheduled_per_s);
    for (title, worth, metric, quantile) in [
        ("TTFT p50", ALWAYS, Metric::Ttft, Quantile::P50),
        ("p95", ALWAYS, Metric::Ttft, Quantile::P95),
        ("p99", 1, Metric::Ttft, Quantile::P99),
        ("TPOT p50", ALWAYS, Metric::Tpot, Quantile::P50),
        ("p95", 2, Metric::Tpot, Quantile::P95),
        ("e2e p50", ALWAYS, Metric::E2e, Quantile::P50),
        ("p95", 3, Metric::E2e, Quantile::P95),
    ] {
        table = table.column((title, worth), |phase| phase.latency.percentile(metric, quantile));
    }
    table
        .column_where_known(("SLO", 5), |phase| phase.slo_attainment.map(percent))
        .column(("errors", 5), |phase| phase.error_rate.map(percent))
        .table()
}

/// `stage 2: 4 to 16/s`.
fn name(phase: &LoadPhase) -> String {
    let name = phase.phase.replace('_', " ");
    match (phase.from_rate_per_s, phase.to_rate_per_s) {
        (Some(from), Some(to)) if from.to_bits() == to.to_bits() => {
            format!("{name}: {}/s", three_digits(from))
        }
        (Some(from), Some(to)) => format!("{name}: {} to {}/s", three_digits(from), three_digits(to)),
        _ => name,
    }
}

/// How long it took, or that latency did not come back.
fn in_words(recovery: &Recovery) -> String {
    let Recovery { recovered, not_recovered, unknown, .. } = *recovery;
    let judged = counted(recovered + not_recovered, "burst");
    let median = match (recovery.median_s, recovery.shortest_s, recovery.longest_s) {
        (Some(median), Some(_), Some(_)) if recovered == 1 => {
            Some(format!("{} after the burst", seconds(median)))
        }
        (Some(median), Some(shortest), Some(longest)) => Some(format!(
            "{} after a burst (median of {judged}; {} to {})",
            seconds(median),
            seconds(shortest),
            seconds(longest)
        )),
        (Some(median), ..) => Some(format!("{} after a burst (median of {judged})", seconds(median))),
        (None, ..) => None,
    };
    let missed = (not_recovered > 0).then(|| {
        let watched = recovery.bursts.iter().filter(|burst| burst.outcome == RecoveryOutcome::NotRecovered);
        let watched = watched.map(|burst| burst.watched_s).fold(0.0, f64::max);
        format!("not recovered within {} after {not_recovered} of {judged}", seconds(watched))
    });
    let open = (unknown > 0).then(|| {
        let few = recovery.bursts.iter().any(|burst| burst.bound_ms.is_none());
        let least = Quantile::P95.floor();
        let why = if few {
            format!("fewer than {least} requests at the base rate")
        } else {
            "the window ends too soon after it".to_owned()
        };
        format!("cannot tell of {}: {why}", counted(unknown, "burst"))
    });
    median.into_iter().chain(missed).chain(open).collect::<Vec<_>>().join("; ")
}

/// What counts as back.
fn bound_in_words(recovery: &Recovery, bound: f64) -> String {
    let metric = if recovery.metric == Metric::Ttft.name() { Metric::Ttft } else { Metric::E2e };
    let (title, bound) = (metric.title(), three_digits(bound));
    format!("most {title}s at most {bound} ms, the p95 at the base rate")
}

fn bursts(recovery: &Recovery) -> Table {
    let outcome = |outcome: RecoveryOutcome| match outcome {
        RecoveryOutcome::Recovered => "recovered",
        RecoveryOutcome::NotRecovered => "not recovered",
        RecoveryOutcome::Unknown => "cannot tell",
    };
    Table::of("Latency recovery after each burst", &recovery.bursts)
        .column("burst", |burst| format!("{} to {}", seconds(burst.from_s), seconds(burst.until_s)))
        .column("recovery, s", |burst| burst.recovery_s)
        .column(("watched, s", 1), |burst| burst.watched_s)
        .column("", |burst| outcome(burst.outcome))
        .table()
}
