//! Why a run lacks a figure, and which option gives it.

use crate::analysis::figures::{FigureKind, Metric, Unit};
use crate::analysis::summary::run::Summary;
use crate::record::DeploymentFacts;

const NO_GPUS: &str = "the number of GPUs is not given (--gpus)";
const NO_PRICE: &str = "the price of a GPU hour is not given (--gpu-hour)";
const NO_POWER: &str = "no page of metrics reports the power of all devices (--metrics-url reads an exporter's)";
const OTHER_DEVICES: &str = "the energy is of another number of devices than --gpus";
const SHARE: &str = "one of several generators sees a share of the answers (skyline merge joins them)";

impl Metric {
    /// Says what the deployment lacks for the figure, with the option that gives it.
    pub(crate) fn lacks(self, facts: &DeploymentFacts) -> Option<&'static str> {
        let is_money = self.info().unit == Unit::MONEY;
        match (facts.gpu_hour, facts.gpus) {
            (None, _) if is_money => Some(NO_PRICE),
            (_, None) if is_money || self == Self::OutputTokensPerGpu => Some(NO_GPUS),
            _ => None,
        }
    }
}

impl Summary {
    /// Returns the reason why the run has no such figure, with what gives it. `None` where nothing special is the
    /// cause.
    pub(crate) fn why_absent(&self, metric: Metric) -> Option<&'static str> {
        let energy = self.server.as_ref().and_then(|server| server.energy);
        let of_costs = match metric.info().unit {
            _ if metric.kind() == FigureKind::Cost && self.run.shard.is_some() => Some(SHARE),
            Unit::JOULES if energy.is_none() => Some(NO_POWER),
            Unit::JOULES if !energy.is_some_and(|energy| energy.is_of(self.run.deployment.gpus)) => Some(OTHER_DEVICES),
            _ => metric.lacks(&self.run.deployment),
        };
        of_costs.or_else(|| self.delivery.why_absent(metric))
    }
}
