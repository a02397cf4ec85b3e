//! Answers that paused for the prompts of others.

use super::concurrency::ConcurrencyContext;
use super::evidence::{RunEvidence, median};
use super::symptom::{Opinion, Regime, seen};
use crate::analysis::rules::facts;
use crate::units::seconds;

/// Share of answers with a stall from which on that is a symptom.
const OFTEN: f64 = 0.05;
/// Factor on the answer's median gap beyond which a gap is a stall. It must also be longer than a tenth of a second, as
/// the summary counts them.
const FACTOR: f64 = 5.0;
const SHORTEST_S: f64 = 0.1;
/// Share of stalls with another's prompt in them that makes prompts the cause …
const WITH_PROMPTS: f64 = 0.8;
/// … if that is rarer in other gaps by this much.
const RARER: f64 = 0.25;
/// Delay with which a first token may be seen after its step, seconds. The step also ended a stall. On a wire they come
/// one after the other.
const SAME_STEP_S: f64 = 0.003;

/// Stalls and other gaps, and how many had a prompt of another in them.
#[derive(Default)]
struct Gaps {
    stalls: u64,
    stalls_with_prompts: u64,
    others: u64,
    others_with_prompts: u64,
}

pub(super) fn rule(evidence: &RunEvidence<'_>) -> Opinion {
    let summary = evidence.summary;
    let (stalls, answers) = (&summary.stalls, evidence.concurrency.all as f64);
    if answers == 0.0 || (stalls.requests as f64) < OFTEN * answers {
        return Ok(None);
    }
    let gaps = Gaps::from_concurrency(&evidence.concurrency);
    let [in_stalls, elsewhere] = [(gaps.stalls_with_prompts, gaps.stalls), (gaps.others_with_prompts, gaps.others)]
        .map(|(with, of)| with as f64 / of.max(1) as f64);
    let longest = stalls.longest_ms.map_or(String::new(), |ms| format!(", the longest {}", seconds(ms / 1e3)));
    if in_stalls < WITH_PROMPTS || elsewhere + RARER > in_stalls {
        return Ok(None);
    }
    let figures = [
        ("stalls", stalls.count as f64),
        ("answers_with_stalls_share", stalls.requests as f64 / answers),
        ("longest_ms", stalls.longest_ms.unwrap_or(f64::NAN)),
        ("stalls_with_prompts_share", in_stalls),
        ("other_gaps_with_prompts_share", elsewhere),
    ];
    let template = "{stalls:stall} in {#} of {answer}{}; {stalls_with_prompts_share:%} of them overlap another \
        request's prefill, and {other_gaps_with_prompts_share:%} of other gaps";
    let symptom = seen(Regime::Interference, figures, template, facts![stalls.requests, answers, longest])
        .likely("prefill interrupts decode: a step that computes a prompt takes long for all")
        .confirmed_by("p99 ITL with max_num_batched_tokens halved: it should fall, and TTFT rise")
        .answered_by("a smaller max_num_batched_tokens, chunked prefill, or prompts in a pool of their own");
    Ok(Some(symptom))
}

impl Gaps {
    fn from_concurrency(concurrency: &ConcurrencyContext<'_>) -> Self {
        let mut found = Self::default();
        for answer in concurrency.some() {
            let moments: Vec<f64> = answer.record().chunks.iter().map(|chunk| chunk.at.as_secs_f64()).collect();
            let gaps: Vec<f64> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let limit = (FACTOR * median(&gaps)).max(SHORTEST_S);
            for (gap, pair) in gaps.iter().zip(moments.windows(2)) {
                let with_prompt = concurrency.prompts_between(pair[0] + SAME_STEP_S, pair[1] + SAME_STEP_S);
                if *gap > limit {
                    found.stalls += 1;
                    found.stalls_with_prompts += u64::from(with_prompt);
                } else {
                    found.others += 1;
                    found.others_with_prompts += u64::from(with_prompt);
                }
            }
        }
        found
    }
}
