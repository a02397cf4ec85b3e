//! What a result does not bear, each with the reason.

use super::evidence::{ArrivalShape, Evidence, LengthRange, ResultSource};
use super::traffic::{WINDOW_S, in_words};
use crate::analysis::figures::{Metric, Quantile};
use crate::analysis::judgements::VerdictOutcome;
use crate::analysis::requests::LoadForm;
use crate::analysis::rules::{RuleFact, RuleRow, facts};

/// Share of failed requests above which the others are a selection.
pub(super) const FAILED: f64 = 0.01;

type Row = RuleRow<(), fn(&Evidence) -> Option<Vec<RuleFact>>>;

/// Lists what cannot be concluded from a result. The gravest comes first. An example is `no capacity: one load only`.
pub(super) fn cannot_conclude(evidence: &Evidence) -> Vec<String> {
    let rules = if RULES_OUT.iter().any(|rule| (rule.test)(evidence).is_some()) { RULES_OUT } else { RULES };
    let said = Row::judge(rules, |_, _| false, |rule| Some(rule.words((rule.test)(evidence)?)));
    said.into_iter().map(|((), (sentence, _))| sentence).collect()
}

/// The limit that holds where `test` has facts for it.
const fn when(test: fn(&Evidence) -> Option<Vec<RuleFact>>) -> Row {
    Row::new((), "validity", test, &[]).cure("")
}

/// No facts, where it holds.
fn holds(holds: bool) -> Option<Vec<RuleFact>> {
    holds.then(Vec::new)
}

/// Limits beside which there are no others.
const RULES_OUT: &[Row] = &[
    when(|of| holds(of.source == ResultSource::Simulation)).says("nothing about a server: a simulation measures none"),
    when(|of| holds(of.source == ResultSource::Smoke)).says("nothing about speed: a smoke run judges no latency"),
    when(|of| {
        let measured = !matches!(of.source, ResultSource::Simulation | ResultSource::Smoke);
        let invalid = measured && of.outcome == Some(VerdictOutcome::Invalid);
        invalid.then(|| facts![of.reason.as_deref().unwrap_or("its figures cannot be trusted")])
    })
    .says("nothing: the run is INVALID ({})"),
];

const RULES: &[Row] = &[
    when(|of| holds(of.source == ResultSource::Mock)).says("nothing about a real server: Skyline's mock answered"),
    when(|of| holds(of.outcome == Some(VerdictOutcome::Overloaded)))
        .says("no latency: the server did not keep up, and latencies grow with the length of the run"),
    when(|of| holds(of.load.is_some_and(LoadForm::is_closed))).says("no saturation: closed loop"),
    when(|of| holds(!of.load.is_some_and(LoadForm::is_closed) && came(of, ArrivalShape::AtOnce)))
        .says("no sustained rate: all requests came at once"),
    when(|of| Some(facts![of.uncounted_cap.filter(|_| !of.load.is_some_and(LoadForm::is_closed))?]))
        .says("no wait of users: at most {#} in flight, and latencies begin after the slot"),
    when(|of| holds(of.error_rate().is_none())).says("no error rate: failures are not reported"),
    when(|of| Some(facts![of.error_rate().filter(|rate| *rate > FAILED)?]))
        .says("no latency of all requests: the latencies leave out the {%} that failed"),
    when(|of| holds(of.samples().is_none())).says("no firm percentile: the number of samples is not reported"),
    // The percentiles from the first one on that has too few samples.
    when(|of| {
        let (samples, worth) = of.samples()?;
        let tail = [Quantile::P90, Quantile::P95, Quantile::P99];
        let lacking: Vec<_> = tail.into_iter().filter(|quantile| worth < quantile.plenty()).collect();
        let names: Vec<_> = lacking.iter().map(ToString::to_string).collect();
        Some(facts![names.join(", "), in_words(samples, worth), lacking.first()?.need(None)])
    })
    .says("no {}: {}, and {}"),
    when(|of| holds(of.latency(&[Metric::Ttft, Metric::TtftFromSend]).is_none()))
        .says("no wait for the first token: TTFT is not reported"),
    when(|of| holds(of.loads < 2)).says("no capacity: one load only"),
    when(|of| holds(of.loads >= 2 && of.capacity.is_none()))
        .says("no capacity: no objective says which latency is acceptable"),
    when(|of| holds(of.runs < 2)).says("no variance: one run"),
    when(|of| holds(of.warm_up.is_none())).says("no warm state: a warm-up is not reported"),
    when(|of| holds(of.warm_up?.requests == 0)).says("no warm state: no warm-up before the window"),
    when(|of| Some(facts![of.window_s.filter(|window_s| *window_s < WINDOW_S)?]))
        .says("no lasting behaviour: {s} only"),
    when(|of| {
        let is_fixed = |spread: Option<LengthRange>| spread.is_some_and(|spread| spread.is_fixed());
        match (is_fixed(of.prompt_tokens), is_fixed(of.answer_tokens)) {
            (true, true) => Some(facts!["prompts and answers are"]),
            (true, false) => Some(facts!["prompts are"]),
            (false, true) => Some(facts!["answers are"]),
            (false, false) => None,
        }
    })
    .says("nothing about mixed lengths: {} of one length"),
    when(|of| holds(came(of, ArrivalShape::Even))).says("no queueing as under real traffic: even arrivals"),
    when(|of| {
        let arrivals = of.arrivals.as_ref().filter(|_| came(of, ArrivalShape::LikeTraffic))?;
        Some(facts![arrivals.words.as_str(), arrivals.fault?])
    })
    .says("no latency under {}: {}"),
    when(|of| holds(of.traffics == Some(1))).says("nothing about noisy neighbours: one class of one tenant"),
    when(|of| holds(of.prefix_cache.is_none()))
        .says("no cold or warm figure: the state of the prefix cache is not reported"),
    when(|of| holds(of.judged_answers.is_none())).says("nothing about quality: no check of answers is reported"),
    when(|of| holds(of.judged_answers?.0 == 0)).says("nothing about quality: no answer was judged"),
    when(|of| holds(of.hardware.is_none() && of.source != ResultSource::Mock))
        .says("not comparable: hardware not reported"),
    when(|of| {
        let missing: Vec<_> = of.unreported().collect();
        let unknown = !missing.is_empty() && of.source != ResultSource::Mock;
        unknown.then(|| facts![missing.join(", ")])
    })
    .says("not repeatable: {} not reported"),
];

/// Whether requests came so.
fn came(of: &Evidence, shape: ArrivalShape) -> bool {
    of.arrivals.as_ref().is_some_and(|arrivals| arrivals.shape == shape)
}
