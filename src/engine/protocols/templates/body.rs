//! The body of a template, and the placeholders in it.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::engine::dialect_traits::LengthForcing;
use crate::workload::nearest;
use crate::workload::reading::{SpecValue, exact_json};

/// Values of a body that stand for something of the request. Each is all of a text, such as `"{prompt}"`.
const PLACEHOLDERS: [&str; 14] = [
    "prompt",
    "messages",
    "token_ids",
    "output_tokens",
    "min_tokens",
    "ignore_eos",
    "model",
    "stream",
    "temperature",
    "temperature_above_0",
    "do_sample",
    "top_p",
    "top_k",
    "seed",
];

/// Placeholders that stand for the prompt: a text, messages of a chat, and token ids.
pub(crate) const PROMPTS: [&str; 3] = ["prompt", "messages", "token_ids"];

/// A body of which some values stand for those of each request.
///
/// It may hold credentials, so its `Debug` shows only the names of its fields.
#[derive(Clone, PartialEq, Serialize)]
pub(crate) struct TemplateBody {
    pub(crate) fields: Map<String, Value>,
    /// The user's file that it comes from.
    #[serde(skip)]
    pub(crate) file: Option<TemplateFile>,
}

/// A user's file with a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TemplateFile {
    pub(crate) path: PathBuf,
    /// Hash of all that it says, hexadecimal.
    pub(crate) sha256: String,
}

impl fmt::Debug for TemplateBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.fields.keys()).finish()
    }
}

impl TemplateBody {
    /// Reads an object, or a text that is the JSON of one.
    pub(super) fn read(value: SpecValue<'_>) -> Option<Self> {
        let json = match value.text_or_none() {
            Some(text) => exact_json(text).map_err(|sentence| value.complain(&sentence)).ok()?,
            None => value.json()?,
        };
        let Value::Object(fields) = json else { return value.refuse("an object") };
        let body = Self { fields, file: None };
        let mistakes = body.mistakes();
        for sentence in &mistakes {
            value.complain(sentence);
        }
        mistakes.is_empty().then_some(body)
    }

    /// Everything that is wrong with its placeholders; each sentence begins with its verb.
    fn mistakes(&self) -> Vec<String> {
        let mut texts = Vec::new();
        collect(&self.fields, "", &mut texts);
        let mut mistakes: Vec<String> = texts.iter().filter_map(|(place, text)| mistake(place, text)).collect();
        let prompts = PROMPTS.into_iter().filter(|name| self.has(name)).count();
        if prompts == 0 {
            let cure = "give the field of the prompt the value \"{prompt}\", \"{messages}\" or \"{token_ids}\"";
            mistakes.push(format!("has no prompt; {cure}"));
        }
        if !self.has("output_tokens") {
            let cure = "give the field that limits an answer's tokens the value \"{output_tokens}\"";
            mistakes.push(format!("has no limit of an answer's length; {cure}"));
        }
        if prompts > 1 {
            mistakes.push(
                "has several of \"{prompt}\", \"{messages}\" and \"{token_ids}\"; a request has one prompt".into(),
            );
        }
        mistakes
    }

    /// Whether it has this placeholder.
    pub(super) fn has(&self, name: &str) -> bool {
        self.place_of(name).is_some()
    }

    /// The path of the first value that is this placeholder, such as `parameters/seed`.
    pub(super) fn place_of(&self, name: &str) -> Option<String> {
        let mut texts = Vec::new();
        collect(&self.fields, "", &mut texts);
        let found = texts.into_iter().find(|(_, text)| placeholder(text) == Some(name));
        found.map(|(place, _)| place)
    }

    /// Names of the fields that limit and force lengths.
    pub(crate) fn lengths(&self, forcing: LengthForcing) -> String {
        let forced = match forcing {
            LengthForcing::IgnoreEosAndMinTokens => &["ignore_eos", "min_tokens"][..],
            LengthForcing::IgnoreEos => &["ignore_eos"],
            LengthForcing::None => &[],
        };
        let forced: Vec<_> = forced.iter().filter_map(|name| self.place_of(name)).collect();
        let limit = self.place_of("output_tokens").unwrap_or_default();
        if forced.is_empty() { limit } else { format!("{limit}, forced by {}", forced.join(" and ")) }
    }

    /// The body with a value for each placeholder. A field whose placeholder has none is left out.
    pub(crate) fn filled(&self, value_of: &dyn Fn(&str) -> Option<Value>) -> Map<String, Value> {
        let filled = self.fields.iter().filter_map(|(name, value)| Some((name.clone(), filled(value, value_of)?)));
        filled.collect()
    }
}

fn filled(value: &Value, value_of: &dyn Fn(&str) -> Option<Value>) -> Option<Value> {
    Some(match value {
        Value::String(text) => match placeholder(text) {
            Some(name) => value_of(name)?,
            None => value.clone(),
        },
        Value::Array(items) => items.iter().filter_map(|item| filled(item, value_of)).collect(),
        Value::Object(fields) => {
            fields.iter().filter_map(|(name, value)| Some((name.clone(), filled(value, value_of)?))).collect()
        }
        other => other.clone(),
    })
}

/// The name of the placeholder that a text is, known or not.
pub(crate) fn placeholder(text: &str) -> Option<&str> {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let name = text.strip_prefix('{')?.strip_suffix('}')?;
    (!name.is_empty() && name.bytes().all(is_part)).then_some(name)
}

/// The mistake in a text at this place, if it is meant as a placeholder.
fn mistake(place: &str, text: &str) -> Option<String> {
    match placeholder(text) {
        Some(name) if PLACEHOLDERS.contains(&name) => None,
        Some(name) => {
            let near = nearest(name, PLACEHOLDERS);
            let hint = near.map(|near| format!("; did you mean `{{{near}}}`?")).unwrap_or_default();
            let known = PLACEHOLDERS.map(|known| format!("{{{known}}}")).join(", ");
            Some(format!("has `{text}` at `{place}`, which is no placeholder{hint} (known: {known})"))
        }
        None => {
            let within = PLACEHOLDERS.into_iter().find(|name| text.contains(&format!("{{{name}}}")))?;
            Some(format!(
                "has `{{{within}}}` within a text at `{place}`; a placeholder is a whole value: \"{{{within}}}\""
            ))
        }
    }
}

/// Collects every text below an object with its path.
fn collect<'v>(fields: &'v Map<String, Value>, path: &str, found: &mut Vec<(String, &'v str)>) {
    for (name, value) in fields {
        collect_value(value, format!("{path}{name}"), found);
    }
}

fn collect_value<'v>(value: &'v Value, path: String, found: &mut Vec<(String, &'v str)>) {
    match value {
        Value::String(text) => found.push((path, text)),
        Value::Object(fields) => collect(fields, &format!("{path}/"), found),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(place, item)| collect_value(item, format!("{path}/{place}"), found));
        }
        _ => {}
    }
}
