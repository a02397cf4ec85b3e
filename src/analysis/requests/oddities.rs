//! What answers had that answers do not need, and the reasons of their ends that nobody knows.

use serde::Serialize;

use super::observed::{Measured, Observed};
use crate::record::{FinishReason, Oddity, OddityKind, Outcome};
use crate::units::counted;

/// Answers of the window with oddities of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OddAnswers {
    /// The kind.
    pub kind: OddityKind,
    /// Number of answers that had one.
    pub answers: u64,
    /// The first fields, events, content types or finish reasons.
    pub what: Vec<String>,
}

/// Most of them that are named.
const NAMED: usize = 5;

impl OddAnswers {
    /// Oddities of the measured requests, by their kind.
    pub(crate) fn all(observed: &Observed<'_>) -> Vec<Self> {
        let mut all = Vec::new();
        for record in observed.requests.iter().map(Measured::record) {
            let reason = record.finish_reason.as_ref().filter(|_| record.outcome == Outcome::Completed);
            Self::add(&mut all, record.oddities.as_deref().map_or(&[], Vec::as_slice), reason);
        }
        all.sort_by_key(|line| line.kind);
        all
    }

    /// Adds an answer with these oddities, which ended well for this reason.
    pub(crate) fn add(all: &mut Vec<Self>, oddities: &[Oddity], reason: Option<&FinishReason>) {
        let reason = match reason {
            Some(FinishReason::Other(word)) => Some(word.as_str()),
            Some(FinishReason::ContentFilter) => Some("content_filter"),
            _ => None,
        };
        // One word in a field is a name or a mark, and not the answer's text.
        let says = |odd: &&Oddity| odd.kind != OddityKind::Elsewhere || odd.count > 1;
        let odd = oddities.iter().filter(says).map(|odd| (odd.kind, odd.what.as_str()));
        let mut seen = Vec::new();
        for (kind, what) in odd.chain(reason.map(|word| (OddityKind::FinishReason, word))) {
            let at = all.iter().position(|line| line.kind == kind).unwrap_or_else(|| {
                all.push(Self { kind, answers: 0, what: Vec::new() });
                all.len() - 1
            });
            let line = &mut all[at];
            line.answers += u64::from(!seen.contains(&kind));
            seen.push(kind);
            if line.what.len() < NAMED && line.what.iter().all(|named| named != what) {
                line.what.push(what.to_owned());
            }
        }
    }

    /// Sentence about what was found.
    pub(crate) fn sentence(&self) -> String {
        let phrase = match self.kind {
            OddityKind::Unread => "had fields that could not be read and count as absent",
            OddityKind::PassedOver => "had events that are no chunks and were passed over",
            OddityKind::Line => "had lines that begin with no field of an event stream",
            OddityKind::ContentType => "came with a wrong content type and were read all the same",
            OddityKind::Elsewhere => "had text in fields that are not read, for which TTFT does not stop",
            OddityKind::FinishReason => "ended for an unusual reason and count as complete",
        };
        format!("{} {phrase}: `{}`", counted(self.answers, "answer"), self.what.join("`, `"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{record, run};
    use crate::record::Oddities;

    #[test]
    fn answers_are_counted_once_a_kind_and_failed_ones_have_no_odd_end() {
        let odd = |index, notes: &[(OddityKind, &str)], reason: Option<FinishReason>| {
            let mut oddities = Oddities::default();
            for (kind, what) in notes {
                oddities.note(*kind, what);
            }
            let mut record = record(index).sent_at(0, 0, 1).paced(100, 10, 2).build();
            (record.oddities, record.finish_reason) = (oddities.into_record(), reason);
            record
        };
        let records = vec![
            odd(0, &[(OddityKind::PassedOver, "ping"), (OddityKind::PassedOver, "{}")], None),
            odd(1, &[(OddityKind::PassedOver, "ping")], Some(FinishReason::Other("weary".to_owned()))),
            odd(2, &[], Some(FinishReason::Stop)),
        ];
        let all = OddAnswers::all(&Observed::from_log(&run(1_000, records)));
        let line = |kind, answers, what: &[&str]| OddAnswers {
            kind,
            answers,
            what: what.iter().map(ToString::to_string).collect(),
        };
        let expected =
            [line(OddityKind::PassedOver, 2, &["ping", "{}"]), line(OddityKind::FinishReason, 1, &["weary"])];
        assert_eq!(all, expected);
    }
}
