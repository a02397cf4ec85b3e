//! Inputs of requests that are answered by results, as vLLM reads them.

use serde_json::Value;

use super::fields::BodyFields;
use super::prompt::PromptTokens;

/// Requirements of the results for several inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResultsAsked {
    /// Whether vectors are text (base64).
    pub(crate) encoded: bool,
    /// The most results; `None` for one of each input.
    pub(crate) most: Option<usize>,
}

impl ResultsAsked {
    pub(super) fn read(fields: &mut BodyFields<'_>) -> Self {
        let encoded = fields.text("encoding_format") == Some("base64");
        let most = fields.whole("top_n").and_then(|most| usize::try_from(most).ok());
        Self { encoded, most: most.filter(|most| *most > 0) }
    }
}

/// Names of the query, or of the first texts, and of the texts beside it.
const FIRST: [&str; 3] = ["query", "text_1", "queries"];
const SECOND: [&str; 3] = ["documents", "text_2", "items"];

/// Reads pairs, each of which is one prompt. They are a query with every text, or texts one by one. Returns how many
/// tokens of each prompt are its first text too.
pub(super) fn pairs(fields: &mut BodyFields<'_>) -> Vec<(PromptTokens, u32)> {
    let (first, second) = (taken(fields, &FIRST), taken(fields, &SECOND));
    let firsts = first.iter().cycle().take(second.len());
    if first.len() != 1 && first.len() != second.len() {
        return Vec::new();
    }
    firsts
        .zip(&second)
        .map(|(one, other)| {
            let one = PromptTokens::of_texts(one);
            let tokens = one.tokens();
            (one.with(other), tokens)
        })
        .collect()
}

/// The text, or the texts, in the first of these fields that is there.
fn taken<'a>(fields: &mut BodyFields<'a>, names: &[&str]) -> Vec<&'a Value> {
    let found = names.iter().find_map(|name| Some((*name, fields.value(name)?)));
    match found {
        Some((_, value @ (Value::String(_) | Value::Object(_)))) => vec![value],
        Some((_, Value::Array(texts))) => texts.iter().collect(),
        Some((name, value)) => {
            fields.mistake("string_type", name, "Input should be a valid string", value);
            Vec::new()
        }
        None => {
            fields.missing(names.first().unwrap_or(&""));
            Vec::new()
        }
    }
}
