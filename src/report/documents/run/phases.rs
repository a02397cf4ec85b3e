//! A run by the phases of its load.

use super::groups::with_latencies;
use crate::analysis::{LoadPhase, Summary};
use crate::report::document::{Section, Table};
use crate::units::{percent, three_digits};

pub(super) fn section(summary: &Summary) -> Section {
    let mut section = Section::detail("By phase of the load, ms");
    if !summary.by_phase.is_empty() {
        section.table(phases(&summary.by_phase));
    }
    section
}

fn phases(phases: &[LoadPhase]) -> Table {
    let table = Table::of("By phase of the load: latencies, ms", phases)
        .column("", name)
        .column(("s", 6), |phase| phase.seconds)
        .column(("requests", 4), |phase| phase.requests)
        .column(("per s", 7), |phase| phase.scheduled_per_s);
    with_latencies(table, |phase| &phase.latency)
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
