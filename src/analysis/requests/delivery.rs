//! Whether streams came token by token, or gathered by something between the model and the client.

use std::time::Duration;

use serde::Serialize;

use crate::analysis::figures::Metric;
use crate::record::{Outcome, Phase, RequestRecord, RunLog};

/// Longest time between chunks that were held back together. No engine sends the chunks of one answer faster than this.
const TOGETHER: Duration = Duration::from_micros(50);
/// An answer of fewer chunks does not tell.
const FEWEST: u64 = 3;
/// Fewest later chunks that come with the first of a gathered answer. One that does, as of one step of the model, is no
/// gathering.
const FEWEST_WITH_FIRST: u64 = 2;
/// An answer whose TPOT is too low by more than this share is gathered.
const TOO_LOW: f64 = 0.05;
/// An answer of so many chunks takes longer than a moment to stream.
const MANY: u64 = 8;
/// Least share of the later chunks that comes with the first, of a whole answer.
const NEARLY_ALL: f64 = 0.9;
/// Fewest long answers that say anything of a run. Fewer than [`FEWEST_LONG_SHARE`] of the completed ones say nothing
/// either.
const FEWEST_LONG: u64 = 10;
const FEWEST_LONG_SHARE: f64 = 0.05;
/// Least time for each chunk of a model's answer. One that came in less is none of a model's, and nothing was held back
/// for long.
const QUICKEST: Duration = Duration::from_millis(1);
/// Share of gathered answers above which TPOT is withheld.
pub(crate) const GATHERED_BAR: f64 = 0.2;
/// Share of chunks that came together above which ITL is withheld. Most gaps are none then.
pub(crate) const TOGETHER_BAR: f64 = 0.5;
/// Share of answers that came whole above which TTFT is doubtful.
pub(crate) const WHOLE_BAR: f64 = 0.5;

/// Cure of streams that come gathered.
pub(crate) const UNGATHERED: &str = "let the proxy or gateway pass events on as they come (nginx: proxy_buffering off \
    and gzip off; HAProxy: option http-no-delay and no compression; or the answer's header X-Accel-Buffering: no); to \
    measure whole answers, --no-stream";

/// How the streams of the measured requests came. What came together because the client read late does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StreamDelivery {
    /// Streamed answers of three chunks or more.
    pub answers: u64,
    /// Answers whose later chunks came in part together with the first. Two or more, and over 5 %, of the later chunks
    /// did: in one read, or each within 50 µs of the one before.
    pub gathered_answers: u64,
    /// Chunks of the answers after the first of each.
    pub later_chunks: u64,
    /// Chunks that came together with the chunk before.
    pub together: u64,
    /// Complete streamed answers of eight chunks or more.
    pub long_answers: u64,
    /// Answers that came whole. 90 % or more of the later chunks came together with the first.
    pub whole_answers: u64,
    /// Whether TPOT is withheld, and all that is computed of it. It is where over 20 % of the answers are gathered.
    pub tpot_withheld: bool,
    /// Whether ITL and the gaps between chunks are withheld. They are where TPOT is, or where over half of the chunks
    /// came together.
    pub itl_withheld: bool,
    /// Whether TTFT is as doubtful. It is where more than half of the long answers came whole, and these are ten or
    /// more and 5 % of the completed ones.
    pub ttft_doubtful: bool,
    /// Complete answers, streamed or not.
    #[serde(skip)]
    completed: u64,
    /// The time between the reads of the answers, with the number of such times. An answer of one read has none.
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
        self.long_answers >= FEWEST_LONG && self.long_answers as f64 >= FEWEST_LONG_SHARE * self.completed as f64
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

    /// Returns what an objective says of a figure that a run does not have.
    pub(crate) fn why_absent(&self, metric: Metric) -> Option<&'static str> {
        let needs_tpot = matches!(
            metric,
            Metric::Goodput | Metric::SloAttainment | Metric::DeadlineMiss | Metric::DeadlineMissRequests
        );
        let is_withheld = self.withholds(metric) || (needs_tpot && self.tpot_withheld);
        is_withheld.then_some("withheld: streams came gathered")
    }

    /// Share of the chunks that came together with the one before; absent without chunks.
    pub fn together_share(&self) -> Option<f64> {
        (self.later_chunks > 0).then(|| self.together as f64 / self.later_chunks as f64)
    }
}

#[cfg(test)]
mod tests {
    //! Streams that came gathered, and why.

    use super::*;
    use crate::analysis::judgements::{FindingKind, Rule, Status, VerdictOutcome};
    use crate::analysis::summarise::summarise;
    use crate::analysis::summary::run::Summary;
    use crate::analysis::test_runs::{class, record, run};
    use crate::record::{ClientFacts, Delays, LateStamps};
    use crate::workload::{Priority, Slo};

    /// A run of 60 answers of 24 tokens 10 ms apart. So many tokens come in each read, and so many in the first read.
    fn answers(first_read: u64, each_read: u64) -> RunLog {
        answers_of(24, first_read, each_read)
    }

    fn answers_of(tokens: u64, first_read: u64, each_read: u64) -> RunLog {
        let answer = |i: u64| {
            let begin = i * 100;
            let read = |token: u64| match token.checked_sub(first_read) {
                None => first_read - 1,
                Some(later) => (first_read + (later / each_read + 1) * each_read - 1).min(tokens - 1),
            };
            let chunks: Vec<_> = (0..tokens).map(|token| (begin + 100 + 10 * read(token), 1)).collect();
            let mut record = record(i).sent_at(begin, begin, begin).chunks(&chunks).build();
            record.merged_reads = chunks.windows(2).filter(|two| two[0].0 == two[1].0).count() as u32;
            record
        };
        let mut log = run(6_000, (0..60).map(answer).collect());
        let slo = Slo { tpot_ms: Some(50.0), ..Slo::default() };
        log.header.workload.classes = vec![class("chat", &[(Priority::High, slo)])];
        log
    }

    fn judged(log: &RunLog, objective: &str) -> (Summary, Status, String) {
        let mut summary = summarise(log, &[objective.parse().unwrap()]);
        let judgement = summary.objectives.remove(0);
        (summary, judgement.status, judgement.line)
    }

    fn finding(summary: &Summary) -> Option<&str> {
        let mut findings = summary.findings.iter();
        findings.find(|finding| finding.kind == FindingKind::MergedReads).map(|found| found.sentence.as_str())
    }

    #[test]
    fn of_answers_that_come_whole_nothing_passes_on_the_pace_of_tokens() {
        let log = answers(24, 24);
        for objective in ["p50 tpot < 1ms", "mean itl < 1ms", "tokens_per_s_per_user > 1/s"] {
            let (_, status, line) = judged(&log, objective);
            assert_eq!(status, Status::Undecided, "{line}");
            assert!(line.ends_with("(withheld: streams came gathered)"), "{line}");
        }
        let (_, _, goodput) = judged(&log, "goodput > 0/s");
        assert!(goodput.ends_with("(withheld: streams came gathered)"), "{goodput}");
        let (summary, status, _) = judged(&log, "slo_attainment > 0%");
        assert_eq!((status, summary.slo.met), (Status::Undecided, None));
        let rows = serde_json::to_value(&summary.latency).unwrap();
        for metric in ["tpot", "tpot_adjusted", "itl", "chunk_gap"] {
            assert!(rows[metric].is_null(), "{rows}");
        }
        assert!(rows["ttft"].is_object() && rows["e2e"].is_object());
        // The time to the first token is that of the last: no figure to trust.
        assert_eq!(summary.verdict.outcome, VerdictOutcome::Invalid);
        let reason = summary.verdict.reasons.iter().find(|reason| reason.rule == Rule::StreamsWhole).unwrap();
        assert!(reason.sentence.starts_with("60 of 60 long answers came whole"), "{}", reason.sentence);
        assert!(reason.cure.contains("proxy_buffering off") && reason.cure.contains("X-Accel-Buffering: no"));
        assert!(finding(&summary).unwrap().starts_with("TPOT and ITL are withheld"), "{:?}", finding(&summary));
    }

    #[test]
    fn answers_that_come_in_a_few_reads_have_a_first_token_but_no_pace() {
        let (summary, status, line) = judged(&answers(6, 6), "p50 tpot < 1s");
        assert_eq!((status, summary.delivery.gathered_answers), (Status::Undecided, 60), "{line}");
        assert!(summary.verdict.valid && !summary.delivery.ttft_doubtful, "{:?}", summary.verdict.reasons);
        assert!(
            finding(&summary).unwrap().starts_with("TPOT and ITL are withheld: 60 of 60 answers came gathered"),
            "{:?}",
            finding(&summary)
        );
    }

    #[test]
    fn only_what_comes_with_the_first_chunk_takes_the_pace_from_an_answer() {
        let gathered = |tokens, first_read, each_read| {
            let delivery = StreamDelivery::from_log(&answers_of(tokens, first_read, each_read));
            assert_eq!(delivery.tpot_withheld, delivery.gathered_answers == 60);
            delivery.gathered_answers
        };
        assert_eq!(gathered(500, 2, 2), 0, "TPOT is 0.2 % too low");
        assert_eq!(gathered(60, 24, 1), 60, "TPOT is 39 % too low");
        assert_eq!((gathered(60, 3, 3), gathered(60, 4, 4)), (0, 60), "3.4 % and 5.1 % too low");
        assert_eq!((gathered(4, 2, 2), gathered(4, 4, 4)), (0, 60), "two steps of a short answer, and all of one");
    }

    #[test]
    fn few_long_answers_do_not_say_that_ttft_is_doubtful() {
        let doubtful = |long: usize, short: u64, tail: u64| {
            let mut log = answers(24 - tail, 1);
            log.records.truncate(long);
            let more = |i| record(i).sent_at(i * 10, i * 10, i * 10).paced(i * 10 + 50, 10, 4).build();
            log.records.extend((long as u64..long as u64 + short).map(more));
            let summary = summarise(&log, &[]);
            assert_eq!(summary.verdict.breaks(Rule::StreamsWhole), summary.delivery.ttft_doubtful);
            summary.delivery.ttft_doubtful
        };
        assert!(!doubtful(1, 99, 0), "one answer");
        assert!(!doubtful(9, 0, 0) && doubtful(10, 0, 0));
        assert!(!doubtful(10, 191, 0) && doubtful(10, 190, 0), "5 % of all");
        assert!(doubtful(60, 0, 2) && !doubtful(60, 0, 3), "nearly all came with the first chunk");
        let mut log = answers(24, 24);
        for answer in &mut log.records {
            answer.outcome = Outcome::Censored;
        }
        assert_eq!(StreamDelivery::from_log(&log).long_answers, 0, "an answer that is cut off does not tell");
    }

    /// A step of speculative decoding that is sent token by token. It may also be a network that holds back all but the
    /// first.
    #[test]
    fn a_first_chunk_that_comes_alone_leaves_the_pace_of_the_whole_answer() {
        let (summary, status, line) = judged(&answers(1, 4), "p50 tpot < 50ms");
        assert_eq!(status, Status::Met, "{line}");
        assert!(summary.latency.row(Metric::Itl).is_none());
        assert!(finding(&summary).unwrap().starts_with("ITL is withheld: 73.9 %"), "{:?}", finding(&summary));
    }

    #[test]
    fn several_tokens_in_one_event_are_no_gathering() {
        let answer = |i: u64| {
            let chunks: Vec<_> = (0..8).map(|chunk| (i * 100 + 100 + 30 * chunk, 3)).collect();
            record(i).sent_at(i * 100, i * 100, i * 100).chunks(&chunks).build()
        };
        let (summary, status, _) = judged(&run(6_000, (0..60).map(answer).collect()), "p50 itl < 50ms");
        assert_eq!((status, summary.delivery.together, finding(&summary)), (Status::Met, 0, None));
    }

    #[test]
    fn few_gathered_answers_and_a_late_client_withhold_nothing() {
        let mut log = answers(24, 24);
        for answer in log.records.iter_mut().skip(12) {
            *answer =
                record(answer.index).sent_at(answer.index * 100, 0, 0).paced(answer.index * 100 + 100, 10, 24).build();
        }
        let delivery = StreamDelivery::from_log(&log);
        assert_eq!((delivery.gathered_answers, delivery.tpot_withheld), (12, false));
        // This client did not look for 300 ms, and then read all that had come.
        let mut log = answers(24, 24);
        for answer in &mut log.records {
            answer.late_stamps = Some(LateStamps { count: 23, longest_ns: 300_000_000, first_ns: 300_000_000 }.into());
        }
        assert_eq!(StreamDelivery::from_log(&log).together, 0);
        assert!(summarise(&log, &[]).latency.row(Metric::Tpot).is_some());
    }

    /// Returns the cause for streams that a late client reads. Tokens come each 3 ms from this TTFT on, in reads of so
    /// many, to a client whose read loop is late by so many ms.
    fn cause(ttft: u64, each_read: u64, p50: u64, p99: u64) -> Option<String> {
        let answer = |i: u64| {
            let chunks: Vec<_> = (0..49).map(|token| (i * 200 + ttft + token / each_read * each_read * 3, 1)).collect();
            let mut record = record(i).sent_at(i * 200, i * 200, i * 200).chunks(&chunks).build();
            record.merged_reads = (49 - 49_u64.div_ceil(each_read)) as u32;
            record
        };
        let mut log = run(13_000, (0..60).map(answer).collect());
        let p99_ns = p99 * 1_000_000;
        let delay = Delays { n: 1_300, p50_ns: p50 * 1_000_000, p99_ns, max_ns: p99_ns };
        let client = ClientFacts { loop_delay: Some(delay), ..ClientFacts::default() };
        log.footer.as_mut().unwrap().client = Some(client);
        let summary = summarise(&log, &[]);
        let whole = summary.verdict.reasons.iter().find(|reason| reason.rule == Rule::StreamsWhole);
        let cures = whole.into_iter().map(|reason| reason.cure.as_str());
        Some(format!("{} {}", finding(&summary)?, cures.collect::<String>()))
    }

    #[test]
    fn the_cause_is_the_client_where_its_delay_compares_with_the_time_between_its_reads() {
        let (client, proxy) = (": this client read late ", "something between the model and this client");
        let either = "this client read late, or something before it gathers them";
        // Late by 5 to 10 ms, it reads three tokens at once, but neither 24 nor a whole answer; rarely late, a few.
        for (expected, cases) in [
            (client, &[(3, 5, 10), (4, 6, 20)][..]),
            (either, &[(64, 60, 90), (24, 1, 30)]),
            (proxy, &[(24, 5, 10), (64, 5, 10), (3, 1, 2), (3, 1, 20), (2, 1, 2)]),
            ("", &[(1, 1, 2), (1, 5, 10), (2, 1, 10)]),
        ] {
            for (ttft, &(each_read, p50_ms, p99_ms)) in cases.iter().flat_map(|case| [(50, case), (500, case)]) {
                let said = cause(ttft, each_read, p50_ms, p99_ms);
                let what = format!("TTFT {ttft}, {each_read} a read, late by {p50_ms} to {p99_ms} ms: {said:?}");
                assert_eq!(said.is_some(), !expected.is_empty(), "{what}");
                let said = said.unwrap_or_default();
                assert!(said.contains(expected), "{what}");
                assert_eq!(said.contains("proxy_buffering"), expected != client && each_read == 64, "{what}");
            }
        }
    }

    #[test]
    fn what_is_sent_again_one_by_one_was_gathered_too() {
        let mut log = answers(24, 24);
        let train = |answer: &RequestRecord| {
            let begin = answer.chunks.first_at().unwrap();
            let chunk = |i: u64| crate::record::TokenChunk {
                at: begin.after(Duration::from_micros(20 * i)),
                tokens: 1,
                choice: 0,
            };
            (0..24).map(chunk).collect()
        };
        for answer in &mut log.records {
            (answer.chunks, answer.merged_reads) = (train(answer), 0);
            answer.ended = answer.chunks.last_at().unwrap();
        }
        let delivery = StreamDelivery::from_log(&log);
        assert!(delivery.tpot_withheld && delivery.ttft_doubtful, "{delivery:?}");
    }
}
