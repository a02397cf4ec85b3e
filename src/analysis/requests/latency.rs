//! The latencies of one request.

use crate::clock::Timestamp;
use crate::record::{Outcome, RequestRecord};
use crate::units::millis;

use crate::analysis::figures::catalogue::Metric;
use crate::analysis::figures::percentile::Figure;
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
    /// `admitted − dispatched`: the wait for a slot under the concurrency cap, where there was one.
    pub queue_wait: Option<Figure>,
    /// Time to first token: first chunk − scheduled (as wrk2 and MLPerf `LoadGen`, from the scheduled moment).
    pub ttft: Option<Figure>,
    /// First chunk − sent.
    pub ttft_from_send: Option<Figure>,
    /// Time to first answer: first chunk that was not reasoning − scheduled, where reasoning came before it. Of an
    /// answer that was cut off before that, known only to exceed a bound where no chunk had come; where some had, no
    /// record tells whether they were reasoning, and it has none.
    pub ttfa: Option<Figure>,
    /// Last chunk (for an answer that was not streamed: its arrival) − scheduled.
    pub e2e: Option<Figure>,
    /// Last chunk (for an answer that was not streamed: its arrival) − sent.
    pub e2e_from_send: Option<Figure>,
    /// Time per output token: (last chunk − first chunk) / (output tokens − 1), from two tokens on (as vLLM).
    /// Tokens whose text never came are left out; each choice has its own time and first token.
    pub tpot: Option<Figure>,
    /// (last chunk − first chunk) / (output tokens − tokens of the first chunk), where the first chunk carried
    /// more than one token.
    pub tpot_adjusted: Option<Figure>,
}

impl RequestLatency {
    /// The latencies of `record` in a run of this form.
    pub fn new(record: &RequestRecord, form: LoadForm) -> Self {
        let begin = form.begin_of(record);
        let schedule_lag = Some(Figure::Exact(millis(record.dispatched.since(record.scheduled))));
        let queue_wait = queue_wait(record);
        let latency = match &record.outcome {
            Outcome::Completed => Self::completed(record, begin),
            outcome if outcome.is_cut_off() && text_is_whole(record) => Self::completed(record, begin),
            outcome if outcome.is_cut_off() => Self::cut_off(record, begin),
            _ => Self::default(),
        };
        Self { schedule_lag, queue_wait, ..latency }
    }

    /// One of them; none of those of which a request has many.
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
            tpot_adjusted: first_tokens(record).and_then(|tokens| {
                tpot(record, u64::from(tokens).saturating_sub(record.hidden_tokens.into()))
            }),
            ..Self::until_first(record, begin, first)
        }
    }

    /// What had come before the end is known; what had not takes at least until then.
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

/// The time per token of what arrived of an answer that was cut off between two tokens: the silence at its end
/// is no longer than one before it. After a longer silence only a least is known.
fn pace(record: &RequestRecord) -> Option<Figure> {
    let stamps = || record.chunks.iter().map(|chunk| chunk.at);
    let longest = stamps().zip(stamps().skip(1)).map(|(one, next)| next.since(one)).max()?;
    tpot(record, record.choices())
        .filter(|_| record.chunks.last_at().is_some_and(|last| record.ended.since(last) <= longest))
}

/// Whether all text of an answer had come, however it ended: the model had said why it stopped, or the server's own
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
mod tests;
