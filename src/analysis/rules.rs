//! Tables of rules: what a rule is named, what it looks at, what it says and advises, and what silences it.

use super::judgements::{FindingKind, Rule};
use super::summary::run::Summary;
use crate::units::{count, counted, percent, seconds, three_digits};
use crate::workload::Purpose;

/// Fact that has a place in the words of a rule. The places of its sentence come first, then those of its cure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RuleFact {
    /// A figure, which the place says how to write.
    Figure(f64),
    /// Words as they are.
    Words(String),
}

/// A rule of a table.
#[derive(Debug)]
pub(crate) struct RuleRow<I, T> {
    /// Name of the rule.
    pub(crate) id: I,
    /// The topic of the guide that explains it.
    pub(crate) guide: &'static str,
    /// Test of the evidence.
    pub(crate) test: T,
    /// Sentence with a place for each fact.
    pub(crate) sentence: &'static str,
    /// Cure, likewise.
    pub(crate) cure: &'static str,
    /// Rules and conditions that say the same, or make it wrong.
    pub(crate) suppressed_by: &'static [Suppressor],
}

/// Condition that silences a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suppressor {
    /// A reason of the verdict.
    Reason(Rule),
    /// A reason of the verdict, on a screen alone: fuller reports have room for both.
    OnScreen(Rule),
    /// Another piece of advice.
    Advice(FindingKind),
    /// The purpose of a smoke run: nobody asked how long answers take.
    Smoke,
    /// A window of which no request was run.
    NothingRan,
    /// Skyline's own mock, which has no hardware and no serving flags.
    Mock,
}

impl Suppressor {
    /// Whether it speaks of `run`, as far as its verdict is known.
    pub(crate) fn speaks_of(self, run: &Summary) -> bool {
        match self {
            Self::Reason(rule) => run.verdict.breaks(rule),
            Self::Smoke => run.run.purpose == Purpose::Smoke,
            Self::NothingRan => run.requests.executed() == 0,
            Self::OnScreen(_) | Self::Advice(_) | Self::Mock => false,
        }
    }
}

impl<I: Copy, T: Copy> RuleRow<I, T> {
    pub(crate) const fn new(id: I, guide: &'static str, test: T, by: &'static [Suppressor]) -> Self {
        Self { id, guide, test, sentence: "{}", cure: "{}", suppressed_by: by }
    }

    /// The rule with its sentence.
    pub(crate) const fn says(self, sentence: &'static str) -> Self {
        Self { sentence, ..self }
    }

    /// The rule with its cure.
    pub(crate) const fn cure(self, cure: &'static str) -> Self {
        Self { cure, ..self }
    }

    /// Sentence and cure of the rule, with these facts in their places.
    pub(crate) fn words(&self, facts: Vec<RuleFact>) -> (String, String) {
        let mut facts = facts.into_iter();
        let said = [self.sentence, self.cure]
            .map(|template| filled_by(template, |form| facts.next().map(|fact| fact.in_form(form))));
        debug_assert!(facts.next().is_none(), "a fact without a place in {said:?}");
        said.into()
    }

    /// Returns the findings of the rules of a table, in its order. `ask` puts a rule to the evidence.
    ///
    /// A rule is not asked where something that silences it `speaks`, which knows what the rules before it said.
    pub(crate) fn judge<'r, F>(
        rules: impl IntoIterator<Item = &'r Self>,
        speaks: impl Fn(Suppressor, &[(I, F)]) -> bool,
        ask: impl Fn(&Self) -> Option<F>,
    ) -> Vec<(I, F)>
    where
        Self: 'r,
    {
        let mut said = Vec::new();
        for rule in rules {
            if !rule.suppressed_by.iter().any(|by| speaks(*by, &said)) {
                said.extend(ask(rule).map(|found| (rule.id, found)));
            }
        }
        said
    }
}

/// Facts of a rule: figures, and words.
macro_rules! facts {
    ($($fact:expr),* $(,)?) => { vec![$($crate::analysis::rules::RuleFact::from($fact)),*] };
}
pub(crate) use facts;

/// The template with the next of the facts in each of its places.
pub(crate) fn filled(template: &str, facts: Vec<RuleFact>) -> String {
    let mut facts = facts.into_iter();
    filled_by(template, |form| facts.next().map(|fact| fact.in_form(form)))
}

/// The template with what `fact` has for each of its places.
pub(crate) fn filled_by(template: &str, mut fact: impl FnMut(&str) -> Option<String>) -> String {
    let (mut text, mut rest) = (String::new(), template);
    while let Some((before, (place, after))) =
        rest.split_once('{').and_then(|(before, from)| Some((before, from.split_once('}')?)))
    {
        let found = fact(place);
        debug_assert!(found.is_some(), "a place without a fact in {template}");
        text.push_str(before);
        text.push_str(&found.unwrap_or_default());
        rest = after;
    }
    text + rest
}

impl RuleFact {
    /// Writes the fact in the form of its place. `%` is a share, `s` and `ms` are a time, `#` is a count, and empty or
    /// `3` is three digits. Any other form is the thing that is counted.
    pub(crate) fn in_form(self, form: &str) -> String {
        match (self, form) {
            (Self::Words(words), _) => words,
            (Self::Figure(share), "%") => percent(share),
            (Self::Figure(length), "s") => seconds(length),
            (Self::Figure(length), "ms") => seconds(length / 1e3),
            (Self::Figure(number), "#") => count(number as u64),
            (Self::Figure(value), "" | "3") => three_digits(value),
            (Self::Figure(number), thing) => counted(number as u64, thing),
        }
    }
}

impl From<f64> for RuleFact {
    fn from(value: f64) -> Self {
        Self::Figure(value)
    }
}

impl From<u64> for RuleFact {
    fn from(number: u64) -> Self {
        Self::Figure(number as f64)
    }
}

impl From<String> for RuleFact {
    fn from(words: String) -> Self {
        Self::Words(words)
    }
}

impl From<&str> for RuleFact {
    fn from(words: &str) -> Self {
        Self::Words(words.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fact_is_written_as_its_place_says() {
        let row = RuleRow::new((), "validity", (), &[])
            .says("{#} of {request} ({%}) for {s} and {ms}, {3} {}")
            .cure("look at {}");
        let facts = facts![1_200_u64, 1_u64, 0.125, 2.5, 1_500.0, 1.0 / 3.0, "each", "it".to_owned()];
        let said = "1,200 of 1 request (12.5 %) for 2.5 s and 1.5 s, 0.333 each";
        assert_eq!(row.words(facts), (said.to_owned(), "look at it".to_owned()));
    }
}
