//! What a server must have done between two moments that a client saw, request by request.

use crate::clock::Timestamp;
use crate::experiment::diagnosis::concurrency::{Stays, Steps};
use crate::record::{Outcome, RecordRef, RequestRecord, RunLog};
use crate::simulator::{SchedulerLimits, StepWork};

/// Largest distance of first tokens that came out of one step, seconds. On a wire they come one by one.
const SAME_STEP_S: f64 = 0.001;
/// Most rows taken from a run: more change nothing.
const MOST_ROWS: usize = 2_000;

/// A stretch of time that was measured, and the steps that it must have taken.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StepStretch {
    /// Length, seconds.
    pub(super) seconds: f64,
    /// Steps of a kind, and how many of them. A part of a step counts as that part.
    pub(super) steps: Vec<(f64, StepWork)>,
    /// Whether it is the way to a first token, through the front end.
    pub(super) is_first: bool,
    /// Moment when it began, seconds.
    pub(super) at: f64,
}

/// Prompts that were computed together: their first tokens came out of one step.
struct Prefill {
    at: f64,
    /// Tokens computed, those that a cache held left out, and tokens held.
    computed: u32,
    held: u32,
}

/// All that came out of a server, in order, with sums up to each moment.
struct Output {
    /// Chunks after the first of an answer, each one sequence in one step. Each has the tokens of its context.
    emissions: Steps,
    prefills: Vec<Prefill>,
}

impl Output {
    fn from_records<'a>(records: impl Iterator<Item = RecordRef<'a>>) -> Self {
        let mut emissions = Vec::new();
        let mut firsts: Vec<(f64, u32, u32)> = Vec::new();
        for record in records {
            let (prompt, held) = prompt(&record);
            let mut context = f64::from(prompt + held);
            for (place, chunk) in record.chunks.iter().enumerate() {
                let at = seconds(chunk.at);
                if place == 0 {
                    firsts.push((at, prompt, held));
                } else {
                    emissions.push((at, context));
                }
                context += f64::from(chunk.tokens);
            }
        }
        firsts.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let mut prefills: Vec<Prefill> = Vec::new();
        for (at, computed, held) in firsts {
            match prefills.last_mut() {
                Some(last) if at - last.at <= SAME_STEP_S => {
                    last.computed = last.computed.saturating_add(computed);
                    last.held = last.held.saturating_add(held);
                }
                _ => prefills.push(Prefill { at, computed, held }),
            }
        }
        Self { emissions: Steps::from_steps(emissions), prefills }
    }

    /// Returns the sequences that went on, and their contexts, summed over the steps. These are the steps that ended
    /// after `from` and by `to`.
    fn between(&self, from: f64, to: f64) -> (f64, f64) {
        let (first, last) = (self.emissions.by(from), self.emissions.by(to));
        ((last - first) as f64, self.emissions.weight[last] - self.emissions.weight[first])
    }

    /// The prompts whose first tokens came after `from` and by `to`.
    fn prefills(&self, from: f64, to: f64) -> &[Prefill] {
        let place = |at: f64| self.prefills.partition_point(|prefill| prefill.at <= at);
        let (first, last) = (place(from), place(to));
        &self.prefills[first.min(last)..last]
    }
}

/// Returns the rows of a run whose server has these limits. They are of every answer from its first token to its last,
/// and of every request that met an empty queue, from its sending to its first token. Where steps are planned ahead,
/// one request more may wait for its first token: it is in the step under way, or in the planned one.
///
/// Each answer gets a token a step, so that its chunks count the steps; and each chunk of another answer meanwhile is a
/// sequence in one of them. It takes the answers of one server.
pub(super) fn rows(log: &RunLog, limits: &SchedulerLimits) -> Vec<StepStretch> {
    let budget = limits.max_num_batched_tokens;
    let is_answered = |record: &RecordRef<'_>| record.own_sent().is_some() && !record.chunks.is_empty();
    let answered = log.records.iter().filter(is_answered);
    let output = Output::from_records(answered.clone());
    let sent = log.records.iter().filter_map(|record| record.own_sent().map(|sent| (record, sent)));
    let waiting = Stays::from_stays(
        sent.map(|(record, sent)| (seconds(sent), seconds(record.chunks.first_at().unwrap_or(record.ended)), 1.0)),
    );
    let mut rows = Vec::new();
    for record in answered {
        let (Some(sent), Some(first), Some(last)) =
            (record.own_sent(), record.chunks.first_at(), record.chunks.last_at())
        else {
            continue;
        };
        let [sent, first, last] = [sent, first, last].map(seconds);
        if record.outcome == Outcome::Completed && record.chunks.len() >= 8 {
            rows.extend(of_answer(&output, &record, (first, last), budget));
        }
        if waiting.at(sent) <= 1.0 + queued(limits) {
            rows.extend(of_first(&output, (sent, first), limits));
        }
    }
    rows.retain(|row| row.seconds > 0.0);
    let stride = rows.len().div_ceil(MOST_ROWS).max(1);
    rows.into_iter().step_by(stride).collect()
}

fn of_answer(output: &Output, record: &RequestRecord, (first, last): (f64, f64), budget: u32) -> Option<StepStretch> {
    let taken = (record.chunks.len() - 1) as f64;
    let (sequences, contexts) = output.between(first + SAME_STEP_S, last + SAME_STEP_S);
    // How many went on at a time, in whole and in part, and their context.
    let batch = (sequences / taken).max(1.0);
    let context = (contexts / sequences.max(1.0)).max(1.0);
    let mut steps = Vec::new();
    let mut left = taken;
    for prefill in output.prefills(first + SAME_STEP_S, last + SAME_STEP_S) {
        for work in prefill_steps(prefill, batch, context, budget) {
            left -= 1.0;
            steps.push((1.0, work));
        }
    }
    // More prompts than steps: a shared server, or merged reads.
    if left < 0.0 {
        return None;
    }
    steps.extend(decode_steps(left, batch, context));
    Some(StepStretch { seconds: last - first, steps, is_first: false, at: first })
}

fn of_first(output: &Output, (sent, first): (f64, f64), limits: &SchedulerLimits) -> Option<StepStretch> {
    let (budget, queued) = (limits.max_num_batched_tokens, queued(limits));
    let (prefill, before) = output.prefills(sent, first).split_last()?;
    // Answers that get tokens meanwhile.
    let (sequences, contexts) = output.between(sent, first - SAME_STEP_S);
    let own = prefill_steps(prefill, 0.0, 1.0, budget).len() as f64;
    let batch = sequences / (own + queued);
    let context = contexts / sequences.max(1.0);
    // A step that is under way is half over on average; that of a request before may be that one or the next.
    let (mut left, mut steps) = (0.5 + queued, Vec::new());
    for other in before {
        let [work] = prefill_steps(other, batch, context, budget)[..] else { return None };
        steps.push((0.75, work));
        left -= 0.75;
    }
    if left < 0.0 {
        return None;
    }
    if batch > 0.0 {
        steps.extend(decode_steps(left, batch, context));
    }
    steps.extend(prefill_steps(prefill, batch, context, budget).into_iter().map(|work| (1.0, work)));
    Some(StepStretch { seconds: first - sent, steps, is_first: true, at: sent })
}

/// Planned steps behind the one under way.
fn queued(limits: &SchedulerLimits) -> f64 {
    if limits.async_scheduling { 1.0 } else { 0.0 }
}

/// Returns `number` steps in which `batch` sequences go on. A part of the steps has one more than the others.
fn decode_steps(number: f64, batch: f64, context: f64) -> Vec<(f64, StepWork)> {
    let (few, rest) = (batch.floor(), batch.fract());
    [(few, 1.0 - rest), (few + 1.0, rest)]
        .into_iter()
        .filter(|(sequences, share)| *sequences >= 1.0 && *share > 0.0)
        .map(|(sequences, share)| (number * share, StepWork::decode(sequences as u32, context.round() as u32)))
        .collect()
}

/// The steps that compute these prompts, `budget` tokens in each, while `batch` sequences go on.
fn prefill_steps(prefill: &Prefill, batch: f64, context: f64, budget: u32) -> Vec<StepWork> {
    let going_on = batch.round() as u32;
    let room = budget.saturating_sub(going_on).max(1);
    let (mut computed, mut left) = (prefill.held, prefill.computed.max(1));
    let mut steps = Vec::new();
    while left > 0 {
        let chunk = left.min(room);
        let mut work =
            if going_on > 0 { StepWork::decode(going_on, context.round() as u32) } else { StepWork::default() };
        work.add(computed, chunk);
        work.prefill_tokens = u64::from(chunk);
        steps.push(work);
        computed += chunk;
        left -= chunk;
    }
    steps
}

/// Tokens of the prompt that were computed, and that a cache held.
fn prompt(record: &RequestRecord) -> (u32, u32) {
    let all = record.prompt_tokens();
    let held = record.usage.and_then(|usage| usage.cached()).unwrap_or(0);
    (u32::try_from(all.saturating_sub(held)).unwrap_or(u32::MAX), u32::try_from(held).unwrap_or(0))
}

fn seconds(at: Timestamp) -> f64 {
    at.as_secs_f64()
}
