//! The fields by which a server is told which form an answer must have.

use serde_json::{Map, Value, json};

use crate::engine::dialect::SchemaField;
use crate::workload::{AnswerShape, Tool, ToolChoice};

/// What is asked of an answer beside its prompt.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form<'a> {
    /// Words, as many as asked where that can be forced.
    Words,
    /// This form; it ends by itself.
    Shaped(&'a AnswerShape),
    /// An answer that ends by itself.
    Free,
}

/// The name that a schema must be given.
const SCHEMA_NAME: &str = "answer";

impl Form<'_> {
    /// Whether the length is forced.
    pub(crate) const fn is_forced(self) -> bool {
        matches!(self, Self::Words)
    }

    /// Adds the fields that ask for it.
    pub(crate) fn ask(self, fields: &mut Map<String, Value>, dialect: SchemaField) {
        let Self::Shaped(shape) = self else { return };
        match shape {
            AnswerShape::Json { .. } => {
                let format = match dialect {
                    SchemaField::JsonSchema | SchemaField::Schema => json!({ "type": "json_object" }),
                    SchemaField::Value => value(&json!({ "type": "object" })),
                };
                fields.insert("response_format".into(), format);
            }
            AnswerShape::JsonSchema { schema, strict, .. } => {
                let schema = schema.value();
                let format = match dialect {
                    SchemaField::JsonSchema => {
                        let mut named = json!({ "name": SCHEMA_NAME, "schema": schema });
                        if *strict {
                            named["strict"] = true.into();
                        }
                        json!({ "type": "json_schema", "json_schema": named })
                    }
                    SchemaField::Schema => json!({ "type": "json", "schema": schema }),
                    SchemaField::Value => value(schema),
                };
                fields.insert("response_format".into(), format);
            }
            AnswerShape::Tools { tools, choice, .. } => {
                fields.insert("tools".into(), tools.iter().map(function).collect());
                let choice = match choice {
                    ToolChoice::Auto => "auto".into(),
                    ToolChoice::Required => "required".into(),
                    ToolChoice::Named(name) => json!({ "type": "function", "function": { "name": name } }),
                };
                fields.insert("tool_choice".into(), choice);
            }
        }
    }
}

fn value(schema: &Value) -> Value {
    json!({ "type": "json_object", "value": schema })
}

fn function(tool: &Tool) -> Value {
    let mut function = json!({ "name": tool.name, "parameters": tool.parameters.value() });
    if let Some(description) = &tool.description {
        function["description"] = description.as_str().into();
    }
    json!({ "type": "function", "function": function })
}
