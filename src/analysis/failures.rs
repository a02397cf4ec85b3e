//! Counts failures by their kind.

use std::collections::BTreeMap;

use serde::Serialize;

use super::observed::Observed;
use crate::record::{FailureKind, Outcome};

/// What went wrong in the window. Rates are shares, between 0 and 1, of the requests whose moment came; absent
/// when there was none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failures {
    /// Failed requests.
    pub error_rate: Option<f64>,
    /// Requests that the server refused (429, 503).
    pub reject_rate: Option<f64>,
    /// Requests ended by one of the client's own time limits.
    pub timeout_rate: Option<f64>,
    /// Each kind that occurred, most frequent first.
    pub kinds: Vec<FailureCount>,
}

/// One kind of failure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailureCount {
    /// The kind, as a person reads it: `http 503`, `truncated`.
    #[serde(serialize_with = "in_words")]
    pub kind: FailureKind,
    /// How many.
    pub count: u64,
    /// Share of the requests whose moment came, between 0 and 1.
    pub share: f64,
    /// What the first of them said.
    pub example: String,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's serialize_with passes a reference
fn in_words<S: serde::Serializer>(kind: &FailureKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(kind)
}

impl Failures {
    pub(crate) fn of(observed: &Observed<'_>) -> Self {
        let due = observed.due() as f64;
        let mut kinds: BTreeMap<FailureKind, FailureCount> = BTreeMap::new();
        for request in &observed.requests {
            if let Outcome::Failed(failure) = &request.record.outcome {
                let kind = failure.reason;
                let line = kinds.entry(kind).or_insert_with(|| FailureCount {
                    kind,
                    count: 0,
                    share: 0.0,
                    example: failure.message.clone(),
                });
                line.count += 1;
                line.share = line.count as f64 / due;
            }
        }
        let rate = |counts: fn(FailureKind) -> bool| {
            let count: u64 = kinds.values().filter(|line| counts(line.kind)).map(|line| line.count).sum();
            (due > 0.0).then(|| count as f64 / due)
        };
        let (error_rate, reject_rate, timeout_rate) =
            (rate(|_| true), rate(FailureKind::is_reject), rate(FailureKind::is_timeout));
        let mut kinds: Vec<FailureCount> = kinds.into_values().collect();
        kinds.sort_by_key(|line| std::cmp::Reverse(line.count));
        Self { error_rate, reject_rate, timeout_rate, kinds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{record, run};
    use crate::record::Failure;

    #[test]
    fn kinds_are_counted_most_frequent_first() {
        let failed = |index, kind, message: &str| {
            record(index).sent_at(index, index, index).failed(500, Failure::new(kind, message)).build()
        };
        let log = run(
            1_000,
            vec![
                failed(0, FailureKind::Reset, "peer"),
                failed(1, FailureKind::HttpStatus(503), "busy"),
                failed(2, FailureKind::HttpStatus(503), "still busy"),
                failed(3, FailureKind::TimeoutTotal, "60 s"),
                record(4).sent_at(4, 4, 4).paced(100, 1, 1).build(),
            ],
        );
        let failures = Failures::of(&Observed::of(&log));
        assert_eq!(failures.error_rate, Some(0.8));
        assert_eq!((failures.reject_rate, failures.timeout_rate), (Some(0.4), Some(0.2)));
        let [first, ..] = failures.kinds.as_slice() else { panic!("no kinds") };
        assert_eq!((first.kind, first.count), (FailureKind::HttpStatus(503), 2));
        assert_eq!((first.share, first.example.as_str()), (0.4, "busy"));
        assert_eq!(failures.kinds.len(), 3);
    }
}
