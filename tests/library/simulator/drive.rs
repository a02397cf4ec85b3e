//! Feeds simulated servers and gathers what comes out.

use std::time::Duration;

use skyline::clock::Timestamp;
use skyline::random::RandomStream;
use skyline::simulator::{
    BatchingConfig, Deployment, Driver, Efficiency, Job, JobHistory, JobId, SchedulerKind, SchedulerLimits,
    SchedulingPolicy, SimulatedServer, StepTable, StepTime,
};

/// An engine whose steps all take 10 ms, with `blocks` blocks of 16 tokens and a roomy step.
pub(crate) fn ten_ms_engine(blocks: u64) -> BatchingConfig {
    let table = StepTable::new(&[(1, Duration::from_millis(10))], None).unwrap();
    BatchingConfig {
        scheduler: SchedulerKind::VLLM,
        step_time: StepTime::Table(table),
        limits: SchedulerLimits {
            max_num_seqs: 256,
            max_num_batched_tokens: 2048,
            max_model_len: 16_384,
            chunked_prefill: true,
            prefix_caching: true,
            policy: SchedulingPolicy::Fcfs,
            async_scheduling: false,
        },
        kv_blocks: blocks,
        block_size: 16,
        speculation: None,
        seed: 0,
    }
}

/// The engine of these presets, with vLLM's defaults.
pub(crate) fn preset(hardware: &str, model: &str, ranks: u32) -> BatchingConfig {
    let mut deployment = Deployment::new(hardware.parse().unwrap(), model.parse().unwrap());
    deployment.tensor_parallel = ranks;
    BatchingConfig::vllm(&deployment, Efficiency::default()).unwrap()
}

/// Milliseconds since the run began.
pub(crate) fn ms(at: Timestamp) -> f64 {
    at.as_secs_f64() * 1e3
}

/// Feeds `arrivals` (in order of time) to `server`, and passes each job's history to `on_end` as it ends, until all have
/// ended.
pub(crate) fn simulate<S: SimulatedServer + ?Sized>(
    server: &mut S,
    arrivals: impl IntoIterator<Item = (Timestamp, Job)>,
    mut on_end: impl FnMut(JobHistory),
) {
    let mut arrivals = arrivals.into_iter().peekable();
    let mut driver = Driver::new(server);
    let mut clock = Timestamp::ZERO;
    loop {
        let next_arrival = arrivals.peek().map(|arrival| arrival.0);
        let Some(next) = [next_arrival, driver.next_event()].into_iter().flatten().min() else { break };
        clock = clock.max(next);
        // All arrivals of a moment are in before anything starts.
        while let Some((_, job)) = arrivals.next_if(|arrival| arrival.0 <= clock) {
            driver.submit(clock, job).into_iter().for_each(&mut on_end);
        }
        driver.advance(clock, &mut on_end);
    }
    driver.stop().into_iter().for_each(on_end);
}

/// Every history, in the order in which the jobs ended.
pub(crate) fn run<S: SimulatedServer>(
    server: &mut S,
    arrivals: impl IntoIterator<Item = (Timestamp, Job)>,
) -> Vec<JobHistory> {
    let mut histories = Vec::new();
    simulate(server, arrivals, |history| histories.push(history));
    histories
}

/// As many users as `users`, each of whom sends one of `jobs` when the last answer is whole, until there are none left.
pub(crate) fn closed_loop<S: SimulatedServer>(
    server: &mut S,
    users: usize,
    jobs: impl IntoIterator<Item = Job>,
) -> Vec<JobHistory> {
    let mut jobs = jobs.into_iter();
    let mut driver = Driver::new(server);
    let mut histories = Vec::new();
    for job in jobs.by_ref().take(users) {
        assert_eq!(driver.submit(Timestamp::ZERO, job), None);
    }
    while let Some(now) = driver.next_event() {
        let mut ended = Vec::new();
        driver.advance(now, |history| ended.push(history));
        for job in jobs.by_ref().take(ended.len()) {
            assert_eq!(driver.submit(now, job), None);
        }
        histories.extend(ended);
    }
    histories
}

/// Jobs that come at the given milliseconds: (arrival, input tokens, output tokens), named from 0.
pub(crate) fn jobs(plan: &[(u64, u32, u32)]) -> Vec<(Timestamp, Job)> {
    plan.iter()
        .zip(0..)
        .map(|(&(at, input, output), id)| (Timestamp::from_nanos(at * 1_000_000), Job::new(JobId(id), input, output)))
        .collect()
}

/// Poisson arrivals at `rate` for `seconds`, each job made by `make` from its place and a stream of its own.
pub(crate) fn poisson(
    rate: f64,
    seconds: f64,
    seed: u64,
    mut make: impl FnMut(u64, &mut RandomStream) -> Job,
) -> Vec<(Timestamp, Job)> {
    let mut gaps = RandomStream::named(seed, "test arrivals");
    let mut lengths = RandomStream::named(seed, "test jobs");
    let mut at = 0.0;
    let mut arrivals = Vec::new();
    loop {
        at += gaps.exponential() / rate;
        if at > seconds {
            return arrivals;
        }
        arrivals.push((Timestamp::from_secs_f64(at), make(arrivals.len() as u64, &mut lengths)));
    }
}

/// A token count: normal with this mean and standard deviation, drawn again until inside the bounds.
pub(crate) fn normal(stream: &mut RandomStream, mean: f64, std: f64, bounds: (u32, u32)) -> u32 {
    loop {
        let value = (mean + std * stream.normal()).round();
        if value >= f64::from(bounds.0) && value <= f64::from(bounds.1) {
            return value as u32;
        }
    }
}

/// Times to first token, ms, of those that have one.
pub(crate) fn ttfts<'a>(histories: impl IntoIterator<Item = &'a JobHistory>) -> Vec<f64> {
    Latencies::from_histories(histories).ttft
}

/// Latencies of completed jobs, ms.
pub(crate) struct Latencies {
    ttft: Vec<f64>,
    from_seat: Vec<f64>,
    tpot: Vec<f64>,
    tokens: u64,
    end: f64,
}

impl Latencies {
    pub(crate) fn from_histories<'a>(histories: impl IntoIterator<Item = &'a JobHistory>) -> Self {
        let mut all = Self { ttft: vec![], from_seat: vec![], tpot: vec![], tokens: 0, end: 0.0 };
        for history in histories {
            let (Some(first), Some(last)) = (history.chunks.first_at(), history.chunks.last_at()) else {
                continue;
            };
            let tokens = history.chunks.tokens();
            all.ttft.push(ms(first) - ms(history.arrived));
            all.from_seat.push(ms(first) - ms(history.scheduled.unwrap()));
            if tokens > 1 {
                all.tpot.push((ms(last) - ms(first)) / (tokens - 1) as f64);
            }
            all.tokens += tokens;
            all.end = all.end.max(last.as_secs_f64());
        }
        all
    }

    /// A percentile of the time from arrival to the first token.
    pub(crate) fn ttft(&self, percent: f64) -> f64 {
        percentile(&self.ttft, percent)
    }

    /// A percentile of the time from the first step to the first token.
    pub(crate) fn seated_ttft(&self, percent: f64) -> f64 {
        percentile(&self.from_seat, percent)
    }

    /// A percentile of the time per token after the first.
    pub(crate) fn tpot(&self, percent: f64) -> f64 {
        percentile(&self.tpot, percent)
    }

    /// Share of the jobs whose first token came later than `bound`.
    pub(crate) fn share_over(&self, bound: f64) -> f64 {
        self.ttft.iter().filter(|&&ttft| ttft > bound).count() as f64 / self.ttft.len() as f64
    }

    /// Tokens per second until the last one.
    pub(crate) fn tokens_per_s(&self) -> f64 {
        self.tokens as f64 / self.end
    }
}

/// A percentile by linear interpolation between closest ranks.
pub(crate) fn percentile(values: &[f64], percent: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let rank = percent / 100.0 * (values.len() - 1) as f64;
    let (low, high) = (values[rank.floor() as usize], values[rank.ceil() as usize]);
    low + (high - low) * rank.fract()
}

/// A short chat, as the workload of that name draws it.
pub(crate) fn chat(id: u64, stream: &mut RandomStream) -> Job {
    let input = normal(stream, 256.0, 128.0, (16, 1024));
    Job::new(JobId(id), input, normal(stream, 128.0, 64.0, (8, 512)))
}
