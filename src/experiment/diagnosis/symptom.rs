//! A symptom with the regime that it points to, the figures behind it, and what to do.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

use crate::analysis::Status;
use crate::analysis::rules::{RuleFact, filled_by};
use crate::units::counted;

/// Symptom that was seen of a server, and what it points to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Symptom {
    /// The likely regime.
    pub regime: Regime,
    /// The symptom with its figures, in words.
    pub symptom: String,
    /// The likely regime in words.
    pub likely: String,
    /// Evidence that would confirm it.
    pub confirm: String,
    /// The first thing to try.
    pub first_response: String,
    /// Figures that led to it. Each has a name that ends with its unit where it has one.
    pub figures: BTreeMap<&'static str, f64>,
    /// Test of the regime by the counters of the devices, or of the server. It is absent where none could say anything
    /// of it, and in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<CounterTest>,
    /// Numbers of the runs that have it, with the figures of the first. Absent unless runs repeat one another.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub in_runs: Vec<u64>,
}

/// A regime in which a server can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Regime {
    /// Requests arrived faster than they were served.
    Overload,
    /// Requests waited for others that were there before them.
    Queueing,
    /// Prompts of others hold up short ones, or interrupt answers.
    Interference,
    /// Computing the prompt decides TTFT.
    PrefillCost,
    /// A prefix cache gave back less than requests share.
    CacheMiss,
    /// Decode runs at the speed of the memory.
    MemoryBoundDecode,
    /// Decode runs at the speed of the arithmetic.
    ComputeBoundDecode,
    /// More requests at a time: more tokens in all, fewer for each.
    BatchingTrade,
    /// More requests at a time bring no more tokens.
    Saturation,
}

/// Test of a regime by counters.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CounterTest {
    /// Outcome of the test. It is `no_counter` where no page that was read has a counter for it.
    #[serde(serialize_with = "in_counter_words")]
    #[cfg_attr(test, schemars(with = "String", extend("enum" = COUNTER_WORDS)))]
    pub outcome: Option<Status>,
    /// Sentence with the figures and the limits.
    pub sentence: String,
}

/// Words of a test's outcome. Counters must be so in the regime, cannot be, or fit others too; or there are none.
const COUNTER_WORDS: [&str; 4] = ["confirmed", "contradicted", "cannot_tell", "no_counter"];

#[allow(clippy::trivially_copy_pass_by_ref, clippy::ref_option, reason = "serde hands over a reference")]
fn in_counter_words<S: Serializer>(outcome: &Option<Status>, serializer: S) -> Result<S::Ok, S::Error> {
    counter_word(*outcome).serialize(serializer)
}

fn counter_word(outcome: Option<Status>) -> &'static str {
    let [confirmed, contradicted, cannot_tell, no_counter] = COUNTER_WORDS;
    outcome.map_or(no_counter, |status| status.choose([confirmed, contradicted, cannot_tell]))
}

impl CounterTest {
    pub(super) fn new(outcome: impl Into<Option<Status>>, sentence: impl Into<String>) -> Self {
        Self { outcome: outcome.into(), sentence: sentence.into() }
    }
}

impl fmt::Display for CounterTest {
    /// `confirmed: the memory is active …`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", counter_word(self.outcome).replace('_', " "), self.sentence)
    }
}

/// Opinion of a rule on the evidence. It is its symptom, where it saw one, or what it lacked to look for it.
pub(super) type Opinion = Result<Option<Symptom>, String>;

/// Returns a symptom in the making, by its figures. The template has a place for each, `{name:form}`, and for each
/// other fact.
pub(super) fn seen<const N: usize>(
    regime: Regime,
    figures: [(&'static str, f64); N],
    template: &str,
    facts: Vec<RuleFact>,
) -> Symptom {
    let figures: BTreeMap<_, _> = figures.into_iter().filter(|(_, value)| value.is_finite()).collect();
    let mut facts = facts.into_iter();
    let symptom = filled_by(template, |place| match place.split_once(':') {
        Some((name, form)) => Some(RuleFact::from(*figures.get(name)?).in_form(form)),
        None => Some(facts.next()?.in_form(place)),
    });
    let [likely, confirm, first_response] = [const { String::new() }; 3];
    Symptom { regime, symptom, likely, confirm, first_response, figures, counters: None, in_runs: Vec::new() }
}

/// Evidence that a rule lacks that saw `what` faster than the named hardware can be.
pub(super) fn impossible(what: &str) -> Opinion {
    Err(format!("{what}: faster than that hardware can be; check --hardware, --serving-model, --precision and --gpus"))
}

impl Symptom {
    /// The symptom, with how many of so many `runs` that repeat one another have it.
    pub fn in_words(&self, runs: Option<u64>) -> String {
        let (symptom, seen) = (&self.symptom, self.in_runs.len() as u64);
        let (first, of) = (self.in_runs.first().copied().unwrap_or_default(), counted(runs.unwrap_or(1), "run"));
        match runs {
            None | Some(1) => symptom.clone(),
            Some(_) if seen == 1 => format!("in run {first} of {of}: {symptom}"),
            Some(runs) if seen == runs => format!("in all {of}: {symptom} (the figures of run {first})"),
            Some(_) => format!("in {seen} of {of}: {symptom} (the figures of run {first})"),
        }
    }

    pub(super) fn likely(self, likely: impl Into<String>) -> Self {
        Self { likely: likely.into(), ..self }
    }

    pub(super) fn confirmed_by(self, confirm: &str) -> Self {
        Self { confirm: confirm.to_owned(), ..self }
    }

    pub(super) fn answered_by(self, first: &str) -> Self {
        Self { first_response: first.to_owned(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::rules::facts;

    #[test]
    fn figures_have_their_places_by_name_and_other_facts_by_their_order() {
        let figures = [("ttft_ms", 1_500.0), ("share", 0.25), ("unknown", f64::NAN)];
        let found =
            seen(Regime::Queueing, figures, "TTFT {ttft_ms:ms}{}, {share:%} of {request}", facts![" or more", 3.0]);
        assert_eq!(found.symptom, "TTFT 1.5 s or more, 25 % of 3 requests");
        assert_eq!(found.figures.keys().copied().collect::<Vec<_>>(), ["share", "ttft_ms"]);
    }
}
