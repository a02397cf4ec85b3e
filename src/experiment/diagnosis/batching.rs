//! Whether answers slow down as more of them are made at a time, and whether the server gets more done by it.

use super::evidence::{FittedLine, RunEvidence, at_share};
use super::symptom::{Opinion, Regime, seen};
use crate::analysis::rules::facts;
use crate::units::three_digits;

/// Fewer answers are not enough.
const LEAST: usize = 30;
/// Least ratio of the busy part's company to the quiet part's. Both are parts of the run.
const SPREAD: f64 = 1.5;
/// Fewer answers at a time than this in the busy part are no batch.
const COMPANY: f64 = 4.0;
/// Rank correlation from which on TPOT follows the company.
const FOLLOWS: f64 = 0.5;
/// Factor on an answer's token time in company from which on that is a trade.
const SLOWER: f64 = 1.2;
/// Factor on the tokens that come in all from which on that is a gain.
const MORE: f64 = 1.1;

pub(super) fn rule(evidence: &RunEvidence<'_>) -> Opinion {
    let points: Vec<(f64, f64)> =
        evidence.concurrency.answers.iter().filter_map(|answer| Some((answer.company, answer.tpot_ms?))).collect();
    if points.len() < LEAST {
        return Err(format!(
            "{} answers are long enough for a TPOT (five tokens or more), and {LEAST} are needed",
            points.len()
        ));
    }
    let company: Vec<f64> = points.iter().map(|point| point.0).collect();
    let [few, many] = [0.1, 0.9].map(|share| at_share(&company, share).max(1.0));
    if many < SPREAD * few {
        return Err(format!(
            "the number of answers at a time hardly changed ({} to {}): run it at several rates, or sweep",
            three_digits(few),
            three_digits(many)
        ));
    }
    let Some(line) = FittedLine::through(&points) else { return Ok(None) };
    let (quiet, busy) = (line.at(few), line.at(many));
    if many < COMPANY
        || line.rank_correlation < FOLLOWS
        || line.slope.low <= 0.0
        || quiet <= 0.0
        || busy < SLOWER * quiet
    {
        return Ok(None);
    }
    // Each of n streams gets a token every TPOT.
    let [tokens_quiet, tokens_busy] = [few / quiet * 1e3, many / busy * 1e3];
    let figures = [
        ("answers_at_a_time_quiet", few),
        ("answers_at_a_time_busy", many),
        ("tpot_quiet_ms", quiet),
        ("tpot_busy_ms", busy),
        ("tpot_ms_per_answer_at_a_time", line.slope.value),
        ("tokens_quiet_per_s", tokens_quiet),
        ("tokens_busy_per_s", tokens_busy),
        ("rank_correlation", line.rank_correlation),
    ];
    let rises = "TPOT rises from {tpot_quiet_ms:} to {tpot_busy_ms:} ms with {answers_at_a_time_quiet:} to \
        {answers_at_a_time_busy:} answers at a time ({tpot_ms_per_answer_at_a_time:} ms for each more, {} to {}; rank \
        correlation {rank_correlation:}, {#} answers)";
    let facts = facts![line.slope.low, line.slope.high, points.len() as f64];
    Ok(Some(if tokens_busy >= MORE * tokens_quiet {
        let more = ", and total tokens/s from about {tokens_quiet_per_s:} to {tokens_busy_per_s:}";
        seen(Regime::BatchingTrade, figures, &format!("{rises}{more}"), facts)
            .likely("batching trade-off: a larger batch raises throughput and slows each answer")
            .confirmed_by("skyline sweep: throughput and TPOT at each rate")
            .answered_by("choose the concurrency whose TPOT the product allows, and cap it there (max_num_seqs)")
    } else {
        let same = ", while total tokens/s stay about the same ({tokens_quiet_per_s:} to {tokens_busy_per_s:})";
        seen(Regime::Saturation, figures, &format!("{rises}{same}"), facts)
            .likely("saturation: more requests at a time bring no more tokens")
            .confirmed_by("skyline sweep: the rate from which on throughput is flat")
            .answered_by("send fewer at a time (max_num_seqs, or a cap at the gateway), or add a replica")
    }))
}
