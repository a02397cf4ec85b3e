//! Fields that request an answer of a form, as chats have them.

use serde_json::{Map, Value, json};

use crate::engine::dialect_traits::SchemaField;
use crate::workload::{AnswerShape, ToolChoice, ToolSpec};

/// The name that a schema must have.
pub(super) const SCHEMA_NAME: &str = "answer";

/// Adds the fields of a chat.
pub(super) fn shape(fields: &mut Map<String, Value>, shape: &AnswerShape, dialect: SchemaField) {
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

fn value(schema: &Value) -> Value {
    json!({ "type": "json_object", "value": schema })
}

/// A tool in the form of chats.
pub(super) fn function(tool: &ToolSpec) -> Value {
    let mut function = json!({ "name": tool.name, "parameters": tool.parameters.value() });
    if let Some(description) = &tool.description {
        function["description"] = description.as_str().into();
    }
    if tool.strict {
        function["strict"] = true.into();
    }
    json!({ "type": "function", "function": function })
}
