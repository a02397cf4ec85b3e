//! Whether the server answered to the end of the run.

use std::time::Duration;

use super::table::{CheckedRun, RAN, RuleResult, ValidityRow, at_most, row};
use crate::analysis::judgements::Rule;
use crate::analysis::rules::facts;
use crate::clock::Timestamp;
use crate::record::{Failure, FailureKind, Outcome, RequestRecord};
use crate::units::{counted, seconds};

/// Fewest requests in a row without a connection that say that the server is gone.
const FEWEST: u32 = 3;
/// Least time from the first loss until the last of them leaves. They say so sooner if they are as many as `MANY`.
const LASTS: Duration = Duration::from_secs(1);
const MANY: u32 = 10;
/// Chance below which a row of lost connections says that a server is gone. A server that always loses some connections
/// is not gone where that many in a row happen by chance as often as this.
const CHANCE: f64 = 1e-3;

pub(super) const RULES: &[ValidityRow] = &[row(
    Rule::ServerStayed,
    "requests that found no connection, from a moment on to the end of the run",
    RAN,
    stayed,
)
.cure("look in the server's log for why it ended; if it still runs, look at the network on the way to it")];

/// Looks for the moment from which on every connection was refused or lost. They were so to the end of the run.
fn stayed(of: &CheckedRun<'_>) -> Option<RuleResult> {
    let records = &of.observed.log.records;
    let last_sign = records.iter().filter_map(|record| last_sign(&record)).max();
    let lost = || records.iter().filter(|record| no_connection(record).is_some());
    let at_end = || lost().filter(|record| last_sign.is_none_or(|last| record.ended > last));
    let began = at_end().map(|record| record.ended).min();
    // Those that were in flight at the end of the server ended with it; these found it gone.
    let later = began.map(|began| at_end().filter(move |record| record.dispatched >= began));
    let (mut found_gone, mut example, mut lasted) = (0_u32, String::new(), Duration::ZERO);
    for record in later.into_iter().flatten() {
        found_gone += 1;
        if let Some(failure) = no_connection(&record) {
            example.clone_from(&failure.message);
        }
        lasted = lasted.max(began.map_or(Duration::ZERO, |began| record.dispatched.since(began)));
    }
    let is_enough = found_gone >= MANY || (found_gone >= FEWEST && lasted >= LASTS);
    let all_after = if is_enough { at_end().count() } else { 0 };
    let usual = || (lost().count() - all_after) as f64 / (records.len() - all_after).max(1) as f64;
    let Some(began) = began.filter(|_| is_enough && usual().powf(found_gone.into()) < CHANCE) else {
        return at_most(0.0, 0.0, facts!["the server answered to the end of the run"]);
    };
    let since = match last_sign {
        None => "never answered:".to_owned(),
        Some(_) => format!("stopped answering at {}: from then on", seconds(began.as_secs_f64())),
    };
    let sentence = format!(
        "the server {since} every connection was refused or lost ({}), such as: {example}",
        counted(all_after as u64, "request")
    );
    at_most(all_after as f64, 0.0, facts![sentence])
}

/// Why the request found no connection or lost it, if so.
fn no_connection(record: &RequestRecord) -> Option<&Failure> {
    match &record.outcome {
        Outcome::Failed(failure) if matches!(failure.reason, FailureKind::Connect | FailureKind::Reset) => {
            Some(failure)
        }
        _ => None,
    }
}

/// Returns the last moment at which the request had something from the server. An open connection to it counts too.
fn last_sign(record: &RequestRecord) -> Option<Timestamp> {
    let answered = match &record.outcome {
        Outcome::Completed => true,
        Outcome::Failed(failure) => matches!(
            failure.reason,
            FailureKind::HttpStatus(_)
                | FailureKind::StreamError
                | FailureKind::Malformed
                | FailureKind::Aborted
                | FailureKind::Empty
        ),
        Outcome::Cancelled | Outcome::Censored => false,
    };
    let ended = answered.then_some(record.ended);
    let is_open = match &record.outcome {
        Outcome::Cancelled | Outcome::Censored => true,
        Outcome::Failed(failure) => failure.reason.is_timeout(),
        Outcome::Completed => false,
    };
    let open = record.sent.filter(|_| is_open);
    [record.headers, record.chunks.last_at(), ended, open].into_iter().flatten().max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summarise;
    use crate::analysis::test_runs::{RecordBuilder, record, run};

    const REFUSED: &str = "127.0.0.1:8000 refused the connection";

    fn lost(index: u64, at: u64, kind: FailureKind) -> RecordBuilder {
        record(index).sent_at(at, at, at).failed(at + 1, Failure::new(kind, REFUSED))
    }

    /// Forty requests, one every 100 ms, of which these fail at once.
    fn reasons(fails: impl Fn(u64) -> Option<FailureKind>) -> Vec<(Rule, String)> {
        let one = |i: u64| match fails(i) {
            Some(kind) => lost(i, i * 100, kind).build(),
            None => record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + 20, 10, 5).build(),
        };
        let summary = summarise(&run(4_000, (0..40).map(one).collect()), &[]);
        summary.verdict.reasons.into_iter().map(|reason| (reason.rule, reason.sentence)).collect()
    }

    #[test]
    fn a_server_that_dies_is_named_and_what_follows_from_it_is_not() {
        let dead = reasons(|i| (i >= 25).then_some(FailureKind::Connect));
        assert_eq!(
            dead,
            [(
                Rule::ServerStayed,
                format!(
                    "the server stopped answering at 2.5 s: from then on every connection was refused or lost (15 \
                     requests), such as: {REFUSED}"
                )
            )]
        );
        // Behind a port that takes connections for it and drops them.
        assert_eq!(reasons(|i| (i >= 25).then_some(FailureKind::Reset))[0].0, Rule::ServerStayed);
        // From the first request on.
        let (rule, sentence) = reasons(|_| Some(FailureKind::Connect)).swap_remove(0);
        assert_eq!(rule, Rule::ServerStayed);
        assert!(sentence.starts_with("the server never answered: every connection was refused"), "{sentence}");
    }

    #[test]
    fn a_server_that_answers_again_is_not_gone() {
        let back = reasons(|i| (20..30).contains(&i).then_some(FailureKind::Connect));
        assert_eq!(back[0].0, Rule::ErrorRate);
        // An error is an answer.
        let broken = reasons(|i| (i >= 20).then_some(FailureKind::HttpStatus(502)));
        assert_eq!(broken[0].0, Rule::ErrorRate);
        // A limit of this machine is not the server's.
        assert_eq!(reasons(|i| (i >= 20).then_some(FailureKind::ClientLimit))[0].0, Rule::ErrorRate);
        let two = reasons(|i| (i >= 38).then_some(FailureKind::Connect));
        assert_eq!(two[0].0, Rule::ErrorRate, "too few to tell");
        let soon = reasons(|i| (i >= 34).then_some(FailureKind::Connect));
        assert_eq!(soon[0].0, Rule::ErrorRate, "half a second at the end may be a restart");
        // A connection that opens after those that were lost, and hangs.
        for hangs in [FailureKind::TimeoutFirstToken, FailureKind::TimeoutTotal] {
            let alive = reasons(|i| (i >= 20).then_some(if i == 38 { hangs } else { FailureKind::Connect }));
            assert!(alive.iter().all(|(rule, _)| *rule != Rule::ServerStayed), "{alive:?}");
        }
    }

    #[test]
    fn a_request_that_the_end_of_the_run_cuts_off_has_a_server() {
        let gone = |open_at: u64| {
            let fails = (0..40).map(|i| lost(i, i * 100, FailureKind::Connect).build());
            let open = record(40).sent_at(open_at, open_at, open_at).censored(4_000).build();
            summarise(&run(4_000, fails.chain([open]).collect()), &[]).verdict.breaks(Rule::ServerStayed)
        };
        assert!(!gone(3_950) && gone(50), "sent on a connection that was there then");
    }

    #[test]
    fn chance_at_the_end_of_a_run_is_no_death() {
        // Every other connection is lost, and the last five of them in a row.
        let flaky = reasons(|i| (i % 2 == 0 || i >= 35).then_some(FailureKind::Reset));
        assert_eq!(flaky[0].0, Rule::ErrorRate);
    }

    #[test]
    fn what_was_in_flight_at_its_death_is_a_part_of_it() {
        let mut records: Vec<_> = (0..5).map(|i| record(i).sent_at(i, i, i).paced(i + 20, 10, 5).build()).collect();
        // One in mid-answer, one that waits for its first token, one that never gets an end.
        records.push(
            record(5)
                .sent_at(10, 10, 10)
                .paced(60, 10, 5)
                .failed(500, Failure::new(FailureKind::Reset, "after 5 chunks"))
                .build(),
        );
        records.push(record(6).sent_at(11, 11, 11).failed(501, Failure::new(FailureKind::Reset, "")).build());
        records.push(record(7).sent_at(12, 12, 12).censored(900).build());
        records.extend((8..11).map(|i| lost(i, 500 * (i - 6), FailureKind::Connect).build()));
        let summary = summarise(&run(3_000, records), &[]);
        let first = &summary.verdict.reasons[0].sentence;
        assert!(first.starts_with("the server stopped answering at 500 ms: from"), "{first}");
        assert!(first.contains("(5 requests)") && first.ends_with(REFUSED), "{first}");
    }
}
