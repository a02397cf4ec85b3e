//! Answer tokens that came after the moments that the SLO of their request sets.

use serde::Serialize;

use super::observed::{Measured, Observed};
use crate::record::{Outcome, RequestRecord, RunLog};
use crate::units::millis;
use crate::workload::{RequestClass, Slo};

/// Answer tokens later than a reader waits for them. Token i of an answer, from 0, is due at TTFT bound + i × TPOT
/// bound after the moment from which latencies count.
///
/// It is of streamed answers to requests with both bounds. Tokens that were asked for and never came are late, where
/// the request failed or is censored.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TokenDeadlines {
    /// Requests whose tokens were due.
    pub requests: u64,
    /// Requests of them with at least one late token.
    pub late_requests: u64,
    /// Tokens that were due.
    pub tokens: u64,
    /// Tokens of them that came late, or never.
    pub late_tokens: u64,
    /// Share `late_tokens / tokens`, between 0 and 1.
    pub deadline_miss: f64,
    /// Share `late_requests / requests`, between 0 and 1.
    pub deadline_miss_requests: f64,
}

impl TokenDeadlines {
    /// Counts the late tokens of a run. `None` where no token has a moment at which it is due.
    pub(crate) fn from_observed(observed: &Observed<'_>) -> Option<Self> {
        let each = observed.requests.iter().filter_map(|request| due_tokens(observed.log, request));
        let [mut requests, mut late_requests, mut tokens, mut late_tokens] = [0_u64; 4];
        for (due, late) in each {
            requests += 1;
            late_requests += u64::from(late > 0);
            tokens += due;
            late_tokens += late;
        }
        (tokens > 0).then(|| Self {
            requests,
            late_requests,
            tokens,
            late_tokens,
            deadline_miss: late_tokens as f64 / tokens as f64,
            deadline_miss_requests: late_requests as f64 / requests as f64,
        })
    }
}

/// Tokens of a request that were due, and those of them that were late. `None` where nothing says when they are due, or
/// a stream does not show when they came.
pub(crate) fn due_tokens(log: &RunLog, request: &Measured<'_>) -> Option<(u64, u64)> {
    let record = request.record();
    let Slo { ttft_ms, tpot_ms, .. } = log.header.workload.slo_of(record.class, record.priority, record.tenant);
    let (first, each) = ttft_ms.zip(tpot_ms)?;
    if !request.shows_tokens() || record.leaves {
        return None;
    }
    let begin = request.begin();
    let mut came: Vec<u64> = Vec::new();
    let mut late = 0;
    for chunk in record.chunks.iter() {
        let choice = usize::from(chunk.choice);
        came.resize(came.len().max(choice + 1), 0);
        let (before, waited) = (came[choice], millis(chunk.at.since(begin)));
        came[choice] += u64::from(chunk.tokens);
        let own = place(&record, before)..place(&record, came[choice]);
        late += own.filter(|&token| waited > first + token as f64 * each).count() as u64;
    }
    let shown: u64 = came.iter().map(|&tokens| place(&record, tokens)).sum();
    let asked = u64::from(record.output_tokens_asked) * record.choices();
    let class = log.header.workload.classes.get(usize::from(record.class));
    // Nobody knows how long an answer would have been that ends by itself: one token more, at the least.
    let natural = class.is_some_and(RequestClass::ends_by_itself);
    let missing = match record.outcome {
        Outcome::Completed => 0,
        _ if natural => 1,
        _ => asked.saturating_sub(shown),
    };
    Some((shown + missing, late + missing))
}

/// Tokens of an answer that were shown when its chunks had brought so many. Hidden ones come first. Chunks whose tokens
/// nobody counted have equal shares of the answer.
fn place(record: &RequestRecord, tokens: u64) -> u64 {
    if record.chunks_counted {
        return tokens.saturating_sub(record.hidden_tokens.into());
    }
    let chunks = record.chunks.tokens().max(1);
    tokens * record.shown_tokens().max(chunks) / chunks
}

#[cfg(test)]
mod tests {
    //! Late tokens, counted by hand.

    use super::*;
    use crate::analysis::figures::{Figure, FigureKey};
    use crate::analysis::judgements::Status;
    use crate::analysis::requests::observed::measure;
    use crate::analysis::summarise::summarise;
    use crate::analysis::test_runs::{RecordBuilder, class, ms, record, run};
    use crate::record::{Failure, FailureKind, TokenChunk};
    use crate::workload::{AnswerEnding, ArrivalPattern, Priority, ThinkTime};

    /// A run of requests with bounds of 100 and 10 ms.
    fn bounded(records: Vec<RequestRecord>) -> RunLog {
        let mut log = run(1_000, records);
        let slo = Slo { ttft_ms: Some(100.0), tpot_ms: Some(10.0), e2e_ms: None };
        log.header.workload.classes = vec![class("chat", &[(Priority::High, slo)])];
        log
    }

    fn due(record: RequestRecord) -> Option<(u64, u64)> {
        let log = bounded(vec![record]);
        let delivery = Observed::from_log(&log).delivery;
        due_tokens(&log, &measure(&log, &delivery, &log.records, 0))
    }

    fn sent() -> RecordBuilder {
        record(0).sent_at(0, 3, 5)
    }

    #[test]
    fn a_token_has_until_its_own_moment() {
        // Due at 100, 110, 120, 130: the last two are late. A moment is met to the nanosecond.
        assert_eq!(due(sent().chunks(&[(90, 1), (105, 1), (140, 1), (141, 1)]).build()), Some((4, 2)));
        assert_eq!(due(sent().paced(100, 10, 50).build()), Some((50, 0)));
        // A late first token delays no moment: each comes a step after its own.
        assert_eq!(due(sent().paced(101, 10, 50).build()), Some((50, 50)));
        // Fast ones before leave time for a silence: the eleventh has until 200.
        assert_eq!(due(sent().chunks(&[(50, 10), (200, 1)]).build()), Some((11, 0)));
    }

    #[test]
    fn the_tokens_of_a_chunk_come_together() {
        // At 115: tokens 0 and 1 are late, token 2 (120) and 3 (130) are not.
        assert_eq!(due(sent().chunks(&[(115, 4)]).counted().build()), Some((4, 2)));
        // Two chunks of an answer of six tokens that nobody counted hold three each: 0 to 2 at 100, 3 to 5 at 135.
        assert_eq!(due(sent().chunks(&[(100, 1), (135, 1)]).usage(20, 6).build()), Some((6, 1)));
        // 100 tokens of hidden reasoning take the place of no shown one. Of three at 100, 111 and 120 one is late.
        let mut hiding = sent().chunks(&[(100, 101), (111, 1), (120, 1)]).counted().usage(20, 103).build();
        hiding.hidden_tokens = 100;
        assert_eq!(due(hiding), Some((3, 1)));
    }

    #[test]
    fn each_choice_has_its_own_moments() {
        let mut two = sent().chunks(&[(100, 1), (100, 1), (110, 1), (115, 1)]).build();
        let in_turns = |(place, chunk): (usize, TokenChunk)| TokenChunk { choice: (place % 2) as u8, ..chunk };
        two.chunks = two.chunks.iter().enumerate().map(in_turns).collect();
        assert_eq!(due(two), Some((4, 1)));
    }

    #[test]
    fn what_never_came_is_late_where_it_was_waited_for() {
        let some = sent().chunks(&[(90, 1), (105, 1)]).asked(10);
        let broken = Failure::new(FailureKind::Truncated, "closed early");
        assert_eq!(due(some.clone().failed(200, broken).build()), Some((10, 8)));
        assert_eq!(due(some.clone().censored(200).build()), Some((10, 8)));
        assert_eq!(due(some.clone().build()), Some((2, 0)), "the model may stop early");
        let mut natural = bounded(vec![some.clone().censored(200).build()]);
        natural.header.workload.classes[0].length = AnswerEnding::Natural;
        assert_eq!(summarise(&natural, &[]).deadlines.map(|found| (found.tokens, found.late_tokens)), Some((3, 1)));
        let mut cancelled = some.build();
        (cancelled.outcome, cancelled.leaves) = (Outcome::Cancelled, true);
        assert_eq!(due(cancelled), None);
    }

    #[test]
    fn shares_are_of_all_tokens_and_of_all_requests() {
        let records = [0, 1, 2].map(|i| record(i).sent_at(0, 0, 0).paced(70 + 20 * i, 10, 10).build());
        let mut log = bounded(records.into());
        let demands = ["deadline_miss < 30%", "deadline_miss_requests < 30%"].map(|text| text.parse().unwrap());
        let summary = summarise(&log, &demands);
        // First tokens at 70, 90 and 110: all ten of the third are late.
        let deadlines = summary.deadlines.unwrap();
        assert_eq!((deadlines.tokens, deadlines.late_tokens), (30, 10));
        assert_eq!((deadlines.requests, deadlines.late_requests), (3, 1));
        assert!(summary.objectives.iter().all(|objective| objective.status == Status::Missed));
        let key: FigureKey = "deadline_miss_requests".parse().unwrap();
        let each: Vec<_> = key.of_requests(&log).into_iter().map(|(_, late)| late).collect();
        assert_eq!(each, [0.0, 0.0, 1.0].map(Figure::Exact));

        // In a closed loop they count from sending.
        log.header.workload.arrival =
            ArrivalPattern::Users { users: 3, think_time_s: ThinkTime::default(), ramp_s: 0.0 };
        log.records[2].dispatched = ms(10);
        log.records[2].sent = Some(ms(10));
        assert_eq!(summarise(&log, &[]).deadlines.unwrap().late_tokens, 0);

        // Without a bound on TPOT nothing is due, and no run can be asked.
        log.header.workload.classes[0].priorities[0].slo.tpot_ms = None;
        assert_eq!(summarise(&log, &[]).deadlines, None);
        let refusal = demands[0].check(&log.header.workload).unwrap_err().to_string();
        assert!(refusal.contains("no request has bounds on both TTFT and TPOT"), "{refusal}");
    }
}
