//! The latencies of one request.

use crate::clock::Timestamp;
use crate::record::{Outcome, RequestRecord};
use crate::units::millis;

use crate::analysis::figures::{Figure, Metric};
use crate::analysis::requests::form::LoadForm;

/// The latencies of one request, milliseconds; a latency that it does not have is `None`.
///
/// A failed request has none but its schedule lag and its wait for a slot: it counts in rates and in SLO
/// denominators. One that was cut off, censored or ended by a time limit of the client, has those that were complete
/// until then; the others are known only to exceed a bound. Without it the slowest answers would be missing from the
/// percentiles, and the more of them the tighter the limit. One whose text was whole when it was cut off, for its usage
/// or the end of its stream never came, has all of them: neither counts in a latency.
///
/// In a closed loop what counts from the scheduled moment counts from sending, see [`LoadForm::Closed`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RequestLatency {
    /// `dispatched − scheduled`.
    pub schedule_lag: Option<Figure>,
    /// `admitted − dispatched`, the wait for a slot under the concurrency cap. Absent where there was no cap.
    pub queue_wait: Option<Figure>,
    /// Time to first token, first chunk − scheduled. It counts from the scheduled moment, as wrk2 and MLPerf `LoadGen`
    /// do.
    pub ttft: Option<Figure>,
    /// First chunk − sent.
    pub ttft_from_send: Option<Figure>,
    /// Time to first answer, where reasoning came before it. It is first chunk that was not reasoning − scheduled. Of
    /// an answer that was cut off before that, known only to exceed a bound where no chunk had come; where some had, no
    /// record tells whether they were reasoning, and it has none.
    pub ttfa: Option<Figure>,
    /// Last chunk (for an answer that was not streamed: its arrival) − scheduled.
    pub e2e: Option<Figure>,
    /// Last chunk (for an answer that was not streamed: its arrival) − sent.
    pub e2e_from_send: Option<Figure>,
    /// Time per output token, from two tokens on (as vLLM). It is (last chunk − first chunk) / (output tokens − 1).
    /// Tokens whose text never came are left out; each choice has its own time and first token.
    pub tpot: Option<Figure>,
    /// TPOT adjusted for a first chunk of more than one token. It is (last chunk − first chunk) / (output tokens −
    /// tokens of the first chunk).
    pub tpot_adjusted: Option<Figure>,
}

impl RequestLatency {
    /// The latencies of `record` in a run of this form.
    pub fn new(record: &RequestRecord, form: LoadForm) -> Self {
        let begin = form.begin_of(record);
        let schedule_lag = Some(Figure::Exact(millis(record.dispatched.since(record.scheduled))));
        let queue_wait = queue_wait(record);
        let latency = match &record.outcome {
            // Those who stayed until the end had the shorter answers, so that none of them can count.
            _ if record.leaves => Self::default(),
            Outcome::Completed => Self::completed(record, begin),
            outcome if outcome.is_cut_off() && text_is_whole(record) => Self::completed(record, begin),
            outcome if outcome.is_cut_off() => Self::cut_off(record, begin),
            _ => Self::default(),
        };
        Self { schedule_lag, queue_wait, ..latency }
    }

    /// Returns one of the latencies. None of those of which a request has many.
    pub(crate) const fn get(&self, metric: Metric) -> Option<Figure> {
        match metric {
            Metric::Ttft => self.ttft,
            Metric::TtftFromSend => self.ttft_from_send,
            Metric::Ttfa => self.ttfa,
            Metric::Tpot => self.tpot,
            Metric::TpotAdjusted => self.tpot_adjusted,
            Metric::E2e => self.e2e,
            Metric::E2eFromSend => self.e2e_from_send,
            Metric::ScheduleLag => self.schedule_lag,
            Metric::QueueWait => self.queue_wait,
            _ => None,
        }
    }

    /// The latencies that an answer which was not streamed can have.
    pub(crate) fn of_whole_answer(self) -> Self {
        let Self { schedule_lag, queue_wait, e2e, e2e_from_send, .. } = self;
        Self { schedule_lag, queue_wait, e2e, e2e_from_send, ..Self::default() }
    }

    fn completed(record: &RequestRecord, begin: Timestamp) -> Self {
        let first = record.chunks.first_at();
        let last = record.chunks.last_at().or(record.whole_answer);
        Self {
            e2e: between(Some(begin), last),
            e2e_from_send: between(record.first_sent(), last),
            tpot: tpot(record, record.choices()),
            tpot_adjusted: first_tokens(record)
                .and_then(|tokens| tpot(record, u64::from(tokens).saturating_sub(record.hidden_tokens.into()))),
            ..Self::until_first(record, begin, first)
        }
    }

    /// Computes the latencies of a request that was cut off. What had come before the end is known; what had not takes
    /// at least until then.
    fn cut_off(record: &RequestRecord, begin: Timestamp) -> Self {
        let bound = |from: Option<Timestamp>| from.map(|at| Figure::AtLeast(millis(record.ended.since(at))));
        let first = record.chunks.first_at();
        let known = Self::until_first(record, begin, first);
        // Without a first chunk nobody knows whether the answer would have been streamed token by token.
        let rest = |counted: u32| {
            let tokens = record.output_tokens_asked.checked_sub(counted).filter(|&left| left > 0)?;
            Some(Figure::AtLeast(millis(record.ended.since(first?)) / f64::from(tokens)))
        };
        Self {
            ttft: known.ttft.or_else(|| bound(Some(begin))),
            ttft_from_send: known.ttft_from_send.or_else(|| bound(record.first_sent())),
            e2e: bound(Some(begin)),
            e2e_from_send: bound(record.first_sent()),
            // Whether it would have reasoned nobody knows: where other answers did, it counts as one.
            ttfa: known.ttfa.or_else(|| bound(Some(begin)).filter(|_| first.is_none())),
            tpot: pace(record).or_else(|| rest(1)),
            tpot_adjusted: first_tokens(record).and_then(rest),
            ..known
        }
    }

    fn until_first(record: &RequestRecord, begin: Timestamp, first: Option<Timestamp>) -> Self {
        Self {
            ttft: between(Some(begin), first),
            ttft_from_send: between(record.first_sent(), first),
            ttfa: between(Some(begin), record.first_answer),
            ..Self::default()
        }
    }
}

/// Returns the time per token of what arrived of a cut-off answer. The cut lies between two tokens, and the silence at
/// its end is no longer than one before it. After a longer silence only a least is known.
fn pace(record: &RequestRecord) -> Option<Figure> {
    let stamps = || record.chunks.iter().map(|chunk| chunk.at);
    let longest = stamps().zip(stamps().skip(1)).map(|(one, next)| next.since(one)).max()?;
    tpot(record, record.choices())
        .filter(|_| record.chunks.last_at().is_some_and(|last| record.ended.since(last) <= longest))
}

/// Whether all text of an answer had come, however it ended. The model had said why it stopped, or the server's own
/// counts of the chunks had reached the tokens asked for.
pub(crate) fn text_is_whole(record: &RequestRecord) -> bool {
    let asked = || u64::from(record.output_tokens_asked) * record.choices();
    let counted = || record.chunks_counted && record.chunks.tokens() >= asked();
    !record.chunks.is_empty() && (record.finish_reason.is_some() || counted())
}

/// A request that was neither admitted nor sent was still waiting when the run ended.
fn queue_wait(record: &RequestRecord) -> Option<Figure> {
    let waited = |until: Timestamp| millis(until.since(record.dispatched));
    match (record.admitted, record.sent) {
        (Some(admitted), _) => Some(Figure::Exact(waited(admitted))),
        (None, None) if matches!(record.outcome, Outcome::Cancelled | Outcome::Censored) => {
            Some(Figure::AtLeast(waited(record.ended)))
        }
        (None, _) => None,
    }
}

fn between(from: Option<Timestamp>, to: Option<Timestamp>) -> Option<Figure> {
    Some(Figure::Exact(millis(to?.since(from?))))
}

/// Tokens of the first chunk of every choice, where one carried more than one.
fn first_tokens(record: &RequestRecord) -> Option<u32> {
    let firsts = || record.chunks.firsts().map(|chunk| chunk.tokens);
    firsts().any(|tokens| tokens > 1).then(|| firsts().sum())
}

fn tpot(record: &RequestRecord, counted: u64) -> Option<Figure> {
    record.ms_per_token(counted).map(Figure::Exact)
}

#[cfg(test)]
mod tests {
    //! Five records whose latencies were computed by hand.

    use super::Figure::{AtLeast, Exact};
    use super::*;
    use crate::analysis::test_runs::{ms, record};
    use crate::record::{Failure, FailureKind, FinishReason};

    fn open(record: &RequestRecord) -> RequestLatency {
        RequestLatency::new(record, LoadForm::Open)
    }

    #[test]
    fn a_streamed_answer() {
        // Scheduled 1,000, let go at 1,002, sent at 1,003; five tokens at 1,203, 1,223, 1,243, 1,263, 1,303.
        let record = record(0).sent_at(1_000, 1_002, 1_003).chunks(&[
            (1_203, 1),
            (1_223, 1),
            (1_243, 1),
            (1_263, 1),
            (1_303, 1),
        ]);
        assert_eq!(
            open(&record.build()),
            RequestLatency {
                schedule_lag: Some(Exact(2.0)),
                queue_wait: None,
                ttft: Some(Exact(203.0)),
                ttft_from_send: Some(Exact(200.0)),
                ttfa: None,
                e2e: Some(Exact(303.0)),
                e2e_from_send: Some(Exact(300.0)),
                tpot: Some(Exact(25.0)),
                tpot_adjusted: None,
            }
        );
    }

    #[test]
    fn a_reasoning_answer_in_chunks_of_several_tokens() {
        // Nine tokens in chunks of 3, 2, 4 at 100, 150, 220; the thinking ends with the second chunk.
        let mut record = record(0).sent_at(0, 0, 1).chunks(&[(100, 3), (150, 2), (220, 4)]).build();
        record.first_answer = Some(ms(150));
        let latency = open(&record);
        assert_eq!((latency.ttft, latency.ttfa), (Some(Exact(100.0)), Some(Exact(150.0))));
        assert_eq!((latency.tpot, latency.tpot_adjusted), (Some(Exact(15.0)), Some(Exact(20.0))));
    }

    #[test]
    fn tokens_that_never_came_divide_no_time() {
        // 100 tokens of hidden reasoning, then 28 that came each 20 ms.
        let mut answer = record(0).sent_at(0, 0, 1).paced(1_000, 20, 28).usage(20, 128).build();
        answer.hidden_tokens = 100;
        assert_eq!(open(&answer).tpot, Some(Exact(20.0)));
        // The server counts each chunk: the first has all that came before it.
        let mut chunks = vec![(1_000, 101)];
        chunks.extend((1..28).map(|i| (1_000 + 20 * i, 1)));
        let mut answer = record(0).sent_at(0, 0, 1).chunks(&chunks).counted().usage(20, 128).build();
        answer.hidden_tokens = 100;
        assert_eq!((open(&answer).tpot, open(&answer).tpot_adjusted), (Some(Exact(20.0)), Some(Exact(20.0))));
    }

    #[test]
    fn each_choice_has_its_own_time() {
        // Two choices of four tokens each, 20 ms apart in each.
        let mut answer = record(0).sent_at(0, 0, 1).paced(100, 10, 8).usage(20, 8).build();
        let alternate = |(place, chunk): (usize, crate::record::TokenChunk)| crate::record::TokenChunk {
            choice: (place % 2) as u8,
            ..chunk
        };
        answer.chunks = answer.chunks.iter().enumerate().map(alternate).collect();
        assert_eq!((open(&answer).tpot, open(&answer).tpot_adjusted), (Some(Exact(20.0)), None));
    }

    #[test]
    fn an_answer_that_was_not_streamed() {
        let latency = open(&record(0).sent_at(10, 10, 12).whole_answer(512, 40).build());
        assert_eq!((latency.e2e, latency.e2e_from_send), (Some(Exact(502.0)), Some(Exact(500.0))));
        assert_eq!((latency.ttft, latency.ttft_from_send, latency.tpot), (None, None, None));
    }

    #[test]
    fn a_failed_request() {
        let failure = Failure::new(FailureKind::Truncated, "closed early");
        let record = record(0).sent_at(10, 13, 14).chunks(&[(50, 1), (60, 1)]).failed(70, failure).build();
        let expected = RequestLatency { schedule_lag: Some(Exact(3.0)), ..RequestLatency::default() };
        assert_eq!(open(&record), expected);
    }

    #[test]
    fn a_censored_request() {
        // Asked for 21 tokens; two had come when waiting ended at 1,100: the other 19 take at least until then.
        let mut record = record(0).sent_at(0, 0, 10).chunks(&[(100, 1), (130, 1)]).censored(1_100).build();
        record.output_tokens_asked = 21;
        let latency = open(&record);
        assert_eq!((latency.ttft, latency.ttft_from_send), (Some(Exact(100.0)), Some(Exact(90.0))));
        assert_eq!((latency.e2e, latency.e2e_from_send), (Some(AtLeast(1_100.0)), Some(AtLeast(1_090.0))));
        assert_eq!(latency.tpot, Some(AtLeast(50.0)));
    }

    #[test]
    fn an_answer_that_is_cut_off_at_its_pace_has_that_pace() {
        // Eleven of a hundred tokens had come, 20 ms apart, when the run was interrupted.
        let mut record = record(0).sent_at(0, 0, 10).paced(100, 20, 11).censored(315).build();
        record.output_tokens_asked = 100;
        assert_eq!(open(&record).tpot, Some(Exact(20.0)));
        assert_eq!(open(&record).e2e, Some(AtLeast(315.0)));
        // A silence that is longer than any gap before bounds it from below: the other 89 take at least until then.
        record.ended = ms(2_080);
        assert_eq!(open(&record).tpot, Some(AtLeast(20.0)));
    }

    #[test]
    fn a_censored_request_without_a_token() {
        let latency = open(&record(0).sent_at(100, 101, 102).censored(1_100).build());
        assert_eq!((latency.ttft, latency.ttft_from_send), (Some(AtLeast(1_000.0)), Some(AtLeast(998.0))));
        assert_eq!((latency.e2e, latency.tpot), (Some(AtLeast(1_000.0)), None));
        assert_eq!((latency.ttfa, latency.tpot_adjusted), (Some(AtLeast(1_000.0)), None));
    }

    #[test]
    fn a_request_that_a_time_limit_ended_is_known_to_take_at_least_as_long() {
        use FailureKind::{TimeoutBetweenTokens, TimeoutFirstToken, TimeoutTotal};
        let ended = |kind, chunks: &[(u64, u32)]| {
            let failure = Failure::new(kind, "no more than 10 s allowed");
            let mut record = record(0).sent_at(100, 101, 102).chunks(chunks).failed(10_102, failure).build();
            record.output_tokens_asked = 21;
            open(&record)
        };
        let unanswered = ended(TimeoutFirstToken, &[]);
        assert_eq!((unanswered.ttft, unanswered.ttft_from_send), (Some(AtLeast(10_002.0)), Some(AtLeast(10_000.0))));
        assert_eq!((unanswered.e2e, unanswered.tpot), (Some(AtLeast(10_002.0)), None));
        // The first token came after 500 ms; the other twenty would have taken at least until 10,102.
        for kind in [TimeoutBetweenTokens, TimeoutTotal] {
            let latency = ended(kind, &[(602, 1), (702, 1)]);
            assert_eq!((latency.ttft, latency.ttft_from_send), (Some(Exact(502.0)), Some(Exact(500.0))));
            assert_eq!((latency.e2e, latency.e2e_from_send), (Some(AtLeast(10_002.0)), Some(AtLeast(10_000.0))));
            assert_eq!(latency.tpot, Some(AtLeast(475.0)));
        }
    }

    #[test]
    fn a_censored_request_whose_first_chunk_carried_several_tokens() {
        // Asked for 23 tokens; three came at 100, and until 1,100 no more: the other 20 take at least 1,000 ms.
        let mut record = record(0).sent_at(0, 0, 10).chunks(&[(100, 3)]).censored(1_100).build();
        record.output_tokens_asked = 23;
        let latency = open(&record);
        // Whether the chunk was reasoning no record tells.
        assert_eq!((latency.tpot_adjusted, latency.ttfa), (Some(AtLeast(50.0)), None));
        record.first_answer = Some(ms(600));
        assert_eq!(open(&record).ttfa, Some(Exact(600.0)));
        record.output_tokens_asked = 3;
        assert_eq!(open(&record).tpot_adjusted, None);
    }

    #[test]
    fn text_that_was_whole_when_its_end_never_came_is_known() {
        // Three tokens, 20 ms apart from 100 on; then nothing until the limit at 10,000.
        let failure = Failure::new(FailureKind::TimeoutTotal, "no more than 10 s allowed");
        let text = record(0).sent_at(0, 0, 10).chunks(&[(100, 1), (120, 1), (140, 1)]);
        let counted = text.clone().counted().failed(10_000, failure.clone()).build();
        let mut finished = text.clone().asked(50).failed(10_000, failure.clone()).build();
        finished.finish_reason = Some(FinishReason::Stop);
        for record in [counted, finished] {
            let latency = open(&record);
            assert_eq!((latency.e2e, latency.e2e_from_send), (Some(Exact(140.0)), Some(Exact(130.0))));
            assert_eq!((latency.tpot, latency.ttfa), (Some(Exact(20.0)), None));
        }
        // A number of chunks that nobody counted the tokens of is a guess.
        let guessed = open(&text.failed(10_000, failure).build());
        assert_eq!(guessed.e2e, Some(AtLeast(10_000.0)));
    }

    #[test]
    fn one_token_has_no_time_per_token() {
        let latency = open(&record(0).sent_at(0, 0, 1).chunks(&[(100, 1)]).build());
        assert_eq!((latency.ttft, latency.e2e, latency.tpot), (Some(Exact(100.0)), Some(Exact(100.0)), None));
    }

    #[test]
    fn in_a_closed_loop_latencies_count_from_sending() {
        // Due at 100, dispatched at 103, sent at 107; under a cap there was a slot from 105 on.
        let answer = record(0).sent_at(100, 103, 107).chunks(&[(200, 1), (220, 1)]);
        let closed = |record: &RequestRecord| {
            let latency = RequestLatency::new(record, LoadForm::Closed);
            (latency.ttft, latency.e2e)
        };
        let both = |ttft, e2e| (Some(Exact(ttft)), Some(Exact(e2e)));
        let mut record = answer.clone().build();
        let latency = RequestLatency::new(&record, LoadForm::Closed);
        assert_eq!((latency.ttft, latency.e2e), (latency.ttft_from_send, latency.e2e_from_send));
        assert_eq!(closed(&record), both(93.0, 113.0));
        assert_eq!(latency.schedule_lag, Some(Exact(3.0)), "that remains known");
        // Waiting for a slot is part of the latency, and so is opening a connection.
        record.admitted = Some(ms(105));
        assert_eq!(closed(&record), both(95.0, 115.0));
        record.opened_connection = true;
        assert_eq!(closed(&record), both(97.0, 117.0));
        assert_eq!(closed(&answer.censored(210).build()), (Some(Exact(93.0)), Some(AtLeast(103.0))));
    }
}
