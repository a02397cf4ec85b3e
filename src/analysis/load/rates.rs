//! What flowed per second of the window.

use serde::Serialize;

use super::load_form::LoadForm;
use crate::analysis::requests::observed::Observed;
use crate::clock::Timestamp;
use crate::record::{Outcome, RequestRecord};

/// Flows over the window, per second, each counted when it happened and whoever's request it belonged to: what
/// warm-up requests still do inside the window counts, what measured requests do in the drain does not. Absent
/// for an empty window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Rates {
    /// Requests scheduled in the window; absent in a closed loop, where the server decides how many there are.
    pub offered_requests_per_s: Option<f64>,
    /// Requests dispatched in the window.
    pub achieved_requests_per_s: Option<f64>,
    /// Requests whose answer was whole in the window.
    pub completed_requests_per_s: Option<f64>,
    /// Prompt tokens of requests whose first token came in the window: the server's count, else those asked.
    pub input_tokens_per_s: Option<f64>,
    /// The part of them that came from a prefix cache, where the server tells.
    pub cached_input_tokens_per_s: Option<f64>,
    /// The rest of them, where the server tells.
    pub uncached_input_tokens_per_s: Option<f64>,
    /// Answer tokens that arrived in the window.
    pub output_tokens_per_s: Option<f64>,
    /// The same ÷ the accelerators that serve together, where it was said how many (`--gpus`).
    pub output_tokens_per_s_per_gpu: Option<f64>,
}

impl Rates {
    /// Requests per second that the run's length makes samples of: those offered, in a closed loop those dispatched.
    pub fn requests_per_s(&self) -> Option<f64> {
        self.offered_requests_per_s.or(self.achieved_requests_per_s).filter(|&rate| rate > 0.0)
    }

    pub(crate) fn of(observed: &Observed<'_>) -> Self {
        let mut flow = Flow::default();
        for record in &observed.log.records {
            flow.add(observed, record);
        }
        let offered = LoadForm::of(&observed.log.header.workload) != LoadForm::Closed;
        let output_tokens_per_s = observed.per_second(flow.output);
        let gpus = observed.log.header.deployment.gpus.filter(|&gpus| gpus > 0);
        let cached = |tokens| flow.cache_told.then(|| observed.per_second(tokens)).flatten();
        Self {
            offered_requests_per_s: offered.then(|| observed.per_second(observed.due() as f64)).flatten(),
            achieved_requests_per_s: observed.per_second(flow.released),
            completed_requests_per_s: observed.per_second(flow.completed),
            input_tokens_per_s: observed.per_second(flow.input),
            cached_input_tokens_per_s: cached(flow.cached),
            uncached_input_tokens_per_s: cached(flow.input - flow.cached),
            output_tokens_per_s,
            output_tokens_per_s_per_gpu: output_tokens_per_s
                .zip(gpus)
                .map(|(rate, gpus)| rate / f64::from(gpus)),
        }
    }
}

/// Sums over the window.
#[derive(Default)]
struct Flow {
    released: f64,
    completed: f64,
    input: f64,
    cached: f64,
    cache_told: bool,
    output: f64,
}

impl Flow {
    fn add(&mut self, observed: &Observed<'_>, record: &RequestRecord) {
        let within = |moment: Option<Timestamp>| moment.is_some_and(|at| observed.contains(at));
        let first = record.chunks.first_at().or(record.whole_answer);
        let last = record.chunks.last_at().or(record.whole_answer);
        if within(Some(record.dispatched)) {
            self.released += 1.0;
        }
        if within(last) && record.outcome == Outcome::Completed {
            self.completed += 1.0;
        }
        if within(first) {
            self.input += record.prompt_tokens() as f64;
            if let Some(cached) = record.usage.and_then(|usage| usage.cached_tokens) {
                self.cache_told = true;
                self.cached += cached as f64;
            }
        }
        if record.chunks.is_empty() {
            if within(record.whole_answer) {
                self.output += record.output_tokens as f64;
            }
        } else if first < Some(observed.end) && last >= Some(observed.start) {
            self.output += output_tokens(observed, record);
        }
    }
}

/// Tokens of a streamed answer that arrived in the window. Where the chunks' counts do not add up to the
/// answer's, each stands for its share of it.
fn output_tokens(observed: &Observed<'_>, record: &RequestRecord) -> f64 {
    let (mut all, mut within) = (0u64, 0u64);
    for chunk in record.chunks.iter() {
        all += u64::from(chunk.tokens);
        if observed.contains(chunk.at) {
            within += u64::from(chunk.tokens);
        }
    }
    let whole = record.outcome == Outcome::Completed && all > 0;
    let share = if whole { record.output_tokens as f64 / all as f64 } else { 1.0 };
    within as f64 * share
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::{ms, record, run};
    use crate::record::Phase;

    fn rates(window_start: u64, records: Vec<RequestRecord>) -> Rates {
        let mut log = run(2_000, records);
        log.header.plan.window_start = ms(window_start);
        Rates::of(&Observed::of(&log))
    }

    #[test]
    fn tokens_count_when_they_arrive() {
        // Window 1–2 s. The warm-up request sends 3 of its 5 tokens in it; the measured one 2 of 4.
        let rates = rates(
            1_000,
            vec![
                record(0).phase(Phase::Warmup).sent_at(500, 500, 501).paced(800, 100, 5).build(),
                record(1).sent_at(1_500, 1_500, 1_501).paced(1_800, 100, 4).build(),
            ],
        );
        assert_eq!(rates.output_tokens_per_s, Some(5.0));
        // Only the second's first token came in the window, and only the first was whole in it.
        assert_eq!(rates.input_tokens_per_s, Some(100.0));
        assert_eq!(rates.completed_requests_per_s, Some(1.0));
        assert_eq!((rates.offered_requests_per_s, rates.achieved_requests_per_s), (Some(1.0), Some(1.0)));
        assert_eq!(rates.cached_input_tokens_per_s, None);
    }

    #[test]
    fn chunks_share_what_the_server_counted() {
        // Four chunks, all in the window, twelve tokens by usage.
        let rates = rates(0, vec![record(0).sent_at(0, 0, 1).paced(100, 10, 4).usage(130, 12).build()]);
        assert_eq!((rates.output_tokens_per_s, rates.input_tokens_per_s), (Some(6.0), Some(65.0)));
    }

    #[test]
    fn rates_per_gpu_need_their_number() {
        let of = |gpus| {
            let mut log = run(2_000, vec![record(0).sent_at(0, 0, 1).paced(100, 10, 12).build()]);
            log.header.deployment.gpus = gpus;
            Rates::of(&Observed::of(&log)).output_tokens_per_s_per_gpu
        };
        assert_eq!((of(None), of(Some(1)), of(Some(4))), (None, Some(6.0), Some(1.5)));
    }

    #[test]
    fn an_empty_window_has_no_rates() {
        assert_eq!(rates(2_000, vec![]), Rates::default());
    }
}
