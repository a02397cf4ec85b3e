//! Several offers, and the cheapest that meets the target.
use serde::Serialize;

use super::instance::CapacityTarget;
use super::offer::Offer;
use crate::units::three_digits;

/// The offers for a target, as `skyline capacity --json` prints them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CapacityPlan {
    /// Version of this format: [`CapacityPlan::SCHEMA`].
    pub schema: u32,
    /// The plan.
    pub contract: CapacityTarget,
    /// The offers, as they came.
    pub offers: Vec<Offer>,
    /// What the offers that meet the target are compared by; absent where none does, or nothing is known of all of
    /// them.
    pub compared_by: Option<ComparedBy>,
    /// The place, from 0, of the least by that of those that keep the contract; absent likewise.
    pub cheapest: Option<usize>,
    /// The result in a sentence.
    pub sentence: String,
}

/// The basis of comparison: the first of these that is known of all offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ComparedBy {
    /// What an hour costs.
    Price,
    /// How many accelerators there are, whatever they cost.
    Gpus,
    /// Number of instances, where the number of accelerators is unknown for all.
    Instances,
}

impl ComparedBy {
    /// What is known of all of them.
    fn of(offers: &[&Offer]) -> Option<Self> {
        let all = |known: fn(&Offer) -> bool| offers.iter().all(|offer| known(offer));
        match () {
            () if offers.is_empty() => None,
            () if all(|offer| offer.cost_per_hour.is_some()) => Some(Self::Price),
            () if all(|offer| offer.gpus.is_some()) => Some(Self::Gpus),
            () if all(|offer| offer.gpus.is_none()) => Some(Self::Instances),
            () => None,
        }
    }

    fn read(self, offer: &Offer) -> f64 {
        let whole = |figure: Option<u64>| figure.map(|figure| figure as f64);
        let read = match self {
            Self::Price => offer.cost_per_hour,
            Self::Gpus => whole(offer.gpus),
            Self::Instances => whole(offer.instances),
        };
        read.unwrap_or(f64::INFINITY)
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

    /// Of these offers.
    pub fn of(contract: CapacityTarget, offers: Vec<Offer>) -> Self {
        let keeping: Vec<_> = offers.iter().enumerate().filter(|(_, offer)| offer.keeps()).collect();
        let compared_by = ComparedBy::of(&keeping.iter().map(|(_, offer)| *offer).collect::<Vec<_>>());
        let least = compared_by.and_then(|by| {
            keeping.iter().min_by(|a, b| by.read(a.1).total_cmp(&by.read(b.1))).map(|least| (by, *least))
        });
        let target = three_digits(contract.target_per_s);
        let headroom = three_digits(contract.headroom * 100.0);
        let asked = format!("{target} requests/s with {headroom} % headroom");
        let sentence = match least {
            Some((_, (_, offer))) if offers.len() == 1 => {
                format!("{asked} within the objectives takes {offer}")
            }
            Some((ComparedBy::Price, (_, offer))) => {
                format!("{asked} within the objectives is cheapest with {offer}")
            }
            Some((ComparedBy::Gpus, (_, offer))) => {
                format!(
                    "{asked} within the objectives takes the fewest GPUs, which nobody priced, with {offer}"
                )
            }
            Some((ComparedBy::Instances, (_, offer))) => format!(
                "{asked} within the objectives takes the fewest instances, whose GPUs nobody counted, with {offer}"
            ),
            None if !keeping.is_empty() => format!(
                "{asked} within the objectives is carried by {} offers; which is cheapest is not known, for of some \
                 nothing says how many GPUs an instance has",
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
