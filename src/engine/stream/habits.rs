//! How a server's answers end, as those before have shown.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Habits that the answers of one server have shown, those to test requests included.
///
/// An answer must end as well as they do: `[DONE]` alone is no good end where others have a finish reason.
#[derive(Debug, Default)]
pub(crate) struct Habits(AtomicU8);

/// One of its habits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Habit {
    /// Complete answers have a finish reason.
    GivesReasons = 1,
    /// Text comes after a finish reason, which says nothing without `[DONE]`.
    EarlyReasons = 2,
    /// The answer to a test request had the length that it was forced to have.
    ForcesLengths = 4,
    /// Complete answers end with `[DONE]`.
    SendsDone = 8,
}

impl Habits {
    /// Whether an answer has shown it.
    pub(super) fn show(&self, habit: Habit) -> bool {
        self.0.load(Relaxed) & habit as u8 != 0
    }

    /// Notes that an answer has.
    pub(super) fn note(&self, habit: Habit) {
        if !self.show(habit) {
            self.0.fetch_or(habit as u8, Relaxed);
        }
    }
}
