//! The settings of a row, which may vary from row to row, and the variables of an experiment by name.

use std::fmt;
use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value};
use strum::{Display, EnumString, IntoStaticStr, VariantArray, VariantNames};

use super::sampling;
use crate::engine::Sampling;
use crate::units::{count, counted, three_digits};
use crate::workload::TOKEN_LIMIT;
use crate::workload::reading::{Allowed, SpecValue, spec_table};

/// Tokens of a prompt, an answer or a prefix.
const TOKENS: Allowed = Allowed::from(1.0, TOKEN_LIMIT as f64);
/// Requests per second.
pub(super) const RATE: Allowed = Allowed::above(0.0, 1_000_000.0);
/// Users, or requests in flight.
pub(super) const USERS: Allowed = Allowed::from(1.0, 100_000.0);
/// Lengths of time in seconds.
const SECONDS: Allowed = Allowed::above(0.0, 1_000_000.0);
/// Lengths of time that may be 0, in seconds.
const WAIT: Allowed = Allowed::from(0.0, 1_000_000.0);
/// Runs of a row.
const REPEATS: Allowed = Allowed::from(1.0, 1_000.0);

spec_table! {
    filling
    /// The fields of a row. What is absent is as in the file's `[defaults]`, else as in the workload.
    #[derive(Default)]
    pub struct Settings = "the settings of a row" {
        /// Name of a workload of the library, or path of a workload file. Absent: one class of requests, all alike.
        workload: Option<String> = option(|place| place.nonblank()),
        /// Tokens of every prompt, a shared prefix included.
        input_tokens: Option<u32> = option(tokens),
        /// Tokens of every answer.
        output_tokens: Option<u32> = option(tokens),
        /// Tokens at the beginning of a prompt that prompts can have in common.
        prefix_tokens: Option<u32> = option(tokens),
        /// Whether they have, and whether the server knows them.
        prefix_reuse: Option<PrefixReuse> = option(|place| place.variant()),
        /// Mean requests per second, whatever the server does.
        rate_per_s: Option<f64> = option(|place| place.number(RATE)),
        /// Users in their place: users who each wait for their answers.
        users: Option<u64> = option(|place| place.whole(USERS)),
        /// How arrivals are spaced.
        arrival: Option<Spacing> = option(|place| place.variant()),
        /// Requests, with `all_at_once`: how many requests there are.
        requests: Option<u64> = option(|place| place.whole(USERS)),
        /// Sampling temperature; 0 takes the likeliest token. Absent: as on the command line.
        temperature: Option<f64> = option(sampling::temperature),
        /// Share of the probability that nucleus sampling draws from.
        top_p: Option<f64> = option(sampling::top_p),
        /// Number of the likeliest tokens that sampling draws from.
        top_k: Option<i64> = option(sampling::top_k),
        /// Seed of the server's draws.
        sampling_seed: Option<i64> = option(sampling::seed),
        /// JSON object merged into every body, over that of the command line.
        extra_body: Option<Map<String, Value>> = option(sampling::extra_body),
        /// Most requests in flight; waiting for a place counts in latency. Absent: no cap.
        max_concurrency: Option<u64> = option(|place| place.whole(USERS)),
        /// Length of each run, warm-up included, seconds; 60 by default.
        horizon_s: Option<f64> = option(|place| place.number(SECONDS)),
        /// Seconds at its beginning that are not counted.
        warmup_s: Option<f64> = option(|place| place.number(WAIT)),
        /// Seconds after it in which answers are awaited.
        drain_s: Option<f64> = option(|place| place.number(WAIT)),
        /// Seed of the first run.
        seed: Option<u64> = option(|place| place.bits()),
        /// Runs of the row, each with a seed of its own; 1 by default.
        repeats: Option<u64> = option(|place| place.whole(REPEATS)),
    }
    check(fields) {
        if rate_per_s?.is_some() && users?.is_some() {
            return fields.reject_of("users", "is given with `rate_per_s`; one of them says what load there is");
        }
        if arrival? == Some(Spacing::AllAtOnce) && (rate_per_s?.is_some() || users?.is_some()) {
            return fields
                .reject_of("arrival", "is `all_at_once`, which has no rate and no users; say how many `requests`");
        }
    }
}

/// Prefix that prompts have in common, and what the server knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Display, EnumString, VariantNames)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum PrefixReuse {
    /// No two prompts begin alike: nothing can be reused.
    Cold,
    /// All begin with one prefix, which the first of them brings to the server.
    Shared,
    /// All begin with one prefix, which is sent to the server before the run.
    Warm,
}

/// Spacing of arrivals around their mean rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Display, EnumString, VariantNames)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Spacing {
    /// Arrivals at random, as those of many independent users.
    Poisson,
    /// Evenly.
    Constant,
    /// All of them at the beginning of the run, in place of a rate.
    AllAtOnce,
}

impl Settings {
    /// Returns these settings, with those of `defaults` for missing ones. Users replace a rate and its spacing, and a
    /// rate that of users; a workload that is not that of the defaults has lengths, prefixes and arrivals of its own.
    #[must_use]
    pub fn over(self, defaults: &Self) -> Self {
        let mut defaults = defaults.clone();
        if self.workload.is_some() && self.workload != defaults.workload {
            defaults = Self {
                input_tokens: None,
                output_tokens: None,
                prefix_tokens: None,
                prefix_reuse: None,
                rate_per_s: None,
                users: None,
                arrival: None,
                requests: None,
                ..defaults
            };
        }
        if self.users.is_some() {
            (defaults.rate_per_s, defaults.arrival, defaults.requests) = (None, None, None);
        }
        if self.arrival == Some(Spacing::AllAtOnce) {
            (defaults.rate_per_s, defaults.horizon_s, defaults.warmup_s) = (None, None, None);
        } else if self.arrival.is_some() {
            defaults.requests = None;
        }
        if self.rate_per_s.is_some() && defaults.arrival == Some(Spacing::AllAtOnce) {
            (defaults.arrival, defaults.requests) = (None, None);
        }
        if self.rate_per_s.is_some() || self.arrival.is_some() {
            defaults.users = None;
        }
        self.filled(defaults)
    }

    /// Lets the relative path of a workload file begin at `folder`.
    pub(in crate::experiment) fn anchor(&mut self, folder: &Path) {
        if let Some(workload) = &mut self.workload {
            let is_file = crate::workload::library::source(workload).is_none();
            if is_file && Path::new(workload.as_str()).is_relative() {
                *workload = folder.join(&*workload).to_string_lossy().into_owned();
            }
        }
    }

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
        match serde_json::to_value(self).unwrap_or_default().get(name) {
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

    /// Returns how answers are sampled: these settings in place of what was typed.
    pub(crate) fn sampled(&self, typed: &Sampling) -> Sampling {
        Sampling {
            temperature: self.temperature.or(typed.temperature),
            top_p: self.top_p.or(typed.top_p),
            top_k: self.top_k.or(typed.top_k),
            seed: self.sampling_seed.or(typed.seed),
        }
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

/// A number of tokens.
pub(super) fn tokens(place: SpecValue<'_>) -> Option<u32> {
    place.whole(TOKENS)
}

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
