//! The settings of a row, which may vary from row to row.

use serde::Serialize;
use strum::VariantArray as _;

use super::variable::MatrixVariable;
use crate::units::{count, three_digits};
use crate::workload::TOKEN_LIMIT;
use crate::workload::reading::{Allowed, Fields};

/// Tokens of a prompt, an answer or a prefix.
pub(super) const TOKENS: Allowed = Allowed::from(1.0, TOKEN_LIMIT as f64);
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

/// The fields of a row. What is absent is as in the file's `[defaults]`, else as in the workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Settings {
    /// Name of a workload of the library, or path of a workload file. Absent: one class of requests, all alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Tokens of every prompt, a shared prefix included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u32>,
    /// Tokens of every answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u32>,
    /// Of the prompt's tokens, those at its beginning that prompts can have in common.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix_tokens: Option<u32>,
    /// Whether they have, and whether the server knows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix_reuse: Option<PrefixReuse>,
    /// Mean requests per second, whatever the server does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// In their place: users who each wait for their answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<u64>,
    /// How arrivals are spaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrival: Option<Spacing>,
    /// Most requests in flight; waiting for a place counts in latency. Absent: no cap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrency: Option<u64>,
    /// Length of each run, warm-up included, seconds; 60 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizon_s: Option<f64>,
    /// Of it, seconds at its beginning that are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup_s: Option<f64>,
    /// Seconds after it in which answers are awaited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_s: Option<f64>,
    /// Seed of the first run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Runs of the row, each with a seed of its own; 1 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u64>,
}

/// What prompts have in common, and what the server knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PrefixReuse {
    /// No two prompts begin alike: nothing can be reused.
    Cold,
    /// All begin with one prefix, which the first of them brings to the server.
    Shared,
    /// All begin with one prefix, which is sent to the server before the run.
    Warm,
}

impl PrefixReuse {
    pub(super) const NAMED: [(&'static str, Self); 3] =
        [("cold", Self::Cold), ("shared", Self::Shared), ("warm", Self::Warm)];
}

/// How arrivals are spaced around their mean rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// At random, as those of many independent users.
    Poisson,
    /// Evenly.
    Constant,
}

impl Spacing {
    pub(super) const NAMED: [(&'static str, Self); 2] =
        [("poisson", Self::Poisson), ("constant", Self::Constant)];
}

impl Settings {
    /// Takes its fields from a table.
    pub(super) fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let workload = fields.optional("workload", None, |place| place.nonblank().map(Some));
        let mut tokens = |name| {
            fields.optional(name, None, |place| {
                place.whole(TOKENS).and_then(|tokens| u32::try_from(tokens).ok()).map(Some)
            })
        };
        let input_tokens = tokens("input_tokens");
        let output_tokens = tokens("output_tokens");
        let prefix_tokens = tokens("prefix_tokens");
        let prefix_reuse =
            fields.optional("prefix_reuse", None, |place| place.choice(&PrefixReuse::NAMED).map(Some));
        let rate_per_s = fields.optional("rate_per_s", None, |place| place.number(RATE).map(Some));
        let users = fields.optional("users", None, |place| place.whole(USERS).map(Some));
        let arrival = fields.optional("arrival", None, |place| place.choice(&Spacing::NAMED).map(Some));
        let max_concurrency = fields.optional("max_concurrency", None, |place| place.whole(USERS).map(Some));
        let horizon_s = fields.optional("horizon_s", None, |place| place.number(SECONDS).map(Some));
        let warmup_s = fields.optional("warmup_s", None, |place| place.number(WAIT).map(Some));
        let drain_s = fields.optional("drain_s", None, |place| place.number(WAIT).map(Some));
        let seed = fields.optional("seed", None, |place| place.bits().map(Some));
        let repeats = fields.optional("repeats", None, |place| place.whole(REPEATS).map(Some));
        if let (Some(Some(_)), Some(Some(_))) = (rate_per_s, users) {
            fields.complain_of("users", "is given beside `rate_per_s`; one of them says what load there is");
            return None;
        }
        Some(Self {
            workload: workload?,
            input_tokens: input_tokens?,
            output_tokens: output_tokens?,
            prefix_tokens: prefix_tokens?,
            prefix_reuse: prefix_reuse?,
            rate_per_s: rate_per_s?,
            users: users?,
            arrival: arrival?,
            max_concurrency: max_concurrency?,
            horizon_s: horizon_s?,
            warmup_s: warmup_s?,
            drain_s: drain_s?,
            seed: seed?,
            repeats: repeats?,
        })
    }

    /// These settings, with those of `defaults` for missing ones. Users replace a rate and its spacing, and a rate
    /// that of users; a workload that is not that of the defaults has lengths, prefixes and arrivals of its own.
    #[must_use]
    pub fn over(self, defaults: &Self) -> Self {
        let other_workload = self.workload.is_some() && self.workload != defaults.workload;
        let alike = Self {
            input_tokens: None,
            output_tokens: None,
            prefix_tokens: None,
            prefix_reuse: None,
            rate_per_s: None,
            users: None,
            arrival: None,
            ..defaults.clone()
        };
        let defaults = if other_workload { &alike } else { defaults };
        let closed = self.users.is_some();
        let open = self.rate_per_s.is_some() || self.arrival.is_some();
        Self {
            workload: self.workload.or_else(|| defaults.workload.clone()),
            input_tokens: self.input_tokens.or(defaults.input_tokens),
            output_tokens: self.output_tokens.or(defaults.output_tokens),
            prefix_tokens: self.prefix_tokens.or(defaults.prefix_tokens),
            prefix_reuse: self.prefix_reuse.or(defaults.prefix_reuse),
            rate_per_s: self.rate_per_s.or(defaults.rate_per_s.filter(|_| !closed)),
            users: self.users.or(defaults.users.filter(|_| !open)),
            arrival: self.arrival.or(defaults.arrival.filter(|_| !closed)),
            max_concurrency: self.max_concurrency.or(defaults.max_concurrency),
            horizon_s: self.horizon_s.or(defaults.horizon_s),
            warmup_s: self.warmup_s.or(defaults.warmup_s),
            drain_s: self.drain_s.or(defaults.drain_s),
            seed: self.seed.or(defaults.seed),
            repeats: self.repeats.or(defaults.repeats),
        }
    }

    /// The variables of the experiment with their values here, as a person reads them; what is not said is not among
    /// them. The prefix is one variable, and so is the load.
    pub fn variables(&self) -> Vec<(MatrixVariable, String)> {
        let tokens = |tokens: u32| count(u64::from(tokens));
        let prefix = self.prefix_reuse.map(|reuse| match (reuse, self.prefix_tokens) {
            (PrefixReuse::Cold, _) | (_, None) => "cold".to_owned(),
            (PrefixReuse::Shared, Some(of)) => format!("shared {}", tokens(of)),
            (PrefixReuse::Warm, Some(of)) => format!("warm {}", tokens(of)),
        });
        // In full where three digits are not the whole of it: two rates that differ look different.
        let rate = self.rate_per_s.map(|rate| {
            let short = three_digits(rate);
            let shown = if short.parse() == Ok(rate) { short } else { rate.to_string() };
            format!("{shown}/s")
        });
        let load = self.users.map(counted_users).or(rate);
        let spacing = self.arrival.map(|arrival| match arrival {
            Spacing::Poisson => "poisson".to_owned(),
            Spacing::Constant => "constant".to_owned(),
        });
        [
            (MatrixVariable::Workload, self.workload.clone()),
            (MatrixVariable::InputTokens, self.input_tokens.map(tokens)),
            (MatrixVariable::OutputTokens, self.output_tokens.map(tokens)),
            (MatrixVariable::Prefix, prefix),
            (MatrixVariable::Load, load),
            (MatrixVariable::Arrival, spacing),
            (MatrixVariable::MaxConcurrency, self.max_concurrency.map(count)),
        ]
        .into_iter()
        .filter_map(|(variable, value)| Some((variable, value?)))
        .collect()
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
            MatrixVariable::Load => (self.users, self.rate_per_s) != (other.users, other.rate_per_s),
            MatrixVariable::Arrival => matches!(spacings, (Some(one), Some(two)) if one != two),
            MatrixVariable::MaxConcurrency => self.max_concurrency != other.max_concurrency,
            MatrixVariable::Variant => false,
        };
        MatrixVariable::VARIANTS.iter().copied().filter(differs).collect()
    }

    /// What prompts have in common; `None` where it is nothing.
    fn prefix(&self) -> Option<(PrefixReuse, Option<u32>)> {
        self.prefix_reuse.filter(|reuse| *reuse != PrefixReuse::Cold).map(|reuse| (reuse, self.prefix_tokens))
    }

    /// How arrivals are spaced, where these settings say it and not users or a workload.
    fn spacing(&self) -> Option<Spacing> {
        let own = self.users.is_none() && self.workload.is_none();
        own.then(|| self.arrival.unwrap_or(Spacing::Poisson))
    }
}

fn counted_users(users: u64) -> String {
    if users == 1 { "1 user".to_owned() } else { format!("{} users", count(users)) }
}
