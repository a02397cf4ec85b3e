//! Several offers, and the cheapest that keeps the contract.

use serde::Serialize;

use super::{Contract, Offer};
use crate::units::three_digits;

/// What was offered for a contract; `skyline capacity --json` prints this.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Capacity {
    /// Version of this format: [`Capacity::SCHEMA`].
    pub schema: u32,
    /// What was asked.
    pub contract: Contract,
    /// The offers, as they came.
    pub offers: Vec<Offer>,
    /// The place, from 0, of the cheapest that keeps the contract, by price, else by accelerators, else by instances;
    /// absent where none does.
    pub cheapest: Option<usize>,
    /// The same for a person.
    pub sentence: String,
}

impl Capacity {
    /// The format that this program writes.
    pub const SCHEMA: u32 = 1;

    /// Of these offers.
    #[must_use]
    pub fn of(contract: Contract, offers: Vec<Offer>) -> Self {
        let price = |offer: &Offer| {
            let gpus = offer.gpus.map(|gpus| gpus as f64);
            let instances = offer.instances.map(|instances| instances as f64);
            offer.cost_per_hour.or(gpus).or(instances).unwrap_or(f64::INFINITY)
        };
        let keeping = offers.iter().enumerate().filter(|(_, offer)| offer.keeps());
        let cheapest = keeping.min_by(|a, b| price(a.1).total_cmp(&price(b.1)));
        let target = three_digits(contract.target_per_s);
        let headroom = three_digits(contract.headroom * 100.0);
        let asked = format!("{target} requests/s with {headroom} % headroom");
        let sentence = match cheapest {
            Some((_, offer)) if offers.len() == 1 => format!("{asked} within the objectives takes {offer}"),
            Some((_, offer)) => format!("{asked} within the objectives is cheapest with {offer}"),
            None => format!("no offer carries {asked} within its objectives"),
        };
        Self { schema: Self::SCHEMA, contract, cheapest: cheapest.map(|(place, _)| place), sentence, offers }
    }
}
