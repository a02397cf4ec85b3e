//! What is flown, and how far it has come.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

use super::seen::{Seen, plain};
use crate::analysis::wording::counted;
use crate::clock::Timestamp;
use crate::record::PlanFacts;
use crate::units::spoken;

pub(super) fn draw(seen: &Seen<'_>, frame: &mut Frame<'_>, area: Rect) {
    let [title, time] = Layout::vertical([Constraint::Length(1); 2]).areas(area);
    let watched = seen.watched;
    let part = watched.part.as_ref().map_or(String::new(), |part| format!(" · {}", plain(part)));
    let (workload, server) = (plain(&watched.workload), plain(&watched.server));
    let mut named = format!(" {workload} on {server}");
    // Whom all runs of an experiment have in common matters less than which of them this is.
    if named.chars().count() + part.chars().count() > usize::from(title.width) && !part.is_empty() {
        named = format!(" {workload}");
    }
    let spans = [Span::styled(named, seen.ink.heading()), Span::raw(part)];
    frame.render_widget(Line::from_iter(spans), title);

    let said = match seen.snapshot.stopped {
        Some(at) => stopped(at, seen.now, seen.snapshot.in_flight),
        None => when(seen.now, &seen.watched.plan, seen.watched.drained),
    };
    let said = format!(" {said} ");
    let [bar, words] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(said.chars().count() as u16)])
            .areas(time);
    let end = seen.watched.plan.window_end.as_nanos().max(1);
    let over = seen.now.as_nanos().min(end) as f64 / end as f64;
    let columns = usize::from(bar.width.saturating_sub(1));
    let done = (over * columns as f64).round() as usize;
    let bar_spans = [
        Span::raw(" "),
        Span::styled("━".repeat(done), seen.ink.time()),
        Span::styled("─".repeat(columns - done), seen.ink.quiet()),
    ];
    frame.render_widget(Line::from_iter(bar_spans), bar);
    frame.render_widget(Line::from(said), words);
}

/// That a person stopped it, and what is awaited.
fn stopped(at: Timestamp, now: Timestamp, in_flight: u64) -> String {
    let answers = counted(in_flight, "answer");
    format!("stopped at {} · awaiting {answers} for {}", past(at.since(Timestamp::ZERO)), past(now.since(at)))
}

/// A length of time that is past, in whole seconds.
fn past(time: Duration) -> String {
    match time.as_secs() {
        0 => "0 s".to_owned(),
        seconds => spoken(Duration::from_secs(seconds)),
    }
}

/// A length of time that is to come, in whole seconds: with what is past of a whole second it makes that second.
fn left(time: Duration) -> String {
    past(Duration::from_secs(time.as_secs_f64().ceil() as u64))
}

/// Where in the run `now` is, and what is left of it.
fn when(now: Timestamp, plan: &PlanFacts, drained: Timestamp) -> String {
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
    fn the_time_is_told_by_where_the_run_is() {
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
