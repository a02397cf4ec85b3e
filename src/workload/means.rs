//! What a workload asks for on average.

use super::arrival::pattern::ArrivalPattern;
use super::class::request_class::RequestClass;
use super::lengths::Distribution;
use super::spec::WorkloadSpec;

impl WorkloadSpec {
    /// Mean number of requests per arrival over the classes: the turns of conversations.
    pub fn mean_turns(&self) -> f64 {
        self.mean_per_arrival(RequestClass::mean_turns)
    }

    /// Mean tokens of a request's prompt and of its answer; not a number where a file decides that has not been read.
    pub fn mean_tokens(&self) -> [f64; 2] {
        let mean = |lengths: fn(&RequestClass) -> &Distribution| {
            self.mean_per_arrival(|class| class.mean_turns() * lengths(class).mean()) / self.mean_turns()
        };
        [mean(|class| &class.input_tokens), mean(|class| &class.output_tokens)]
    }

    fn mean_per_arrival(&self, figure: impl Fn(&RequestClass) -> f64) -> f64 {
        let share = |class: &RequestClass, index: usize| match &self.arrival {
            ArrivalPattern::ByClass { classes } => {
                classes.get(index).map_or(0.0, ArrivalPattern::mean_rate_per_s)
            }
            _ => class.weight,
        };
        let shares = || self.classes.iter().enumerate().map(|(index, class)| (share(class, index), class));
        let all: f64 = shares().map(|(share, _)| share).sum();
        shares().map(|(share, class)| share * figure(class)).sum::<f64>() / all
    }
}
