//! A JSON Schema that answers are checked against.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use boon::{CompileError, Compiler, Draft, SchemaIndex, Schemas, ValidationError};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::text_hash::hashed;
use crate::workload::reading::text::{exact_json, parse_json};
use crate::workload::reading::value::SpecValue;

/// A compiled schema. Two are equal when their JSON is. It is stored as the schema itself, even when it came from a
/// file.
#[derive(Clone)]
pub struct JsonSchema {
    schema: Value,
    compiled: Arc<(Schemas, SchemaIndex)>,
}

/// The address of a schema that has none of its own.
const NO_ADDRESS: &str = "schema:answer";
/// Longest value that a sentence quotes, bytes.
const QUOTED: usize = 80;

impl JsonSchema {
    /// Makes the schema that this value is. The draft is the one that `$schema` names, else 2020-12.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and where. A schema elsewhere (`$ref` to an address) is not fetched.
    pub fn new(schema: Value) -> Result<Self, String> {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.set_default_draft(Draft::V2020_12);
        let wrong = |error| mistake(&error, &schema);
        compiler.add_resource(NO_ADDRESS, schema.clone()).map_err(wrong)?;
        let index = compiler.compile(NO_ADDRESS, &mut schemas).map_err(wrong)?;
        Ok(Self { schema, compiled: Arc::new((schemas, index)) })
    }

    /// The schema of an object without fields.
    pub(super) fn of_no_field() -> Option<Self> {
        Self::new(json!({ "type": "object", "properties": {} })).ok()
    }

    /// The schema as JSON.
    pub fn value(&self) -> &Value {
        &self.schema
    }

    /// Returns the schema with the hash of its JSON in place of it. It is stored so, and is of no use to check an
    /// answer.
    pub(crate) fn without_text(&self) -> Self {
        let comment = self.schema.get("$comment").and_then(Value::as_str);
        let hash = hashed(comment.filter(|text| hashed(text) == **text).unwrap_or(&self.schema.to_string()));
        Self { schema: json!({ "$comment": hash }), compiled: Arc::clone(&self.compiled) }
    }

    /// Checks a value; the error is the first violation.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let (schemas, index) = &*self.compiled;
        schemas.validate(value, *index).map_err(|error| {
            let (place, sentence) = first_violation(&error, value);
            if place.is_empty() { sentence } else { format!("{sentence} (at {place})") }
        })
    }

    /// Reads a schema. It is a table, a text that holds JSON, or the path of a file.
    pub(crate) fn read(value: SpecValue<'_>) -> Option<Self> {
        let schema = match value.text_or_none() {
            Some(text) if text.trim_start().starts_with('{') => exact_json(text),
            Some(path) => in_file(path, value.folder()).map_err(|cause| format!("is {path:?}, {cause}")),
            None => Ok(value.json()?),
        };
        let compiled = |schema| Self::new(schema).map_err(|cause| format!("is not a JSON Schema: {cause}"));
        schema.and_then(compiled).map_err(|sentence| value.complain(&sentence)).ok()
    }
}

/// Sentence about a mistake in a schema, after its place.
fn mistake(error: &CompileError, schema: &Value) -> String {
    match error {
        CompileError::ValidationError { src, .. } => {
            let (place, sentence) = first_violation(src, schema);
            if place.is_empty() { sentence } else { format!("at {place}: {sentence}") }
        }
        other => format!("{other:#}").replace(&format!("{NO_ADDRESS}#"), "").replace(NO_ADDRESS, "the schema"),
    }
}

/// Place and sentence of the first violation without a cause of its own. A short value is quoted.
fn first_violation(error: &ValidationError<'_, '_>, value: &Value) -> (String, String) {
    if let Some(cause) = error.causes.first() {
        return first_violation(cause, value);
    }
    let place = error.instance_location.to_string();
    let found = value.pointer(&place).filter(|found| !found.is_object() && !found.is_array()).map(Value::to_string);
    let quoted = found.filter(|found| found.len() <= QUOTED).map(|found| format!("; it is {found}"));
    (place, format!("{}{}", error.kind, quoted.unwrap_or_default()))
}

/// The JSON of a file; a relative path begins at `folder`.
fn in_file(path: &str, folder: Option<&Path>) -> Result<Value, String> {
    let alone = "the path of a file, and only a workload file has a folder for it to begin at; write the schema itself";
    let file = folder.ok_or(alone)?.join(path);
    let text = std::fs::read_to_string(&file)
        .map_err(|error| format!("and the file {} cannot be read: {error}", file.display()))?;
    let node = parse_json(text.trim_start_matches('\u{feff}'))
        .map_err(|mistakes| format!("and {}", mistakes.into_error(&file.display().to_string())))?;
    node.value.json().ok_or_else(|| format!("and {} has a whole number of more than 64 bits", file.display()))
}

impl fmt::Debug for JsonSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JsonSchema").field(&self.schema).finish()
    }
}

impl PartialEq for JsonSchema {
    fn eq(&self, other: &Self) -> bool {
        self.schema == other.schema
    }
}

impl Serialize for JsonSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.schema.serialize(serializer)
    }
}
