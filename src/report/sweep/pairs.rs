//! Closed loops of a sweep beside open arrivals at the throughput that their users reached.

use crate::experiment::{ArrivalUnit, Latency, PairedFigure, PairedLatency, PairedLoad};
use crate::report::documents::paired_open::known;
use crate::report::grid::{ALWAYS, Grid, NOTHING, cell};
use crate::report::page::{Page, Tone};
use crate::units::{count, three_digits};

pub(super) fn table(page: &mut Page, pairs: &[PairedLoad]) {
    let Some(first) = pairs.first() else { return };
    let what = match first.pair.begun {
        ArrivalUnit::Requests => "requests/s",
        ArrivalUnit::Sessions => "sessions/s",
    };
    page.heading("What the closed loops hide: users, and as many requests whatever the server does; p99, ms");
    let mut grid = Grid::new(&[
        ("users", ALWAYS),
        (what, ALWAYS),
        ("TTFT closed", ALWAYS),
        ("open", ALWAYS),
        ("open ÷ closed", ALWAYS),
        ("e2e closed", 2),
        ("open", 2),
        ("open ÷ closed", 1),
        ("", ALWAYS),
    ]);
    for PairedLoad { users, pair, .. } in pairs {
        let note = match (pair.both_valid, pair.open_settled) {
            (false, _) => "INVALID",
            (true, false) => "open grew",
            (true, true) => "",
        };
        let [ttft, e2e] = [pair.ttft, pair.e2e].map(cells);
        grid.row(
            [count(*users), cell(pair.rate_per_s)]
                .into_iter()
                .chain(ttft)
                .chain(e2e)
                .chain([note.to_owned()]),
        );
    }
    page.grid(grid);
    if pairs.iter().any(|paired| !paired.pair.open_settled) {
        let text = "open grew: independent arrivals at that rate queue up for as long as they come, and their latencies \
                    depend on how long the run lasted";
        page.entry(Tone::Faint, "  ", text);
    }
}

fn cells(latency: Option<PairedLatency>) -> [String; 3] {
    let figure = |latency: Latency| known(latency);
    latency.map_or([NOTHING, NOTHING, NOTHING].map(str::to_owned), |latency| {
        let PairedFigure { closed, open, ratio, .. } = latency.p99;
        [figure(closed), figure(open), ratio.map_or(NOTHING.to_owned(), three_digits)]
    })
}
