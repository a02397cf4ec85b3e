//! The decisions of clients at each moment, in exact time.

use super::*;
use crate::workload::{Jitter, RetryCause};

const SECOND: u64 = 1_000_000_000;

fn at(second: u64) -> Timestamp {
    Timestamp::from_nanos(second * SECOND)
}

/// Returns the policy of patient clients. They wait 10 s for the first token and 60 s in all, hedge after 5 s, and
/// try twice again after 1 s.
fn policy() -> RetryPolicy {
    let behaviour = ClientBehaviour {
        timeout_s: Some(60.0),
        first_token_timeout_s: Some(10.0),
        retries: 2,
        retry_on: vec![RetryCause::Timeout, RetryCause::Reset],
        backoff_s: 1.0,
        backoff_factor: 1.0,
        jitter: Jitter::None,
        hedge_after_s: Some(5.0),
        ..ClientBehaviour::default()
    };
    RetryPolicy::new(behaviour, 1)
}

/// Facts of each attempt. They are its kind, when it began and ended, how, and the tokens thrown away.
type Seen = (AttemptKind, u64, u64, AttemptEnd, u32);

fn attempts(life: RequestLife<'_, char>) -> Vec<Seen> {
    let seen = |attempt: Attempt| {
        let Attempt { kind, begun, ended, end, discarded_tokens, .. } = attempt;
        (kind, begun.as_nanos() / SECOND, ended.as_nanos() / SECOND, end, discarded_tokens)
    };
    life.into_attempts().unwrap().into_iter().map(seen).collect()
}

#[test]
fn the_first_of_two_to_give_a_token_is_kept() {
    for (winner, loser, which) in [('h', 'f', Which::Hedge), ('f', 'h', Which::First)] {
        let policy = policy();
        let rules = ClientRules::from_policies(Some(&policy), None).unwrap();
        let mut life = RequestLife::new(0, 0, 100, rules);
        life.begin('f', AttemptKind::First, at(0));
        assert_eq!(life.alarm(), Some(at(5)));
        assert!(life.hedge_is_due(at(5)) && !life.hedge_is_due(at(4)));
        life.begin('h', AttemptKind::Hedge, at(5));
        assert_eq!(life.alarm(), Some(at(10)), "the limit is that of the first attempt");
        assert_eq!(life.which(&'h'), Some(Which::Hedge));
        assert_eq!(life.token(which, at(8), 1), Some(loser));
        assert_eq!((life.which(&winner), life.which(&loser)), (Some(Which::First), None));
        // The limit to the first token is met; the one in all stays.
        assert_eq!(life.alarm(), Some(at(60)));
        assert_eq!(life.token(Which::First, at(9), 1), None);
        assert_eq!(life.conclude(at(12), AttemptEnd::Answered, None, 2), None);
        let kept = |handle| {
            if handle == winner { (12, AttemptEnd::Answered) } else { (8, AttemptEnd::Cancelled) }
        };
        let (first, hedge) = (kept('f'), kept('h'));
        let all = [(AttemptKind::First, 0, first.0, first.1, 0), (AttemptKind::Hedge, 5, hedge.0, hedge.1, 0)];
        assert_eq!(attempts(life), all);
    }
}

#[test]
fn one_of_two_that_fails_leaves_the_other_and_both_end_at_the_limit() {
    let policy = policy();
    let rules = ClientRules::from_policies(Some(&policy), None).unwrap();
    for failing in [Which::First, Which::Hedge] {
        let mut life = RequestLife::new(0, 0, 100, rules);
        life.begin('f', AttemptKind::First, at(0));
        assert!(!life.drop_failed(Which::First, at(1), FailureKind::Reset), "there is no other");
        life.begin('h', AttemptKind::Hedge, at(5));
        assert!(life.drop_failed(failing, at(6), FailureKind::Reset));
        assert!(life.broken(at(9)).is_none());
        let failure = life.broken(at(10)).unwrap();
        assert_eq!(failure.reason, FailureKind::TimeoutFirstToken);
        assert_eq!(failure.message, "no more than 10 s allowed");
        let end = AttemptEnd::Failed(failure.reason);
        assert_eq!(life.conclude(at(10), end, None, 0), Some(at(11)), "one try has failed");
        assert_eq!(life.alarm(), None, "it waits");
        life.begin('r', AttemptKind::Retry, at(11));
        assert_eq!(life.alarm(), Some(at(16)), "each attempt has limits of its own");
    }
}

#[test]
fn a_request_is_sent_again_as_often_as_its_policy_says_and_tokens_count_as_lost_only_then() {
    let policy = policy();
    let rules = ClientRules::from_policies(Some(&policy), None).unwrap();
    let mut life = RequestLife::new(0, 0, 100, rules);
    let reset = AttemptEnd::Failed(FailureKind::Reset);
    let mut again = Vec::new();
    for (second, kind) in [(0, AttemptKind::First), (3, AttemptKind::Retry), (6, AttemptKind::Retry)] {
        life.begin('a', kind, at(second));
        life.token(Which::First, at(second + 1), 1);
        again.push(life.conclude(at(second + 2), reset, None, 7));
    }
    assert_eq!(again, [Some(at(3)), Some(at(6)), None]);
    let all = [
        (AttemptKind::First, 0, 2, reset, 7),
        (AttemptKind::Retry, 3, 5, reset, 7),
        (AttemptKind::Retry, 6, 8, reset, 0),
    ];
    assert_eq!(attempts(life), all);
}

#[test]
fn silence_between_tokens_has_a_limit_of_its_own_and_requests_sent_once_keep_no_attempts() {
    let timeouts = Timeouts { between_tokens: Some(Duration::from_secs(2)), ..Timeouts::default() };
    let rules = ClientRules { timeouts, retries: None, leaving: None };
    let mut life = RequestLife::new(0, 0, 100, rules);
    life.begin('a', AttemptKind::First, at(0));
    assert_eq!(life.alarm(), None);
    life.token(Which::First, at(100), 1);
    life.token(Which::First, at(101), 1);
    assert_eq!(life.alarm(), Some(at(103)));
    assert_eq!(life.broken(at(103)).unwrap().reason, FailureKind::TimeoutBetweenTokens);
    let timeout = AttemptEnd::Failed(FailureKind::TimeoutBetweenTokens);
    assert_eq!(life.conclude(at(103), timeout, None, 2), None);
    assert_eq!(life.into_attempts(), None);
}

#[test]
fn the_end_of_a_run_cancels_both_attempts_and_a_server_may_ask_for_a_longer_wait() {
    let policy = policy();
    let rules = ClientRules::from_policies(Some(&policy), None).unwrap();
    let mut life = RequestLife::new(0, 0, 100, rules);
    life.begin('f', AttemptKind::First, at(0));
    let reset = AttemptEnd::Failed(FailureKind::Reset);
    assert_eq!(life.conclude(at(1), reset, Some(Duration::from_secs(4)), 0), Some(at(5)));
    life.begin('r', AttemptKind::Retry, at(5));
    life.begin('h', AttemptKind::Hedge, at(10));
    assert_eq!(life.conclude(at(12), AttemptEnd::Cancelled, None, 0), None);
    let all = [
        (AttemptKind::First, 0, 1, reset, 0),
        (AttemptKind::Retry, 5, 12, AttemptEnd::Cancelled, 0),
        (AttemptKind::Hedge, 10, 12, AttemptEnd::Cancelled, 0),
    ];
    assert_eq!(attempts(life), all);
}
