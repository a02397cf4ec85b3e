//! Takes typed fields out of a JSON body, as pydantic does: it collects all mistakes.

use axum::http::StatusCode;
use serde_json::{Map, Value};

use crate::engine::bounded_value;
use crate::mock::refusal::{Mistake, Refusal};

/// The object of a body.
pub(crate) fn object(body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    match bounded_value(body) {
        Err(error) if error.is_data() => Err(Refusal::detail(StatusCode::PAYLOAD_TOO_LARGE, &error.to_string())),
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(other) => Err(Refusal::validation(&[Mistake::field(
            "model_attributes_type",
            "",
            "Input should be a valid dictionary or object to extract fields from",
            &other,
        )])),
        Err(error) => {
            let lines = body.split_inclusive(|byte| *byte == b'\n').take(error.line().saturating_sub(1));
            let at = lines.map(<[u8]>::len).sum::<usize>() + error.column();
            Err(Refusal::validation(&[Mistake::json(at)]))
        }
    }
}

/// The fields of an object, and what was wrong with those taken so far. `null` is the same as absent.
pub(crate) struct BodyFields<'a> {
    object: &'a Map<String, Value>,
    mistakes: Vec<Mistake>,
}

impl<'a> BodyFields<'a> {
    pub(crate) const fn from_object(object: &'a Map<String, Value>) -> Self {
        Self { object, mistakes: Vec::new() }
    }

    /// Refuses if any field taken so far was wrong.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.mistakes.is_empty() { Ok(()) } else { Err(Refusal::validation(&self.mistakes)) }
    }

    pub(super) fn mistake(&mut self, kind: &str, place: &str, words: &str, came: &Value) {
        self.mistakes.push(Mistake::field(kind, place, words, came));
    }

    /// A required field is missing.
    pub(crate) fn missing(&mut self, place: &str) {
        let whole = Value::Object(self.object.clone());
        self.mistake("missing", place, "Field required", &whole);
    }

    pub(crate) fn value(&self, name: &str) -> Option<&'a Value> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn text(&mut self, name: &str) -> Option<&'a str> {
        let value = self.value(name)?;
        if value.as_str().is_none() {
            self.mistake("string_type", name, "Input should be a valid string", value);
        }
        value.as_str()
    }

    /// A whole number, also one written as `5.0` or `"5"`.
    pub(super) fn whole(&mut self, name: &str) -> Option<i64> {
        const WANTED: &str = "Input should be a valid integer";
        let value = self.value(name)?;
        let (kind, more) = match value {
            Value::Number(number) => match number.as_i64().or_else(|| integral(number.as_f64()?)) {
                Some(whole) => return Some(whole),
                None => ("int_from_float", ", got a number with a fractional part"),
            },
            Value::String(text) => match text.trim().parse() {
                Ok(whole) => return Some(whole),
                Err(_) => ("int_parsing", ", unable to parse string as an integer"),
            },
            _ => ("int_type", ""),
        };
        self.mistake(kind, name, &format!("{WANTED}{more}"), value);
        None
    }

    /// A switch; off when absent.
    pub(super) fn flag(&mut self, name: &str) -> bool {
        let Some(value) = self.value(name) else { return false };
        if value.as_bool().is_none() {
            self.mistake("bool_type", name, "Input should be a valid boolean", value);
        }
        value.as_bool().unwrap_or(false)
    }

    /// One text, or a list of texts.
    pub(super) fn texts(&mut self, name: &str) -> Vec<String> {
        let one_or_more = match self.value(name) {
            None => Some(Vec::new()),
            Some(Value::String(text)) => Some(vec![text.clone()]),
            Some(Value::Array(items)) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
            Some(_) => None,
        };
        if let (None, Some(value)) = (&one_or_more, self.value(name)) {
            self.mistake("string_type", name, "Input should be a valid string or list of strings", value);
        }
        one_or_more.unwrap_or_default()
    }

    /// Takes the mistakes of nested fields.
    pub(super) fn adopt(&mut self, inner: BodyFields<'_>) {
        self.mistakes.extend(inner.mistakes);
    }
}

fn integral(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
}
