//! Figures of stored requests by any definitions.

use crate::analysis::{Figure, FigureKey, Gaps, LoadForm, Metric, Received, RequestLatency, Sample, Statistic};
use crate::clock::Timestamp;
use crate::experiment::compare::any_side::AnySide;
use crate::foreign::{Definition, Definitions, ForeignAnswer, ForeignRun, SKYLINE};
use crate::record::{Outcome, Phase, RequestRecord, RunLog};
use crate::units::millis;

/// The stored requests of a side, which can be counted again.
#[derive(Clone, Copy, Debug)]
pub(super) enum Recount<'a> {
    /// Requests of a run, whose load is of this form.
    Ours(&'a RunLog, LoadForm),
    /// Requests in the file of another tool.
    Foreign(&'a ForeignRun),
}

/// A request, as far as its file tells of it.
#[derive(Clone, Copy, Debug, Default)]
struct TimedRequest {
    /// Latencies to the last text.
    latency: RequestLatency,
    /// Time per output token as its tool divides it, ms.
    own_tpot: Option<f64>,
    /// Wait for a slot, ms.
    slot_wait: f64,
    /// Time before the first text in which a role chunk may have come, ms.
    before_text: f64,
    /// Time from the last text to the end of the stream, ms.
    after_text: f64,
    tokens: u64,
    /// Tokens that were requested, where that is known.
    asked: u64,
    /// Tokens by which TPOT divides.
    divisor: u64,
    /// When it was sent and when it ended.
    stay: Option<(Timestamp, Timestamp)>,
}

impl TimedRequest {
    fn from_record(record: &RequestRecord, form: LoadForm) -> Self {
        let first = record.chunks.first_at();
        let last = record.chunks.last_at().or(record.whole_answer);
        let between = |from: Option<Timestamp>, to: Option<Timestamp>| {
            from.zip(to).map_or(0.0, |(from, to)| millis(to.since(from)))
        };
        Self {
            latency: RequestLatency::new(record, form),
            own_tpot: None,
            slot_wait: between(Some(record.dispatched), record.admitted),
            before_text: between(record.headers.or(record.sent), first),
            after_text: between(last, Some(record.ended)),
            tokens: record.output_tokens,
            asked: u64::from(record.output_tokens_asked) * record.choices(),
            divisor: record.shown_tokens().saturating_sub(record.choices()),
            stay: record.sent.map(|sent| (sent, record.ended)),
        }
    }

    fn from_answer(answer: &ForeignAnswer) -> Self {
        let tokens = answer.tokens.unwrap_or(0);
        let exact = |ms: Option<f64>| ms.map(Figure::Exact);
        let latency = RequestLatency {
            ttft_from_send: exact(answer.ttft_ms),
            e2e_from_send: exact(answer.e2e_ms),
            tpot: exact(answer.tpot_ms),
            tpot_adjusted: exact(answer.adjusted_tpot_ms),
            ..RequestLatency::default()
        };
        let after_text = answer.closed_ms.zip(answer.e2e_ms).map_or(0.0, |(closed, last)| (closed - last).max(0.0));
        let divisor = tokens.saturating_sub(1);
        let own_tpot = answer.adjusted_tpot_ms;
        Self { latency, own_tpot, after_text, tokens, asked: tokens, divisor, ..Self::default() }
    }

    /// A latency by these definitions.
    fn latency(&self, metric: Metric, by: &Definitions) -> Option<Figure> {
        let RequestLatency { ttft, ttft_from_send, e2e, e2e_from_send, .. } = self.latency;
        match metric {
            Metric::Ttft => {
                let role = if by.has(Definition::FirstEvent) { self.before_text } else { 0.0 };
                self.begun([ttft, ttft_from_send], by).map(|ttft| longer(ttft, [-role, 0.0]))
            }
            Metric::E2e => {
                let more = match () {
                    () if by.has(Definition::LastEvent) => [0.0, self.after_text],
                    () if by.has(Definition::LastText) => [0.0, 0.0],
                    () => [self.after_text; 2],
                };
                self.begun([e2e, e2e_from_send], by).map(|e2e| longer(e2e, more))
            }
            Metric::Tpot => self.tpot(by),
            _ => None,
        }
    }

    /// A latency from the moment from which it counts. It is given from the scheduled moment, and from sending.
    fn begun(&self, [scheduled, sent]: [Option<Figure>; 2], by: &Definitions) -> Option<Figure> {
        let wait = match (by.has(Definition::FromSend), by.has(Definition::SlotLeftOut)) {
            (true, false) => self.slot_wait,
            (false, true) => -self.slot_wait,
            _ => 0.0,
        };
        let figure = if by.has(Definition::FromSend) { sent } else { scheduled }?;
        Some(longer(figure, [wait; 2]))
    }

    fn tpot(&self, by: &Definitions) -> Option<Figure> {
        let RequestLatency { tpot, tpot_adjusted, .. } = self.latency;
        if by.has(Definition::OwnTokenizer) {
            return self.own_tpot.map(Figure::Exact);
        }
        if by.has(Definition::AfterFirstChunk) {
            return tpot_adjusted.or(tpot);
        }
        let (figure, divisor) = (tpot?, self.divisor as f64);
        let before = if by.has(Definition::FirstEvent) { self.before_text } else { 0.0 };
        let after = match () {
            () if by.has(Definition::DoneMark) => [self.after_text; 2],
            () if by.has(Definition::LastEvent) => [0.0, self.after_text],
            () => [0.0; 2],
        };
        let asked = if by.has(Definition::Requested) { self.asked.max(2) - 1 } else { self.divisor } as f64;
        match figure.exact() {
            Some(ms) if divisor > 0.0 => {
                let [low, high] = [ms * divisor + after[0], ms * divisor + before + after[1]];
                Some(Figure::from_parts(None, low / divisor.max(asked), Some(high / divisor.min(asked))))
            }
            _ => Some(figure),
        }
    }
}

/// A latency that is longer by something between these two, ms.
fn longer(figure: Figure, [least, most]: [f64; 2]) -> Figure {
    if [least, most] == [0.0, 0.0] {
        return figure;
    }
    Figure::from_parts(None, figure.at_least() + least, figure.at_most().map(|high| high + most))
}

impl<'a> Recount<'a> {
    /// `None` where the file of a side does not have its requests.
    pub(super) fn new(side: &'a AnySide) -> Option<Self> {
        match side {
            AnySide::Ours(side, log) => Some(Self::Ours(log.as_deref()?, side.runs.first()?.run.load)),
            AnySide::Foreign(_, run) => (!run.answers.is_empty()).then_some(Self::Foreign(run)),
        }
    }

    /// Whether its requests can be counted by a definition.
    pub(super) fn is_stored(&self, definition: Definition) -> bool {
        definition.is_stored_by(match self {
            Self::Ours(..) => SKYLINE,
            Self::Foreign(run) => run.tool.name(),
        })
    }

    /// Counts figures by these definitions. Those that a definition forbids are not known.
    pub(super) fn figures<'k>(
        &self,
        by: &Definitions,
        wanted: impl Iterator<Item = &'k FigureKey>,
    ) -> Vec<Option<Figure>> {
        let is_known =
            |metric| by.iter().all(|(aspect, definition)| !aspect.moves(metric) || self.is_stored(definition));
        let requests: Vec<TimedRequest> = match self {
            Self::Ours(log, form) => {
                let counted = log.records.iter().filter(|record| counts(record, log, by));
                counted.map(|record| TimedRequest::from_record(&record, *form)).collect()
            }
            Self::Foreign(run) => run.answers.iter().map(TimedRequest::from_answer).collect(),
        };
        let mut gaps = None;
        let count = |&FigureKey { metric, statistic, .. }: &FigureKey| match (
            metric,
            statistic.and_then(Statistic::fraction),
        ) {
            _ if !is_known(metric) => None,
            (Metric::Itl, Some(fraction)) => gaps.get_or_insert_with(|| self.gaps(by)).quantile(fraction),
            (_, Some(fraction)) => percentile(&requests, metric, fraction, by),
            (_, None) => total(&requests, metric, by),
        };
        wanted.map(count).collect()
    }

    /// The gaps between chunks or tokens.
    fn gaps(&self, by: &Definitions) -> Sample {
        match self {
            Self::Foreign(run) => Sample::new(run.answers.iter().flat_map(|answer| answer.gaps_ms.clone()).collect()),
            Self::Ours(log, _) => {
                let mut gaps = Gaps::default();
                for record in log.records.iter().filter(|record| counts(record, log, by)) {
                    if let Some(received) = Received::from_record(&record) {
                        gaps.add(received);
                    }
                }
                let (chunks, tokens, _) = gaps.finish();
                if by.has(Definition::GapPerChunk) { chunks } else { tokens }
            }
        }
    }
}

/// Whether a request of a run counts in latencies.
fn counts(record: &RequestRecord, log: &RunLog, by: &Definitions) -> bool {
    let plan = &log.header.plan;
    let overlaps = || record.sent.is_some_and(|sent| sent < plan.window_end) && plan.window_start <= record.ended;
    let is_in = match () {
        () if by.has(Definition::WholeRun) => true,
        () if by.has(Definition::Overlapping) => overlaps(),
        () => record.phase == Phase::Measured,
    };
    let is_complete = record.outcome == Outcome::Completed;
    is_in && !record.leaves && (is_complete || (by.has(Definition::CutOffAtLeast) && record.outcome.is_cut_off()))
}

/// A percentile of a latency; `None` without a sample.
fn percentile(requests: &[TimedRequest], metric: Metric, fraction: f64, by: &Definitions) -> Option<Figure> {
    let is_weighted = metric == Metric::Tpot && by.has(Definition::EachToken);
    let sample = requests
        .iter()
        .filter_map(|request| Some((request.latency(metric, by)?, if is_weighted { request.divisor } else { 1 })));
    let sample: Vec<(Figure, u64)> = sample.collect();
    let end = |of: fn(Figure) -> f64| {
        let mut values: Vec<_> = sample.iter().map(|(figure, weight)| (of(*figure), *weight)).collect();
        values.sort_unstable_by(|(one, _), (other, _)| one.total_cmp(other));
        if by.has(Definition::NearestRank) { nearest_rank(&values, fraction) } else { interpolated(&values, fraction) }
    };
    let low = end(Figure::at_least)?;
    let high = end(|figure| figure.at_most().unwrap_or(f64::INFINITY))?;
    Some(Figure::from_parts(None, low, Some(high).filter(|high| high.is_finite())))
}

/// Returns the first value at which the shares reach the fraction. Shares are added up as GuideLLM adds them up, which
/// decides where a sum should be equal to it.
fn nearest_rank(values: &[(f64, u64)], fraction: f64) -> Option<f64> {
    let all: u64 = values.iter().map(|(_, weight)| weight).sum();
    let mut reached = 0.0;
    let equal = values.chunk_by(|one, other| one.0.total_cmp(&other.0).is_eq());
    let mut reaching = equal.skip_while(|equal| {
        reached += equal.iter().map(|(_, weight)| weight).sum::<u64>() as f64 / all as f64;
        reached < fraction
    });
    reaching.next().or(values.last().map(std::slice::from_ref)).map(|equal| equal[0].0)
}

/// Interpolates between the closest ranks, as numpy does.
fn interpolated(values: &[(f64, u64)], fraction: f64) -> Option<f64> {
    let all: u64 = values.iter().map(|(_, weight)| weight).sum();
    let rank = all.checked_sub(1)? as f64 * fraction;
    let at = |rank: u64| {
        let mut before = 0;
        let found = values.iter().find(|(_, weight)| {
            before += weight;
            rank < before
        });
        found.map(|(value, _)| *value)
    };
    let (low, share) = (at(rank as u64)?, rank.fract());
    if share == 0.0 { Some(low) } else { Some(low + (at(rank as u64 + 1)? - low) * share) }
}

/// Requests or tokens from the first sending to the last end, per second. `None` by the rates of a window.
fn total(requests: &[TimedRequest], metric: Metric, by: &Definitions) -> Option<Figure> {
    let stays = || requests.iter().filter_map(|request| request.stay);
    let first = stays().map(|(sent, _)| sent).min()?;
    let seconds = stays().map(|(_, ended)| ended).max()?.since(first).as_secs_f64();
    let is_total = by.has(Definition::WholeDuration) && seconds > 0.0;
    let tokens = |of: fn(&TimedRequest) -> u64| requests.iter().map(of).sum::<u64>() as f64 / seconds;
    let own = tokens(|request| request.tokens);
    let figure = match metric {
        Metric::RequestRate => Figure::Exact(requests.len() as f64 / seconds),
        Metric::OutputTokens if by.has(Definition::Requested) => {
            let asked = tokens(|request| request.asked);
            Figure::from_parts(None, own.min(asked), Some(own.max(asked)))
        }
        _ => Figure::Exact(own),
    };
    is_total.then_some(figure)
}
