//! The settings of a row, which may vary from row to row.

use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value};
use strum::{Display, EnumString, VariantNames};

use super::sampling;
use crate::engine::Sampling;
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

    /// Returns how answers are sampled: these settings in place of what was typed.
    pub(crate) fn sampled(&self, typed: &Sampling) -> Sampling {
        Sampling {
            temperature: self.temperature.or(typed.temperature),
            top_p: self.top_p.or(typed.top_p),
            top_k: self.top_k.or(typed.top_k),
            seed: self.sampling_seed.or(typed.seed),
        }
    }
}

/// A number of tokens.
pub(super) fn tokens(place: SpecValue<'_>) -> Option<u32> {
    place.whole(TOKENS)
}
