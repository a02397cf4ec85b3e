//! A run by the phases of its load.

use super::groups::with_latencies;
use crate::analysis::{Part, PhaseLoad, Summary};
use crate::record::PartKind;
use crate::report::document::{Section, Table};
use crate::units::{percent, three_digits};

pub(super) fn section(summary: &Summary) -> Section {
    let mut section = Section::detail("By phase of the load, ms");
    let phases = summary.parts_of(PartKind::Phase);
    if !phases.is_empty() {
        section.table(table(phases));
    }
    section
}

fn table(phases: Vec<&Part>) -> Table {
    let table = Table::of("By phase of the load: latencies, ms", phases)
        .column("", name)
        .column(("s", 6), |phase| phase.load.map(|load| load.seconds))
        .column(("requests", 4), |phase| phase.requests)
        .column(("per s", 7), |phase| phase.load?.scheduled_per_s);
    with_latencies(table, |phase| &phase.latency)
        .column_where_known(("SLO", 5), |phase| phase.slo.slo_attainment.map(percent))
        .column(("errors", 5), |phase| phase.error_rate.map(percent))
        .table()
}

/// `stage 2: 4 to 16/s`.
fn name(phase: &Part) -> String {
    let name = phase.name.replace('_', " ");
    match phase.load {
        Some(PhaseLoad { from_rate_per_s: Some(from), to_rate_per_s: Some(to), .. }) => {
            let from = if from.to_bits() == to.to_bits() { None } else { Some(three_digits(from)) };
            let from = from.map_or_else(String::new, |from| format!("{from} to "));
            format!("{name}: {from}{}/s", three_digits(to))
        }
        _ => name,
    }
}
