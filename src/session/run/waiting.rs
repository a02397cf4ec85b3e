//! Says that a server is awaited and for how long: in a line that is redrawn on a terminal, else in one line at the
//! beginning and one at the end.

use std::time::{Duration, Instant};

use crate::live::{Screen, StepLine};
use crate::session::console::Printer;
use crate::units::spoken;

/// A server that is ready within this is not awaited in words.
const PATIENCE: Duration = Duration::from_millis(500);
/// A test request that is answered within this is not mentioned.
const ANSWER_PATIENCE: Duration = Duration::from_secs(3);

/// The wait for one server.
pub(super) struct WaitNotice {
    url: String,
    printer: Printer,
    screen: Screen,
    line: Option<StepLine>,
    began: Instant,
    /// The limit that was announced last.
    announced: Option<Duration>,
}

impl WaitNotice {
    pub(super) fn new(url: String, screen: Screen, printer: Printer) -> Self {
        Self { url, printer, screen, line: None, began: Instant::now(), announced: None }
    }

    /// It is not ready for this reason, and is awaited up to `limit`.
    pub(super) fn waiting(&mut self, reason: &str, elapsed: Duration, limit: Duration) {
        if elapsed < PATIENCE {
            return;
        }
        let Self { url, printer, screen, line, announced, .. } = self;
        let limit_in_words = spoken(limit);
        if matches!(screen, Screen::Dashboard | Screen::Line) {
            let line = line.get_or_insert_with(|| StepLine::start(screen.in_a_line()));
            let elapsed = elapsed.as_secs();
            line.at(&format!("waiting for {url}, {elapsed} s of up to {limit_in_words} (--wait): {reason}"));
        } else if *announced != Some(limit) {
            printer.words(&format!("waiting for {url}, up to {limit_in_words} (--wait): {reason}"));
        }
        *announced = Some(limit);
    }

    /// It is ready.
    pub(super) fn over(self) {
        drop(self.line);
        if self.announced.is_some() {
            let Self { url, printer, began, .. } = self;
            printer.words(&format!("{url} is ready after {}", spoken(began.elapsed())));
        }
    }
}

/// What comes of a test request, which may take up to `limit`.
pub(super) async fn test_answer<T>(limit: Duration, printer: Printer, answer: impl Future<Output = T>) -> T {
    let mut answer = std::pin::pin!(answer);
    if let Ok(answer) = tokio::time::timeout(ANSWER_PATIENCE, &mut answer).await {
        return answer;
    }
    printer.words(&format!("waiting for the answer to one test request, up to {}", spoken(limit)));
    answer.await
}
