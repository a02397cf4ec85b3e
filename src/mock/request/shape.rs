//! The answer format that a request asks for, and the mock's answer in it.

use serde_json::{Map, Value, json};

use super::fields::BodyFields;
use crate::mock::faults::Fault;
use crate::workload::JsonSchema;

/// The format that a request asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AnswerFormat {
    /// The schema of the text, or of the arguments of a call. It is `None` for free text.
    pub(super) schema: Option<Value>,
    /// The tool that is called.
    pub(crate) tool: Option<String>,
    /// Answers with calls of tools since the user's last message. It is absent where the mock must call one.
    rounds: Option<usize>,
}

impl AnswerFormat {
    /// Reads `response_format`, `tools` and `tool_choice`. Where a tool may be called, the mock calls the
    /// first.
    pub(super) fn read(fields: &mut BodyFields<'_>) -> Self {
        let choice = fields.value("tool_choice");
        let named = choice.and_then(|of| of.pointer("/function/name").or_else(|| of.get("name")));
        let word = choice.and_then(|of| of.as_str().or_else(|| of.get("type")?.as_str()));
        let word = if word == Some("any") { Some("required") } else { word };
        let tools = fields.value("tools").and_then(Value::as_array).filter(|_| word != Some("none"));
        let mut functions = tools.into_iter().flatten().map(|tool| tool.get("function").unwrap_or(tool));
        let function = match named {
            Some(name) => functions.find(|function| function.get("name") == Some(name)),
            None => functions.next(),
        };
        if let Some((function, name)) = function.and_then(|of| Some((of, of.get("name")?.as_str()?))) {
            let parameters = function.get("parameters").or_else(|| function.get("input_schema")).cloned();
            let schema = parameters.or_else(|| Some(json!({ "type": "object" })));
            let is_free = named.is_none() && word != Some("required");
            return Self { schema, tool: Some(name.to_owned()), rounds: is_free.then(|| rounds_of_tools(fields)) };
        }
        if function.is_none() && word == Some("required") {
            fields.missing("tools");
        }
        let within = ["text", "output_config"].into_iter().find_map(|name| fields.value(name)?.get("format"));
        let Some(format) = fields.value("response_format").or(within) else { return Self::default() };
        let schema = match format.get("type").and_then(Value::as_str) {
            Some("text") => None,
            Some("json_object") => Some(json!({ "type": "object" })),
            Some("json_schema") => {
                let schema = format.pointer("/json_schema/schema").or_else(|| format.get("schema"));
                if schema.is_none() {
                    fields.missing("response_format.json_schema.schema");
                }
                schema.cloned()
            }
            _ => {
                let words = "Input should be 'text', 'json_object', 'json_schema', 'structural_tag'";
                let came = format.get("type").unwrap_or(format);
                fields.mistake("literal_error", "response_format.type", words, came);
                None
            }
        };
        Self { schema, ..Self::default() }
    }

    /// Calls no tool after so many rounds of calls, unless it must.
    pub(crate) fn end_after(&mut self, rounds: Option<u32>) {
        if self.rounds.zip(rounds).is_some_and(|(done, most)| done >= most as usize) {
            *self = Self::default();
        }
    }

    /// Returns the text in this format. It is JSON, or the arguments of the call; `None` where the format is free.
    pub(crate) fn text(&self, faults: &[Fault]) -> Option<String> {
        let schema = self.schema.as_ref()?;
        let value = if faults.contains(&Fault::OffSchema) { off_schema_value(schema) } else { instance(schema) };
        Some(value.to_string())
    }
}

/// Answers with calls of tools since the user's last message.
fn rounds_of_tools(fields: &BodyFields<'_>) -> usize {
    let said = ["messages", "input"].into_iter().find_map(|name| fields.value(name)?.as_array());
    let said = said.map_or(&[][..], Vec::as_slice);
    let has = |message: &Value, kind: &str| {
        message["content"].as_array().is_some_and(|blocks| blocks.iter().any(|block| block["type"] == kind))
    };
    // Results of tools are the user's in Anthropic's form.
    let is_users = |message: &Value| message["role"] == "user" && !has(message, "tool_result");
    let since: Vec<&Value> = said.iter().rev().take_while(|message| !is_users(message)).collect();
    // Of items, calls that stand side by side are one round.
    let is_call = |message: &Value| message["type"] == "function_call";
    let rounds = since.iter().enumerate().filter(|(place, message)| {
        message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty())
            || has(message, "tool_use")
            || is_call(message) && !since.get(place + 1).is_some_and(|before| is_call(before))
    });
    rounds.count()
}

/// A value that violates the schema, if one of a few does.
fn off_schema_value(schema: &Value) -> Value {
    let few = [json!([]), json!({}), json!("word"), json!(-1), Value::Null];
    let judge = JsonSchema::new(schema.clone());
    let strange = |value: &&Value| judge.as_ref().is_ok_and(|schema| schema.check(value).is_err());
    few.iter().find(strange).cloned().unwrap_or_default()
}

/// Depth to which references are followed: a schema may refer to itself.
const DEEPEST: u32 = 16;
/// Largest value, as JSON in bytes: more than any model writes in one answer.
const LARGEST: usize = 1 << 20;

/// A value of `schema`. Supported keywords: `const`, `enum`, `default`, `$ref` within it, `allOf` and the
/// first of `anyOf` and `oneOf`, types, `properties` with `required`, `items` and `minItems`, `minLength`,
/// and the bounds of numbers. Optional properties are left out, as is what would make it larger than an answer can be.
fn instance(schema: &Value) -> Value {
    Instances { root: schema, left: LARGEST }.instance(schema, 0)
}

/// Values of a schema and of those within it, of a limited size together.
struct Instances<'a> {
    root: &'a Value,
    /// Bytes that may still be made.
    left: usize,
}

impl Instances<'_> {
    /// A value that takes so many bytes, while there is room.
    fn take(&mut self, bytes: usize, value: impl FnOnce() -> Value) -> Value {
        let room = self.left.checked_sub(bytes);
        self.left = room.unwrap_or(0);
        room.map_or(Value::Null, |_| value())
    }

    fn instance(&mut self, schema: &Value, depth: u32) -> Value {
        let room = depth < DEEPEST && self.left > 0;
        let Some(fields) = schema.as_object().filter(|_| room) else { return self.take(4, || Value::Null) };
        if let Some(value) =
            fields.get("const").or_else(|| fields.get("enum")?.get(0)).or_else(|| fields.get("default"))
        {
            return self.take(value.to_string().len(), || value.clone());
        }
        if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
            let found = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            return found.map_or(Value::Null, |schema| self.instance(schema, depth + 1));
        }
        if let Some(parts) = fields.get("allOf").and_then(Value::as_array) {
            return self.instance(&joined(fields, parts), depth + 1);
        }
        if let Some(first) = ["anyOf", "oneOf"].iter().find_map(|name| fields.get(*name)?.get(0)) {
            return self.instance(first, depth + 1);
        }
        let number = |name: &str| fields.get(name).and_then(Value::as_f64);
        let length = |name: &str| fields.get(name).and_then(Value::as_u64).unwrap_or(0).min(10_000) as usize;
        match kind(fields) {
            "object" => {
                let properties = fields.get("properties").and_then(Value::as_object);
                let required = fields.get("required").and_then(Value::as_array).into_iter().flatten();
                let mut value = |name: &str| {
                    let schema = properties.and_then(|properties| properties.get(name));
                    self.left = self.left.saturating_sub(name.len());
                    schema.map_or(Value::Null, |schema| self.instance(schema, depth + 1))
                };
                let names = required.filter_map(Value::as_str);
                Value::Object(names.map(|name| (name.to_owned(), value(name))).collect())
            }
            "array" => {
                let item = fields.get("items").map_or(Value::Null, |items| self.instance(items, depth + 1));
                let items = length("minItems");
                self.take(items.saturating_mul(item.to_string().len() + 1), || Value::Array(vec![item; items]))
            }
            "string" => {
                let letters = length("minLength").max(4);
                self.take(letters, || Value::String("word ".chars().cycle().take(letters).collect()))
            }
            "integer" => self.take(8, || Value::from(least(&number).ceil() as i64)),
            "number" => self.take(8, || Value::from(least(&number))),
            "boolean" => self.take(4, || Value::Bool(true)),
            _ => self.take(4, || Value::Null),
        }
    }
}

/// The least number within the bounds, from 0 on where there is no lower bound.
fn least(number: &impl Fn(&str) -> Option<f64>) -> f64 {
    let above = number("exclusiveMinimum").map(|bound| bound + 1.0);
    let low = number("minimum").or(above).unwrap_or(0.0);
    number("maximum").map_or(low, |high| low.min(high))
}

/// The type: the first of several; inferred from the keywords where it is not given.
fn kind(fields: &Map<String, Value>) -> &str {
    let named = fields.get("type").and_then(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str()));
    named.unwrap_or(if fields.contains_key("items") { "array" } else { "object" })
}

/// The keywords of all parts in one schema; properties and required names are joined.
fn joined(fields: &Map<String, Value>, parts: &[Value]) -> Value {
    let mut all = fields.clone();
    all.remove("allOf");
    for (name, value) in parts.iter().filter_map(Value::as_object).flatten() {
        match (all.get_mut(name), value) {
            (Some(Value::Object(into)), Value::Object(more)) => into.extend(more.clone()),
            (Some(Value::Array(into)), Value::Array(more)) => into.extend(more.clone()),
            _ => _ = all.insert(name.clone(), value.clone()),
        }
    }
    Value::Object(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks seven arrays of a thousand in one another, and self-references. An object refers to itself ten times.
    #[test]
    fn what_a_schema_makes_is_limited() {
        let nested = (0..7).fold(
            json!({ "type": "integer" }),
            |items, _| json!({ "type": "array", "items": items, "minItems": 1_000 }),
        );
        let names: Vec<_> = (0..10).map(|i| i.to_string()).collect();
        let own: Map<_, _> = names.iter().map(|name| (name.clone(), json!({ "$ref": "#" }))).collect();
        for schema in [nested, json!({ "type": "object", "properties": own, "required": names })] {
            let size = instance(&schema).to_string().len();
            assert!(size < 4 * LARGEST, "{size}");
        }
    }

    #[test]
    fn instances_are_of_their_schemas() {
        for schema in [
            json!({ "type": "object" }),
            json!({ "type": "object", "required": ["a", "b", "c"], "additionalProperties": false,
                    "properties": { "a": { "type": "string", "minLength": 9 }, "b": { "enum": ["x", "y"] },
                                    "c": { "type": "array", "minItems": 2,
                                           "items": { "type": "integer", "minimum": 3 } } } }),
            json!({ "$ref": "#/$defs/n", "$defs": { "n": { "type": "number", "exclusiveMinimum": 1.5 } } }),
            json!({ "allOf": [{ "required": ["a"] }, { "properties": { "a": { "const": 7 } }, "required": ["b"] }],
                    "type": "object", "properties": { "b": { "type": ["boolean", "null"] } } }),
            json!({ "anyOf": [{ "type": "null" }, { "type": "string" }] }),
            json!({ "type": "integer", "maximum": -4 }),
            json!({ "items": { "type": "string" }, "minItems": 1, "type": "array" }),
        ] {
            let value = instance(&schema);
            assert_eq!(JsonSchema::new(schema.clone()).unwrap().check(&value), Ok(()), "{schema} {value}");
        }
        // A schema without end still gives a value.
        let endless = json!({ "type": "object", "required": ["next"], "properties": { "next": { "$ref": "#" } } });
        assert!(instance(&endless).to_string().len() < 1_000);
    }
}
