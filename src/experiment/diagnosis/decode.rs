//! Decode held against the memory and the arithmetic of the hardware that was named.

use super::Evidence;
use super::crowd::Answer;
use super::line::median;
use super::physics::Physics;
use super::symptom::{Opinion, Regime, Symptom, seen};
use crate::analysis::wording::percent;
use crate::units::{count, three_digits};

/// Requests in flight, at the most, of an answer that was made nearly alone, itself included.
const NEARLY_ALONE: f64 = 1.5;
/// Fewer answers say nothing.
const LEAST: usize = 10;
/// Measured ÷ predicted up to which they agree.
const NEAR: f64 = 1.35;
/// The same from which on memory is not what holds the server back, for answers made nearly alone …
const FAR: f64 = 1.6;
/// … and for others, whose steps also compute prompts.
const FAR_IN_COMPANY: f64 = 2.5;
/// Share of the least time that physics allows below which the facts cannot be true, measuring errors granted.
const IMPOSSIBLE: f64 = 0.97;

/// What an answer's tokens took, and what they should take.
struct Held {
    measured_ms: f64,
    predicted_ms: f64,
    /// Least time by the datasheet, milliseconds: reading memory, and computing.
    memory_ms: f64,
    compute_ms: f64,
    company: f64,
}

pub(super) fn rule(evidence: &Evidence<'_>) -> Opinion {
    let physics = match &evidence.physics {
        Ok(physics) => physics,
        Err(why) => return Opinion::lacking(why.clone()),
    };
    let with_tpot = || evidence.crowd.answers.iter().filter(|answer| answer.tpot_ms.is_some());
    let alone: Vec<_> = with_tpot().filter(|answer| answer.company <= NEARLY_ALONE).collect();
    let (answers, far, what) = if alone.len() >= LEAST {
        (alone, FAR, "TPOT of answers made nearly alone")
    } else {
        (with_tpot().collect(), FAR_IN_COMPANY, "the middle gap between tokens")
    };
    if answers.len() < LEAST {
        return Opinion::lacking(format!(
            "{} answers have a TPOT to speak of (five tokens or more), and {LEAST} are needed",
            answers.len()
        ));
    }
    let in_company = far == FAR_IN_COMPANY;
    let held: Vec<Held> = answers.iter().filter_map(|answer| Held::of(answer, physics, in_company)).collect();
    let of = |value: fn(&Held) -> f64| median(&held.iter().map(value).collect::<Vec<_>>());
    let (measured, predicted) = (of(|held| held.measured_ms), of(|held| held.predicted_ms));
    let (memory, compute) = (of(|held| held.memory_ms), of(|held| held.compute_ms));
    let ratio = of(|held| held.measured_ms / held.predicted_ms);
    let company = of(|held| held.company);
    let read = memory / measured * physics.memory_bandwidth();
    let seen_so = format!(
        "{what}, {} of them with {} in flight: {} ms, where {} should take about {} ms; the memory is read at {} GB/s, {} \
         of the datasheet's",
        count(held.len() as u64),
        three_digits(company),
        three_digits(measured),
        physics.name,
        three_digits(predicted),
        three_digits(read / 1e9),
        percent(memory / measured),
    );
    let Some(symptom) = judged(ratio, measured, memory, compute, far, seen_so) else {
        return Opinion::Nothing;
    };
    symptom
        .with([
            ("measured_ms", measured),
            ("predicted_ms", predicted),
            ("measured_over_predicted", ratio),
            ("least_by_memory_ms", memory),
            ("least_by_compute_ms", compute),
            ("in_flight", company),
            ("answers", held.len() as f64),
            ("memory_read_bytes_per_s", read),
        ])
        .opinion()
}

impl Held {
    fn of(answer: &Answer<'_>, physics: &Physics, in_company: bool) -> Option<Self> {
        let batch = answer.company.round().max(1.0) as u32;
        let bound = physics.decode_bound(batch, answer.context());
        let measured_ms = if in_company { middle_gap_ms(answer)? } else { answer.tpot_ms? };
        Some(Self {
            measured_ms,
            predicted_ms: physics.decode_s(batch, answer.context()) * 1e3,
            memory_ms: bound.memory * 1e3,
            compute_ms: bound.compute * 1e3,
            company: answer.company,
        })
    }
}

/// The median gap of an answer, per token: steps that also compute a prompt are fewer than half where there is any room.
fn middle_gap_ms(answer: &Answer<'_>) -> Option<f64> {
    let chunks: Vec<_> = answer.record.chunks.iter().collect();
    let gaps: Vec<f64> = chunks
        .windows(2)
        .map(|pair| pair[1].at.since(pair[0].at).as_secs_f64() * 1e3 / f64::from(pair[1].tokens.max(1)))
        .collect();
    Some(median(&gaps)).filter(|&gap| gap > 0.0)
}

fn judged(
    ratio: f64,
    measured: f64,
    memory: f64,
    compute: f64,
    far: f64,
    seen_so: String,
) -> Option<Symptom> {
    Some(if measured < IMPOSSIBLE * memory.max(compute) {
        seen(
            Regime::DoubtfulFacts,
            seen_so,
            "faster than that hardware can be: other hardware, fewer bits, a smaller model, or speculative decoding",
        )
        .confirmed_by("what the server says at its start: model, quantisation, devices, speculation")
        .answered_by("correct --hardware, --serving-model, --precision or --gpus before anything is concluded from them")
    } else if ratio <= NEAR && memory >= compute {
        seen(Regime::MemoryBoundDecode, seen_so, "memory-bound decode: it is near what the memory allows")
            .confirmed_by("the memory-bandwidth counters of the GPU: they should be near their ceiling")
            .answered_by("fewer bytes or more bandwidth: quantised weights, tensor parallelism, speculation; a larger batch \
                          is nearly free")
    } else if ratio <= NEAR {
        seen(
            Regime::ComputeBoundDecode,
            seen_so,
            "compute-bound decode: the batch is so large that arithmetic decides",
        )
        .confirmed_by("the compute utilisation of the GPU, and TPOT with a smaller batch")
        .answered_by("a smaller batch for a shorter TPOT (max_num_seqs), fp8, or more GPUs")
    } else if ratio >= far {
        seen(
            Regime::NotMemory,
            seen_so,
            "not memory: the decode path does not feed the GPU (CPU, kernels, clocks, a setting)",
        )
        .confirmed_by("CPU load of the server, GPU clocks and power limit, kernels and attention backend in its log; memory \
                       counters that are low")
        .answered_by("remove what else runs there, check CUDA graphs (no --enforce-eager) and the kernels, and measure one \
                      stream of fixed length again")
    } else {
        return None;
    })
}
