//! What the slowest first tokens waited for beside their own prompts: a queue, or the long prompts of others.

use super::concurrency::AnswerInContext;
use super::evidence::{RunEvidence, median};
use super::prefill;
use super::symptom::{Opinion, Regime, Symptom, seen};
use crate::analysis::rules::facts;
use crate::analysis::{Metric, Quantile, Rule};
use crate::units::percent;

/// p99 ÷ p50 from which on a tail is long.
const LONG_TAIL: f64 = 4.0;
/// Fewer answers have no tail to speak of.
const LEAST: usize = 100;
/// The slowest answers that are looked at, as a share.
const SLOWEST: f64 = 0.05;
/// Share that decides between two causes.
const MOSTLY: f64 = 0.5;
/// Share of prompts up to which long ones are the exception that disturbs the rule.
const EXCEPTION: f64 = 0.4;

/// Facts on the slowest answers.
struct Tail<'e, 'a> {
    slowest: Vec<&'e AnswerInContext<'a>>,
    /// Share of what they take beyond the usual TTFT that their own prompts account for.
    own_share: f64,
    /// Share of the prompt tokens before them that belong to long prompts.
    long_share: f64,
    /// Share of all prompts that are long.
    long_prompts: f64,
    /// Requests before them that had no token yet, and the same of all answers: medians.
    ahead: [f64; 2],
    /// Requests in flight when they were sent, and the same of all answers: medians.
    others: [f64; 2],
}

pub(super) fn rule(evidence: &RunEvidence<'_>) -> Opinion {
    let RunEvidence { summary, concurrency, .. } = evidence;
    if summary.verdict.breaks(Rule::SteadyState) {
        return Err("a queue that grows for as long as the run lasts has no tail of its own".to_owned());
    }
    let Some(row) = summary.latency.row(Metric::Ttft) else {
        return Err("no first tokens were seen: the answers are not streamed".to_owned());
    };
    let n = concurrency.answers.len();
    if n < LEAST {
        return Err(format!("{n} first tokens arrived, and {LEAST} are needed for a tail"));
    }
    let Some(ratio) = row.p99_over_p50() else {
        return Err("p99 of TTFT is not known exactly: requests were still waiting for a token".to_owned());
    };
    if ratio < LONG_TAIL {
        return Ok(None);
    }
    let [p50, p99] = [Quantile::P50, Quantile::P99].map(|q| row.percentile(q).figure.at_least());
    let tail = Tail::from_evidence(evidence);
    let reserved = if row.percentile(Quantile::P99).mark.is_some() { ", from few samples" } else { "" };
    let figures = [
        ("ttft_p50_ms", p50),
        ("ttft_p99_ms", p99),
        ("p99_over_p50", ratio),
        ("own_prompt_share", tail.own_share),
        ("long_prompts_ahead_share", tail.long_share),
        ("long_prompts_share", tail.long_prompts),
        ("requests_ahead_of_slowest", tail.ahead[0]),
        ("requests_ahead_usual", tail.ahead[1]),
        ("in_flight_at_sending_of_slowest", tail.others[0]),
        ("in_flight_at_sending_usual", tail.others[1]),
    ];
    Ok(tail.explained(evidence, figures, reserved))
}

/// Beginning of the sentence about a tail.
const SPREAD: &str = "p99 TTFT is {ttft_p99_ms:ms}, p50 {ttft_p50_ms:ms}: {p99_over_p50:} times as long{}; of the {#} \
    slowest of {#}{} half had {requests_ahead_of_slowest:} requests or more before them that had no token yet";

impl<'e, 'a> Tail<'e, 'a> {
    fn from_evidence(evidence: &'e RunEvidence<'a>) -> Self {
        let concurrency = &evidence.concurrency;
        let mut slowest: Vec<&AnswerInContext<'a>> = concurrency.answers.iter().collect();
        slowest.sort_unstable_by(|one, other| other.ttft_ms.total_cmp(&one.ttft_ms));
        slowest.truncate((SLOWEST * concurrency.answers.len() as f64).ceil() as usize);
        let ttfts: Vec<f64> = concurrency.answers.iter().map(|answer| answer.ttft_ms).collect();
        let usual = median(&ttfts);
        let alone = prefill::alone(concurrency);
        let (mut own, mut beyond) = (0.0, 0.0);
        for answer in &slowest {
            let excess = (answer.ttft_ms - usual).max(0.0);
            // What its prompt alone would have taken beyond the usual.
            let prompt = alone.map_or(0.0, |line| line.at(answer.prompt) - usual).clamp(0.0, excess);
            own += prompt;
            beyond += excess;
        }
        let [tokens, long] = slowest
            .iter()
            .fold([0.0, 0.0], |sum, answer| [sum[0] + answer.tokens_ahead, sum[1] + answer.long_tokens_ahead]);
        let medians = |of: fn(&AnswerInContext<'_>) -> f64| {
            let of_slowest: Vec<f64> = slowest.iter().map(|answer| of(answer)).collect();
            let of_all: Vec<f64> = concurrency.answers.iter().map(of).collect();
            [median(&of_slowest), median(&of_all)]
        };
        let long_prompts = concurrency.answers.iter().filter(|answer| concurrency.is_long(answer)).count();
        Self {
            own_share: share(own, beyond),
            long_share: share(long, tokens),
            long_prompts: long_prompts as f64 / concurrency.answers.len() as f64,
            ahead: medians(|answer| answer.ahead),
            others: medians(|answer| answer.others),
            slowest,
        }
    }

    fn explained(
        &self,
        evidence: &RunEvidence<'_>,
        figures: [(&'static str, f64); 10],
        reserved: &str,
    ) -> Option<Symptom> {
        let (slowest, all) = (self.slowest.len() as u64, evidence.concurrency.answers.len() as u64);
        let mut facts = facts![reserved, slowest, all, evidence.concurrency.sampled()];
        let waited = self.ahead[0] >= 1.0;
        if self.own_share >= MOSTLY {
            None
        } else if waited && self.long_share >= MOSTLY && self.long_prompts <= EXCEPTION {
            let long = ", and {long_prompts_ahead_share:%} of the prompt tokens before them belong to prompts of over \
                4 times the usual length, {long_prompts_share:%} of all{}";
            facts.extend(facts![self.disturber(evidence)]);
            let symptom = seen(Regime::Interference, figures, &format!("{SPREAD}{long}"), facts)
                .likely("interference: short prompts wait while long ones are computed")
                .confirmed_by("the same workload without the long prompts, at the rate of the short ones")
                .answered_by(
                    "keep long prompts apart (a pool or a lane of their own, priority scheduling), or a smaller \
                     max_num_batched_tokens so that each step takes less of them",
                );
            Some(symptom)
        } else if waited || self.others[0] >= 1.5 * self.others[1].max(1.0) {
            let queue = " (of all: {requests_ahead_usual:}), and {in_flight_at_sending_of_slowest:} in flight when \
                they were sent (of all: {in_flight_at_sending_usual:})";
            let symptom = seen(Regime::Queueing, figures, &format!("{SPREAD}{queue}"), facts)
                .likely("queueing: requests that arrive in bunches wait for one another")
                .confirmed_by("the server's own queue depth (such as vllm:num_requests_waiting) at those moments")
                .answered_by(
                    "shape the bursts (a rate limit, a queue at the gateway) or keep headroom for them: replicas, or \
                     more slots (max_num_seqs) if slots are short",
                );
            Some(symptom)
        } else {
            None
        }
    }

    /// The class to which most of the long prompts belong, where there are several.
    fn disturber(&self, evidence: &RunEvidence<'_>) -> String {
        let classes = &evidence.summary.run.classes;
        let long = |class: usize| {
            let of_class = |answer: &&AnswerInContext<'_>| usize::from(answer.record().class) == class;
            evidence.concurrency.answers.iter().filter(of_class).filter(|a| evidence.concurrency.is_long(a)).count()
        };
        let most = (0..classes.len()).max_by_key(|&class| long(class));
        let named = most.filter(|_| classes.len() > 1).map(|class| {
            let victims = self.slowest.iter().filter(|a| usize::from(a.record().class) != class).count();
            format!(
                ", mostly of class `{}`; {} of the slowest are of other classes",
                classes[class],
                percent(victims as f64 / self.slowest.len().max(1) as f64)
            )
        });
        named.unwrap_or_default()
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
