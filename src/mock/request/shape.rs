//! The answer format that a request asks for, and the mock's answer in it.

use serde_json::{Value, json};

use super::fields::Fields;
use crate::mock::faults::Fault;
use crate::mock::reply::instance;
use crate::workload::JsonSchema;

/// The format that a request asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum AnswerFormat {
    /// Free text.
    #[default]
    Free,
    /// JSON of a schema.
    Json(Value),
    /// A call of this tool, with arguments of a schema.
    Call { tool: String, parameters: Value },
}

impl AnswerFormat {
    /// Reads `response_format`, `tools` and `tool_choice`. Where a tool may be called, the mock calls the
    /// first.
    pub(super) fn read(fields: &mut Fields<'_>) -> Self {
        let named = fields.value("tool_choice").and_then(|choice| choice.pointer("/function/name"));
        let called = fields.value("tool_choice").and_then(Value::as_str) != Some("none");
        let tools = fields.value("tools").and_then(Value::as_array).filter(|_| called).into_iter().flatten();
        let mut functions = tools.filter_map(|tool| tool.get("function"));
        let function = match named {
            Some(name) => functions.find(|function| function.get("name") == Some(name)),
            None => functions.next(),
        };
        if let Some((function, name)) = function.and_then(|of| Some((of, of.get("name")?.as_str()?))) {
            let parameters =
                function.get("parameters").cloned().unwrap_or_else(|| json!({ "type": "object" }));
            return Self::Call { tool: name.to_owned(), parameters };
        }
        if let (Some(Value::String(choice)), None) = (fields.value("tool_choice"), function)
            && choice == "required"
        {
            fields.missing("tools");
        }
        let Some(format) = fields.value("response_format") else { return Self::Free };
        match format.get("type").and_then(Value::as_str) {
            Some("text") => Self::Free,
            Some("json_object") => Self::Json(json!({ "type": "object" })),
            Some("json_schema") => {
                let schema = format.pointer("/json_schema/schema");
                if schema.is_none() {
                    fields.missing("response_format.json_schema.schema");
                }
                schema.map_or(Self::Free, |schema| Self::Json(schema.clone()))
            }
            _ => {
                let words = "Input should be 'text', 'json_object', 'json_schema', 'structural_tag'";
                fields.mistake(
                    "literal_error",
                    "response_format.type",
                    words,
                    format.get("type").unwrap_or(format),
                );
                Self::Free
            }
        }
    }

    pub(crate) fn tool(&self) -> Option<&str> {
        match self {
            Self::Call { tool, .. } => Some(tool),
            Self::Free | Self::Json(_) => None,
        }
    }

    /// The text in this format: JSON, or the arguments of the call; `None` where the format is free.
    pub(crate) fn text(&self, faults: &[Fault]) -> Option<String> {
        let schema = match self {
            Self::Free => return None,
            Self::Json(schema) | Self::Call { parameters: schema, .. } => schema,
        };
        let value =
            if faults.contains(&Fault::OffSchema) { off_schema_value(schema) } else { instance(schema) };
        Some(value.to_string())
    }
}

/// A value that violates the schema, if one of a few does.
fn off_schema_value(schema: &Value) -> Value {
    let few = [json!([]), json!({}), json!("word"), json!(-1), Value::Null];
    let judge = JsonSchema::new(schema.clone());
    let strange = |value: &&Value| judge.as_ref().is_ok_and(|schema| schema.check(value).is_err());
    few.iter().find(strange).cloned().unwrap_or_default()
}
