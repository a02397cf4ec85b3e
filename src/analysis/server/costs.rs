//! Costs of the answers of a run: money by the prices of GPU hours and energy, energy by the power of the devices.

use serde::Serialize;

use crate::analysis::figures::{Figure, Metric, Unit};
use crate::analysis::load::acceptable::Acceptable;
use crate::analysis::load::rates::Rates;
use crate::analysis::requests::Observed;
use crate::analysis::server::devices::{EnergySource, EnergyUse};

/// Watts in a kilowatt.
const WATTS_OF_KW: f64 = 1_000.0;

/// Costs of the answers of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Costs {
    /// Acceptable answers per second. They are complete while answers count, within their SLO where they have one, of
    /// the requested form where one was requested, of a run whose golden prompts let answers count. Absent where an SLO
    /// cannot be measured.
    pub acceptable_answers_per_s: Option<f64>,
    /// Why no answer is acceptable; left out where nothing bars them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub barred: Option<String>,
    /// Currency of the money; left out where it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// Money: price of GPUs and of their energy × time ÷ count. The former is that of a GPU hour × GPUs, the latter
    /// that of a kWh × power. Absent where no price is given, or what it is multiplied by is not known, or where the
    /// client is one of several generators and saw only a share of the answers.
    pub money: Option<UnitCosts>,
    /// Energy of all devices, joules: power × time ÷ count. Absent where it is not known, or of a share of the answers.
    pub joules: Option<UnitCosts>,
    /// Power of the energy, watts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_w: Option<f64>,
    /// Where the power comes from. What the devices report takes the place of a claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_source: Option<EnergySource>,
}

/// Money or energy used up for each of something that the run made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UnitCosts {
    /// Use for a million answer tokens that arrived while answers count. Absent where there were none.
    pub per_million_output_tokens: Option<f64>,
    /// Use for an answer that was complete while answers count.
    pub per_answer: Option<f64>,
    /// Use for an acceptable answer.
    pub per_acceptable_answer: Option<f64>,
    /// Least use for an acceptable answer, where none was acceptable. It is what all of the time took, which one would
    /// have taken at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_acceptable_answer_at_least: Option<f64>,
}

impl Costs {
    /// Computes the costs of a run. `None` where neither money nor energy is known.
    pub(in crate::analysis) fn new(
        observed: &Observed<'_>,
        rates: &Rates,
        energy: Option<&EnergyUse>,
        acceptable: Acceptable,
    ) -> Option<Self> {
        let header = &observed.log.header;
        let facts = &header.deployment;
        let length_s = observed.answers_end.since(observed.start).as_secs_f64();
        let is_whole = header.shard.is_none() && length_s > 0.0;
        let of = |per_s: f64| UnitCosts::new(per_s, length_s, rates, acceptable.answers_per_s);
        let measured = energy.filter(|energy| energy.is_of(facts.gpus)).map(|energy| (energy.power_w, energy.source));
        let claimed = || facts.claimed_power_w().map(|power_w| (power_w, EnergySource::Claimed));
        let (power_w, power_source) = measured.or_else(claimed).filter(|_| is_whole).unzip();
        // One part of the money is not all of it.
        let parts = [
            facts.gpu_hour.map(|_| facts.cost_per_hour()),
            facts.kwh_price.map(|price| Some(price * power_w? / WATTS_OF_KW)),
        ];
        let per_hour: Option<f64> = parts.into_iter().flatten().sum();
        let (money, joules) = (
            per_hour.filter(|_| is_whole && facts.is_priced()).map(|per_hour| of(per_hour / 3_600.0)),
            power_w.map(of),
        );
        (money.is_some() || joules.is_some()).then(|| Self {
            acceptable_answers_per_s: acceptable.answers_per_s,
            barred: acceptable.barred,
            currency: facts.currency.clone().filter(|_| money.is_some()),
            money,
            joules,
            power_w,
            power_source,
        })
    }

    /// Returns one of the figures of the catalogue.
    pub(in crate::analysis) fn figure(&self, metric: Metric) -> Option<Figure> {
        let units = if metric.info().unit == Unit::MONEY { self.money? } else { self.joules? };
        let exact = match metric {
            Metric::CostPerMillionOutputTokens | Metric::EnergyPerMillionOutputTokens => {
                units.per_million_output_tokens
            }
            Metric::CostPerAnswer | Metric::EnergyPerAnswer => units.per_answer,
            _ => {
                let least = units.per_acceptable_answer_at_least.map(Figure::AtLeast);
                return units.per_acceptable_answer.map(Figure::Exact).or(least);
            }
        };
        exact.map(Figure::Exact)
    }
}

/// Computes the price of a million tokens, of hours that cost so much each.
pub(crate) fn cost_per_million(per_hour: f64, tokens_per_s: f64) -> f64 {
    per_hour / (tokens_per_s * 3_600.0) * 1e6
}

impl UnitCosts {
    /// Computes the costs of a use of so much a second.
    fn new(per_s: f64, length_s: f64, rates: &Rates, acceptable_per_s: Option<f64>) -> Self {
        let per = |rate: Option<f64>| rate.filter(|&rate| rate > 0.0).map(|rate| per_s / rate);
        Self {
            per_million_output_tokens: per(rates.output_tokens_per_s).map(|one| one * 1e6),
            per_answer: per(rates.completed_requests_per_s),
            per_acceptable_answer: per(acceptable_per_s),
            per_acceptable_answer_at_least: acceptable_per_s.filter(|&rate| rate == 0.0).map(|_| per_s * length_s),
        }
    }
}
