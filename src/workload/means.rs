//! Means of a workload's arrivals, in requests and tokens, and the clients who leave.

use super::spec::WorkloadSpec;
use crate::workload::arrival::pattern::ArrivalPattern;
use crate::workload::class::request_class::RequestClass;
use crate::workload::clients::leaving::LeavingPolicy;

impl WorkloadSpec {
    /// The clients who leave before their answer is complete. `None` where all stay.
    pub fn leaving_policy(&self) -> Option<LeavingPolicy> {
        LeavingPolicy::new(self.classes.iter().map(|class| class.cancel), self.seed)
    }

    /// Mean number of requests per arrival over the classes: the turns of conversations.
    pub fn mean_turns(&self) -> f64 {
        self.mean_per_arrival(RequestClass::mean_turns)
    }

    /// Most requests that so many users have in flight. It is one each, but for agents that work side by side.
    pub(crate) fn most_in_flight_of(&self, users: u64) -> u64 {
        self.classes.iter().map(RequestClass::most_in_flight).max().unwrap_or(1).saturating_mul(users)
    }

    /// Returns the mean tokens of a request's prompt and of its answer. It is not a number where a file decides that
    /// has not been read.
    pub fn mean_tokens(&self) -> [f64; 2] {
        let prompt = self.mean_per_arrival(|class| class.mean_turns() * class.mean_input_tokens());
        let answer = self.mean_per_arrival(|class| class.mean_turns() * class.output_tokens.mean());
        [prompt, answer].map(|tokens| tokens / self.mean_turns())
    }

    fn mean_per_arrival(&self, figure: impl Fn(&RequestClass) -> f64) -> f64 {
        let shares: Vec<_> = match &self.arrival {
            ArrivalPattern::ByClass { classes } => classes.iter().map(ArrivalPattern::mean_rate_per_s).collect(),
            _ => self.classes.iter().map(|class| class.weight).collect(),
        };
        let weighted = shares.iter().zip(&self.classes).map(|(share, class)| share * figure(class));
        weighted.sum::<f64>() / shares.iter().sum::<f64>()
    }
}

impl RequestClass {
    /// Mean tokens of a prompt, of all inputs of a request together.
    pub(crate) fn mean_input_tokens(&self) -> f64 {
        let size = self.inputs.map_or(1, |inputs| inputs.size);
        self.input_tokens.mean() * f64::from(size)
    }
}
