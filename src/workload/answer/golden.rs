//! Golden prompts: questions whose answers are known, asked before a run and under its load.

use regex::Regex;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::json_schema::JsonSchema;
use super::text_hash::hashed;
use crate::workload::lengths::TOKEN_LIMIT;
use crate::workload::reading::fields::Fields;
use crate::workload::reading::spec_table;
use crate::workload::reading::value::{Allowed, SpecValue};

/// Lengths that a check may require of an answer, characters.
const CHARACTERS: Allowed = Allowed::from(1.0, 1e9);

spec_table! {
    /// Conditions that must hold of an answer. Every field that is given must hold. Reasoning is not part of the
    /// answer. Matching is case-sensitive.
    #[derive(Default)]
    pub struct Expectation = "an expectation" {
        /// The answer contains every one of these texts.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        contains: Vec<String> = optional(Vec::new(), texts),
        /// The answer contains none of these texts.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        not_contains: Vec<String> = optional(Vec::new(), texts),
        /// The pattern matches somewhere in the answer.
        regex: Option<RegexPattern> = option(RegexPattern::read),
        /// The answer is exactly this text, surrounding white space ignored.
        exact: Option<String> = option(|value| value.nonblank()),
        /// The answer is JSON that fits this schema.
        json_schema: Option<JsonSchema> = option(JsonSchema::read),
        /// The answer has at least this many characters, surrounding white space ignored.
        min_characters: Option<u64> = option(|value| value.whole(CHARACTERS)),
    }
    then(expects_something)
}

fn expects_something(fields: &Fields<'_>, expect: &Expectation) -> Option<()> {
    if *expect == Expectation::default() {
        fields.complain(
            "expects nothing; give it at least one of contains, not_contains, regex, exact, json_schema, \
             min_characters",
        );
    }
    Some(())
}

/// A regular expression in the syntax of the `regex` crate: no look-around, no backreferences.
#[derive(Clone, Debug)]
pub struct RegexPattern(Regex);

impl Expectation {
    /// The first expectation that `answer` does not meet, and how; `None` when it meets all. Where texts are not to be
    /// `shown`, it is named by its field.
    pub fn unmet(&self, answer: &str, shown: bool) -> Option<String> {
        let named = |field: &str, text: &str| {
            if shown { format!("{text:?}") } else { format!("what `{field}` says") }
        };
        let trimmed = answer.trim();
        if let Some(text) = self.contains.iter().find(|text| !answer.contains(text.as_str())) {
            return Some(format!("does not contain {}", named("contains", text)));
        }
        if let Some(text) = self.not_contains.iter().find(|text| answer.contains(text.as_str())) {
            return Some(format!("contains {}", named("not_contains", text)));
        }
        if let Some(pattern) = self.regex.as_ref().filter(|pattern| !pattern.0.is_match(trimmed)) {
            return Some(format!("has no match of {}", named("regex", pattern.0.as_str())));
        }
        if let Some(exact) = self.exact.as_ref().filter(|exact| exact.trim() != trimmed) {
            return Some(format!("is not exactly {}", named("exact", exact.trim())));
        }
        if let Some(schema) = &self.json_schema {
            let value = match serde_json::from_str(trimmed) {
                Ok(value) => value,
                Err(error) => return Some(format!("is not JSON: {error}")),
            };
            if let Err(cause) = schema.check(&value) {
                let cause = if shown { format!(": {cause}") } else { String::new() };
                return Some(format!("is not of the schema{cause}"));
            }
        }
        let characters = trimmed.chars().count() as u64;
        let least = self.min_characters.filter(|least| characters < *least)?;
        Some(format!("has {characters} characters where at least {least} are expected"))
    }
}

/// One text or several.
fn texts(value: SpecValue<'_>) -> Option<Vec<String>> {
    match value.text_or_none() {
        Some(_) => value.nonblank().map(|text| vec![text]),
        None => value.list(|text| text.nonblank()),
    }
}

impl RegexPattern {
    /// Returns the pattern with its hash in place of it, as it is stored.
    pub(crate) fn without_text(&self) -> Self {
        // The letters and digits of a hash are a pattern of themselves.
        Regex::new(&hashed(self.0.as_str())).map_or_else(|_| self.clone(), Self)
    }

    pub(super) fn read(value: SpecValue<'_>) -> Option<Self> {
        let text = value.nonblank()?;
        Self::typed(&text).map_or_else(|mistake| value.reject(&mistake), Some)
    }

    /// Reads a pattern. The error is the rest of a sentence about it.
    pub(super) fn typed(text: &str) -> Result<Self, String> {
        Regex::new(text).map(Self).map_err(|error| {
            // The crate's message draws the pattern with an arrow; the cause is its last line.
            let error = error.to_string();
            let cause = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!("is {text:?}, which is not a regular expression: {cause}")
        })
    }

    /// The first group of the first match in a text, without groups the match.
    pub(super) fn first_of<'t>(&self, text: &'t str) -> Option<&'t str> {
        let found = self.0.captures(text)?;
        found.iter().skip(1).flatten().next().or_else(|| found.get(0)).map(|group| group.as_str())
    }
}

impl PartialEq for RegexPattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Serialize for RegexPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_str())
    }
}

/// Longest answer when the file gives none, tokens.
const DEFAULT_TOKENS: u32 = 64;

const TOKENS: Allowed = Allowed::from(1.0, TOKEN_LIMIT as f64);

spec_table! {
    /// A question whose answer is known. It is sent at temperature 0 with a fixed sampling seed, in addition to the
    /// load, and counts in none of its figures.
    pub struct GoldenCheck = "a check" {
        /// Name shown in reports, unique in its workload.
        name: String = required(|value| value.name()),
        /// Subject of its question, such as `safety` or `arithmetic`. Checks of one slice have a pass rate of their
        /// own.
        slice: Option<String> = option(|value| value.name()),
        /// The prompt; in a chat, the one user message. Either this or `messages` is given.
        prompt: Option<String> = option(|value| value.nonblank()),
        /// The messages of a chat, sent unchanged.
        messages: Option<Value> = option(messages_of_chat),
        /// The longest answer, tokens; 64 when the file does not say.
        max_tokens: u32 = optional(DEFAULT_TOKENS, |value| value.whole(TOKENS)),
        /// Conditions that the answer must meet.
        expect: Expectation = required(Expectation::read),
    }
    check(fields) {
        if prompt.as_ref()?.is_some() == messages.as_ref()?.is_some() {
            fields.complain("must have either a `prompt` or `messages`");
        }
    }
}

impl GoldenCheck {
    /// Seconds between two checks under load, when the file does not say.
    pub const DEFAULT_EVERY_S: f64 = 5.0;

    /// The slices of `checks`, each once, in the order of the workload.
    pub(crate) fn slices(checks: &[Self]) -> Vec<&str> {
        let mut slices = Vec::new();
        for slice in checks.iter().filter_map(|check| check.slice.as_deref()) {
            if !slices.contains(&slice) {
                slices.push(slice);
            }
        }
        slices
    }
}

impl Fields<'_> {
    /// Reads the checks of a workload; an empty list when it gives none.
    pub(in crate::workload) fn checks(&mut self, name: &'static str) -> Option<Vec<GoldenCheck>> {
        self.optional(name, Vec::new(), |value| {
            if value.is_empty_list() { Some(Vec::new()) } else { value.named_list("check", GoldenCheck::read) }
        })
    }
}

/// Messages of a chat: tables with a role and a content.
fn messages_of_chat(value: SpecValue<'_>) -> Option<Value> {
    value
        .list(|value| {
            value.table("a message", |fields| {
                let role = fields.required("role", |value| value.nonblank())?;
                let content = fields.required("content", |value| value.json())?;
                Some(serde_json::json!({ "role": role, "content": content }))
            })
        })
        .map(Value::Array)
}

#[cfg(test)]
mod tests {
    /// How `answer` misses this expectation.
    fn unmet(expect: &serde_json::Value, answer: &str) -> Option<String> {
        let text = serde_json::json!({
            "name": "w", "arrival": { "kind": "poisson", "rate_per_s": 1 },
            "classes": [{ "name": "c", "input_tokens": { "kind": "constant", "value": 1 },
                          "output_tokens": { "kind": "constant", "value": 1 } }],
            "checks": [{ "name": "one", "prompt": "?", "expect": expect }]
        });
        let spec = crate::workload::spec::WorkloadSpec::from_json(&text.to_string(), "a test").unwrap();
        let expect = &spec.checks[0].expect;
        let hidden = expect.unmet(answer, false);
        assert!(hidden.is_none_or(|why| !why.contains('"') && !why.contains("1984")), "{answer}");
        expect.unmet(answer, true)
    }

    #[test]
    fn every_expectation_holds_and_does_not() {
        let schema = serde_json::json!({ "type": "object", "required": ["a"],
                                         "properties": { "a": { "type": "integer" } } });
        for (expect, good, bad, why) in [
            (serde_json::json!({ "contains": "Paris" }), "It is Paris.", "It is paris.", "contain \"Paris\""),
            (serde_json::json!({ "contains": ["a", "b"] }), "b a", "a", "does not contain \"b\""),
            (serde_json::json!({ "not_contains": ["sorry"] }), "yes", "sorry, no", "contains \"sorry\""),
            (serde_json::json!({ "regex": "^[0-9]{4}$" }), "1984", "84", "has no match of \"^[0-9]{4}$\""),
            (serde_json::json!({ "exact": "42" }), " 42\n", "42!", "is not exactly \"42\""),
            (serde_json::json!({ "json_schema": schema }), " {\"a\": 1}\n", "{\"a\": ", "is not JSON: "),
            (
                serde_json::json!({ "json_schema": schema }),
                "{\"a\": 1}",
                "{\"a\": \"1\"}",
                "schema: want integer, but got string; it is \"1\" (at /a)",
            ),
            (serde_json::json!({ "min_characters": 3 }), "äöü", " äö ", "has 2 characters where at least 3"),
            (serde_json::json!({ "contains": "a", "regex": "b" }), "ab", "a", "has no match of \"b\""),
        ] {
            assert_eq!(unmet(&expect, good), None, "{expect}");
            let said = unmet(&expect, bad).unwrap();
            assert!(said.contains(why), "{expect}: {said}");
        }
    }
}
