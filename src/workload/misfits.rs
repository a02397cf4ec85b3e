//! Mistakes of a workload once it has been changed: out of range, or not fitting together.

use super::arrival::pattern::ArrivalPattern;
use super::arrival::stages::RATE_OR_NONE;
use super::clients::behaviour::ClientBehaviour;
use super::prompt::dataset::Dataset;
use super::reading::value::{Allowed, RATE, SECONDS};
use super::spec::WorkloadSpec;

impl WorkloadSpec {
    /// Finds what a change can put out of range. It also finds what stands beside something it does not go with.
    pub(super) fn misfits(&self) -> impl Iterator<Item = String> {
        let horizon = SECONDS.mistake("horizon_s", self.horizon_s);
        let rates = self.arrival.rates().into_iter();
        let rates = rates.filter_map(|(field, rate, allowed)| allowed.mistake(&format!("arrival.{field}"), rate));
        let classes = self.classes.iter().zip(0..).flat_map(|(class, i)| {
            let dataset = class.prompt.dataset().into_iter().flat_map(Dataset::misfits);
            let dataset = dataset.map(|(field, sentence)| (format!("prompt.{field}"), sentence));
            let own = class.misfits().map(|(field, sentence)| (field.to_owned(), sentence));
            dataset.chain(own).map(move |(field, sentence)| format!("`classes[{i}].{field}` {sentence}"))
        });
        let waits = self.clients.as_ref().and_then(ClientBehaviour::misfit);
        let waits = waits.map(|(field, sentence)| format!("`clients.{field}` {sentence}"));
        horizon.into_iter().chain(rates).chain(classes).chain(waits)
    }
}

impl ArrivalPattern {
    /// Returns the rates that a factor multiplies. Each has its place in a spec and its range.
    fn rates(&self) -> Vec<(String, f64, Allowed)> {
        let listed = |list: &str, place: usize, field: &str| format!("{list}[{place}].{field}");
        match self {
            Self::Bursts { base_rate_per_s: base, burst_rate_per_s: burst, .. } => {
                vec![("base_rate_per_s".to_owned(), *base, RATE_OR_NONE), ("burst_rate_per_s".to_owned(), *burst, RATE)]
            }
            Self::Stages { stages } => (stages.iter().enumerate())
                .flat_map(|(i, stage)| {
                    let ends = [("from_rate_per_s", stage.from_rate_per_s), ("to_rate_per_s", stage.to_rate_per_s)];
                    ends.map(|(field, rate)| (listed("stages", i, field), rate, RATE_OR_NONE))
                })
                .collect(),
            Self::Markov { states } => (states.iter().enumerate())
                .map(|(i, state)| (listed("states", i, "rate_per_s"), state.rate_per_s, RATE_OR_NONE))
                .collect(),
            Self::Spikes { base_rate_per_s, spikes } => (spikes.iter().enumerate())
                .map(|(i, spike)| (listed("spikes", i, "rate_per_s"), spike.rate_per_s, RATE_OR_NONE))
                .chain([("base_rate_per_s".to_owned(), *base_rate_per_s, RATE)])
                .collect(),
            Self::ByClass { classes } => (classes.iter().enumerate())
                .flat_map(|(i, class)| {
                    let rates = class.rates().into_iter();
                    rates.map(move |(field, rate, allowed)| (listed("classes", i, &field), rate, allowed))
                })
                .collect(),
            Self::Clients { .. } => vec![("clients".to_owned(), self.mean_rate_per_s(), RATE)],
            Self::Trace(_) | Self::Users { .. } => Vec::new(),
            even => vec![("rate_per_s".to_owned(), even.mean_rate_per_s(), RATE)],
        }
    }
}
