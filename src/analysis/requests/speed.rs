//! How fast requests got their tokens: output tokens per second of each, and how that spreads.

use serde::Serialize;

use super::observed::Observed;
use crate::analysis::figures::{Figure, Sample};
use crate::analysis::requests::latency::RequestLatency;
use crate::record::RequestRecord;

/// Output tokens per second of a request, N / e2e. It has each measured request that completed or was cut off.
///
/// It counts the wait for the first token, which the speed that a reader sees (1 s / TPOT) does not. A
/// percentile is read from the times per token, e2e / N, of which a request that was cut off is known to
/// exceed a bound: where its rank falls among those, it is absent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RequestSpeed {
    /// Requests with a speed, those that were cut off included.
    pub requests: u64,
    /// Requests that were cut off.
    pub censored: u64,
    /// 19 in 20 requests are at least this fast, tokens/s.
    pub p5: Option<f64>,
    /// Half of the requests are at least this fast, tokens/s.
    pub p50: Option<f64>,
    /// One in 20 requests is at least this fast, tokens/s.
    pub p95: Option<f64>,
}

impl RequestSpeed {
    /// Computes the speed of the measured requests of a run. `None` where none has one.
    pub(crate) fn from_observed(observed: &Observed<'_>) -> Option<Self> {
        let (mut exact, mut bounds) = (Vec::new(), Vec::new());
        for request in &observed.requests {
            match ms_per_token(&request.record(), &request.latency()) {
                Some(Figure::Exact(ms)) => exact.push(ms),
                Some(bound) => bounds.push(bound.at_least()),
                None => {}
            }
        }
        let sample = Sample::new(exact).and_at_least(bounds);
        let speed = |slower: f64| Some(1e3 / sample.quantile(slower)?.exact().filter(|ms| *ms > 0.0)?);
        (!sample.is_empty()).then(|| Self {
            requests: sample.len(),
            censored: sample.censored(),
            p5: speed(0.95),
            p50: speed(0.5),
            p95: speed(0.05),
        })
    }
}

/// Returns milliseconds per output token, e2e / N. Of a request that was cut off it is at least its time by now, over
/// the tokens requested.
fn ms_per_token(record: &RequestRecord, latency: &RequestLatency) -> Option<Figure> {
    let over = |tokens: u64| (tokens > 0).then_some(tokens as f64);
    match latency.e2e? {
        Figure::Exact(ms) => Some(Figure::Exact(ms / over(record.output_tokens)?)),
        open => Some(Figure::AtLeast(open.at_least() / over(record.output_tokens_asked.into())?)),
    }
}

/// Output tokens per second of a request whose answer is complete: N / e2e.
pub(crate) fn tokens_per_s(record: &RequestRecord, latency: &RequestLatency) -> Option<f64> {
    let per_token = ms_per_token(record, latency)?.exact().filter(|ms| *ms > 0.0)?;
    Some(1e3 / per_token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::judgements::Status;
    use crate::analysis::test_runs::{record, run};

    fn speed(records: Vec<RequestRecord>) -> Option<RequestSpeed> {
        RequestSpeed::from_observed(&Observed::from_log(&run(100_000, records)))
    }

    #[test]
    fn a_request_has_its_tokens_over_the_whole_of_its_time() {
        // 10 tokens in 500 ms from the scheduled moment, however late it was sent.
        let one = record(0).sent_at(0, 100, 100).paced(410, 10, 10).build();
        let latency = RequestLatency::new(&one, crate::analysis::LoadForm::Open);
        assert_eq!(tokens_per_s(&one, &latency), Some(20.0));
        let speed = speed(vec![one]).unwrap();
        assert_eq!((speed.p5, speed.p50, speed.p95), (Some(20.0), Some(20.0), Some(20.0)));
        assert_eq!(RequestSpeed::from_observed(&Observed::from_log(&run(1, Vec::new()))), None);
    }

    #[test]
    fn an_objective_can_ask_for_the_speed_of_requests() {
        // 10 to 50 tokens/s: ten tokens each, in 1,000 to 200 ms.
        let ends = [200, 250, 400, 500, 1_000];
        let judged = |requests: usize| {
            let records = ends.into_iter().cycle().take(requests).zip(0..);
            let records = records.map(|(end, i)| record(i).sent_at(0, 0, 0).paced(end - 90, 10, 10));
            let log = run(2_000, records.map(crate::analysis::test_runs::RecordBuilder::build).collect());
            let objectives = ["tokens_per_s_per_request > 20/s", "p5_tokens_per_s_per_request > 20/s"];
            crate::analysis::summarise(&log, &objectives.map(|text| text.parse().unwrap())).objectives
        };
        // By hand: the median time a token is 40 ms, and p95 is 100 ms.
        for (judged, (value, passed)) in judged(130).iter().zip([(25.0, true), (10.0, false)]) {
            assert!((judged.value.unwrap() - value).abs() < 1e-9 && judged.passed() == passed, "{judged:?}");
            assert_ne!(judged.status, Status::Undecided);
        }
        // A slow request is a p95, which fewer requests do not show.
        let few = judged(125);
        assert_eq!((few[0].status, few[1].status), (Status::Met, Status::Undecided));
        assert!(few[1].line.contains("125 requests are too few for it"), "{}", few[1].line);
    }

    #[test]
    fn the_slowest_count_and_those_that_were_cut_off_are_not_left_out() {
        // 100 ms to 2,100 ms for ten tokens each: 10 to 210 ms a token in steps of 10.
        let paced = |i: u64| record(i).sent_at(0, 0, 0).paced(100 * (i + 1) - 90, 10, 10).build();
        let all: Vec<_> = (0..21).map(paced).collect();
        let spread = speed(all.clone()).unwrap();
        // By hand: the median is the 11th, 110 ms a token; p5 of the speed is the 20th, 200 ms a token.
        let near = |speed: Option<f64>, expected: f64| (speed.unwrap() / expected - 1.0).abs() < 1e-9;
        assert!(near(spread.p50, 1e3 / 110.0) && near(spread.p5, 5.0), "{spread:?}");
        let cut = (21..25).map(|i| {
            let cut = record(i).scheduled(0).censored(60_000).build();
            RequestRecord { output_tokens_asked: 10, ..cut }
        });
        let open = speed(all.into_iter().chain(cut).collect()).unwrap();
        assert_eq!((open.requests, open.censored, open.p5), (25, 4, None), "its rank is among those cut off");
        assert!(near(open.p50, 1e3 / 130.0), "{open:?}");
    }
}
