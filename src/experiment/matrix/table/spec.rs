//! The workload of a row.

use serde_json::{Value, json};

use super::settings::{PrefixReuse, Settings, Spacing};
use crate::generator;
use crate::units::json_value;
use crate::workload::{Distribution, Overrides, SharedPrefixes, Trace, WorkloadSpec};

/// Default length of a run, seconds.
const USUAL_S: f64 = 60.0;

impl Settings {
    /// The workload that these settings ask for; one that no file describes is called `name`.
    ///
    /// # Errors
    ///
    /// When something is missing or does not fit together: what, and what to do.
    pub fn spec(&self, name: &str) -> Result<WorkloadSpec, String> {
        let spec = match &self.workload {
            Some(workload) => self.of_file(workload)?,
            None => self.alike(name)?,
        };
        let changed = self.with_lengths(spec)?;
        let overrides = Overrides {
            horizon_s: self.horizon_s,
            rate_per_s: self.rate_per_s.filter(|_| self.workload.is_some()),
            users: self.users.filter(|_| self.workload.is_some()),
            requests: self.requests,
            seed: self.seed,
            warmup_s: self.warmup_s,
            drain_s: self.drain_s,
            ..Overrides::default()
        };
        changed.with(&overrides).map_err(|error| error.to_string())
    }

    /// Returns the workload of a file or of the library.
    fn of_file(&self, workload: &str) -> Result<WorkloadSpec, String> {
        if self.arrival.is_some() {
            return Err(format!("`arrival` is given with the workload {workload}, which says when requests arrive"));
        }
        let survey = |trace: &mut Trace, seed| {
            trace.check()?;
            generator::survey(trace, self.seed.unwrap_or(seed)).map_err(|error| error.to_string())
        };
        WorkloadSpec::load_with(workload, &survey).map_err(|error| error.to_string())
    }

    /// One class of requests that are all as long.
    fn alike(&self, name: &str) -> Result<WorkloadSpec, String> {
        let missing = |field: &str| {
            format!(
                "`{field}` is missing; a row without a `workload` says how long prompts and answers are and what load \
                 there is"
            )
        };
        let input = self.input_tokens.ok_or_else(|| missing("input_tokens"))?;
        let output = self.output_tokens.ok_or_else(|| missing("output_tokens"))?;
        let at_once = (self.arrival == Some(Spacing::AllAtOnce)).then_some(self.requests);
        if at_once.is_none() && self.requests.is_some() {
            return Err(
                "`requests` is given, which only `arrival = \"all_at_once\"` has; leave it out, or say how long \
                the run is with `horizon_s`"
                    .to_owned(),
            );
        }
        let arrival = match (self.users, self.rate_per_s) {
            _ if at_once == Some(None) => return Err(missing("requests")),
            _ if at_once.is_some() && self.warmup_s.is_some() => {
                return Err("`warmup_s` is given with `arrival = \"all_at_once\"`, whose requests all leave in the \
                    first moment; leave it out"
                    .to_owned());
            }
            _ if at_once.is_some() => json!({"kind": "users", "users": self.requests, "ramp_s": 0.0}),
            (Some(users), _) => json!({"kind": "users", "users": users}),
            (None, Some(rate)) => match self.arrival.unwrap_or(Spacing::Poisson) {
                Spacing::Poisson | Spacing::AllAtOnce => json!({"kind": "poisson", "rate_per_s": rate}),
                Spacing::Constant => json!({"kind": "constant", "rate_per_s": rate}),
            },
            (None, None) => return Err(missing("rate_per_s` or `users")),
        };
        let constant = |value: u32| json!({"kind": "constant", "value": value});
        let spec = json!({
            "name": name,
            "horizon_s": self.horizon_s.unwrap_or(USUAL_S),
            "arrival": arrival,
            "classes": [{"name": "row", "input_tokens": constant(input), "output_tokens": constant(output)}],
        });
        read(&spec)
    }

    /// Returns the workload with the lengths that are given in place of its own. The prefix is inside the prompt.
    fn with_lengths(&self, mut spec: WorkloadSpec) -> Result<WorkloadSpec, String> {
        let shared = self.prefix_reuse.filter(|reuse| *reuse != PrefixReuse::Cold);
        if self.input_tokens.is_none() && self.output_tokens.is_none() && shared.is_none() {
            return Ok(spec);
        }
        if spec.arrival.trace().is_some() {
            return Err(format!(
                "the workload `{}` replays a trace, which says how long prompts and answers are; leave the lengths out",
                spec.name
            ));
        }
        let prefix = match (shared, self.prefix_tokens, self.input_tokens) {
            (None, ..) => None,
            (Some(_), None, _) => {
                return Err("`prefix_tokens` is missing; say how much of the prompt is shared".to_owned());
            }
            (Some(_), Some(_), None) => return Err("`input_tokens` is missing; the prefix is a part of it".to_owned()),
            (Some(_), Some(prefix), Some(input)) if prefix >= input => {
                return Err(format!(
                    "`prefix_tokens` is {prefix} and `input_tokens` {input}; the prefix is a part of the prompt, and \
                     something must follow it"
                ));
            }
            (Some(reuse), Some(prefix), Some(_)) => Some((reuse, prefix)),
        };
        for class in &mut spec.classes {
            if let Some(value) = self.output_tokens {
                class.output_tokens = Distribution::Constant { value };
            }
            let Some(input) = self.input_tokens else { continue };
            if class.prompt.is_verbatim() {
                return Err(format!(
                    "class `{}` takes its prompts from a file, and they are as long as they are; leave `input_tokens` \
                     out",
                    class.name
                ));
            }
            class.input_tokens = Distribution::Constant { value: input - prefix.map_or(0, |(_, prefix)| prefix) };
            class.shared_prefix = prefix.map(|(reuse, value)| {
                let warm = if reuse == PrefixReuse::Warm { 1.0 } else { 0.0 };
                SharedPrefixes::alike(1, Distribution::Constant { value }, warm)
            });
        }
        read(&json_value(&spec).map_err(|error| error.to_string())?)
    }
}

/// Reads it by the one reader of workloads, which knows all rules.
fn read(spec: &Value) -> Result<WorkloadSpec, String> {
    WorkloadSpec::from_json(&spec.to_string(), "the row").map_err(|error| error.to_string())
}
