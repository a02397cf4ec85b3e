//! Rules of the tools' tables: conditions on named values, and what is set or said where they hold.

use std::collections::BTreeMap;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::values::{compute, plain, positive};

/// A rule for values that mean something only together.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TableRule {
    /// The name each of whose values is `it` in turn.
    each: Option<String>,
    /// Whether it holds only where no rule of its chain before it did.
    #[serde(rename = "else")]
    is_else: bool,
    /// Conditions on the values of placeholders.
    when: BTreeMap<String, ValueCondition>,
    /// Names, each with a template, or with a function and its arguments.
    set: Vec<Vec<String>>,
    /// Options with the templates of their values. One whose template has no value is left out.
    pub(super) options: Vec<String>,
    /// Flags that are fields of every body, and flags whose fields are.
    pub(super) body: String,
    /// Sentences, each about something.
    pub(super) says: Vec<[String; 2]>,
}

/// A condition on a value.
#[derive(Debug, Deserialize)]
#[serde(try_from = "toml::Value")]
enum ValueCondition {
    /// Whether there is one.
    Given(bool),
    /// `#`: a number above 0.
    Positive,
    /// Pattern that all of it is of.
    Like(Regex),
    /// `!` and a pattern: there is one, and it is not of the pattern.
    Unlike(Regex),
}

impl TryFrom<toml::Value> for ValueCondition {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        let pattern = |text: &str| Regex::new(&format!("^(?:{text})$")).map_err(|error| error.to_string());
        match value {
            toml::Value::Boolean(given) => Ok(Self::Given(given)),
            toml::Value::String(text) if text == "#" => Ok(Self::Positive),
            toml::Value::String(text) => match text.strip_prefix('!') {
                Some(other) => pattern(other).map(Self::Unlike),
                None => pattern(&text).map(Self::Like),
            },
            other => Err(format!("{other} is no condition")),
        }
    }
}

impl ValueCondition {
    /// Named parts of a value that meets the condition.
    fn parts(&self, value: Option<&str>) -> Option<Vec<(String, String)>> {
        let holds = match (self, value) {
            (Self::Given(given), value) => value.is_some() == *given,
            (Self::Positive, value) => value.is_some_and(|value| positive(value).is_some()),
            (Self::Unlike(pattern), value) => value.is_some_and(|value| !pattern.is_match(value)),
            (Self::Like(pattern), value) => {
                let found = pattern.captures(value?)?;
                let part = |name: &str| Some((name.to_owned(), found.name(name)?.as_str().to_owned()));
                return Some(pattern.capture_names().flatten().filter_map(part).collect());
            }
        };
        holds.then(Vec::new)
    }
}

/// Named values, each with all of its values in their order.
#[derive(Debug, Default)]
pub(super) struct NamedValues(pub(super) BTreeMap<String, Vec<Value>>);

impl NamedValues {
    pub(super) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.entry(name.to_owned()).or_default().push(value.into());
    }

    /// The value of the first name of a placeholder that has one. Else it is the placeholder's default behind the
    /// colon.
    pub(super) fn value(&self, names: &str) -> Option<String> {
        let (names, default) = names.split_once(':').map_or((names, None), |(names, it)| (names, Some(it)));
        let found = names.split('|').find_map(|name| match name.strip_suffix('*') {
            Some(name) => Some(self.0.get(name)?.iter().map(plain).collect::<Vec<_>>().join(",")),
            None => self.0.get(name)?.last().map(plain),
        });
        found.or_else(|| default.map(str::to_owned))
    }

    /// A template with the values of its placeholders; `None` where one has none.
    pub(super) fn fill(&self, template: &str) -> Option<String> {
        let is_name = |names: &str| names.starts_with(|first: char| first == '-' || first.is_ascii_lowercase());
        let (mut filled, mut rest) = (String::new(), template);
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            if let Some((names, behind)) = after.split_once('}').filter(|(names, _)| is_name(names)) {
                filled.push_str(&self.value(names)?);
                rest = behind;
            } else {
                filled.push('{');
                rest = after;
            }
        }
        Some(filled + rest)
    }

    /// Sets what a rule sets; whether its conditions hold.
    fn apply(&mut self, rule: &TableRule) -> bool {
        let mut parts = Vec::new();
        for (names, condition) in &rule.when {
            let Some(holds) = condition.parts(self.value(names).as_deref()) else { return false };
            parts.extend(holds);
        }
        for (name, part) in parts {
            self.set(&name, part);
        }
        for set in &rule.set {
            let value = match &set[1..] {
                [template] => self.fill(template),
                [function, templates @ ..] => {
                    let arguments = templates.iter().map(|template| self.fill(template));
                    arguments.collect::<Option<Vec<_>>>().and_then(|given| compute(function, &given))
                }
                [] => None,
            };
            if let Some(value) = value {
                self.set(&set[0], value);
            }
        }
        true
    }
}

/// A reader of a table that follows its rules.
pub(super) trait FollowsRules {
    fn values(&mut self) -> &mut NamedValues;

    /// Does what a rule whose conditions hold says beyond its values.
    fn obey(&mut self, rule: &'static TableRule);

    fn follow(&mut self, rules: &'static [TableRule]) {
        let mut is_done = false;
        for rule in rules {
            if rule.is_else && is_done {
                continue;
            }
            is_done = match &rule.each {
                None => self.try_rule(rule),
                Some(name) => {
                    let each = self.values().0.get(name).cloned().unwrap_or_default();
                    each.into_iter().fold(false, |any, value| {
                        self.values().set("it", value);
                        self.try_rule(rule) || any
                    })
                }
            };
        }
    }

    /// Follows a rule; whether its conditions hold.
    fn try_rule(&mut self, rule: &'static TableRule) -> bool {
        let holds = self.values().apply(rule);
        if holds {
            self.obey(rule);
        }
        holds
    }
}
