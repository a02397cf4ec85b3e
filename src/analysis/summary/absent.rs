//! Why a run lacks a figure, and which option gives it.

use crate::analysis::figures::{FigureKind, Metric, Unit};
use crate::analysis::summary::run::Summary;
use crate::record::DeploymentFacts;

const NO_GPUS: &str = "the number of GPUs is not given (--gpus)";
const NO_PRICE: &str = "the price of a GPU hour or of a kWh is not given (--gpu-hour, --price-per-kwh)";
const NO_POWER: &str = "the devices' power is not known (--metrics-url, --watts)";
const OTHER_DEVICES: &str = "the energy is of another number of devices than --gpus";
const SHARE: &str = "one of several generators sees a share of the answers (skyline merge joins them)";

impl Metric {
    /// Says what the deployment lacks for the figure, with the option that gives it.
    pub(crate) fn lacks(self, facts: &DeploymentFacts) -> Option<&'static str> {
        let is_money = self.info().unit == Unit::MONEY;
        let is_claimed = facts.gpu_watts.is_some() && self.kind() == FigureKind::Cost;
        let is_each = self == Self::OutputTokensPerGpu || is_claimed || is_money && facts.gpu_hour.is_some();
        match facts.gpus {
            _ if is_money && !facts.is_priced() => Some(NO_PRICE),
            None if is_each => Some(NO_GPUS),
            _ => None,
        }
    }
}

impl Summary {
    /// Returns the reason why the run has no such figure, with what gives it. `None` where nothing special is the
    /// cause.
    pub(crate) fn why_absent(&self, metric: Metric) -> Option<&'static str> {
        let facts = &self.run.deployment;
        let has_power = self.costs.as_ref().is_some_and(|costs| costs.power_w.is_some());
        let by_power = match metric.info().unit {
            Unit::JOULES => !has_power,
            Unit::MONEY => facts.kwh_price.is_some() && !has_power,
            _ => false,
        };
        let measured = self.server.as_ref().and_then(|server| server.energy);
        let of_power = || measured.map_or(NO_POWER, |_| OTHER_DEVICES);
        let of_costs = match metric.kind() {
            FigureKind::Cost if self.run.shard.is_some() => Some(SHARE),
            _ => metric.lacks(facts).or_else(|| by_power.then(of_power)),
        };
        of_costs.or_else(|| self.delivery.why_absent(metric))
    }
}
