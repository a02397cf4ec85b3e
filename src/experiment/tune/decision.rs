//! The decision of a tuning: the best variant, the runner-up, and why that one is not the best.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::history::TuneTrial;
use super::state::TuneState;
use crate::analysis::cost_per_million;
use crate::units::{percent, three_digits};

/// Choice of the variant that serves most, and of the next one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TuneDecision {
    /// The best variant.
    pub best: String,
    /// Its flags.
    pub flags: String,
    /// The command that starts it, where there is one.
    pub command: Option<String>,
    /// Load at which it probably ends to meet the objectives, by estimate. It is between loads that ran.
    pub per_gpu: f64,
    /// The highest load up to that one that a run met; absent in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met_per_gpu: Option<f64>,
    /// Lower end of the 95 % interval of that load. It is absent where the runs show none.
    pub low: Option<f64>,
    /// Upper end of it.
    pub high: Option<f64>,
    /// Reason why there is no interval, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsure: Option<String>,
    /// Cost of a million output tokens at the highest load met. It is in the currency of the price, and absent without
    /// a price.
    pub cost_per_million_output_tokens: Option<f64>,
    /// Highest load that it met ÷ the highest that the variant in use today met. It is absent where it is that one, or
    /// one of them met none.
    pub gain: Option<f64>,
    /// The next best variant; absent where no other ran.
    pub runner_up: Option<String>,
    /// Reason why the runner-up is not the best, in words.
    pub why: Option<String>,
    /// Variants that the runs cannot tell from the best one.
    pub tied: Vec<String>,
}

impl TuneDecision {
    /// The decision by the runs so far; `None` where no variant surely met any load.
    pub(super) fn from_state(state: &TuneState) -> Option<Self> {
        let best = state.best()?;
        let (of, course) = (&state.candidates[best], &state.courses[best]);
        let server = of.variant(&state.spec.server).server;
        let (per_gpu, interval) = (state.limit(best)?, state.interval(best));
        let highest = TuneTrial::highest_met(&course.trials, Some(per_gpu));
        let tokens = highest.and_then(|trial| trial.output_tokens_per_s).filter(|tokens| *tokens > 0.0);
        // An axis of several numbers of GPUs says which variant has how many.
        let of_several_gpus = state.candidates.iter().any(|candidate| candidate.gpus > 1);
        let runner_up = runner_up(state, best);
        let today = TuneTrial::highest_met(&state.courses[0].trials, state.courses[0].estimate()).filter(|_| best != 0);
        Some(Self {
            best: of.name.clone(),
            flags: of.flags.clone(),
            command: server.serve.as_ref().or(server.start.as_ref()).map(|command| server.with_flags(command)),
            per_gpu,
            met_per_gpu: highest.map(|trial| trial.per_gpu),
            low: interval.as_ref().ok().map(|(low, _)| *low),
            high: interval.as_ref().ok().map(|(_, high)| *high),
            unsure: interval.err(),
            cost_per_million_output_tokens: server
                .cost_per_hour()
                .filter(|_| state.spec.server.gpus.is_some() || of_several_gpus)
                .zip(tokens)
                .map(|(per_hour, per_s)| cost_per_million(per_hour, per_s)),
            gain: highest.zip(today).map(|(best, today)| best.per_gpu / today.per_gpu),
            runner_up: runner_up.map(|place| state.candidates[place].name.clone()),
            why: runner_up.map(|place| why_not(state, place)),
            tied: state
                .survivors()
                .into_iter()
                .filter(|place| *place != best && state.behind(*place).is_none())
                .map(|place| state.candidates[place].name.clone())
                .collect(),
        })
    }
}

/// Returns the variant that lasted longest beside the best. It lasted to the latest round, where it was not dropped,
/// met the highest load, or missed one by the least.
fn runner_up(state: &TuneState, best: usize) -> Option<usize> {
    let standing = |place: usize| {
        let course = &state.courses[place];
        let last = course.trials.iter().filter(|trial| trial.round == course.last_round());
        let over = last.filter_map(|trial| trial.over_share).fold(1.0, f64::min);
        let [alive, level] = [state.beaten_by(place), state.behind(place)].map(|by| f64::from(u8::from(by.is_none())));
        [alive, level, course.last_round() as f64, course.estimate().unwrap_or(0.0), -over]
    };
    let runs = |place: &usize| state.courses[*place].failed.is_none() && state.courses[*place].has_begun();
    let others = (0..state.candidates.len()).filter(runs).filter(|place| *place != best);
    others.max_by(|one, other| {
        let (one, other) = (standing(*one), standing(*other));
        let mut orders = one.iter().zip(&other).map(|(a, b)| a.total_cmp(b));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    })
}

/// Returns why a variant is not the best. It is what another does under that load, or a higher one.
fn why_not(state: &TuneState, place: usize) -> String {
    let beaten = state.beaten_by(place);
    let unsure = if beaten.is_none() { "; these are too few requests to be sure" } else { "" };
    let Some((other, own, theirs)) = beaten.or_else(|| state.behind(place)) else {
        return "the runs cannot tell it from the best".to_owned();
    };
    let over = |trial: &TuneTrial| trial.over_share.map_or("an unknown share".to_owned(), percent);
    let said = if own.saturated.is_some() {
        "it does not keep up".to_owned()
    } else {
        let of = own.tightest.as_deref().unwrap_or("its objectives");
        format!("{} of its requests are over the bound of {of}", over(own))
    };
    let with = if Some(other) == state.best() { "the best" } else { &state.candidates[other].name };
    let met = if own.is_paired(theirs) {
        format!("with the same requests {with} meets all")
    } else {
        format!("{with} meets all at {}/s", three_digits(theirs.per_gpu))
    };
    format!("at {}/s per GPU {said}; {met}{unsure}", three_digits(own.per_gpu))
}
