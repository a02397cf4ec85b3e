//! Compares decode with the memory bandwidth and arithmetic of the declared hardware.

use super::concurrency::{AnswerInContext, ConcurrencyContext};
use super::evidence::{Physics, RunEvidence, median};
use super::symptom::{Opinion, Regime, impossible, seen};
use crate::analysis::rules::facts;
use crate::units::three_digits;

/// Largest number of answers at a time of one made nearly alone, itself included.
const NEARLY_ALONE: f64 = 1.5;
/// Fewer answers are not enough.
const LEAST: usize = 10;
/// Measured ÷ predicted up to which they agree.
const NEAR: f64 = 1.35;
/// Fewest gaps of an answer without a waiting prompt.
const LEAST_GAPS: usize = 5;
/// Share of the least physical time below which the facts cannot be true. Measuring errors are granted.
const IMPOSSIBLE: f64 = 0.97;

/// Time that an answer's tokens took, and the time that they should take.
struct TokenTime {
    measured_ms: f64,
    predicted_ms: f64,
    /// Least time by the datasheet, milliseconds: reading memory, and computing.
    memory_ms: f64,
    compute_ms: f64,
    /// Longer of both for what is surely read. Of an answer made nearly alone that is its own context, of others none.
    least_ms: f64,
    company: f64,
}

pub(super) fn rule(evidence: &RunEvidence<'_>) -> Opinion {
    let physics = evidence.physics.as_ref().map_err(String::clone)?;
    let with_tpot = || evidence.concurrency.some().filter(|answer| answer.tpot_ms.is_some());
    let alone: Vec<_> = with_tpot().filter(|answer| answer.company <= NEARLY_ALONE).collect();
    let (answers, what): (Vec<TokenTime>, _) = if alone.len() >= LEAST {
        let times =
            alone.iter().filter_map(|answer| Some(TokenTime::new(answer, physics, answer.tpot_ms?, answer.context())));
        (times.collect(), "TPOT of answers made nearly alone")
    } else {
        let concurrency = &evidence.concurrency;
        let times = with_tpot()
            .filter_map(|answer| Some(TokenTime::new(answer, physics, undisturbed_ms(concurrency, answer)?, 1)));
        (times.collect(), "the gap between tokens while no prompt waits")
    };
    if answers.len() < LEAST {
        return Err(format!(
            "{} answers were made nearly alone or while no prompt waited, and {LEAST} are needed: run it at a low rate",
            answers.len()
        ));
    }
    let of = |value: fn(&TokenTime) -> f64| median(&answers.iter().map(value).collect::<Vec<_>>());
    let (measured, predicted) = (of(|answer| answer.measured_ms), of(|answer| answer.predicted_ms));
    let (memory, compute) = (of(|answer| answer.memory_ms), of(|answer| answer.compute_ms));
    let least = of(|answer| answer.least_ms);
    let ratio = of(|answer| answer.measured_ms / answer.predicted_ms);
    let company = of(|answer| answer.company);
    let [took, due] = [measured, predicted].map(three_digits);
    if measured < IMPOSSIBLE * least {
        return impossible(&format!("{what}: {took} ms, where {} should take about {due} ms", physics.name));
    }
    // More than all of it is an error of measuring, or context that answers share.
    let share = (memory / measured).min(1.0);
    let read = share * physics.memory_bandwidth();
    if ratio > NEAR {
        return Ok(None);
    }
    let figures = [
        ("measured_ms", measured),
        ("predicted_ms", predicted),
        ("measured_over_predicted", ratio),
        ("least_by_memory_ms", memory),
        ("least_by_compute_ms", compute),
        ("answers_at_a_time", company),
        ("answers", answers.len() as f64),
        ("memory_read_bytes_per_s", read),
    ];
    let template = "{}: {measured_ms:} ms ({answers:#} answers, {answers_at_a_time:} at a time), where {} should take \
        about {predicted_ms:} ms; the memory is read at {} GB/s, {%} of the datasheet's";
    let facts = facts![what, physics.name.as_str(), read / 1e9, share];
    Ok(Some(if memory >= compute {
        seen(Regime::MemoryBoundDecode, figures, template, facts)
            .likely("memory-bound decode: it is near what the memory allows")
            .confirmed_by("the memory-bandwidth counters of the GPU: they should be near their ceiling")
            .answered_by(
                "fewer bytes or more bandwidth: quantised weights, tensor parallelism, speculation; a larger batch is \
                 nearly free",
            )
    } else {
        seen(Regime::ComputeBoundDecode, figures, template, facts)
            .likely("compute-bound decode: the batch is so large that arithmetic decides")
            .confirmed_by("the compute utilisation of the GPU, and TPOT with a smaller batch")
            .answered_by("a smaller batch for a shorter TPOT (max_num_seqs), fp8, or more GPUs")
    }))
}

impl TokenTime {
    /// Returns the times of an answer's tokens. Each of its steps read at least one sequence of `read_tokens` tokens.
    fn new(answer: &AnswerInContext<'_>, physics: &Physics, measured_ms: f64, read_tokens: u32) -> Self {
        let batch = answer.company.round() as u32;
        let bound = physics.decode_bound(batch, answer.context());
        let least = physics.decode_bound(1, read_tokens);
        Self {
            measured_ms,
            predicted_ms: physics.decode_s(batch, answer.context()) * 1e3,
            memory_ms: bound.memory * 1e3,
            compute_ms: bound.compute * 1e3,
            least_ms: least.memory.max(least.compute) * 1e3,
            company: answer.company,
        }
    }
}

/// Returns the median gap of an answer, per token, among undisturbed ones. In these no prompt waited or was computed.
fn undisturbed_ms(concurrency: &ConcurrencyContext<'_>, answer: &AnswerInContext<'_>) -> Option<f64> {
    let chunks: Vec<_> = answer.record().chunks.iter().collect();
    let gaps: Vec<f64> = chunks
        .windows(2)
        .filter_map(|pair| {
            let [from, to] = [pair[0].at.as_secs_f64(), pair[1].at.as_secs_f64()];
            let gap = (to - from) * 1e3 / f64::from(pair[1].tokens.max(1));
            (!concurrency.prompts_between(from, to)).then_some(gap)
        })
        .collect();
    (gaps.len() >= LEAST_GAPS).then(|| median(&gaps)).filter(|&gap| gap > 0.0)
}
