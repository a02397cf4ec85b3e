//! The progress of a step that may take long: one line, redrawn in place on a terminal, printed once elsewhere.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::alt_screen::say;
use super::line::InPlace;
use super::screen::Screen;
use super::view::LiveView;
use crate::clock::{RunClock, Timestamp};
use crate::units::{count, spoken};

/// Shortest step that is shown, on a terminal and elsewhere. Elsewhere it is longer than the usual pause between two
/// runs.
const SHORT: Duration = Duration::from_millis(200);
const SHORT_ELSEWHERE: Duration = Duration::from_millis(2_500);
/// Time between two looks at it.
const REDRAW: Duration = Duration::from_millis(200);
/// Least time between two lines elsewhere.
const PRINT: Duration = Duration::from_secs(5);
/// Time from which on it is said how long a step takes. It is also said how much is left of it.
const LONG: Duration = Duration::from_secs(2);

/// A step that is shown until it is dropped, if it takes long enough.
#[derive(Debug)]
pub(crate) struct StepLine {
    step: Arc<Step>,
    _shown: LiveView,
}

/// State of a step. Whoever does it counts; the line's own thread reads.
#[derive(Debug)]
struct Step {
    name: Mutex<String>,
    done: AtomicU64,
    /// Number of its things; 0 where nothing is counted.
    of: AtomicU64,
    clock: RunClock,
}

impl StepLine {
    /// Begins a step of this name.
    pub(crate) fn start(screen: Screen, name: impl Into<String>) -> Self {
        let clock = RunClock::starting_in(Duration::ZERO);
        let name = Mutex::new(name.into());
        let step = Arc::new(Step { name, done: AtomicU64::new(0), of: AtomicU64::new(0), clock });
        let of = Arc::clone(&step);
        let shown = LiveView::showing(screen, "step line", move |screen, end| match screen {
            Screen::Quiet => {}
            Screen::Dashboard | Screen::Line => of.redraw(end),
            Screen::Plain => of.print(end, say),
        });
        Self { step, _shown: shown }
    }

    /// Begins a step that does so many things.
    pub(crate) fn counting(screen: Screen, name: impl Into<String>, of: u64) -> Self {
        let line = Self::start(screen, name);
        line.step.of.store(of, Relaxed);
        line
    }

    /// Names its next part.
    pub(crate) fn at(&self, name: impl Into<String>) {
        *self.step.name.lock().unwrap_or_else(PoisonError::into_inner) = name.into();
    }

    /// Sets the number of its things that are done.
    pub(crate) fn done(&self, done: u64) {
        self.step.done.store(done, Relaxed);
    }

    /// Counts the things that this iterator gives.
    pub(crate) fn count<I: Iterator>(&self, things: I) -> impl Iterator<Item = I::Item> + use<I> {
        let step = Arc::clone(&self.step);
        things.inspect(move |_| _ = step.done.fetch_add(1, Relaxed))
    }
}

impl Step {
    /// Redraws it in place until `stopped` hangs up.
    fn redraw(&self, stopped: &Receiver<()>) {
        if stopped.recv_timeout(SHORT) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        let line = InPlace::text();
        let mut shown = <[String; 2]>::default();
        loop {
            // Nothing is drawn again that is there: the step may be measuring this machine.
            let said = self.describe(self.clock.now());
            if said != shown {
                line.show(&said[0], &said[1]);
                shown = said;
            }
            if stopped.recv_timeout(REDRAW) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    /// Prints it once it has taken a while, until `stopped` hangs up. After some time it prints what is new of it.
    fn print(&self, stopped: &Receiver<()>, say: impl Fn(&str)) {
        let mut wait = SHORT_ELSEWHERE;
        let mut printed = None;
        while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
            let state = Some((self.name(), self.done.load(Relaxed)));
            if printed != state {
                say(&self.describe(self.clock.now()).concat());
                printed = state;
            }
            wait = PRINT;
        }
    }

    fn name(&self) -> String {
        self.name.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the step's name, and its progress in words. The progress is how much of the step is done, and about how
    /// long the rest takes.
    fn describe(&self, now: Timestamp) -> [String; 2] {
        let (done, of) = (self.done.load(Relaxed), self.of.load(Relaxed));
        let passed = now.since(Timestamp::ZERO);
        let whole = |time: Duration| spoken(Duration::from_secs(time.as_secs_f64().ceil() as u64));
        let so_far = match (done, of) {
            (_, 0) if passed < LONG => String::new(),
            (_, 0) => format!("; {} so far", spoken(Duration::from_secs(passed.as_secs()))),
            (done, of) if done == 0 || passed < LONG || done >= of => {
                format!(": {} of {}", count(done.min(of)), count(of))
            }
            (done, of) => {
                let left = passed.mul_f64((of - done) as f64 / done as f64);
                format!(": {} of {}, about {} left", count(done), count(of), whole(left))
            }
        };
        [self.name(), so_far]
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn step(done: u64, of: u64) -> Step {
        Step {
            name: Mutex::new("building prompts".to_owned()),
            done: done.into(),
            of: of.into(),
            clock: RunClock::starting_in(Duration::ZERO),
        }
    }

    #[test]
    fn a_line_says_how_far_a_step_is_and_what_is_left() {
        let said = |done, of, at| step(done, of).describe(Timestamp::from_secs_f64(at)).concat();
        assert_eq!(said(0, 0, 1.0), "building prompts");
        assert_eq!(said(0, 0, 3.7), "building prompts; 3 s so far");
        assert_eq!(said(0, 12_000, 5.0), "building prompts: 0 of 12,000");
        assert_eq!(said(10, 12_000, 0.5), "building prompts: 10 of 12,000");
        let later = said(3_200, 12_000, 4.0);
        assert_eq!(later, "building prompts: 3,200 of 12,000, about 11 s left");
        assert_eq!(said(256, 256, 4.0), "building prompts: 256 of 256");
    }

    #[test]
    fn a_short_step_prints_nothing_and_a_long_one_a_line() {
        let said = Mutex::new(Vec::new());
        let say = |line: &str| said.lock().unwrap().push(line.to_owned());
        let print = |length: Duration| {
            let (stop, stopped) = mpsc::channel::<()>();
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    std::thread::sleep(length);
                    drop(stop);
                });
                step(0, 0).print(&stopped, say);
            });
            std::mem::take(&mut *said.lock().unwrap())
        };
        assert!(print(Duration::from_millis(50)).is_empty());
        let lines = print(SHORT_ELSEWHERE + Duration::from_millis(500));
        // On a busy machine a second later.
        let is_said = |line: &String| line.starts_with("building prompts; ") && line.ends_with(" s so far");
        assert!(lines.len() == 1 && lines.iter().all(is_said), "{lines:?}");
    }
}
