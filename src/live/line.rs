//! One line of progress: redrawn in place on a terminal, printed anew every few seconds elsewhere.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::clock::{RunClock, Timestamp};
use crate::runner::{Progress, Snapshot};
use crate::units;

/// How often a terminal's line is redrawn.
const REDRAW: Duration = Duration::from_millis(200);
/// How often a line is printed where there is no terminal.
const PRINT: Duration = Duration::from_secs(5);

/// Where the line goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// Redrawn in place on standard error.
    Terminal,
    /// One line every five seconds on standard error.
    Plain,
    /// Nowhere.
    Quiet,
}

impl Screen {
    /// What standard error is.
    #[must_use]
    pub fn detect() -> Self {
        if io::stderr().is_terminal() { Self::Terminal } else { Self::Plain }
    }
}

/// The line of a run that is on; dropping it takes it off the screen.
#[derive(Debug)]
pub struct LiveLine {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl LiveLine {
    /// Shows `progress` until dropped. The run's window ends at `window_end`.
    #[must_use]
    pub fn start(screen: Screen, progress: Arc<Progress>, clock: RunClock, window_end: Timestamp) -> Self {
        let (stop, stopped) = mpsc::channel();
        let mut line = Line { progress, clock, window_end, last: (Timestamp::ZERO, 0) };
        let thread = match screen {
            Screen::Quiet => None,
            Screen::Terminal => Some(std::thread::spawn(move || line.redraw(&stopped))),
            Screen::Plain => Some(std::thread::spawn(move || line.print(&stopped))),
        };
        Self { stop: Some(stop), thread }
    }
}

impl Drop for LiveLine {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Line {
    progress: Arc<Progress>,
    clock: RunClock,
    window_end: Timestamp,
    /// When tokens were last counted, and how many there were.
    last: (Timestamp, u64),
}

impl Line {
    fn redraw(&mut self, stopped: &mpsc::Receiver<()>) {
        let bar =
            ProgressBar::with_draw_target(Some(self.window_end.as_nanos()), ProgressDrawTarget::stderr());
        // On a narrow terminal the words matter more than the bar.
        let narrow = Term::stderr().size().1 < 110;
        let template = if narrow { "{wide_msg}" } else { "{bar:20.cyan} {wide_msg}" };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        while stopped.recv_timeout(REDRAW) == Err(RecvTimeoutError::Timeout) {
            bar.set_position(self.clock.now().min(self.window_end).as_nanos());
            bar.set_message(self.text());
        }
        bar.finish_and_clear();
    }

    fn print(&mut self, stopped: &mpsc::Receiver<()>) {
        while stopped.recv_timeout(PRINT) == Err(RecvTimeoutError::Timeout) {
            let text = self.text();
            // A closed pipe is no reason to stop a run.
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    fn text(&mut self) -> String {
        let now = self.clock.now();
        let snapshot = self.progress.snapshot();
        let (then, tokens) = std::mem::replace(&mut self.last, (now, snapshot.tokens));
        let seconds = now.since(then).as_secs_f64();
        let tokens_per_s = if seconds > 0.0 { (snapshot.tokens - tokens) as f64 / seconds } else { 0.0 };
        describe(&snapshot, now, self.window_end, tokens_per_s)
    }
}

fn describe(snapshot: &Snapshot, now: Timestamp, window_end: Timestamp, tokens_per_s: f64) -> String {
    let mut parts = vec![if now < window_end {
        format!("{:.0}/{:.0} s", now.as_secs_f64(), window_end.as_secs_f64())
    } else {
        format!("draining {:.0} s", now.since(window_end).as_secs_f64())
    }];
    parts.push(format!("{} released", units::count(snapshot.released)));
    parts.push(format!("{} in flight", units::count(snapshot.in_flight)));
    if snapshot.queued > 0 {
        parts.push(format!("{} waiting for a place", units::count(snapshot.queued)));
    }
    parts.push(format!("{} done", units::count(snapshot.completed)));
    if snapshot.failed > 0 {
        parts.push(format!("{} failed", units::count(snapshot.failed)));
    }
    parts.push(format!("{} tok/s", units::three_digits(tokens_per_s)));
    if let (Some(p50), Some(p99)) = (snapshot.ttft_p50, snapshot.ttft_p99) {
        let ms = |duration| units::three_digits(units::millis(duration));
        parts.push(format!("TTFT p50 {} p99 {} ms", ms(p50), ms(p99)));
    }
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_is_going_on() {
        let mut snapshot =
            Snapshot { released: 1_234, in_flight: 40, completed: 1_190, tokens: 9, ..Snapshot::default() };
        let end = Timestamp::from_secs_f64(60.0);
        let line = describe(&snapshot, Timestamp::from_secs_f64(12.3), end, 1_280.0);
        assert_eq!(line, "12/60 s · 1,234 released · 40 in flight · 1,190 done · 1,280 tok/s");

        snapshot.queued = 4;
        snapshot.failed = 2;
        snapshot.ttft_p50 = Some(Duration::from_micros(80_400));
        snapshot.ttft_p99 = Some(Duration::from_millis(190));
        let line = describe(&snapshot, Timestamp::from_secs_f64(63.0), end, 0.0);
        assert_eq!(
            line,
            "draining 3 s · 1,234 released · 40 in flight · 4 waiting for a place · 1,190 done · 2 failed · \
             0 tok/s · TTFT p50 80.4 p99 190 ms"
        );
    }
}
