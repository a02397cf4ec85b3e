//! What a record says of its attempts.

use super::attempt::{Attempt, AttemptEnd};
use super::outcome::Outcome;
use super::record::RequestRecord;
use crate::clock::Timestamp;

impl RequestRecord {
    /// Returns all of its attempts in order of their beginning. It has them where it was sent more than once, or failed
    /// and could not be sent again before the run ended; else none, for the record itself says all of the only attempt.
    pub fn attempts(&self) -> &[Attempt] {
        self.attempts.as_deref().map_or(&[], Vec::as_slice)
    }

    /// Keeps its attempts where they say more than the record does. `attempts` are all of them, in order.
    pub fn set_attempts(&mut self, attempts: Vec<Attempt>) {
        let says_more = match (attempts.as_slice(), &self.outcome) {
            ([] | [Attempt { end: AttemptEnd::Answered | AttemptEnd::Cancelled, .. }], _) => false,
            ([Attempt { end: AttemptEnd::Failed(_), .. }], outcome) => {
                matches!(outcome, Outcome::Cancelled | Outcome::Censored)
            }
            _ => true,
        };
        self.attempts = says_more.then(|| Box::new(attempts));
    }

    /// How many times a client set about sending it; 0 where the run ended first.
    pub fn attempts_made(&self) -> u64 {
        match (self.attempts(), &self.outcome) {
            ([], Outcome::Cancelled | Outcome::Censored) => u64::from(self.sent.is_some()),
            ([], _) => 1,
            (attempts, _) => attempts.len() as u64,
        }
    }

    /// When it was sent first. Where the first attempt found no connection: when the client set about it.
    pub fn first_sent(&self) -> Option<Timestamp> {
        self.attempts().first().map_or(self.sent, |first| first.sent.or(Some(first.begun)))
    }

    /// Returns when the attempt was sent whose answer is the record's. The server had the request from then on.
    pub fn own_sent(&self) -> Option<Timestamp> {
        self.own_place().map_or(self.sent, |place| self.attempts()[place].sent)
    }

    /// Returns the place of the attempt whose end is the record's. It is the one that answered, else the last to end.
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
            (None, Outcome::Cancelled | Outcome::Censored) => self.sent.map(|_| AttemptEnd::Cancelled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::request::attempt::AttemptKind;
    use crate::record::request::outcome::FailureKind;

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
        let mut record = RequestRecord { sent: Some(at(21)), outcome: Outcome::Completed, ..RequestRecord::default() };
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
