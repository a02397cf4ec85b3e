//! Flows per second, and requests in flight.

use serde::Serialize;

use crate::analysis::requests::{LoadForm, Observed, answered, audio_seconds};
use crate::clock::Timestamp;
use crate::record::{Outcome, Phase, RequestRecord, RunLog};

/// Requests of every phase during the window; of a burst until its last answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InFlight {
    /// Average over time of the requests in flight. Each is so from its slot under the cap (without a cap: from its
    /// dispatch) to its end.
    pub mean: f64,
    /// The most in flight at any moment.
    pub peak: u64,
    /// Dispatched requests that waited for a slot under the cap; absent without a cap.
    pub waiting: Option<TimeAverage>,
}

/// A number of requests over a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TimeAverage {
    /// Average over time.
    pub mean: f64,
    /// The most at any moment.
    pub peak: u64,
}

impl InFlight {
    /// `None` for an empty window.
    pub(crate) fn from_observed(observed: &Observed<'_>) -> Option<Self> {
        let records = &observed.log.records;
        let capped = observed.log.header.limits.is_capped();
        let window = (observed.start, observed.answers_end);
        let in_flight =
            TimeAverage::new(records.iter().filter_map(|record| time_in_flight(observed.log, &record)), window)?;
        let until = |record: &RequestRecord| record.admitted.or(record.sent).unwrap_or(record.ended);
        let waits = records.iter().map(|record| (record.dispatched, until(&record)));
        Some(Self {
            mean: in_flight.mean,
            peak: in_flight.peak,
            waiting: if capped { TimeAverage::new(waits, window) } else { None },
        })
    }
}

/// Returns from when to when a request was in flight. `None` for one that got no slot under the cap.
pub(crate) fn time_in_flight(log: &RunLog, record: &RequestRecord) -> Option<(Timestamp, Timestamp)> {
    let from = if log.header.limits.is_capped() {
        record.admitted.or(record.sent)?
    } else {
        record.admitted.unwrap_or(record.dispatched)
    };
    Some((from, record.ended))
}

/// How many of `stays`, `from … to` each, there are at once, stretch by stretch.
pub(crate) fn levels(
    stays: impl Iterator<Item = (Timestamp, Timestamp)>,
) -> impl Iterator<Item = (Timestamp, Timestamp, u64)> {
    let mut steps: Vec<(Timestamp, i64)> =
        stays.filter(|(from, to)| from < to).flat_map(|(from, to)| [(from, 1), (to, -1)]).collect();
    // At one moment ends go before beginnings: a request that begins as another ends does not overlap it.
    steps.sort_unstable();
    let (mut since, mut now) = (Timestamp::ZERO, 0_i64);
    steps.into_iter().filter_map(move |(at, step)| {
        let stretch = (since, at, now.unsigned_abs());
        (since, now) = (at, now + step);
        (stretch.0 < stretch.1).then_some(stretch)
    })
}

impl TimeAverage {
    /// Computes the mean and the peak number of `stays`, `from … to` each. `None` for an empty stretch.
    fn new(stays: impl Iterator<Item = (Timestamp, Timestamp)>, (start, end): (Timestamp, Timestamp)) -> Option<Self> {
        let length = end.since(start).as_secs_f64();
        let mut spent = 0.0;
        let inside = stays.map(|(from, to)| (from.max(start), to.min(end))).inspect(|(from, to)| {
            if from < to {
                spent += to.since(*from).as_secs_f64();
            }
        });
        let peak = levels(inside).map(|(.., level)| level).max().unwrap_or(0);
        (length > 0.0).then_some(Self { mean: spent / length, peak })
    }
}

/// Flows over the window, per second, each counted when it happened. It counts whoever's request it belonged to. What
/// warm-up requests still do inside the window counts; what measured requests do in the drain does not. Of a burst, and
/// of a run of so many requests, answers count until the last one, and their rates are over that time: see
/// [`Window::answers_end_s`](crate::analysis::Window::answers_end_s). Absent for an empty window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Rates {
    /// Requests scheduled in the window, per second. Absent in a closed loop, where the server decides how many there
    /// are.
    pub offered_requests_per_s: Option<f64>,
    /// Requests dispatched in the window; in a closed loop while answers count.
    pub achieved_requests_per_s: Option<f64>,
    /// Requests whose answer was whole in the window.
    pub completed_requests_per_s: Option<f64>,
    /// Inputs whose answer was whole in the window, of requests that have several at once. Absent where answers are
    /// texts.
    pub inputs_per_s: Option<f64>,
    /// Seconds of audio whose answer was whole in the window. Left out where requests have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audio_seconds_per_s: Option<f64>,
    /// Prompt tokens of requests whose first token arrived in the window, without failed requests. They are the
    /// server's count, else those requested.
    pub input_tokens_per_s: Option<f64>,
    /// The part of them that came from a prefix cache, if the server reports it.
    pub cached_input_tokens_per_s: Option<f64>,
    /// The rest of them, if the server reports it.
    pub uncached_input_tokens_per_s: Option<f64>,
    /// Answer tokens that arrived in the window, without those of answers that failed.
    pub output_tokens_per_s: Option<f64>,
    /// All answer tokens that arrived in the window, whatever became of their answers.
    pub arrived_output_tokens_per_s: Option<f64>,
    /// Answer tokens of answers that did not fail ÷ the accelerators that serve together. It is known where it was said
    /// how many (`--gpus`).
    pub output_tokens_per_s_per_gpu: Option<f64>,
}

impl Rates {
    /// Returns the requests per second that the run's length makes samples of. They are those offered, in a closed loop
    /// those dispatched.
    pub fn requests_per_s(&self) -> Option<f64> {
        self.offered_requests_per_s.or(self.achieved_requests_per_s).filter(|&rate| rate > 0.0)
    }

    pub(crate) fn from_observed(observed: &Observed<'_>) -> Self {
        let offered = !LoadForm::from_workload(&observed.log.header.workload).is_closed();
        let mut flow = Flow::default();
        for record in observed.log.records.iter().filter(|record| observed.has_part(record)) {
            flow.add(observed, &record);
        }
        let has_tokens = observed.log.header.workload.has_answer_tokens();
        let has_audio = observed.log.header.workload.longest_audio().is_some();
        let is_known = |tokens| has_tokens && (tokens > 0.0 || !flow.uncounted);
        let known = |tokens| observed.answers_per_second(tokens).filter(|_| is_known(tokens));
        let output_tokens_per_s = known(flow.output);
        let gpus = observed.log.header.deployment.gpus.filter(|&gpus| gpus > 0);
        let cached = |tokens| flow.cache_counted.then(|| observed.answers_per_second(tokens)).flatten();
        Self {
            offered_requests_per_s: observed.per_second(observed.due() as f64 - flow.later).filter(|_| offered),
            achieved_requests_per_s: if offered {
                observed.per_second(flow.released)
            } else {
                observed.answers_per_second(flow.released + flow.released_later)
            },
            completed_requests_per_s: observed.answers_per_second(flow.completed),
            inputs_per_s: observed.answers_per_second(flow.inputs).filter(|_| !has_tokens),
            audio_seconds_per_s: observed.answers_per_second(flow.audio).filter(|_| has_audio),
            input_tokens_per_s: observed.answers_per_second(flow.input),
            cached_input_tokens_per_s: cached(flow.cached),
            uncached_input_tokens_per_s: cached(flow.input - flow.cached),
            output_tokens_per_s,
            arrived_output_tokens_per_s: known(flow.arrived),
            output_tokens_per_s_per_gpu: output_tokens_per_s.zip(gpus).map(|(rate, gpus)| rate / f64::from(gpus)),
        }
    }
}

/// Sums over the window.
#[derive(Default)]
struct Flow {
    released: f64,
    /// Requests after the window, while answers count.
    released_later: f64,
    /// Turns that count and came after the window.
    later: f64,
    completed: f64,
    /// Inputs that were answered.
    inputs: f64,
    /// Seconds of audio that were answered.
    audio: f64,
    input: f64,
    cached: f64,
    cache_counted: bool,
    output: f64,
    arrived: f64,
    /// Whether nothing counted the tokens of an answer that came whole.
    uncounted: bool,
}

impl Flow {
    fn add(&mut self, observed: &Observed<'_>, record: &RequestRecord) {
        let within = |moment: Option<Timestamp>| moment.is_some_and(|at| observed.counts_answer(at));
        let first = record.chunks.first_at().or(record.whole_answer);
        let last = record.chunks.last_at().or(record.whole_answer);
        if observed.contains(record.dispatched) {
            self.released += 1.0;
        } else if observed.counts_answer(record.dispatched) {
            self.released_later += 1.0;
        }
        if record.phase == Phase::Measured && record.scheduled >= observed.end {
            self.later += 1.0;
        }
        if within(answered(record)) {
            self.completed += 1.0;
            let class = observed.log.header.workload.classes.get(usize::from(record.class));
            let inputs = class.and_then(|class| class.inputs);
            self.audio += audio_seconds(observed.log, record).unwrap_or(0.0);
            self.inputs += inputs.map_or(0.0, |inputs| f64::from(inputs.size));
        }
        let failed = matches!(record.outcome, Outcome::Failed(_));
        if within(first) && !failed {
            self.input += record.prompt_tokens() as f64;
            if let Some(cached) = record.usage.and_then(|usage| usage.cached()) {
                self.cache_counted = true;
                self.cached += cached as f64;
            }
        }
        if first < Some(observed.answers_end) && last >= Some(observed.start) {
            self.output += output_tokens(observed, record);
            self.uncounted |= record.whole_answer.is_some() && record.output_tokens == 0;
            self.arrived += arrived_tokens(observed, record);
        }
    }
}

/// Tokens of an answer that arrived in the window, unless it failed.
pub(crate) fn output_tokens(observed: &Observed<'_>, record: &RequestRecord) -> f64 {
    if matches!(record.outcome, Outcome::Failed(_)) { 0.0 } else { arrived_tokens(observed, record) }
}

/// Tokens of an answer that arrived in the window. Where the chunks' counts do not add up to the answer's, each stands
/// for its share of it.
pub(crate) fn arrived_tokens(observed: &Observed<'_>, record: &RequestRecord) -> f64 {
    if record.chunks.is_empty() {
        let came = record.whole_answer.is_some_and(|at| observed.counts_answer(at));
        return if came { record.output_tokens as f64 } else { 0.0 };
    }
    let (mut all, mut within) = (0u64, 0u64);
    for chunk in record.chunks.iter() {
        all += u64::from(chunk.tokens);
        if observed.counts_answer(chunk.at) {
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
    use crate::analysis::summarise::summarise;
    use crate::analysis::test_runs::{ms, record, run};
    use crate::record::Phase;

    #[test]
    fn time_in_flight_is_counted_inside_the_window_only() {
        let log = run(
            1_000,
            vec![
                record(0).sent_at(0, 100, 100).paced(500, 1, 1).build(), // 400 ms
                record(1).sent_at(0, 500, 500).paced(700, 1, 1).build(), // 200 ms, begins as the first ends
                record(2).sent_at(0, 600, 600).paced(5_000, 1, 1).build(), // 400 ms of the window
                record(3).phase(Phase::Cooldown).sent_at(1_000, 1_000, 1_000).censored(5_000).build(),
            ],
        );
        let in_flight = InFlight::from_observed(&Observed::from_log(&log)).unwrap();
        assert_eq!(in_flight.peak, 2);
        assert!((in_flight.mean - 1.0).abs() < 1e-12);
        assert_eq!(in_flight.waiting, None);
    }

    #[test]
    fn who_waits_under_the_cap_is_not_in_flight() {
        // A cap of 1: three come at once, each takes 300 ms; the last never gets a place before the end at 600.
        let mut first = record(0).sent_at(0, 0, 0).paced(300, 1, 1).build();
        let mut second = record(1).sent_at(0, 0, 300).paced(600, 1, 1).build();
        let third = record(2).scheduled(0).censored(600).build();
        (first.admitted, second.admitted) = (Some(ms(0)), Some(ms(300)));
        let mut log = run(1_000, vec![first, second, third]);
        log.header.limits.max_concurrency = Some(1);
        let in_flight = InFlight::from_observed(&Observed::from_log(&log)).unwrap();
        assert_eq!((in_flight.peak, in_flight.waiting.unwrap().peak), (1, 2));
        assert!((in_flight.mean - 0.6).abs() < 1e-12);
        assert!((in_flight.waiting.unwrap().mean - 0.9).abs() < 1e-12);
    }

    #[test]
    fn who_was_sent_waits_no_more_though_no_record_says_when_it_was_admitted() {
        let mut log = run(1_000, vec![record(0).sent_at(0, 0, 200).paced(700, 1, 1).build()]);
        log.header.limits.max_concurrency = Some(1);
        let in_flight = InFlight::from_observed(&Observed::from_log(&log)).unwrap();
        assert!((in_flight.mean - 0.5).abs() < 1e-12);
        assert!((in_flight.waiting.unwrap().mean - 0.2).abs() < 1e-12);
    }

    fn rates(window_start: u64, records: Vec<RequestRecord>) -> Rates {
        let mut log = run(2_000, records);
        log.header.plan.window_start = ms(window_start);
        Rates::from_observed(&Observed::from_log(&log))
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
    fn tokens_of_answers_that_failed_are_counted_apart() {
        let failure = crate::record::Failure::new(crate::record::FailureKind::Reset, "the connection broke");
        let rates = rates(
            0,
            vec![
                record(0).sent_at(0, 0, 1).paced(100, 10, 4).build(),
                record(1).sent_at(0, 0, 1).paced(100, 10, 6).failed(200, failure).build(),
            ],
        );
        assert_eq!((rates.output_tokens_per_s, rates.arrived_output_tokens_per_s), (Some(2.0), Some(5.0)));
        assert_eq!(rates.input_tokens_per_s, Some(50.0));
    }

    #[test]
    fn rates_per_gpu_need_their_number() {
        let of = |gpus| {
            let mut log = run(2_000, vec![record(0).sent_at(0, 0, 1).paced(100, 10, 12).build()]);
            log.header.deployment.gpus = gpus;
            Rates::from_observed(&Observed::from_log(&log)).output_tokens_per_s_per_gpu
        };
        assert_eq!((of(None), of(Some(1)), of(Some(4))), (None, Some(6.0), Some(1.5)));
    }

    /// Ten requests at once in a window of a millisecond. Each takes a second more than the one before.
    fn burst() -> Vec<RequestRecord> {
        let answer = |i| record(i).sent_at(0, 0, 0).paced(1_000 * (i + 1) - 400, 100, 5).build();
        (0..10).map(answer).collect()
    }

    #[test]
    fn a_burst_is_answered_until_its_last_answer() {
        let log = run(1, burst());
        let observed = Observed::from_log(&log);
        assert_eq!(observed.answers_end, Timestamp::from_nanos(10_000_000_001));
        let near = |rate: Option<f64>, expected: f64| (rate.unwrap() / expected - 1.0).abs() < 1e-9;
        let rates = Rates::from_observed(&observed);
        assert!(near(rates.completed_requests_per_s, 1.0 / 1.000_000_000_1), "{rates:?}");
        assert!(near(rates.output_tokens_per_s, 5.0 / 1.000_000_000_1), "{rates:?}");
        // The load is what came in its own window.
        assert!(near(rates.offered_requests_per_s, 10_000.0), "{rates:?}");
        // L = λW: one a second, each there for 5.5 s.
        assert!(near(InFlight::from_observed(&observed).map(|level| level.mean), 5.5 / 1.000_000_000_1));
        assert_eq!(summarise(&log, &[]).window.answers_s(), Some(10.000_000_001));
    }

    #[test]
    fn a_burst_that_is_cut_off_is_counted_until_its_end() {
        let cut = (10..12).map(|i| record(i).sent_at(0, 0, 0).censored(30_000).build());
        let log = run(1, burst().into_iter().chain(cut).collect());
        let rates = Rates::from_observed(&Observed::from_log(&log));
        assert!((rates.completed_requests_per_s.unwrap() - 10.0 / 30.0).abs() < 1e-6, "{rates:?}");
    }

    #[test]
    fn where_the_load_goes_on_the_window_shows_its_rates() {
        // What follows keeps the server busy: one answer that came in the window is enough to count by it.
        let next = record(10).phase(Phase::Cooldown).sent_at(1_500, 1_500, 1_500).paced(11_000, 1, 1).build();
        let answers_end = |window, records: Vec<_>| Observed::from_log(&run(window, records)).answers_end;
        let goes_on = || burst().into_iter().chain([next.clone()]).collect::<Vec<_>>();
        assert_eq!(answers_end(1_500, goes_on()), ms(1_500));
        assert!(answers_end(900, goes_on()) > ms(10_000), "no answer came in the window");
        // Of a load that stops half of the answers are.
        assert_eq!(answers_end(5_500, burst()), ms(5_500));
        assert!(answers_end(4_500, burst()) > ms(10_000));
    }

    #[test]
    fn an_empty_window_has_no_rates() {
        assert_eq!(rates(2_000, vec![]), Rates::default());
    }
}
