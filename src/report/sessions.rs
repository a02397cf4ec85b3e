//! Conversations and closed loops in the report: what they did, turn by turn, and what a closed loop hides.

use super::grid::{ALWAYS, Grid, NOTHING, cell};
use super::latency;
use super::page::{Page, Tone};
use crate::analysis::wording::{counted, percent, seconds};
use crate::analysis::{Figure, LatencyRow, LoadForm, Metric, Quantile, Sessions, Summary, TurnGroup};
use crate::units::{count, three_digits};

/// The load's form in a few words; `None` for open arrivals, which need none.
pub(crate) const fn form_in_words(form: LoadForm) -> Option<&'static str> {
    match form {
        LoadForm::Open => None,
        LoadForm::PartlyOpen => Some("partly open"),
        LoadForm::Closed => Some("closed loop"),
    }
}

/// What the form means, behind its name.
pub(crate) const fn form_explained(form: LoadForm) -> Option<&'static str> {
    match form {
        LoadForm::Open => None,
        LoadForm::PartlyOpen => Some(
            "partly open: conversations begin whatever the server does, a later turn waits for the answer before it",
        ),
        LoadForm::Closed => {
            Some("closed: each user waits for the answer, thinks and asks again; a slow server is asked less")
        }
    }
}

pub(crate) fn sessions(page: &mut Page, summary: &Summary) {
    let Some(sessions) = &summary.sessions else { return };
    page.heading("Sessions, of those that began in the window");
    page.entry(Tone::Normal, "  begun    ", &fate(sessions));
    if sessions.begun > 0 {
        let each = |turns: u64| three_digits(turns as f64 / sessions.begun as f64);
        let sent = each(sessions.turns_sent);
        let line = match sessions.turns_planned.zip(sessions.turns_not_reached) {
            Some((planned, unreached)) => {
                format!("{} each as planned, {sent} sent; {} not reached", each(planned), percent(unreached))
            }
            None => format!("{sent} each"),
        };
        page.entry(Tone::Normal, "  turns    ", &line);
    }
    if let Some(duration) = &sessions.duration {
        let shown = [Quantile::P50, Quantile::P90, Quantile::P99].map(|quantile| lasted(duration, quantile));
        let line = format!("{}, from the first turn's scheduled moment to the last token", shown.join(", "));
        page.entry(Tone::Normal, "  lasted   ", &line);
    }
    by_turn(page, &sessions.by_turn);
}

/// `120: 110 completed, 2 broken off by a failure, 8 cut off by the run's end`.
fn fate(sessions: &Sessions) -> String {
    let Sessions { begun, completed, broken_off, censored, .. } = *sessions;
    format!(
        "{}: {} completed, {} broken off by a failure, {} cut off by the end of the run",
        count(begun),
        count(completed),
        count(broken_off),
        count(censored)
    )
}

/// `p50 41.2 s`, with the signs of the latency table.
fn lasted(row: &LatencyRow, quantile: Quantile) -> String {
    let shown = row.percentile(quantile);
    let length = |ms: f64| seconds(ms / 1e3);
    let figure = match shown.figure {
        Figure::Exact(ms) => length(ms),
        Figure::Between { high, .. } => format!("≤ {}", length(high)),
        Figure::AtLeast(ms) => format!("> {}", length(ms)),
    };
    format!("{quantile} {figure}{}", latency::sign(shown.mark))
}

fn by_turn(page: &mut Page, groups: &[TurnGroup]) {
    if groups.is_empty() {
        return;
    }
    page.heading("By turn, ms");
    let mut grid = Grid::new(&[
        ("turn", ALWAYS),
        ("requests", 3),
        ("prompt tokens", ALWAYS),
        ("cached", 2),
        ("TTFT p50", ALWAYS),
        ("p99", ALWAYS),
        ("e2e p50", 1),
    ]);
    for group in groups {
        let shown = |metric, quantile| {
            let row = group.latency.row(metric);
            row.map_or(NOTHING.to_owned(), |row| latency::percentile(row.percentile(quantile)))
        };
        let place = match (group.from, group.to) {
            (from, Some(to)) if from == to => count(u64::from(from)),
            (from, Some(to)) => format!("{from}–{to}"),
            (from, None) => format!("{from} and later"),
        };
        grid.row([
            place,
            count(group.requests),
            cell(group.mean_prompt_tokens.round()),
            group.mean_cached_tokens.map_or(NOTHING.to_owned(), |tokens| cell(tokens.round())),
            shown(Metric::Ttft, Quantile::P50),
            shown(Metric::Ttft, Quantile::P99),
            shown(Metric::E2e, Quantile::P50),
        ]);
    }
    page.grid(grid);
}

/// What a closed loop reached.
pub(crate) fn closed_loop(page: &mut Page, summary: &Summary) {
    let Some(closed) = &summary.closed_loop else { return };
    page.heading("Closed loop");
    if let (Some(throughput), Some(response), Some(think)) =
        (closed.throughput_per_s, closed.response_s, closed.think_time_s)
    {
        let line = format!(
            "{}: {} requests/s, each {} long on average, and {} of thought after it",
            counted(closed.users, "user"),
            three_digits(throughput),
            seconds(response),
            seconds(think)
        );
        page.entry(Tone::Normal, "  reached  ", &line);
    }
}

/// What a closed loop hides, where no open run was flown beside it.
pub(crate) fn hidden(page: &mut Page, summary: &Summary) {
    if summary.run.load == LoadForm::Closed {
        page.entry(Tone::Normal, "  hidden   ", HIDDEN);
    }
}

const HIDDEN: &str = "slow answers hold back the requests that would have queued behind them, so that these latencies \
                      are lower than those of users who come on their own; to see by how much, fly the open run \
                      too (bench --paired-open), or predict it (skyline simulate --users)";
