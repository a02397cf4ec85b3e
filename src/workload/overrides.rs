//! What the command line changes in a workload.

use super::arrival::{RATE, SECONDS};
use super::reading::{Allowed, Mistakes};
use super::spec::{REQUESTS, WAIT};
use super::window::MistakenLength;
use super::{DatasetChange, Distribution, SpecError, TOKEN_LIMIT, WorkloadSpec};

/// Changes to a spec; what is absent stays as the spec has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// `[seconds]`: the run ends there, in place of after the spec's number of requests, if it has one.
    pub horizon_s: Option<f64>,
    /// `--requests`: the run has this many requests, in place of ending at the horizon.
    pub requests: Option<u64>,
    /// `--rate`: mean requests per second. What changes in time keeps its shape, and what is superposed its shares: all
    /// rates are multiplied so that the mean ([`ArrivalPattern::mean_rate_per_s`](super::ArrivalPattern::mean_rate_per_s)) is this one.
    pub rate_per_s: Option<f64>,
    /// `--seed`.
    pub seed: Option<u64>,
    /// `--warmup` in seconds. Without it a run that became shorter gets a shorter warm-up: at most a quarter of
    /// the run, or the share the spec gave it if that is more; and none at all if less than one request would
    /// be expected in it.
    pub warmup_s: Option<f64>,
    /// `--drain` in seconds.
    pub drain_s: Option<f64>,
    /// `--output-tokens`: every answer is asked to have as many, of whatever class.
    pub output_tokens: Option<u32>,
    /// What is changed about datasets.
    pub dataset: DatasetChange,
}

impl Overrides {
    fn check(&self, mistakes: &Mistakes) {
        let within = |flag: &str, value: Option<f64>, allowed: Allowed| {
            if let Some(value) = value.filter(|value| !allowed.has(*value)) {
                mistakes.add(None, format!("`{flag}` is {value}; it must be a number {allowed}"));
            }
        };
        within("[seconds]", self.horizon_s, SECONDS);
        within("--requests", self.requests.map(|requests| requests as f64), REQUESTS);
        within("--rate", self.rate_per_s, RATE);
        within("--warmup", self.warmup_s, WAIT);
        within("--drain", self.drain_s, WAIT);
        let tokens = Allowed::from(1.0, TOKEN_LIMIT.into());
        within("--output-tokens", self.output_tokens.map(f64::from), tokens);
        if self.horizon_s.is_some() && self.requests.is_some() {
            mistakes.add(
                None,
                "`[seconds]` and `--requests` both say when the run ends; give one of them".to_owned(),
            );
        }
    }
}

impl WorkloadSpec {
    /// The spec with the command line's changes, held to the same rules as a file.
    pub fn with(self, overrides: &Overrides) -> Result<Self, SpecError> {
        const ORIGIN: &str = "the command line";
        let mistakes = Mistakes::default();
        overrides.check(&mistakes);
        if let Some(mistake) = overrides.dataset.mistake(&self) {
            mistakes.add(None, mistake);
        }
        if !mistakes.is_empty() {
            return Err(mistakes.into_error(ORIGIN));
        }
        if overrides.rate_per_s.is_some() && self.arrival.trace().is_some() {
            mistakes.add(
                None,
                "`--rate` cannot be given for a trace; `--rate-scale` replays more or fewer of its requests, \
                 `--time-scale` replays it slower or faster"
                    .to_owned(),
            );
            return Err(mistakes.into_error(ORIGIN));
        }
        if overrides.output_tokens.is_some() && self.arrival.trace().is_some() {
            mistakes.add(
                None,
                "`--output-tokens` cannot be given for a trace, which says how long answers are".to_owned(),
            );
            return Err(mistakes.into_error(ORIGIN));
        }
        let spec = self.changed(overrides);
        if let Some(MistakenLength { field, sentence }) = spec.window().mistake(spec.warmup_s) {
            let said = match field {
                "warmup_s" if overrides.warmup_s.is_some() => "--warmup",
                "horizon_s" if overrides.horizon_s.is_some() => "[seconds]",
                "requests" if overrides.requests.is_some() => "--requests",
                field => field,
            };
            mistakes.add(None, format!("`{said}` {sentence}"));
            return Err(mistakes.into_error(ORIGIN));
        }
        let origin = format!("`{}` as changed by {ORIGIN}", spec.name);
        match serde_json::to_value(&spec) {
            Ok(value) => Self::from_value(value, &origin),
            Err(error) => {
                mistakes.add(None, error.to_string());
                Err(mistakes.into_error(&origin))
            }
        }
    }

    fn changed(&self, overrides: &Overrides) -> Self {
        let mut spec = self.clone();
        if let Some(horizon_s) = overrides.horizon_s {
            spec.horizon_s = horizon_s;
            spec.requests = None;
        }
        spec.requests = overrides.requests.or(spec.requests);
        spec.seed = overrides.seed.unwrap_or(spec.seed);
        spec.drain_s = overrides.drain_s.unwrap_or(spec.drain_s);
        if let Some(rate_per_s) = overrides.rate_per_s {
            spec.arrival = spec.arrival.with_mean_rate(rate_per_s);
        }
        overrides.dataset.apply(&mut spec.classes);
        if let Some(value) = overrides.output_tokens {
            for class in &mut spec.classes {
                class.output_tokens = Distribution::Constant { value };
            }
        }
        spec.warmup_s = overrides
            .warmup_s
            .unwrap_or_else(|| spec.window().adapted_warmup_s(&self.window(), self.warmup_s));
        spec
    }
}
