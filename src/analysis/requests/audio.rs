//! Real-time factors of requests with audio, and how they spread.

use serde::Serialize;

use super::observed::{Measured, Observed};
use crate::analysis::figures::{Figure, Sample};
use crate::analysis::requests::latency::RequestLatency;
use crate::record::{RequestRecord, RunLog};

/// Real-time factor of a request, e2e / seconds of its audio. It has each measured request with audio that completed or
/// was cut off; below 1 the text is there before the audio could have been heard.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RealTimeFactor {
    /// Requests with a factor, those that were cut off included.
    pub requests: u64,
    /// Requests that were cut off.
    pub censored: u64,
    /// Mean audio of these requests, seconds.
    pub mean_audio_s: f64,
    /// Half of the requests have at most this factor. It is absent where its rank falls among those cut off.
    pub p50: Option<f64>,
    /// 19 in 20 requests have at most this factor.
    pub p95: Option<f64>,
}

impl RealTimeFactor {
    /// Computes the factors of the measured requests of a run. `None` where none has audio.
    pub(crate) fn from_observed(observed: &Observed<'_>) -> Option<Self> {
        let (mut exact, mut bounds, mut audio) = (Vec::new(), Vec::new(), 0.0);
        for request in observed.requests.iter().filter(|request| !request.record().leaves) {
            let Some((seconds, factor)) = factor_of(observed.log, request) else { continue };
            audio += seconds;
            match factor {
                Figure::Exact(factor) => exact.push(factor),
                bound => bounds.push(bound.at_least()),
            }
        }
        let sample = Sample::new(exact).and_at_least(bounds);
        let quantile = |part: f64| sample.quantile(part)?.exact();
        (!sample.is_empty()).then(|| Self {
            requests: sample.len(),
            censored: sample.censored(),
            mean_audio_s: audio / sample.len() as f64,
            p50: quantile(0.5),
            p95: quantile(0.95),
        })
    }
}

/// Seconds of a request's audio, and its real-time factor.
fn factor_of(log: &RunLog, request: &Measured<'_>) -> Option<(f64, Figure)> {
    let seconds = audio_seconds(log, &request.record())?;
    let factor = match request.latency().e2e? {
        Figure::Exact(ms) => Figure::Exact(ms / 1e3 / seconds),
        open => Figure::AtLeast(open.at_least() / 1e3 / seconds),
    };
    Some((seconds, factor))
}

/// Seconds of audio that a request has; `None` where it has none.
pub(crate) fn audio_seconds(log: &RunLog, record: &RequestRecord) -> Option<f64> {
    log.header.workload.classes.get(usize::from(record.class))?.audio.map(|audio| audio.seconds)
}

/// Real-time factor of a request whose answer is complete: e2e / seconds of its audio.
pub(crate) fn real_time_factor(log: &RunLog, record: &RequestRecord, latency: &RequestLatency) -> Option<f64> {
    Some(latency.e2e?.exact()? / 1e3 / audio_seconds(log, record)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::judgements::Status;
    use crate::analysis::test_runs::{record, run};
    use crate::analysis::{Summary, summarise};
    use crate::workload::Audio;

    fn summary(records: Vec<RequestRecord>, objectives: &[&str]) -> Summary {
        let mut log = run(2_000, records);
        log.header.workload.classes[0].audio = Some(Audio { seconds: 4.0 });
        summarise(&log, &objectives.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>())
    }

    #[test]
    fn the_factor_is_the_time_over_the_audio_and_the_rate_its_seconds() {
        // By hand: 0.2 s to 1 s for 4 s of audio each; 5 requests of 4 s in a window of 2 s.
        let ends = [200, 250, 400, 500, 1_000];
        let records: Vec<_> = ends
            .into_iter()
            .zip(0..)
            .map(|(end, i)| record(i).sent_at(0, 0, 0).paced(end - 90, 10, 10).build())
            .collect();
        let judged = summary(records, &["rtf < 0.2", "rtf < 0.05", "audio_seconds_per_s >= 10"]);
        let factor = judged.real_time_factor.unwrap();
        assert_eq!((factor.requests, factor.censored, factor.mean_audio_s), (5, 0, 4.0));
        assert_eq!(factor.p50, Some(0.1));
        assert_eq!(judged.rates.audio_seconds_per_s, Some(10.0));
        let status: Vec<_> = judged.objectives.iter().map(|judged| judged.status).collect();
        assert_eq!(status, [Status::Met, Status::Missed, Status::Met], "{:?}", judged.objectives);
    }

    #[test]
    fn those_that_were_cut_off_count_and_texts_have_none() {
        let cut = |i| record(i).scheduled(0).censored(60_000).build();
        let one = record(0).sent_at(0, 0, 0).paced(410, 10, 10).build();
        let factor = summary(vec![one.clone(), cut(1), cut(2)], &[]).real_time_factor.unwrap();
        assert_eq!((factor.requests, factor.censored, factor.p50), (3, 2, None));
        let texts = summarise(&run(2_000, vec![one]), &[]);
        assert_eq!((texts.real_time_factor, texts.rates.audio_seconds_per_s), (None, None));
    }
}
