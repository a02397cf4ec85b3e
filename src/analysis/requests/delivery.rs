//! Whether streams came token by token, or gathered by something between the model and the client.

use std::time::Duration;

use serde::Serialize;

use crate::analysis::figures::catalogue::Metric;
use crate::record::{Outcome, Phase, RequestRecord, RunLog};

/// No engine sends the chunks of one answer faster than this: those that come so close were held back together.
const TOGETHER: Duration = Duration::from_micros(50);
/// An answer of fewer chunks does not tell.
const FEWEST: u64 = 3;
/// One chunk that comes with the first, as of one step of the model, is no gathering.
const FEWEST_WITH_FIRST: u64 = 2;
/// An answer whose TPOT is too low by more than this share is gathered.
const TOO_LOW: f64 = 0.05;
/// An answer of so many chunks takes longer than a moment to stream.
const MANY: u64 = 8;
/// Of an answer that came whole, the least share of the later chunks that comes with the first.
const NEARLY_ALL: f64 = 0.9;
/// Fewer long answers than this, or than this share of the completed ones, say nothing of a run.
const FEWEST_LONG: u64 = 10;
const FEWEST_LONG_SHARE: f64 = 0.05;
/// One that came in less than this for each chunk is none of a model's: nothing was held back for long.
const QUICKEST: Duration = Duration::from_millis(1);
/// Above this share of gathered answers TPOT is withheld.
pub(crate) const GATHERED_BAR: f64 = 0.2;
/// Above this share of chunks that came together most gaps are none, and ITL is withheld.
pub(crate) const TOGETHER_BAR: f64 = 0.5;
/// Above this share of answers that came whole TTFT is doubtful.
pub(crate) const WHOLE_BAR: f64 = 0.5;

/// What to do about streams that come gathered.
pub(crate) const UNGATHERED: &str = "let the proxy or gateway pass events on as they come (nginx: proxy_buffering off \
    and gzip off; HAProxy: option http-no-delay and no compression; or the answer's header X-Accel-Buffering: no); to \
    measure whole answers, --no-stream";

/// How the streams of the measured requests came. What came together because the client read late does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StreamDelivery {
    /// Streamed answers of three chunks or more.
    pub answers: u64,
    /// Answers of which two or more, and over 5 %, of the later chunks came together with the first: in one read,
    /// or each within 50 µs of the one before.
    pub gathered_answers: u64,
    /// Chunks of the answers after the first of each.
    pub later_chunks: u64,
    /// Chunks that came together with the chunk before.
    pub together: u64,
    /// Complete streamed answers of eight chunks or more.
    pub long_answers: u64,
    /// Answers that came whole: 90 % or more of the later chunks came together with the first.
    pub whole_answers: u64,
    /// Whether TPOT, and all that is computed of it, is withheld: over 20 % of the answers are gathered.
    pub tpot_withheld: bool,
    /// Whether ITL and the gaps between chunks are withheld: TPOT is, or over half of the chunks came together.
    pub itl_withheld: bool,
    /// Whether TTFT is as doubtful: more than half of the long answers came whole, and these are ten or more and 5 % of
    /// the completed ones.
    pub ttft_doubtful: bool,
    /// Complete answers, streamed or not.
    #[serde(skip)]
    completed: u64,
    /// The time between the reads of the answers, and how many such times there are: one read has none.
    #[serde(skip)]
    pub(in crate::analysis) between_reads: (Duration, u64),
}

impl StreamDelivery {
    /// Delivery of the measured requests of a run.
    pub fn from_log(log: &RunLog) -> Self {
        let mut all = Self::default();
        for record in log.records.iter().filter(|record| record.phase == Phase::Measured) {
            all.add(&record);
        }
        let over = |part: u64, whole: u64, bar: f64| part as f64 > bar * whole as f64;
        all.tpot_withheld = over(all.gathered_answers, all.answers, GATHERED_BAR);
        all.itl_withheld = all.tpot_withheld || over(all.together, all.later_chunks, TOGETHER_BAR);
        all.ttft_doubtful = all.has_long_answers() && over(all.whole_answers, all.long_answers, WHOLE_BAR);
        all
    }

    /// Whether enough answers are long to tell whether they come whole.
    pub(crate) fn has_long_answers(&self) -> bool {
        self.long_answers >= FEWEST_LONG
            && self.long_answers as f64 >= FEWEST_LONG_SHARE * self.completed as f64
    }

    fn add(&mut self, record: &RequestRecord) {
        let is_complete = record.outcome == Outcome::Completed;
        self.completed += u64::from(is_complete);
        let gaps = || record.chunks.gaps().filter_map(|(_, gap)| Some(gap?.since_chunk));
        let later = gaps().count() as u64;
        if later + 1 < FEWEST {
            return;
        }
        let (mut close, mut lead, mut in_lead) = (0, 0, true);
        for (place, gap) in gaps().enumerate() {
            // The chunks of one read have one stamp; those of a simulation may have it without a read.
            let is_close = !gap.is_zero() && gap <= TOGETHER;
            let is_punctual = place > 0 || record.late_stamps().first_ns == 0;
            close += u64::from(is_close);
            in_lead &= is_close || (gap.is_zero() && record.merged_reads > 0 && is_punctual);
            lead += u64::from(in_lead);
        }
        let together = close + u64::from(record.merged_reads.saturating_sub(record.late_stamps().count));
        let reads = later.saturating_sub(together);
        if let (Some(decode), 1..) = (record.chunks.decode_time(), reads) {
            self.between_reads.0 += decode;
            self.between_reads.1 += reads;
        }
        // TPOT leaves out the time of those that came with the first: it is too low by their share.
        let lead = together.min(lead);
        let gathered = lead >= FEWEST_WITH_FIRST && lead as f64 > TOO_LOW * later as f64;
        self.answers += 1;
        self.gathered_answers += u64::from(gathered);
        self.later_chunks += later;
        self.together += together;
        if is_complete
            && later + 1 >= MANY
            && let (Some(sent), Some(last)) = (record.sent, record.chunks.last_at())
        {
            let is_long = last.since(sent) >= QUICKEST * record.chunks.len() as u32;
            let whole = is_long && lead as f64 >= NEARLY_ALL * later as f64;
            self.long_answers += 1;
            self.whole_answers += u64::from(whole);
        }
    }

    /// Whether a latency says more of what held chunks back than of the server.
    pub fn withholds(&self, metric: Metric) -> bool {
        match metric {
            Metric::Tpot | Metric::TpotAdjusted | Metric::TokensPerUser => self.tpot_withheld,
            Metric::Itl | Metric::ChunkGap => self.itl_withheld,
            _ => false,
        }
    }

    /// What an objective on a figure that a run does not have says of it.
    pub(crate) fn why_absent(&self, metric: Metric) -> Option<&'static str> {
        let needs_tpot = matches!(metric, Metric::Goodput | Metric::SloAttainment);
        let is_withheld = self.withholds(metric) || (needs_tpot && self.tpot_withheld);
        is_withheld.then_some("withheld: streams came gathered")
    }

    /// Share of the chunks that came together with the one before; absent without chunks.
    pub fn together_share(&self) -> Option<f64> {
        (self.later_chunks > 0).then(|| self.together as f64 / self.later_chunks as f64)
    }
}

#[cfg(test)]
mod tests;
