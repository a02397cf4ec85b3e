//! Makes what is measured fit for a log: what no run can have is left out before it is stored, and counts nowhere.

use super::plausibility::in_order;
use crate::record::request::check::CheckRecord;
use crate::record::request::chunks::ChunkTrain;
use crate::record::request::kinds::TokenSource;
use crate::record::request::outcome::{Failure, FailureKind, Outcome, Validity};
use crate::record::request::record::RequestRecord;
use crate::record::request::usage::Usage;
use crate::record::telemetry::Reading;

impl Usage {
    /// The counts, unless one of them is over [`Usage::MOST`].
    fn possible(self) -> Option<Self> {
        self.impossible().is_none().then_some(self)
    }
}

impl RequestRecord {
    /// The record as a log can hold it. Counts over [`Usage::MOST`] are left out, and the tokens are counted
    /// by the next best source. Where moments are impossible, none but those of the plan are left, and the
    /// request failed by a fault of this program.
    #[must_use]
    pub fn possible(mut self) -> Self {
        self.usage = self.usage.and_then(Usage::possible);
        let counted = self.output_tokens_source != TokenSource::Usage || self.usage.is_some();
        if !counted || self.output_tokens > Usage::MOST {
            self.hidden_tokens = 0;
            let sum = self.chunks.tokens();
            self.chunks_counted &= sum <= Usage::MOST;
            (self.output_tokens, self.output_tokens_source) = if self.chunks_counted {
                (sum, TokenSource::ChunkCounts)
            } else {
                (self.chunks.len() as u64, TokenSource::Chunks)
            };
        }
        match in_order(&self) {
            Ok(()) => self,
            Err(what) => self.without_moments(&what),
        }
    }

    fn without_moments(self, what: &str) -> Self {
        let failure = Failure::new(FailureKind::Internal, format!("its moments are impossible: {what}"));
        Self {
            admitted: None,
            sent: None,
            headers: None,
            chunks: ChunkTrain::default(),
            chunks_counted: false,
            first_answer: None,
            whole_answer: None,
            ended: self.dispatched,
            outcome: Outcome::Failed(failure.into()),
            finish_reason: None,
            usage: None,
            output_tokens: 0,
            output_tokens_source: TokenSource::Chunks,
            hidden_tokens: 0,
            merged_reads: 0,
            late_stamps: None,
            validity: self.validity.map(|_| Validity::NotCompleted),
            score: None,
            attempts: None,
            ..self
        }
    }
}

impl CheckRecord {
    /// The record as a log can hold it, without impossible counts.
    #[must_use]
    pub fn possible(self) -> Self {
        Self { usage: self.usage.and_then(Usage::possible), ..self }
    }
}

impl Reading {
    /// The reading as a log can hold it, without impossible values.
    #[must_use]
    pub fn possible(mut self) -> Self {
        self.gauges.retain(|_, value| Self::is_gauge(*value));
        self.counters.retain(|_, value| value.is_finite());
        for device in self.devices.values_mut() {
            device.gauges.retain(|_, value| Self::is_gauge(*value));
            device.counters.retain(|_, value| value.is_finite());
        }
        self.histograms.retain(|_, histogram| histogram.is_finite());
        self
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::record::gauge::Gauge;
    use crate::record::log::runlog::RunLog;
    use crate::record::telemetry::{Counter, DeviceReading, ServerTime, TimeHistogram};

    #[test]
    fn impossible_values_are_left_out_of_a_reading_and_the_others_stay() {
        let reading = |gauge: Option<f64>, total: Option<f64>| {
            let gauges = || gauge.map(|value| (Gauge::Running, value)).into_iter().collect();
            let counters = || total.map(|value| (Counter::PromptTokens, value)).into_iter().collect();
            let histogram = total.map(|sum_s| TimeHistogram { count: 1.0, sum_s, buckets: Vec::new() });
            let device = DeviceReading { gauges: gauges(), counters: counters() };
            Reading {
                source: 3,
                gauges: gauges(),
                counters: counters(),
                devices: [("0".to_owned(), device)].into(),
                histograms: histogram.map(|times| (ServerTime::Queue, times)).into_iter().collect(),
                ..Reading::default()
            }
        };
        let (most, beyond) = (Reading::LARGEST, f64::INFINITY);
        assert_eq!(reading(Some(most), Some(2.5)).possible(), reading(Some(most), Some(2.5)));
        assert_eq!(reading(Some(-2.0 * most), Some(2.5)).possible(), reading(None, Some(2.5)));
        assert_eq!(reading(Some(4.0), Some(beyond)).possible(), reading(Some(4.0), None));
    }

    #[test]
    fn a_record_whose_moments_are_impossible_keeps_its_plan_alone() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/schema-1");
        let mut record = RunLog::read(&folder).unwrap().records[0].clone();
        assert_eq!(record.clone().possible(), record);
        (record.chunks_counted, record.merged_reads, record.validity) = (true, 2, Some(Validity::Valid));
        record.late_stamps = Some(Box::default());
        record.headers = Some(record.ended.after(std::time::Duration::from_secs(10)));
        let left = record.clone().possible();
        let Outcome::Failed(failure) = &left.outcome else { panic!("{left:?}") };
        assert_eq!(failure.reason, FailureKind::Internal);
        let plan = RequestRecord {
            index: record.index,
            phase: record.phase,
            class: record.class,
            priority: record.priority,
            input_tokens_asked: record.input_tokens_asked,
            output_tokens_asked: record.output_tokens_asked,
            scheduled: record.scheduled,
            dispatched: record.dispatched,
            ended: record.dispatched,
            outcome: left.outcome.clone(),
            validity: Some(Validity::NotCompleted),
            opened_connection: record.opened_connection,
            ..RequestRecord::default()
        };
        assert_eq!(left, plan);
    }

    #[test]
    fn complete_answers_that_nothing_but_their_chunks_counted_are_uncounted() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/schema-1");
        let complete = RunLog::read(&folder).unwrap().records[0].clone();
        let failure = Failure::new(FailureKind::Internal, "a fault");
        let failed = RequestRecord { outcome: Outcome::Failed(failure.into()), ..complete.clone() };
        let by = |record: &RequestRecord, output_tokens_source| {
            RequestRecord { output_tokens_source, ..record.clone() }.is_uncounted()
        };
        assert!(by(&complete, TokenSource::Chunks) && !by(&failed, TokenSource::Chunks));
        for source in [TokenSource::Usage, TokenSource::ChunkCounts, TokenSource::Tokenizer] {
            assert!(!by(&complete, source) && !by(&failed, source));
        }
    }
}
