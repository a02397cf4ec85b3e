//! One serving engine: a scheduler whose steps take time.
use super::kv::BlockPool;
use super::scheduler::VllmScheduler;
use super::step_scheduler::{PlannedStep, StepScheduler};
use crate::clock::Timestamp;
use crate::random::RandomStream;
use crate::simulator::deployment::placement::{Deployment, DoesNotFit};
use crate::simulator::job::{Job, JobId};
use crate::simulator::limits::{SchedulerLimits, Speculation};
use crate::simulator::server::{FirstToken, Reject, ServerGauges, SimulatedServer, TokenEvent};
use crate::simulator::step_time::model::StepTime;
use crate::simulator::step_time::roofline::{Efficiency, Roofline, StepWork};
use crate::simulator::work_totals::WorkTotals;

/// Tokens in a KV block; vLLM's default.
pub const BLOCK_SIZE: u32 = 16;

/// A kind of scheduler. Another one is a file with its [`StepScheduler`], and a row of these.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerKind {
    /// Its name, which no other one has.
    pub name: &'static str,
    /// The function that makes one, without jobs.
    pub make: fn(&BatchingConfig) -> Box<dyn StepScheduler>,
}

impl SchedulerKind {
    /// vLLM's, over a pool of blocks.
    pub const VLLM: Self = Self {
        name: "vllm",
        make: |config| {
            let drafts = config.speculation.map_or(0, |speculation| speculation.draft_tokens);
            Box::new(VllmScheduler::new(config.limits, BlockPool::new(config.kv_blocks), config.block_size, drafts))
        },
    };
}

impl PartialEq for SchedulerKind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// The parameters of a [`BatchingEngine`].
#[derive(Clone, Debug, PartialEq)]
pub struct BatchingConfig {
    /// The scheduler of its steps.
    pub scheduler: SchedulerKind,
    /// Time that a step takes.
    pub step_time: StepTime,
    /// Bounds of a step.
    pub limits: SchedulerLimits,
    /// Blocks of KV cache.
    pub kv_blocks: u64,
    /// Tokens in a block.
    pub block_size: u32,
    /// Speculative decoding, where it is on.
    pub speculation: Option<Speculation>,
    /// Seed of the acceptance of speculated tokens.
    pub seed: u64,
}

impl BatchingConfig {
    /// `deployment` with vLLM's defaults. If the KV cache holds less than the model's longest context, that limits
    /// `max_model_len` (vLLM refuses to start until `--max-model-len` says so).
    ///
    /// # Errors
    ///
    /// When the weights do not fit.
    pub fn vllm(deployment: &Deployment, efficiency: Efficiency) -> Result<Self, DoesNotFit> {
        let kv_blocks = deployment.kv_capacity_tokens()? / u64::from(BLOCK_SIZE);
        let capacity = u32::try_from(kv_blocks * u64::from(BLOCK_SIZE)).unwrap_or(u32::MAX);
        Ok(Self {
            scheduler: SchedulerKind::VLLM,
            step_time: StepTime::Roofline(Roofline::new(deployment.clone(), efficiency)),
            limits: SchedulerLimits::vllm(&deployment.hardware, deployment.model.max_model_len.min(capacity)),
            kv_blocks,
            block_size: BLOCK_SIZE,
            speculation: None,
            seed: 0,
        })
    }
}

/// A continuous-batching engine, step by step.
///
/// A driver calls [`begin_step`](Self::begin_step), lets time pass until the step ends, and calls
/// [`end_step`](Self::end_step); jobs submitted meanwhile wait for the next step. As a [`SimulatedServer`] it does
/// that by itself.
#[derive(Debug)]
pub struct BatchingEngine {
    scheduler: Box<dyn StepScheduler>,
    step_time: StepTime,
    limits: SchedulerLimits,
    speculation: Option<Speculation>,
    acceptance: RandomStream,
    step: Option<EngineStep>,
    /// The place of the current step in the scheduler.
    place: usize,
    /// Step that follows the current one, with asynchronous scheduling.
    queued: Option<PlannedStep>,
    /// Moment when a job last came to an idle engine.
    woken: Timestamp,
    counts: ServerGauges,
    effort: WorkTotals,
}

/// A step in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineStep {
    /// Moment when it began.
    pub began: Timestamp,
    /// Moment when its tokens come out.
    pub ends_at: Timestamp,
    /// Its work.
    pub work: StepWork,
}

impl BatchingEngine {
    /// An idle engine.
    pub fn new(config: BatchingConfig) -> Self {
        let scheduler = (config.scheduler.make)(&config);
        let BatchingConfig { step_time, limits, speculation, seed, .. } = config;
        Self {
            scheduler,
            step_time,
            limits,
            speculation,
            acceptance: RandomStream::named(seed, "simulator speculation"),
            step: None,
            place: 0,
            queued: None,
            woken: Timestamp::ZERO,
            counts: ServerGauges::default(),
            effort: WorkTotals { engines: 1, ..WorkTotals::default() },
        }
    }

    /// Takes a job whose first token is out and whose prompt's KV comes with it.
    ///
    /// # Errors
    ///
    /// As [`SimulatedServer::submit`].
    pub fn submit_prefilled(&mut self, now: Timestamp, job: Job) -> Result<(), Reject> {
        self.check(&job)?;
        let prompt = job.input_tokens;
        self.enqueue(now, job, 1, prompt);
        Ok(())
    }

    /// Begins a step if none is in progress and there is work.
    pub fn begin_step(&mut self, now: Timestamp) -> Option<EngineStep> {
        if self.step.is_some() {
            return None;
        }
        let mut next = self.queued.take();
        while next.is_none() {
            if self.jobs() == 0 {
                return None;
            }
            // Empty only where the first in line was the least urgent too and gave up its blocks; now others have them.
            next = self.scheduler.plan(now);
        }
        let PlannedStep { work, place, kv_usage, shortage } = next?;
        let draft_cost = self.speculation.map_or(0.0, |speculation| speculation.draft_cost);
        let time = self.step_time.of(&work, draft_cost);
        self.effort.add_step(&self.step_time, &work, time, kv_usage, shortage);
        let step = EngineStep { began: now, ends_at: now.after(time), work };
        self.step = Some(step);
        self.place = place;
        if self.limits.async_scheduling {
            self.queued = self.scheduler.plan(now);
        }
        Some(step)
    }

    /// Ends the current step: adds its tokens to `events`, and releases finished jobs.
    pub fn end_step(&mut self, events: &mut Vec<TokenEvent>) {
        let Some(step) = self.step.take() else { return };
        let Self { scheduler, speculation, acceptance, counts, .. } = self;
        scheduler.end_step(self.place, &mut |sequence, drafts| {
            let accepted = speculation.map_or(0, |speculation| speculation.accepted(drafts, acceptance));
            // Tokens past the end of the answer are discarded.
            let tokens = (1 + accepted).min(sequence.job.output_tokens - sequence.emitted);
            let first = (sequence.emitted == 0).then_some(FirstToken {
                scheduled: sequence.scheduled.unwrap_or(step.began),
                cached_tokens: sequence.cached_tokens,
            });
            sequence.emitted += tokens;
            let finished = sequence.is_finished();
            if first.is_some() {
                counts.prompt_tokens += u64::from(sequence.job.input_tokens);
            }
            counts.generation_tokens += u64::from(tokens);
            counts.request_success += u64::from(finished);
            if drafts > 0 {
                counts.add_draft(drafts, accepted);
            }
            events.push(TokenEvent { job: sequence.job.id, at: step.ends_at, tokens, first, finished });
            accepted
        });
    }

    /// The current step.
    pub const fn step(&self) -> Option<EngineStep> {
        self.step
    }

    /// Refuses jobs that can never be served. It has vLLM's checks, including its start-up check on the KV cache.
    pub(crate) fn check(&self, job: &Job) -> Result<(), Reject> {
        if job.input_tokens == 0 || job.output_tokens == 0 {
            return Err(Reject::Empty);
        }
        let tokens = job.input_tokens.saturating_add(job.output_tokens);
        if tokens > self.limits.max_model_len {
            return Err(Reject::TooLong {
                max_model_len: self.limits.max_model_len,
                input_tokens: job.input_tokens,
                output_tokens: job.output_tokens,
            });
        }
        let (tokens, capacity) = (u64::from(tokens), self.scheduler.capacity_tokens());
        if tokens > capacity { Err(Reject::LargerThanCache { tokens, capacity }) } else { Ok(()) }
    }

    fn enqueue(&mut self, now: Timestamp, job: Job, emitted: u32, computed: u32) {
        self.woken = now;
        self.scheduler.enqueue(job, emitted, computed);
    }
}

impl SimulatedServer for BatchingEngine {
    fn submit(&mut self, now: Timestamp, job: Job) -> Result<(), Reject> {
        self.check(&job)?;
        self.enqueue(now, job, 0, 0);
        Ok(())
    }

    fn cancel(&mut self, _now: Timestamp, id: JobId) -> bool {
        self.scheduler.remove(id)
    }

    fn next_event(&self) -> Option<Timestamp> {
        match self.step {
            Some(step) => Some(step.ends_at),
            None => (self.jobs() > 0).then_some(self.woken),
        }
    }

    fn advance(&mut self, now: Timestamp, events: &mut Vec<TokenEvent>) {
        while let Some(step) = self.step {
            if step.ends_at > now {
                return;
            }
            self.end_step(events);
            self.begin_step(step.ends_at);
        }
        self.begin_step(self.woken);
    }

    fn gauges(&self) -> ServerGauges {
        let of_steps = self.scheduler.gauges();
        ServerGauges {
            num_requests_running: of_steps.num_requests_running,
            num_requests_waiting: of_steps.num_requests_waiting,
            kv_cache_usage_perc: of_steps.kv_cache_usage_perc,
            prefix_cache_queries: of_steps.prefix_cache_queries,
            prefix_cache_hits: of_steps.prefix_cache_hits,
            num_preemptions: of_steps.num_preemptions,
            ..self.counts
        }
    }

    fn effort(&self) -> WorkTotals {
        self.effort
    }

    fn jobs(&self) -> u64 {
        self.scheduler.jobs()
    }

    fn reset_prefix_cache(&mut self) {
        self.scheduler.forget_prefixes();
    }

    fn cached_tokens(&self, job: &Job) -> u32 {
        self.scheduler.cached_tokens(job)
    }
}
