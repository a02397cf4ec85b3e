//! Sessions and closed loops: their turns, what they reached, and what a closed loop hides.

use crate::analysis::wording::{counted, percent, seconds};
use crate::analysis::{Figure, LatencyRow, LoadForm, Metric, Quantile, Sessions, Summary, TurnGroup};
use crate::report::document::{NOTHING, Note, Section, Table, TableCell, TableColumn, mark};
use crate::units::{count, three_digits};

/// Said where no open run stands beside the closed loop.
const HIDDEN: &str = "slow answers hold back the requests that would have queued behind them (coordinated omission), so \
                      these latencies are lower than those of users who arrive independently";
const TO_SEE_IT: &str =
    "measure the open run too (bench --paired-open), or predict it (skyline simulate --users)";

pub(super) fn sections(summary: &Summary, has_paired_open: bool) -> Vec<Section> {
    let mut closed = closed_loop(summary);
    if summary.run.load == LoadForm::Closed && !has_paired_open {
        closed.note(Note::warning(HIDDEN).cure(TO_SEE_IT));
    }
    let mut sections: Vec<_> = summary.sessions.as_ref().map(sessions).into_iter().collect();
    sections.push(closed);
    sections
}

fn sessions(sessions: &Sessions) -> Section {
    let mut section = Section::detail("Sessions, of those that began in the window");
    let Sessions { begun, completed, broken_off, censored, .. } = *sessions;
    section.fact(
        "begun",
        format!(
            "{}: {} completed, {} broken off by a failure, {} cut off by the end of the run",
            count(begun),
            count(completed),
            count(broken_off),
            count(censored)
        ),
    );
    if begun > 0 {
        let each = |turns: u64| three_digits(turns as f64 / begun as f64);
        let sent = each(sessions.turns_sent);
        let line = match sessions.turns_planned.zip(sessions.turns_not_reached) {
            Some((planned, unreached)) => {
                format!("{} each as planned, {sent} sent; {} not reached", each(planned), percent(unreached))
            }
            None => format!("{sent} each"),
        };
        section.fact("turns", line);
    }
    if let Some(duration) = &sessions.duration {
        let shown = [Quantile::P50, Quantile::P90, Quantile::P99].map(|quantile| lasted(duration, quantile));
        let line = format!("{}, from the first turn's scheduled moment to the last token", shown.join(", "));
        section.fact("duration", line);
    }
    section.table(by_turn(&sessions.by_turn));
    section
}

/// `p50 41.2 s`, with the marks of the latency table.
fn lasted(row: &LatencyRow, quantile: Quantile) -> String {
    let shown = row.percentile(quantile);
    let length = |ms: f64| seconds(ms / 1e3);
    let figure = match shown.figure {
        Figure::Exact(ms) => length(ms),
        Figure::Between { low, high } if length(low) == length(high) => length(high),
        Figure::Between { high, .. } => format!("≤ {}", length(high)),
        Figure::AtLeast(ms) => format!("> {}", length(ms)),
    };
    format!("{quantile} {figure}{}", mark(shown.mark))
}

fn by_turn(groups: &[TurnGroup]) -> Table {
    let column = |title: &str, worth: u8| TableColumn::new(title).worth(worth);
    let columns = [
        "turn".into(),
        column("requests", 3),
        "prompt tokens".into(),
        column("cached", 2),
        "TTFT p50, ms".into(),
        "p99".into(),
        column("e2e p50", 1),
    ];
    let mut table = Table::new("By turn, ms", columns);
    for group in groups {
        let shown = |metric, quantile| {
            let row = group.latency.row(metric);
            row.map_or(NOTHING.into(), |row| TableCell::percentile(row.percentile(quantile)))
        };
        let turn = match (group.from, group.to) {
            (from, Some(to)) if from == to => count(u64::from(from)),
            (from, Some(to)) => format!("{from}–{to}"),
            (from, None) => format!("{from} and later"),
        };
        table.row([
            turn.into(),
            TableCell::count(group.requests),
            TableCell::number(group.mean_prompt_tokens.round()),
            TableCell::known(group.mean_cached_tokens.map(f64::round)),
            shown(Metric::Ttft, Quantile::P50),
            shown(Metric::Ttft, Quantile::P99),
            shown(Metric::E2e, Quantile::P50),
        ]);
    }
    table
}

/// What a closed loop reached.
fn closed_loop(summary: &Summary) -> Section {
    let mut section = Section::detail("Closed loop");
    let Some(closed) = &summary.closed_loop else { return section };
    if let (Some(throughput), Some(response), Some(think)) =
        (closed.throughput_per_s, closed.response_s, closed.think_time_s)
    {
        let line = format!(
            "{}: {} requests/s, each {} long on average, and {} of think time after it",
            counted(closed.users, "user"),
            three_digits(throughput),
            seconds(response),
            seconds(think)
        );
        section.fact("reached", line);
    }
    section
}
