//! The attempts of a request that was sent more than once.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::outcome::{FailureKind, Outcome};
use super::record::RequestRecord;
use super::turn::is_zero;
use crate::clock::Timestamp;
use crate::workload::RetryCause;

/// One sending of a request by a client that retries or hedges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempt {
    /// Why it was made.
    pub kind: AttemptKind,
    /// The client set about it: the wait before it was over.
    #[serde(rename = "begun_ns")]
    pub begun: Timestamp,
    /// It was handed to the socket; absent where there was no connection.
    #[serde(rename = "sent_ns", default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Timestamp>,
    /// Its stream closed, was cancelled or failed.
    #[serde(rename = "ended_ns")]
    pub ended: Timestamp,
    /// How it ended.
    pub end: AttemptEnd,
    /// Answer tokens that came and were thrown away, because it failed and the request was sent again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub discarded_tokens: u32,
}

/// Why an attempt was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptKind {
    /// It is the request itself.
    First,
    /// The attempt before it failed.
    Retry,
    /// The attempt before it had given no token for some time, and went on.
    Hedge,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", content = "reason", rename_all = "snake_case")]
pub enum AttemptEnd {
    /// Its answer came whole: it is that of the request.
    Answered,
    /// It failed.
    Failed(FailureKind),
    /// The client stopped waiting for it, because another attempt gave a token first or the run ended.
    Cancelled,
}

impl FailureKind {
    /// The name by which a client retries it, if it is of a kind that a client may retry.
    pub const fn retry_cause(self) -> Option<RetryCause> {
        match self {
            Self::HttpStatus(status) => Some(RetryCause::Status(status)),
            Self::TimeoutFirstToken | Self::TimeoutBetweenTokens | Self::TimeoutTotal => {
                Some(RetryCause::Timeout)
            }
            Self::Connect => Some(RetryCause::Connect),
            Self::Reset | Self::Truncated => Some(RetryCause::Reset),
            Self::Tls
            | Self::StreamError
            | Self::Malformed
            | Self::Aborted
            | Self::Empty
            | Self::ClientLimit
            | Self::Internal => None,
        }
    }
}

impl RequestRecord {
    /// All of its attempts in order of their beginning, where it was sent more than once, or failed and could not be sent
    /// again before the run ended; else none, for the record itself says all of the only attempt.
    pub fn attempts(&self) -> &[Attempt] {
        self.attempts.as_deref().map_or(&[], Vec::as_slice)
    }

    /// Keeps its attempts where they say more than the record does: `attempts` are all of them, in order.
    pub fn set_attempts(&mut self, attempts: Vec<Attempt>) {
        let says_more = match (attempts.as_slice(), &self.outcome) {
            ([] | [Attempt { end: AttemptEnd::Answered | AttemptEnd::Cancelled, .. }], _) => false,
            ([Attempt { end: AttemptEnd::Failed(_), .. }], outcome) => *outcome == Outcome::Censored,
            _ => true,
        };
        self.attempts = says_more.then(|| Box::new(attempts));
    }

    /// How many times a client set about sending it; 0 where the run ended first.
    pub fn attempts_made(&self) -> u64 {
        match (self.attempts(), &self.outcome) {
            ([], Outcome::Censored) => u64::from(self.sent.is_some()),
            ([], _) => 1,
            (attempts, _) => attempts.len() as u64,
        }
    }

    /// When it was sent first. Where the first attempt found no connection: when the client set about it.
    pub fn first_sent(&self) -> Option<Timestamp> {
        self.attempts().first().map_or(self.sent, |first| first.sent.or(Some(first.begun)))
    }

    /// When the attempt was sent whose answer is the record's: the server had the request from then on.
    pub fn own_sent(&self) -> Option<Timestamp> {
        self.own_place().map_or(self.sent, |place| self.attempts()[place].sent)
    }

    /// The place of the attempt whose end is the record's: that which answered, else the last to end.
    fn own_place(&self) -> Option<usize> {
        let attempts = self.attempts();
        let answered = attempts.iter().position(|attempt| attempt.end == AttemptEnd::Answered);
        answered.or_else(|| (0..attempts.len()).max_by_key(|&place| attempts[place].ended))
    }

    /// Its attempts beside the one whose end is the record's.
    pub fn other_attempts(&self) -> impl Iterator<Item = &Attempt> {
        let (attempts, own) = (self.attempts(), self.own_place());
        attempts.iter().enumerate().filter(move |(place, _)| Some(*place) != own).map(|(_, attempt)| attempt)
    }

    /// How its first attempt ended; `None` where there was none.
    pub fn first_end(&self) -> Option<AttemptEnd> {
        match (self.attempts().first(), &self.outcome) {
            (Some(first), _) => Some(first.end),
            (None, Outcome::Completed) => Some(AttemptEnd::Answered),
            (None, Outcome::Failed(failure)) => Some(AttemptEnd::Failed(failure.reason)),
            (None, Outcome::Censored) => self.sent.map(|_| AttemptEnd::Cancelled),
        }
    }
}

impl Attempt {
    /// Whether the server may have worked on it: it came there, and was not refused at the door.
    pub const fn may_have_cost(&self) -> bool {
        let refused = matches!(self.end, AttemptEnd::Failed(FailureKind::HttpStatus(400..=499 | 503)));
        self.sent.is_some() && !refused
    }

    /// The moments that it has.
    pub(super) fn moments(&mut self) -> impl Iterator<Item = &mut Timestamp> {
        [Some(&mut self.begun), self.sent.as_mut(), Some(&mut self.ended)].into_iter().flatten()
    }

    /// Puts its clock later.
    pub(super) fn put_later(&mut self, by: Duration) {
        self.moments().for_each(|moment| *moment = moment.after(by));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_from_its_own_sending_and_a_request_from_its_first() {
        let at = Timestamp::from_nanos;
        let attempt = |kind, begun, sent: Option<u64>, ended, end| Attempt {
            kind,
            begun: at(begun),
            sent: sent.map(at),
            ended: at(ended),
            end,
            discarded_tokens: 0,
        };
        let mut record =
            RequestRecord { sent: Some(at(21)), outcome: Outcome::Completed, ..RequestRecord::default() };
        assert_eq!((record.first_sent(), record.own_sent()), (Some(at(21)), Some(at(21))));
        record.set_attempts(vec![
            attempt(AttemptKind::First, 1, None, 5, AttemptEnd::Failed(FailureKind::Connect)),
            attempt(AttemptKind::Retry, 20, Some(21), 30, AttemptEnd::Failed(FailureKind::Reset)),
            attempt(AttemptKind::Retry, 40, Some(42), 50, AttemptEnd::Answered),
            attempt(AttemptKind::Hedge, 45, Some(46), 50, AttemptEnd::Cancelled),
        ]);
        assert_eq!((record.first_sent(), record.own_sent()), (Some(at(1)), Some(at(42))));
        assert_eq!(record.other_attempts().count(), 3);
    }
}
