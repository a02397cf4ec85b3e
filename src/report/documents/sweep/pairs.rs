//! Closed loops of a sweep beside open arrivals at the throughput that their users reached.

use super::throughput::closed_and_open;
use crate::experiment::{Latency, PairedFigure, PairedLatency, PairedLoad, Sweep};
use crate::report::document::{ALWAYS, NOTHING, Note, Section, Table, cell};
use crate::units::{count, three_digits};

pub(super) fn section(sweep: &Sweep) -> Section {
    let mut section = Section::detail(
        "What closed loops hide (coordinated omission): users, and open arrivals at their rate",
    );
    let Some(first) = sweep.paired.first() else { return section };
    let rate = format!("{}/s", first.pair.begun.name());
    let columns = [
        ("users", ALWAYS),
        (rate.as_str(), ALWAYS),
        ("p99 TTFT closed, ms", ALWAYS),
        ("open", ALWAYS),
        ("open ÷ closed", ALWAYS),
        ("p99 e2e closed, ms", 2),
        ("open", 2),
        ("open ÷ closed", 1),
        ("", ALWAYS),
    ];
    let mut table = Table::new("Closed loops and open arrivals", columns);
    for PairedLoad { users, pair, .. } in &sweep.paired {
        let note = match (pair.both_valid, pair.open_settled) {
            (false, _) => "INVALID",
            (true, false) => "open grew",
            (true, true) => "",
        };
        let [ttft, e2e] = [pair.ttft, pair.e2e].map(cells);
        let first = [count(*users), cell(pair.rate_per_s)].into_iter();
        table.row(first.chain(ttft).chain(e2e).chain([note.to_owned()]));
    }
    section.table(table);
    if sweep.paired.iter().any(|paired| !paired.pair.open_settled) {
        section.remark(
            "open grew: open arrivals at that rate queue up for as long as they come, so their latencies depend on the \
             length of the run",
        );
    }
    section.notes(sweep.paired.iter().map(|paired| Note::info(paired.pair.sentence.clone())));
    for chart in closed_and_open(sweep) {
        section.chart(chart);
    }
    section
}

fn cells(latency: Option<PairedLatency>) -> [String; 3] {
    latency.map_or([NOTHING, NOTHING, NOTHING].map(str::to_owned), |latency| {
        let PairedFigure { closed, open, ratio, .. } = latency.p99;
        [known(closed), known(open), ratio.map_or(NOTHING.to_owned(), three_digits)]
    })
}

/// A latency, or the bound that is known of it.
fn known(latency: Latency) -> String {
    match latency {
        Latency { value_ms: Some(ms), .. } => cell(ms),
        Latency { at_most_ms: Some(ms), .. } => format!("≤ {}", cell(ms)),
        Latency { at_least_ms: Some(ms), .. } => format!("> {}", cell(ms)),
        _ => NOTHING.to_owned(),
    }
}
