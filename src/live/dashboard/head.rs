//! The workload, the server and the elapsed time.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Color;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::view_state::{ViewState, is_roomy, plain};
use crate::clock::Timestamp;
use crate::live::wrap::wrapped;
use crate::record::PlanFacts;
use crate::units::{count, counted, spoken};

/// Columns from which on the time of day of the load's end is shown.
const WIDE: u16 = 72;
/// Longer runs are counted in minutes.
const LONG_S: f64 = 600.0;
/// Most lines of the part of an experiment.
const PART: usize = 2;

/// Rows needed on a terminal of this size.
pub(super) fn rows(state: &ViewState<'_>, whole: Rect) -> u16 {
    1 + title(state, whole).len() as u16
}

/// The workload and the server, or which run of an experiment this is.
fn title<'t>(state: &ViewState<'_>, whole: Rect) -> Vec<Line<'t>> {
    let (watched, columns) = (state.watched, usize::from(whole.width));
    let named = |name: &str, rest: &str| {
        Line::from_iter([Span::styled(format!(" {name}"), state.theme.heading()), Span::raw(rest.to_owned())])
    };
    let workload = plain(&watched.workload);
    let full = format!("{workload} on {}", plain(&watched.server));
    let Some(part) = watched.part.as_deref() else { return vec![named(&full, "")] };
    let part = format!(" · {}", plain(part));
    if full.chars().count() + part.chars().count() < columns {
        return vec![named(&full, &part)];
    }
    // Which run this is matters more than the server, which all runs share.
    let most = if is_roomy(whole.height) { PART } else { 1 };
    let lines = wrapped(&format!("{workload}{part}"), columns.saturating_sub(2)).into_iter().take(most);
    let line = |line: String| match line.strip_prefix(&workload) {
        Some(rest) => named(&workload, rest),
        None => Line::raw(format!(" {line}")),
    };
    lines.map(line).collect()
}

pub(super) fn draw(state: &ViewState<'_>, frame: &mut Frame<'_>, area: Rect) {
    let [title_area, time] = Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(area);
    frame.render_widget(Paragraph::new(title(state, frame.area())), title_area);

    let watched = state.watched;
    let end = watched.load_end(state.now, &state.snapshot);
    let ended = state.snapshot.completed + state.snapshot.failed;
    let said = if let Some(at) = state.snapshot.stopped {
        stopped(at, state.now, state.snapshot.in_flight)
    } else {
        let when = match watched.requests {
            Some(requests) => counted_out(state.now, end, ended, requests),
            None => when(state.now, &watched.plan, watched.drained),
        };
        let is_wide = area.width >= WIDE && watched.requests.is_none();
        let ends =
            if state.now < end && is_wide { format!(" · load ends at {}", watched.load_ends) } else { String::new() };
        when + &ends
    };
    let said = format!(" {said} ");
    let [bar, words] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(said.chars().count() as u16)]).areas(time);
    let end = end.as_nanos().max(1);
    let over = state.now.as_nanos().min(end) as f64 / end as f64;
    let columns = usize::from(bar.width.saturating_sub(1));
    let done = (over * columns as f64).round() as usize;
    let bar_spans = [
        Span::raw(" "),
        Span::styled("━".repeat(done), state.theme.coloured(Color::Cyan)),
        Span::styled("─".repeat(columns - done), state.theme.quiet()),
    ];
    frame.render_widget(Line::from_iter(bar_spans), bar);
    frame.render_widget(Line::from(said), words);
}

/// The line after the user stopped the run.
fn stopped(at: Timestamp, now: Timestamp, in_flight: u64) -> String {
    let answers = counted(in_flight, "answer");
    format!("stopped at {} · awaiting {answers} for {}", past(at.since(Timestamp::ZERO)), past(now.since(at)))
}

/// An elapsed time in whole seconds.
fn past(time: Duration) -> String {
    match time.as_secs() {
        0 => "0 s".to_owned(),
        seconds => spoken(Duration::from_secs(seconds)),
    }
}

/// A remaining time in whole seconds, rounded up, so that elapsed and remaining add up.
fn left(time: Duration) -> String {
    past(Duration::from_secs(time.as_secs_f64().ceil() as u64))
}

/// The elapsed time of a run that so many requests end, and the rest. The rest is what remains if it goes on as before.
fn counted_out(now: Timestamp, end: Timestamp, ended: u64, requests: u64) -> String {
    let so_far = format!("{} of {} requests in {}", count(ended), count(requests), past(now.since(Timestamp::ZERO)));
    if ended == 0 { so_far } else { format!("{so_far} · about {} left", left(end.since(now))) }
}

/// The elapsed and the remaining time at `now`.
fn when(now: Timestamp, plan: &PlanFacts, drained: Timestamp) -> String {
    let end = plan.window_end.as_secs_f64();
    let of = if end < LONG_S {
        format!("{:.0} of {end:.0} s", now.as_secs_f64().floor())
    } else {
        format!("{} of {}", past(now.since(Timestamp::ZERO)), past(plan.window_end.since(Timestamp::ZERO)))
    };
    if now < plan.window_start {
        format!("{of} · warm-up, the window begins in {}", left(plan.window_start.since(now)))
    } else if now < plan.window_end {
        format!("{of} · {} left", left(plan.window_end.since(now)))
    } else {
        let (since, more) = (now.since(plan.window_end), drained.since(now));
        format!("draining for {}, for {} more at most", past(since), left(more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_depends_on_where_the_run_is() {
        let at = |seconds| Timestamp::from_secs_f64(seconds);
        let plan = PlanFacts {
            hash: String::new(),
            warmup_requests: 1,
            measured_requests: 1,
            window_start: at(10.0),
            window_end: at(70.0),
        };
        let when = |seconds| when(at(seconds), &plan, at(100.0));
        assert_eq!(when(4.4), "4 of 70 s · warm-up, the window begins in 6 s");
        assert_eq!(when(9.9), "9 of 70 s · warm-up, the window begins in 1 s");
        assert_eq!(when(12.0), "12 of 70 s · 58 s left");
        assert_eq!(when(12.6), "12 of 70 s · 58 s left");
        assert_eq!(when(69.9), "69 of 70 s · 1 s left");
        assert_eq!(when(70.2), "draining for 0 s, for 30 s more at most");
        assert_eq!(when(73.2), "draining for 3 s, for 27 s more at most");
        assert_eq!(stopped(at(12.4), at(15.1), 1), "stopped at 12 s · awaiting 1 answer for 2 s");
    }
}
