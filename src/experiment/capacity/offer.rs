//! The offers of sweeps (instances, accelerators and cost for the target rate), and the cheapest that meets the target.

use serde::Serialize;

use super::instance::{Basis, CapacityTarget, slo_share, tokens_per_request};
use crate::analysis::cost_per_million;
use crate::experiment::sweep::{StopReason, Sweep};
use crate::units::{counted, percent, three_digits};

/// A sweep to make an offer from.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Its name: the folder of the sweep.
    pub name: &'a str,
    /// The figures.
    pub sweep: &'a Sweep,
    /// Price of an accelerator for an hour, in whatever currency; absent: nothing is priced.
    pub gpu_hour: Option<f64>,
}

/// The offer of one sweep. Unknown figures are `null`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Offer {
    /// Its name: the folder of the sweep.
    pub name: String,
    /// The accelerators, as declared by the user.
    pub hardware: Option<String>,
    /// The highest rate of one instance, and its basis; absent where no rate passed.
    pub per_instance: Option<Basis>,
    /// Instances; absent where no number of them suffices.
    pub instances: Option<u64>,
    /// Accelerators of all instances; absent where their number per instance is not declared.
    pub gpus: Option<u64>,
    /// Share of one instance's highest rate that it has at the target, 0 to 1.
    pub utilisation: Option<f64>,
    /// Answer tokens per second of all instances at the target.
    pub output_tokens_per_s: Option<f64>,
    /// Share of the requests that meet their SLO, 0 to 1. It is that at the smallest measured rate that is no lower
    /// than one instance's. It is absent where the workload has no SLO.
    pub slo_share: Option<f64>,
    /// Price of an accelerator for an hour.
    pub gpu_hour: Option<f64>,
    /// The currency of prices, as the user names it; absent where that is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// Price of an hour.
    pub cost_per_hour: Option<f64>,
    /// Price of a million answer tokens.
    pub cost_per_million_output_tokens: Option<f64>,
    /// Price of a million answer tokens of requests that meet their SLO. These are taken to be as long as the others.
    pub cost_per_million_within_slo: Option<f64>,
    /// Reasons why it does not meet the target; empty where it does.
    pub why_not: Vec<String>,
    /// Notes.
    pub notes: Vec<String>,
}

/// Reason why a sweep makes no offer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoOffer {
    /// A price without a number of accelerators.
    #[error(
        "a GPU price is given, and the number of GPUs of an instance of {0} is unknown\nhint: give --gpus-per-instance \
         N"
    )]
    Unpriced(String),
    /// Its loads are no rates.
    #[error(
        "{0} is a sweep of closed-loop users, whose rate depends on the server: it shows no rate that an instance \
         sustains\nhint: sweep rates, such as --rates 1:64:x2, or let the search find the highest"
    )]
    Users(String),
}

impl Offer {
    /// The offer of `candidate` for `contract`.
    ///
    /// # Errors
    ///
    /// When its loads are not rates, or there is a price without a number of accelerators.
    pub fn new(candidate: &Candidate<'_>, contract: &CapacityTarget) -> Result<Self, NoOffer> {
        let Candidate { name, sweep, gpu_hour } = *candidate;
        if sweep.plan.axis.fewest().is_some() {
            return Err(NoOffer::Users(name.to_owned()));
        }
        let gpus_each = contract.gpus_per_instance.or(sweep.deployment.gpus);
        if gpu_hour.is_some() && gpus_each.is_none() {
            return Err(NoOffer::Unpriced(name.to_owned()));
        }
        let per_instance = Basis::from_sweep(sweep);
        let instances = per_instance.map(|basis| contract.instances(basis.per_s()));
        let gpus = instances.zip(gpus_each).map(|(instances, each)| instances.saturating_mul(each.into()));
        let each_per_s = instances.map(|instances| contract.target_per_s / instances as f64);
        let output_tokens_per_s = tokens_per_request(sweep).map(|tokens| tokens * contract.target_per_s);
        let slo_share = each_per_s.and_then(|per_s| slo_share(sweep, per_s / sweep.workload.mean_turns()));
        let cost_per_hour = gpus.zip(gpu_hour).map(|(gpus, price)| gpus as f64 * price);
        let per_million = cost_per_hour
            .zip(output_tokens_per_s.filter(|&tokens| tokens > 0.0))
            .map(|(per_hour, per_s)| cost_per_million(per_hour, per_s));
        let why_not = why_not(sweep, per_instance, gpus, contract);
        Ok(Self {
            name: name.to_owned(),
            hardware: sweep.deployment.hardware.clone(),
            per_instance,
            instances,
            gpus,
            utilisation: each_per_s.zip(per_instance).map(|(per_s, basis)| per_s / basis.per_s()),
            output_tokens_per_s,
            slo_share,
            gpu_hour,
            currency: None,
            cost_per_hour,
            cost_per_million_output_tokens: per_million,
            cost_per_million_within_slo: per_million
                .zip(slo_share.filter(|&share| share > 0.0))
                .map(|(cost, share)| cost / share),
            notes: notes(sweep, per_instance, contract, gpus_each),
            why_not,
        })
    }

    /// Whether it meets the target.
    pub fn keeps(&self) -> bool {
        self.why_not.is_empty()
    }
}

fn why_not(sweep: &Sweep, basis: Option<Basis>, gpus: Option<u64>, contract: &CapacityTarget) -> Vec<String> {
    let mut reasons = Vec::new();
    if !sweep.valid {
        reasons.push("its figures cannot be trusted: the sweep is INVALID".to_owned());
    }
    match (&sweep.answer, basis) {
        (None, _) => reasons.push("the sweep has no objective".to_owned()),
        (Some(_), None) => reasons.push("no rate that was measured surely met its objectives".to_owned()),
        (Some(_), Some(_)) => {}
    }
    if let Some(sustained) = sweep.sustained.as_ref().filter(|sustained| !sustained.held) {
        reasons.push(format!("its highest rate was not sustained for longer: {}", sustained.sentence));
    }
    match (gpus, contract.max_gpus) {
        (Some(gpus), Some(most)) if gpus > most => {
            reasons.push(format!("it needs {}, and the limit is {most}", counted(gpus, "GPU")));
        }
        (None, Some(_)) if basis.is_some() => {
            reasons.push("the number of GPUs of an instance is unknown; give --gpus-per-instance".to_owned());
        }
        _ => {}
    }
    reasons
}

fn notes(sweep: &Sweep, basis: Option<Basis>, contract: &CapacityTarget, gpus_each: Option<u32>) -> Vec<String> {
    let mut notes = Vec::new();
    let turns = sweep.workload.mean_turns();
    if let Some(basis) = basis.filter(|_| turns > 1.0) {
        notes.push(format!(
            "the rates of the sweep are of sessions: one instance carries {} sessions/s, each of {} requests on \
             average",
            three_digits(basis.per_s() / turns),
            three_digits(turns)
        ));
    }
    match sweep.stopped {
        StopReason::Interrupted => {
            notes.push(format!("the sweep is not finished ({}): it may find a higher rate", sweep.stopped_sentence));
        }
        StopReason::ServerGone | StopReason::Generator => {
            notes.push(format!("the sweep ended before its time: {}", sweep.stopped_sentence));
        }
        _ => {}
    }
    if let (Some(asked), Some(measured)) = (contract.gpus_per_instance, sweep.deployment.gpus)
        && asked != measured
    {
        let measured = counted(u64::from(measured), "GPU");
        notes.push(format!("it was measured on {measured}, and {asked} are counted"));
    }
    if sweep.answer.as_ref().is_some_and(|answer| answer.passed.is_some() && answer.failed.is_none()) {
        notes.push("no rate of it surely failed: it may sustain more".to_owned());
    }
    if gpus_each.is_none() {
        notes.push("the number of GPUs of an instance is unknown; give --gpus-per-instance".to_owned());
    }
    notes
}

/// The offer in a line.
impl std::fmt::Display for Offer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size = [self.instances.map(|of| counted(of, "instance")), self.gpus.map(|of| counted(of, "GPU"))];
        let size: Vec<_> = size.into_iter().flatten().collect();
        let named = if size.is_empty() { "" } else { ": " };
        write!(f, "{}{named}{}", self.name, size.join(", "))?;
        match (self.cost_per_hour, &self.currency) {
            (Some(cost), Some(currency)) => write!(f, ", {} {currency} an hour", three_digits(cost)),
            (Some(cost), None) => write!(f, ", {} an hour", three_digits(cost)),
            (None, _) => Ok(()),
        }
    }
}

/// The offers for a target, as `skyline capacity --json` prints them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CapacityPlan {
    /// Version of this format: [`CapacityPlan::SCHEMA`].
    pub schema: u32,
    /// The plan.
    pub contract: CapacityTarget,
    /// The offers, in the given order.
    pub offers: Vec<Offer>,
    /// Basis on which the offers that meet the target are compared. It is absent where none does, or nothing is known
    /// of all of them.
    pub compared_by: Option<ComparedBy>,
    /// Place, from 0, of the cheapest by that measure of those that meet the contract. It is absent likewise.
    pub cheapest: Option<usize>,
    /// The result in a sentence.
    pub sentence: String,
}

/// The basis of comparison: the first of these that is known of all offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ComparedBy {
    /// Price of an hour.
    Price,
    /// Number of accelerators, whatever they cost.
    Gpus,
    /// Number of instances, where the number of accelerators is unknown for all.
    Instances,
}

impl ComparedBy {
    /// Returns the first basis that is known of all offers.
    fn from_offers(offers: &[&Offer]) -> Option<Self> {
        let is_known = |by: &Self| !offers.is_empty() && offers.iter().all(|offer| by.read(offer).is_some());
        [Self::Price, Self::Gpus, Self::Instances].into_iter().find(is_known)
    }

    /// Returns what an offer takes by this basis. Instances alone count only where accelerators do not.
    fn read(self, offer: &Offer) -> Option<f64> {
        match self {
            Self::Price => offer.cost_per_hour,
            Self::Gpus => offer.gpus.map(|gpus| gpus as f64),
            Self::Instances => offer.instances.filter(|_| offer.gpus.is_none()).map(|instances| instances as f64),
        }
    }

    /// The best by this basis, in words.
    pub const fn least(self) -> &'static str {
        match self {
            Self::Price => "cheapest",
            Self::Gpus => "fewest GPUs",
            Self::Instances => "fewest",
        }
    }
}

impl CapacityPlan {
    /// The format that this program writes.
    pub const SCHEMA: u32 = 2;

    /// Comparison of these offers.
    pub fn new(contract: CapacityTarget, offers: Vec<Offer>) -> Self {
        let keeping: Vec<_> = offers.iter().enumerate().filter(|(_, offer)| offer.keeps()).collect();
        let compared_by = ComparedBy::from_offers(&keeping.iter().map(|(_, offer)| *offer).collect::<Vec<_>>());
        let least = compared_by.and_then(|by| {
            let takes = |offer: &Offer| by.read(offer).unwrap_or(f64::INFINITY);
            keeping.iter().min_by(|a, b| takes(a.1).total_cmp(&takes(b.1))).map(|least| (by, *least))
        });
        let (target, headroom) = (three_digits(contract.target_per_s), percent(contract.headroom));
        let asked = format!("{target} requests/s with {headroom} headroom");
        let within = format!("{asked} within the objectives");
        let sentence = match least {
            Some((_, (_, offer))) if offers.len() == 1 => format!("{within} takes {offer}"),
            Some((ComparedBy::Price, (_, offer))) => format!("{within} is cheapest with {offer}"),
            Some((ComparedBy::Gpus, (_, offer))) => {
                format!("{within} takes the fewest GPUs (no price given) with {offer}")
            }
            Some((ComparedBy::Instances, (_, offer))) => {
                format!("{within} takes the fewest instances (GPUs not given) with {offer}")
            }
            None if !keeping.is_empty() => format!(
                "{within} fits {} offers; the cheapest is unknown, because some do not say how many GPUs an \
                 instance has",
                keeping.len()
            ),
            None => format!("no offer carries {asked} within its objectives"),
        };
        let cheapest = least.map(|(_, (place, _))| place);
        Self { schema: Self::SCHEMA, contract, compared_by, cheapest, sentence, offers }
    }

    /// Whether an offer meets the target.
    pub fn is_kept(&self) -> bool {
        self.offers.iter().any(Offer::keeps)
    }
}
