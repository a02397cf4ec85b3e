//! Tests the claims about rows, and judges rows by the contract.

use serde::{Serialize, Serializer};

use super::ratio::{ratio, shared_first};
use super::table::{Accept, Claim, ClaimKind, MatrixVariable, Variant};
use crate::analysis::statistics::Estimate;
use crate::analysis::{
    AcrossRuns, Comparison, FigureKey, FigureSet, Metric, Objective, SampleWarning, Status, Summary, cost_per_million,
    selections,
};
use crate::experiment::difference::PerGpuTrade;
use crate::experiment::repeats::AcrossJudgement;
use crate::units::three_digits;

/// Words for what the interval says of a claim. The whole interval agrees with the claim, no part of it, or some part.
/// The last word is also that of a claim without an interval.
pub const CLAIM_WORDS: [&str; 3] = ["confirmed", "refuted", "inconclusive"];

pub(super) fn in_claim_words<S: Serializer>(
    standing: &(impl Copy + Into<Option<Status>>),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    Status::store(*standing, CLAIM_WORDS, serializer)
}

/// Said of percentiles below their floor of samples.
const FEW: &str = "; too few samples for this percentile";

/// A tested claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tested {
    /// The text as typed.
    pub claim: String,
    /// Confirmed where the whole interval agrees with it, refuted where no part does, inconclusive else.
    #[serde(serialize_with = "in_claim_words")]
    #[cfg_attr(test, schemars(with = "String", extend("enum" = CLAIM_WORDS)))]
    pub standing: Status,
    /// The ratio to the other row, where the claim names one and it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_low: Option<f64>,
    /// Upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_high: Option<f64>,
    /// Variables in which the two rows differ; with more than one the cause is confounded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differing: Vec<MatrixVariable>,
    /// The standing with its reason, in words.
    pub line: String,
}

/// Runs of a row under a variant, or why none can be trusted. With a reason beside them they count on request or
/// rehearse: they may refute, and confirm nothing.
pub(super) type TrustedRuns<'r> = Result<(Vec<&'r Summary>, Option<String>), String>;

/// The standing of a claim, the ratio that it is about, and what was found.
type Finding = (Status, Option<Estimate>, String);

fn open(reason: impl Into<String>) -> Finding {
    (Status::Undecided, None, reason.into())
}

impl Claim {
    /// Tests this claim about `row`, and about `other` if it names one.
    pub(super) fn test(&self, row: &TrustedRuns<'_>, other: Option<&TrustedRuns<'_>>) -> Tested {
        let (standing, ratio, found) = match (row, other) {
            (Err(reason), _) | (_, Some(Err(reason))) => open(reason),
            (Ok((runs, _)), None) => self.find(runs, None),
            (Ok((runs, _)), Some(Ok((other, _)))) => self.find(runs, Some(other)),
        };
        let spoiled = [Some(row), other].into_iter().flatten();
        let spoiled = spoiled.flatten().find_map(|(_, reason)| reason.as_ref());
        let (standing, found) = match spoiled {
            Some(reason) if standing == Status::Met => (Status::Undecided, format!("{found}; {reason}")),
            _ => (standing, found),
        };
        let (ratio_low, ratio_high) = ratio.map(Estimate::ends).unwrap_or_default();
        Tested {
            claim: self.text.clone(),
            standing,
            ratio: ratio.map(|ratio| ratio.value),
            ratio_low,
            ratio_high,
            differing: Vec::new(),
            line: format!("{}: {} ({found})", standing.choose(CLAIM_WORDS), self.text),
        }
    }

    fn find(&self, runs: &[&Summary], other: Option<&[&Summary]>) -> Finding {
        match (&self.kind, other) {
            (ClaimKind::Bound(objective), _) => of_bound(objective, runs),
            (ClaimKind::Ratio { subject, bounds, .. }, Some(other)) => of_ratio(subject, runs, other, bounds),
            (ClaimKind::Ratio { .. }, None) => open("the other row did not run"),
        }
    }
}

/// Judges a bound like an objective of the runs. Of too few samples nothing is claimed, where it is not their number
/// that tells.
fn of_bound(objective: &Objective, runs: &[&Summary]) -> Finding {
    let (status, found, _) = judged(objective, runs);
    let by_share = |run: &Summary| objective.evaluate(run).over_share.is_some();
    let few = runs
        .iter()
        .any(|run| matches!(objective.key.warning(run), Some((SampleWarning::TooFewSamples, _))) && !by_share(run));
    if few { open(found + FEW) } else { (status, None, found) }
}

fn of_ratio(subject: &FigureKey, runs: &[&Summary], other: &[&Summary], bounds: &[(Comparison, f64)]) -> Finding {
    let (runs, other) = (shared_first(runs, other), shared_first(other, runs));
    let (one, two) = (AcrossRuns::new(subject, &runs), AcrossRuns::new(subject, &other));
    if !one.is_known() || !two.is_known() {
        return open("one of the rows has no such figure");
    }
    let (Some(here), Some(there)) = (one.mean, two.mean) else {
        return open("the figure of one of the rows is unknown, because requests were cut off");
    };
    let found = format!("{} against {}", subject.show(here), subject.show(there));
    let Some(ratio) = ratio(&one, &two) else { return open(format!("{found}; there is no ratio to 0")) };
    let times = |value: f64| format!("{} x", three_digits(value));
    let found = format!("{found}: {}", times(ratio.value));
    let Some((low, high)) = ratio.interval() else {
        let found = format!("{found}, by runs without an interval; run as many repeats of both");
        return (Status::Undecided, Some(ratio), found);
    };
    let few = [&one, &two].iter().any(|figure| figure.mark == Some(SampleWarning::TooFewSamples));
    let all = bounds
        .iter()
        .map(|(comparison, bound)| Status::of_both(comparison.holds(low, *bound), comparison.holds(high, *bound)));
    let known = Status::worst(all).filter(|_| !few);
    let (standing, doubt) = known.map_or((Status::Undecided, FEW), |standing| (standing, ""));
    let over = match (one.values.len(), two.values.len()) {
        (1, 1) => String::new(),
        (one, two) if one == two => format!(" over {one} pairs of runs"),
        (one, two) => format!(" over {one} against {two} runs, which make no pairs"),
    };
    let found = format!("{found}, interval {} to {}{over}{doubt}", three_digits(low), times(high));
    (standing, Some(ratio), found)
}

/// The result of the contract in a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ContractResult {
    /// Whether all demands were met.
    pub met: bool,
    /// Demands with their results. Where the server did not keep up, that is among them.
    pub judgements: Vec<ContractDemand>,
}

/// A demand of the contract.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ContractDemand {
    /// Whether it was met by the whole interval of the figure. Unknown figures do not meet it.
    ///
    /// Only a miss rejects the variant, not what is undecided.
    #[serde(rename = "met", serialize_with = "is_met")]
    #[cfg_attr(test, schemars(with = "bool"))]
    pub status: Status,
    /// The demand and its result, in words.
    pub line: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference to the field")]
fn is_met<S: Serializer>(status: &Status, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(*status == Status::Met)
}

impl ContractResult {
    pub(super) fn new(
        accept: &Accept,
        runs: &[&Summary],
        (cost, currency): (Option<Estimate>, Option<&str>),
        overload: Option<&String>,
    ) -> Self {
        let demand = |objective: &Objective| {
            let (status, _, line) = judged(objective, runs);
            ContractDemand { status, line }
        };
        let mut judgements: Vec<_> = accept.objectives.iter().map(demand).collect();
        if let Some(most) = accept.max_cost_per_million_output_tokens {
            judgements.push(ContractDemand::of_cost(cost, most, currency));
        }
        if let Some(sentence) = overload {
            let line = format!("missed: the server keeps up ({sentence})");
            judgements.push(ContractDemand { status: Status::Missed, line });
        }
        Self { met: judgements.iter().all(|demand| demand.status == Status::Met), judgements }
    }
}

/// Judges whether a row of these runs meets the objective. It returns what was found too, and the result in words.
fn judged(objective: &Objective, runs: &[&Summary]) -> (Status, String, String) {
    if let [run] = runs {
        let judgement = objective.evaluate(run);
        return (judgement.status, judgement.found, judgement.line);
    }
    let load_s = runs.first().map_or(0.0, |run| run.window.planned_end_s);
    let judgement = AcrossJudgement::new(objective, runs, load_s);
    (judgement.status, judgement.found, judgement.line)
}

impl ContractDemand {
    fn of_cost(cost: Option<Estimate>, most: f64, currency: Option<&str>) -> Self {
        let status = cost.map_or(Status::Missed, |cost| Status::of_both(cost.low <= most, cost.high <= most));
        let was = cost.map_or("no output tokens".to_owned(), cost_in_words);
        let most = in_currency(most, currency);
        let line = format!("{}: cost of 1M output tokens <= {most} ({was})", status.word());
        Self { status, line }
    }
}

/// An amount with its currency, where that is known.
pub(crate) fn in_currency(amount: f64, currency: Option<&str>) -> String {
    let amount = three_digits(amount);
    currency.map_or_else(|| amount.clone(), |currency| format!("{amount} {currency}"))
}

/// Returns the cost of a million output tokens. It is the price of an hour of all accelerators ÷ output tokens in it ×
/// 10⁶. Its interval has no end where the rate may be 0.
pub(super) fn cost(variant: &Variant, figures: &FigureSet) -> Option<Estimate> {
    let per_s = figures.metric(Metric::OutputTokens)?.level();
    let value = per_s.value.filter(|rate| *rate > 0.0)?;
    let (least, most) = per_s.low.zip(per_s.high).unwrap_or((value, value));
    let per_hour = variant.server.cost_per_hour()?;
    let at = |rate: f64| cost_per_million(per_hour, rate.max(0.0));
    Some(Estimate { value: at(value), low: at(most), high: at(least) })
}

fn cost_in_words(cost: Estimate) -> String {
    let [was, low, high] = [cost.value, cost.low, cost.high].map(three_digits);
    match (cost.low < cost.high, cost.high.is_finite()) {
        (false, _) => format!("was {was}"),
        (true, true) => format!("was {was}, interval {low} to {high}"),
        (true, false) => format!("was {was}, interval from {low} on without end"),
    }
}

/// Returns what `runs` gain over those of `first` at the price of tokens per GPU. It is there where the intervals of
/// both ratios leave chance no room; there is nothing of runs that count on request.
pub(super) fn per_gpu_trade(runs: &TrustedRuns<'_>, first: &TrustedRuns<'_>) -> Option<PerGpuTrade> {
    let (Ok((runs, None)), Ok((first, None))) = (runs, first) else { return None };
    let (runs, first) = (shared_first(runs, first), shared_first(first, runs));
    let changed = |key: FigureKey| {
        let ratio = ratio(&AcrossRuns::new(&key, &runs), &AcrossRuns::new(&key, &first))?;
        Some((key, ratio.value - 1.0, ratio.excludes(1.0)))
    };
    PerGpuTrade::from_changes(selections::traded().filter_map(changed))
}
