//! The workload, the server and the elapsed time.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Color;
use ratatui::text::{Line, Span};

use super::view_state::{ViewState, plain};
use crate::analysis::wording::counted;
use crate::clock::Timestamp;
use crate::record::PlanFacts;
use crate::units::spoken;

pub(super) fn draw(state: &ViewState<'_>, frame: &mut Frame<'_>, area: Rect) {
    let [title, time] = Layout::vertical([Constraint::Length(1); 2]).areas(area);
    let watched = state.watched;
    let part = watched.part.as_ref().map_or(String::new(), |part| format!(" · {}", plain(part)));
    let (workload, server) = (plain(&watched.workload), plain(&watched.server));
    let mut named = format!(" {workload} on {server}");
    // Which run of an experiment this is matters more than the server, which all its runs share.
    if named.chars().count() + part.chars().count() > usize::from(title.width) && !part.is_empty() {
        named = format!(" {workload}");
    }
    let spans = [Span::styled(named, state.theme.heading()), Span::raw(part)];
    frame.render_widget(Line::from_iter(spans), title);

    let said = match state.snapshot.stopped {
        Some(at) => stopped(at, state.now, state.snapshot.in_flight),
        None => when(state.now, &state.watched.plan, state.watched.drained),
    };
    let said = format!(" {said} ");
    let [bar, words] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(said.chars().count() as u16)])
            .areas(time);
    let end = state.watched.plan.window_end.as_nanos().max(1);
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

/// The elapsed and the remaining time at `now`.
fn when(now: Timestamp, plan: &PlanFacts, drained: Timestamp) -> String {
    if plan.is_open_ended() {
        return past(now.since(Timestamp::ZERO));
    }
    let of = format!("{:.0} of {:.0} s", now.as_secs_f64().floor(), plan.window_end.as_secs_f64());
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
