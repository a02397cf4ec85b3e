//! A JSON Schema that answers are checked against.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use jsonschema::Validator;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::text_hash::hashed;
use crate::workload::reading::mistakes::Mistakes;
use crate::workload::reading::node::{Node, NodeValue};
use crate::workload::reading::text::{exact_json, parse_json};
use crate::workload::reading::value::SpecValue;

/// A compiled schema. Two are equal when their JSON is. It is stored as the schema itself, even when it came from a
/// file.
#[derive(Clone)]
pub struct JsonSchema {
    schema: Value,
    validator: Arc<Validator>,
}

impl JsonSchema {
    /// The schema that this value is; the draft is the one that `$schema` names, else 2020-12.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and where. A schema elsewhere (`$ref` to an address) is not fetched.
    pub fn new(schema: Value) -> Result<Self, String> {
        let validator = jsonschema::validator_for(&schema).map_err(|error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { String::new() } else { format!("at {place}: ") };
            format!("{place}{error}")
        })?;
        Ok(Self { schema, validator: Arc::new(validator) })
    }

    /// The schema of an object without fields.
    pub(super) fn of_no_field() -> Option<Self> {
        Self::new(json!({ "type": "object", "properties": {} })).ok()
    }

    /// The schema as JSON.
    pub fn value(&self) -> &Value {
        &self.schema
    }

    /// The same with the hash of its JSON in place of it, as it is stored. Of no use to check an answer.
    pub(crate) fn without_text(&self) -> Self {
        let comment = self.schema.get("$comment").and_then(Value::as_str);
        let hash = hashed(comment.filter(|text| hashed(text) == **text).unwrap_or(&self.schema.to_string()));
        Self { schema: json!({ "$comment": hash }), validator: Arc::clone(&self.validator) }
    }

    /// Checks a value; the error is the first violation.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        self.validator.validate(value).map_err(|error| {
            let place = error.instance_path().to_string();
            if place.is_empty() { error.to_string() } else { format!("{error} (at {place})") }
        })
    }

    /// Reads a schema: a table, or a text that holds JSON. Paths of schema files have been replaced by their content
    /// before.
    pub(crate) fn read(value: SpecValue<'_>) -> Option<Self> {
        let schema = match value.text_or_none() {
            Some(text) if text.trim_start().starts_with('{') => match exact_json(text) {
                Ok(schema) => schema,
                Err(sentence) => return value.reject(&sentence),
            },
            Some(path) => {
                let sentence = format!(
                    "is {path:?}, the path of a file, and only a workload file has a folder for it to begin at; write \
                     the schema itself"
                );
                return value.reject(&sentence);
            }
            None => value.json()?,
        };
        Self::new(schema).map_err(|cause| value.complain(&format!("is not a JSON Schema: {cause}"))).ok()
    }
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

/// Replaces every path of a schema in a workload by the schema itself: in checks, in answer formats and in the
/// parameters of tools. A relative path begins at `folder`. A file that cannot be read is a mistake on the path's
/// line.
pub(crate) fn inline_schemas(workload: &mut Node, folder: &Path, mistakes: &Mistakes) {
    for (i, check) in workload.items_mut("checks").iter_mut().enumerate() {
        if let Some(expect) = check.field_mut("expect") {
            replace(expect, "json_schema", &format!("checks[{i}].expect"), folder, mistakes);
        }
    }
    for (i, class) in workload.items_mut("classes").iter_mut().enumerate() {
        let Some(answer) = class.field_mut("answer") else { continue };
        let path = format!("classes[{i}].answer");
        replace(answer, "schema", &path, folder, mistakes);
        for (j, tool) in answer.items_mut("tools").iter_mut().enumerate() {
            replace(tool, "parameters", &format!("{path}.tools[{j}]"), folder, mistakes);
        }
    }
}

fn replace(table: &mut Node, field: &str, path: &str, folder: &Path, mistakes: &Mistakes) {
    let Some(node) = table.field_mut(field) else { return };
    let NodeValue::Text(text) = &node.value else { return };
    if text.trim_start().starts_with('{') {
        return;
    }
    let file = folder.join(text);
    let complain =
        |cause: String| mistakes.add(node.line, format!("`{path}.{field}` is {text:?}, and {cause}"));
    let read = match std::fs::read_to_string(&file) {
        Ok(read) => read,
        Err(error) => {
            return complain(format!("the file {} cannot be read: {error}", file.display()));
        }
    };
    match parse_json(read.trim_start_matches('\u{feff}')) {
        // The schema's own lines belong to another file: mistakes in it are reported on the line of its path.
        Ok(schema) => *node = schema.on_line(node.line),
        Err(error) => complain(error.into_error(&file.display().to_string()).to_string()),
    }
}
