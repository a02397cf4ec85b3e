//! One line of progress of a run: redrawn in place on a terminal, printed every few seconds elsewhere.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use console::{Term, measure_text_width, truncate_str};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::alt_screen::{progress_bar, say};
use super::watched::WatchedRun;
use crate::clock::Timestamp;
use crate::runner::{LiveLatency, Snapshot};
use crate::units;

/// Time between two redrawings of a terminal's line.
const REDRAW: Duration = Duration::from_millis(200);
/// Time between two printed lines where there is no terminal.
const PRINT: Duration = Duration::from_secs(5);

pub(super) struct ProgressLine<'a>(&'a WatchedRun);

impl<'a> ProgressLine<'a> {
    pub(super) const fn new(watched: &'a WatchedRun) -> Self {
        Self(watched)
    }

    /// Redraws it in place until `stopped` hangs up.
    pub(super) fn redraw(&self, stopped: &Receiver<()>) {
        let Self(watched) = self;
        let line = InPlace::with_bar();
        while stopped.recv_timeout(REDRAW) == Err(RecvTimeoutError::Timeout) {
            let (now, snapshot) = watched.look();
            let end = watched.load_end(now, &snapshot);
            line.bar.set_length(end.as_nanos());
            line.bar.set_position(now.min(end).as_nanos());
            line.show(&describe(watched, &snapshot, now), "");
        }
    }

    /// Prints it every few seconds until `stopped` hangs up.
    pub(super) fn print(&self, stopped: &Receiver<()>) {
        let Self(watched) = self;
        while stopped.recv_timeout(PRINT) == Err(RecvTimeoutError::Timeout) {
            let (now, snapshot) = watched.look();
            say(&describe(watched, &snapshot, now));
        }
    }
}

/// The state of a run in one line.
pub(super) fn describe(watched: &WatchedRun, snapshot: &Snapshot, now: Timestamp) -> String {
    let (at, end) = (now.as_secs_f64(), watched.load_end(now, snapshot));
    let ended = snapshot.completed + snapshot.failed;
    let mut parts = vec![match watched.requests {
        Some(_) if ended == 0 => format!("{at:.0} s"),
        Some(_) => format!("{at:.0} s, about {:.0} s left", end.since(now).as_secs_f64()),
        None if now < end => format!("{at:.0}/{:.0} s", end.as_secs_f64()),
        None => format!("draining {:.0} s", now.since(end).as_secs_f64()),
    }];
    parts.push(format!("{} released", units::count(snapshot.released)));
    parts.push(format!("{} in flight", units::count(snapshot.in_flight)));
    if snapshot.queued > 0 {
        parts.push(format!("{} queued", units::count(snapshot.queued)));
    }
    parts.push(format!("{} done", units::count(snapshot.completed)));
    if snapshot.failed > 0 {
        parts.push(format!("{} failed", units::count(snapshot.failed)));
    }
    // Answers such as vectors have no tokens.
    if let Some(rates) = snapshot.rates.filter(|rates| rates.tokens > 0.0 || snapshot.tokens > 0) {
        parts.push(format!("{} tok/s", units::three_digits(rates.tokens)));
    }
    // In the warm-up there are no figures of the window yet.
    let LiveLatency { recent, window } = snapshot.ttft;
    if let Some(ttft) = window.or(recent) {
        let ms = |duration| units::three_digits(units::millis(duration));
        parts.push(format!("TTFT p50 {} p99 {} ms", ms(ttft.p50), ms(ttft.p99)));
    }
    parts.join(" · ")
}

/// The line, on standard error; dropping it removes it. There is one at a time.
#[derive(Debug)]
pub(super) struct InPlace {
    bar: ProgressBar,
    /// Columns before the text.
    taken: u16,
}

impl InPlace {
    /// Columns of a bar.
    const BAR: u16 = 20;
    /// Columns of a terminal below which the text matters more than a bar.
    const NARROW: u16 = 110;
    /// Columns that stay free for the `^C` that a terminal echoes. A line that wraps cannot be removed.
    const FREE: u16 = 3;

    /// A line of text.
    pub(super) fn text() -> Self {
        Self::new("{msg}", 0)
    }

    /// A line of text behind a bar, where there is room for one.
    fn with_bar() -> Self {
        if Term::stderr().size().1 < Self::NARROW {
            return Self::text();
        }
        Self::new(&format!("{{bar:{}.cyan}} {{msg}}", Self::BAR), Self::BAR + 1)
    }

    fn new(template: &str, taken: u16) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        *progress_bar() = Some(bar.clone());
        Self { bar, taken }
    }

    /// Shows `text`, as much of it as has room, and `tail`, all of it.
    pub(super) fn show(&self, text: &str, tail: &str) {
        let room = Term::stderr().size().1.saturating_sub(self.taken + Self::FREE);
        self.bar.set_message(fitted(text, tail, usize::from(room)));
        self.bar.tick();
    }
}

/// Returns `text` and `tail`, with as much of `text` as has room.
fn fitted(text: &str, tail: &str, room: usize) -> String {
    truncate_str(text, room.saturating_sub(measure_text_width(tail)), "…").into_owned() + tail
}

impl Drop for InPlace {
    fn drop(&mut self) {
        *progress_bar() = None;
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::dashboard::tests::watched;
    use crate::runner::{LiveRates, LiveSpread};

    #[test]
    fn the_line_says_what_is_going_on() {
        let rates = Some(LiveRates { tokens: 1_280.0, ..LiveRates::default() });
        let mut snapshot = Snapshot { released: 1_234, in_flight: 40, completed: 1_190, rates, ..Snapshot::default() };
        let watched = watched();
        let line = describe(&watched, &snapshot, Timestamp::from_secs_f64(12.3));
        assert_eq!(line, "12/70 s · 1,234 released · 40 in flight · 1,190 done · 1,280 tok/s");

        snapshot.queued = 4;
        snapshot.failed = 2;
        let (p50, p99) = (Duration::from_micros(80_400), Duration::from_millis(190));
        snapshot.ttft.window = Some(LiveSpread { p50, p99, ..LiveSpread::default() });
        let line = describe(&watched, &snapshot, Timestamp::from_secs_f64(73.0));
        assert_eq!(
            line,
            "draining 3 s · 1,234 released · 40 in flight · 4 queued · 1,190 done · 2 failed · \
             1,280 tok/s · TTFT p50 80.4 p99 190 ms"
        );

        assert_eq!(fitted("waiting for a server: refused", "; 3 s so far", 30), "waiting for a ser…; 3 s so far");
        assert_eq!(fitted("waiting", "; 3 s so far", 30), "waiting; 3 s so far");

        let counted = WatchedRun { requests: Some(2_384), ..watched };
        let line = describe(&counted, &snapshot, Timestamp::from_secs_f64(12.0));
        assert!(line.starts_with("12 s, about 12 s left · 1,234 released"), "{line}");
        assert!(describe(&counted, &Snapshot::default(), Timestamp::from_secs_f64(1.0)).starts_with("1 s · "));
    }
}
