//! How much of an answer is read: one without end fails, and all in flight have a bound on memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::stream::chunk::items::ExpectedItems;
use crate::record::{Failure, FailureKind, UsageBounds};
use crate::units::{bytes, count};

/// Limits on the answers of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerLimits {
    /// Multiple of the tokens requested above which an answer has no end.
    pub times_requested: u32,
    /// Bytes of a body above which an answer has no end.
    pub bytes: u64,
    /// Bytes that answers hold together. They are text that is captured, until it is counted or judged, and events that
    /// are not whole.
    pub memory: u64,
}

impl Default for AnswerLimits {
    fn default() -> Self {
        Self { times_requested: 16, bytes: 64 << 20, memory: 80 << 20 }
    }
}

/// Tokens of an answer up to which it never fails by their number. A server that ignores the length requested ends by
/// one of its own.
const LEAST_TOKENS: u64 = 4_096;
/// Most events of an answer: those without text count too.
const EVENTS: u64 = 1_000_000;
/// Most bytes of the answer to a test request.
const TEST_BYTES: u64 = 4 << 20;

impl AnswerLimits {
    /// Returns the limits of an answer for which so many tokens are `requested`, if known.
    pub fn of(self, requested: Option<u64>) -> AnswerBudget {
        let most = |requested: u64| requested.saturating_mul(self.times_requested.into()).max(LEAST_TOKENS);
        let tokens = requested.map_or(u64::MAX, most);
        AnswerBudget { of: Purpose::Run, requested, forced: None, items: None, tokens, bytes: self.bytes }
    }
}

/// Limits of one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerBudget {
    of: Purpose,
    /// Tokens requested, where that is known.
    requested: Option<u64>,
    /// Tokens that the answer is forced to have.
    forced: Option<u64>,
    /// Results that it must have, where it is no text.
    items: Option<ExpectedItems>,
    tokens: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Run,
    Test,
}

impl Default for AnswerBudget {
    /// Where the length requested is not known.
    fn default() -> Self {
        let bytes = AnswerLimits::default().bytes;
        Self { of: Purpose::Run, requested: None, forced: None, items: None, tokens: u64::MAX, bytes }
    }
}

/// How much of an answer has come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AnswerSize {
    pub tokens: u64,
    pub events: u64,
    pub bytes: u64,
}

impl AnswerBudget {
    /// Returns the budget for the answer to a request before any load.
    pub(crate) fn of_test() -> Self {
        Self { of: Purpose::Test, requested: None, forced: None, items: None, tokens: LEAST_TOKENS, bytes: TEST_BYTES }
    }

    /// Limits of an answer whose request forces it to have so many tokens.
    pub(crate) fn forcing(self, forced: Option<u64>) -> Self {
        Self { forced, ..self }
    }

    /// Limits of an answer that must have these results, where it is no text. Vectors are larger than texts.
    pub(crate) fn expecting(self, items: Option<ExpectedItems>) -> Self {
        let bytes = if items.is_some() { self.bytes.max(AnswerLimits::default().bytes) } else { self.bytes };
        Self { items, bytes, ..self }
    }

    /// Results that the answer must have.
    pub(crate) const fn items(self) -> Option<ExpectedItems> {
        self.items
    }

    /// Returns whether it is that of a test request with all of its forced length. The answer of such a request is
    /// forced to a length and has all of it.
    pub(crate) fn tests_forcing(self, tokens: u64) -> bool {
        self.of == Purpose::Test && self.forced.is_some_and(|forced| tokens >= forced)
    }

    /// Whether so many tokens are all that were requested.
    pub(crate) fn is_reached_by(self, tokens: u64) -> bool {
        self.requested.or(self.forced).is_some_and(|requested| tokens >= requested)
    }

    /// Returns the tokens that the answer was forced to have. `None` unless so many are less than half of them.
    pub(crate) fn missed_by_far(self, tokens: u64) -> Option<u64> {
        self.forced.filter(|forced| tokens.saturating_mul(2) < *forced)
    }

    /// Returns the bounds of the usage that the server can report of such an answer. Its request has so many bytes.
    pub(crate) fn usage_bounds(self, body_bytes: u64) -> UsageBounds {
        let requested = self.requested.or((self.of == Purpose::Test).then_some(LEAST_TOKENS));
        requested.map_or_else(UsageBounds::default, |requested| UsageBounds::new(body_bytes, requested))
    }

    /// The failure of an answer of this size, if it has no end.
    pub(crate) fn exceeded(&self, size: &AnswerSize) -> Option<Failure> {
        let (limit, option) = if size.tokens > self.tokens {
            let asked = self.requested.map(|tokens| format!(" where {} were requested", count(tokens)));
            let limit = format!("{} tokens came{}", count(self.tokens), asked.unwrap_or_default());
            (limit, "limit: --answer-tokens-limit")
        } else if size.bytes > self.bytes {
            (format!("{} came", bytes(self.bytes)), "limit: --answer-size-limit")
        } else if size.events > EVENTS {
            (format!("{} events came", count(EVENTS)), "this limit is fixed")
        } else {
            return None;
        };
        let option = if self.of == Purpose::Test { "limit of a test request" } else { option };
        let message = format!("the answer does not end: more than {limit} ({option})");
        Some(Failure::new(FailureKind::Malformed, message))
    }
}

/// The memory that answers in flight hold together.
#[derive(Debug)]
pub(crate) struct AnswerMemory {
    limit: u64,
    held: AtomicU64,
}

impl AnswerMemory {
    /// Memory of which nothing is held.
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, held: AtomicU64::new(0) }
    }
}

/// The part of the memory for answers that one answer holds. It is given back when the value is dropped: with the
/// answer's text, where that is captured.
#[derive(Debug)]
pub(crate) struct HeldMemory {
    of: Arc<AnswerMemory>,
    held: u64,
}

/// Memory is counted in such steps: an answer of common size costs no counting.
const STEP: u64 = 16 << 10;

impl HeldMemory {
    /// Nothing of `memory` yet.
    pub(crate) fn none(memory: Arc<AnswerMemory>) -> Self {
        Self { of: memory, held: 0 }
    }

    /// Holds so many bytes in all, while more come. The failure of the answer for which the memory does not suffice.
    pub(crate) fn hold(&mut self, bytes_held: usize) -> Result<(), Failure> {
        self.hold_all(bytes_held as u64 / STEP * STEP)
    }

    /// Holds so many bytes in all, to the byte, once all have come. It fails as [`Self::hold`] does.
    pub(crate) fn hold_all(&mut self, wanted: u64) -> Result<(), Failure> {
        if wanted <= self.held {
            return Ok(());
        }
        let more = wanted - self.held;
        let all = self.of.held.fetch_add(more, Relaxed) + more;
        self.held = wanted;
        if all <= self.of.limit {
            return Ok(());
        }
        let limit = bytes(self.of.limit);
        let message = format!(
            "answers that are in flight, counted or judged hold more than {limit} of memory (limit: --answer-memory)"
        );
        Err(Failure::new(FailureKind::ClientLimit, message))
    }
}

impl Drop for HeldMemory {
    fn drop(&mut self) {
        self.of.held.fetch_sub(self.held, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(budget: AnswerBudget, tokens: u64, events: u64, bytes: u64) -> Option<String> {
        budget.exceeded(&AnswerSize { tokens, events, bytes }).map(|failure| failure.to_string())
    }

    #[test]
    fn an_answer_has_no_end_at_a_multiple_of_what_was_requested() {
        let limits = AnswerLimits { times_requested: 3, bytes: 1 << 20, ..AnswerLimits::default() };
        let (short, long) = (limits.of(Some(8)), limits.of(Some(2_000)));
        assert_eq!((said(short, 4_096, 0, 0), said(long, 6_000, 0, 1 << 20)), (None, None));
        for (said, words) in [
            (said(short, 4_097, 0, 0), "more than 4,096 tokens came where 8 were requested"),
            (said(long, 6_001, 0, 0), "more than 6,000 tokens came where 2,000 were requested (limit: --answer-t"),
            (said(long, 0, 0, (1 << 20) + 1), "more than 1 MiB came (limit: --answer-size-limit)"),
            (said(long, 0, 1_000_001, 0), "more than 1,000,000 events came"),
            (said(AnswerBudget::of_test(), 5_000, 0, 0), "4,096 tokens came (limit of a test request)"),
        ] {
            let said = said.unwrap();
            assert!(said.starts_with("malformed: the answer does not end: ") && said.contains(words), "{said}");
        }
    }

    #[test]
    fn memory_is_given_back() {
        let memory = Arc::new(AnswerMemory::new(1 << 20));
        let answer = || HeldMemory::none(Arc::clone(&memory));
        let (mut one, mut other) = (answer(), answer());
        for held in [0, 100, 900_000, 500_000] {
            assert_eq!(one.hold(held), Ok(()));
        }
        let failure = other.hold(300_000).unwrap_err();
        assert!(failure.message.contains("more than 1 MiB of memory (limit: --answer-memory)"), "{failure}");
        drop(one);
        drop(other);
        assert_eq!(memory.held.load(Relaxed), 0);
        assert_eq!(answer().hold(1_000_000), Ok(()));
    }
}
