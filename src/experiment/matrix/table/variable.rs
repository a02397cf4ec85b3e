//! The variables of an experiment by name: their values in a row, and which differ between two rows.

use std::fmt;

use serde::Serialize;
use serde_json::Value;
use strum::{IntoStaticStr, VariantArray};

use super::settings::{PrefixReuse, Settings, Spacing};
use crate::units::{count, counted, json_value, three_digits};

/// A variable of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, IntoStaticStr, VariantArray)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum MatrixVariable {
    /// The workload.
    Workload,
    /// Length of prompts.
    InputTokens,
    /// Length of answers.
    OutputTokens,
    /// Prefix that prompts have in common.
    Prefix,
    /// Rate, or number of users.
    Load,
    /// Spacing of arrivals.
    Arrival,
    /// Sampling of answers.
    Sampling,
    /// Fields that are merged into every body.
    ExtraBody,
    /// Cap on requests in flight.
    MaxConcurrency,
    /// The variant of the server, which is no setting of a row.
    Variant,
}

impl MatrixVariable {
    /// Its name in stored files.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}

impl fmt::Display for MatrixVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name().replace('_', " "))
    }
}

impl Settings {
    /// Returns the variables of the experiment with their values here. The values are as a person reads them. What is
    /// not said is not among them. The prefix is one variable, and so is the load.
    pub fn variables(&self) -> Vec<(MatrixVariable, String)> {
        let tokens = |tokens: u32| count(u64::from(tokens));
        let prefix = self.prefix_reuse.map(|reuse| match (reuse, self.prefix_tokens) {
            (PrefixReuse::Cold, _) | (_, None) => "cold".to_owned(),
            (shared, Some(of)) => format!("{shared} {}", tokens(of)),
        });
        // In full where three digits are not the whole of it: two rates that differ look different.
        let rate = self.rate_per_s.map(|rate| {
            let short = three_digits(rate);
            let shown = if short.parse() == Ok(rate) { short } else { rate.to_string() };
            format!("{shown}/s")
        });
        let at_once = self.requests.map(|requests| counted(requests, "request"));
        let load = self.users.map(|users| counted(users, "user")).or(rate).or(at_once);
        let spacing = self.arrival.map(|arrival| arrival.to_string().replace('_', " "));
        [
            (MatrixVariable::Workload, self.workload.clone()),
            (MatrixVariable::InputTokens, self.input_tokens.map(tokens)),
            (MatrixVariable::OutputTokens, self.output_tokens.map(tokens)),
            (MatrixVariable::Prefix, prefix),
            (MatrixVariable::Load, load),
            (MatrixVariable::Arrival, spacing),
            (MatrixVariable::Sampling, self.sampling_in_words()),
            (MatrixVariable::ExtraBody, self.extra_body.clone().map(|body| Value::Object(body).to_string())),
            (MatrixVariable::MaxConcurrency, self.max_concurrency.map(count)),
        ]
        .into_iter()
        .filter_map(|(variable, value)| Some((variable, value?)))
        .collect()
    }

    /// Returns the value of the setting `name`, as files have it. It is empty where it is not given.
    pub(super) fn value_in_words(&self, name: &str) -> String {
        match json_value(self).unwrap_or_default().get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(number) => number.as_f64().map_or(String::new(), |number| number.to_string()),
            None => String::new(),
        }
    }

    /// The value of one of them.
    pub fn variable(&self, variable: MatrixVariable) -> Option<String> {
        self.variables().into_iter().find(|(of, _)| *of == variable).map(|(_, value)| value)
    }

    /// The variables that have other values in `other`. What is left out has the value that it stands for: no cap,
    /// prompts that have nothing in common, arrivals at random. A load of users has no spacing of its own.
    pub fn differences(&self, other: &Self) -> Vec<MatrixVariable> {
        let spacings = (self.spacing(), other.spacing());
        let differs = |variable: &MatrixVariable| match variable {
            MatrixVariable::Workload => self.workload != other.workload,
            MatrixVariable::InputTokens => self.input_tokens != other.input_tokens,
            MatrixVariable::OutputTokens => self.output_tokens != other.output_tokens,
            MatrixVariable::Prefix => self.prefix() != other.prefix(),
            MatrixVariable::Load => {
                (self.users, self.rate_per_s, self.requests) != (other.users, other.rate_per_s, other.requests)
            }
            MatrixVariable::Sampling => {
                let of = |one: &Self| (one.temperature, one.top_p, one.top_k, one.sampling_seed);
                of(self) != of(other)
            }
            MatrixVariable::ExtraBody => self.extra_body != other.extra_body,
            MatrixVariable::Arrival => matches!(spacings, (Some(one), Some(two)) if one != two),
            MatrixVariable::MaxConcurrency => self.max_concurrency != other.max_concurrency,
            MatrixVariable::Variant => false,
        };
        MatrixVariable::VARIANTS.iter().copied().filter(differs).collect()
    }

    /// `temperature 0.7, top_p 0.9`; `None` where nothing is said.
    fn sampling_in_words(&self) -> Option<String> {
        let parts = [
            self.temperature.map(|temperature| format!("temperature {temperature}")),
            self.top_p.map(|top_p| format!("top_p {top_p}")),
            self.top_k.map(|top_k| format!("top_k {top_k}")),
            self.sampling_seed.map(|seed| format!("sampling seed {seed}")),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Returns the prefix that prompts have in common. It is `None` where there is none.
    fn prefix(&self) -> Option<(PrefixReuse, Option<u32>)> {
        self.prefix_reuse.filter(|reuse| *reuse != PrefixReuse::Cold).map(|reuse| (reuse, self.prefix_tokens))
    }

    /// Returns how arrivals are spaced, where these settings say it. Else users or a workload say it.
    fn spacing(&self) -> Option<Spacing> {
        let own = self.users.is_none() && self.workload.is_none();
        own.then(|| self.arrival.unwrap_or(Spacing::Poisson))
    }
}
