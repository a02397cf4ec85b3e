//! Workloads as they are stored: what requests say, and what answers must be, as hashes.

use crate::units::json_value;
use serde_json::{Value, json};

use super::answer::text_hash::{hashed, is_hash};
use super::answer::{AnswerShape, GoldenCheck, JsonSchema, RegexPattern};
use super::prompt::PromptSource;
use super::spec::WorkloadSpec;

impl WorkloadSpec {
    /// Returns the workload with the SHA-256 of each text in its place. The texts are those of templates and questions,
    /// of golden prompts and what is expected of their answers, of tools and schemas. It draws the same plan, which no
    /// text decides; names, lengths and rates stay.
    #[must_use]
    pub fn without_texts(&self) -> Self {
        let mut spec = self.clone();
        let hash = |text: &mut String| *text = hashed(text);
        for class in &mut spec.classes {
            match &mut class.prompt {
                // Skyline's own.
                prompt if *prompt == PromptSource::default() => {}
                PromptSource::Templates { templates: texts } | PromptSource::Retrieval { questions: texts } => {
                    texts.iter_mut().for_each(hash);
                }
                PromptSource::Dataset(dataset) => {
                    if let Some(scoring) = &mut dataset.score {
                        scoring.pattern.iter_mut().for_each(|pattern| *pattern = pattern.without_text());
                        // Its arguments may hold a secret.
                        scoring.command.iter_mut().for_each(hash);
                    }
                }
                PromptSource::RandomTokens { .. } => {}
            }
            match &mut class.answer {
                Some(AnswerShape::JsonSchema { schema, .. }) => *schema = schema.without_text(),
                Some(AnswerShape::Tools { tools, .. }) => {
                    for tool in tools {
                        tool.description.iter_mut().for_each(hash);
                        tool.parameters = tool.parameters.without_text();
                    }
                }
                Some(AnswerShape::Json { .. }) | None => {}
            }
        }
        for GoldenCheck { prompt, messages, expect, .. } in &mut spec.checks {
            prompt.iter_mut().for_each(hash);
            for message in messages.iter_mut().filter_map(Value::as_array_mut).flatten() {
                let content = &message["content"];
                let text = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
                message["content"] = json!(hashed(&text));
            }
            expect.contains.iter_mut().chain(&mut expect.not_contains).chain(&mut expect.exact).for_each(hash);
            expect.regex = expect.regex.as_ref().map(RegexPattern::without_text);
            expect.json_schema = expect.json_schema.as_ref().map(JsonSchema::without_text);
        }
        spec
    }

    /// Returns whether hashes are in place of some of its texts. It then cannot be run.
    pub fn lacks_texts(&self) -> bool {
        lacks_texts(self)
    }
}

/// Whether a part of a workload has hashes in place of texts.
fn lacks_texts(part: &impl serde::Serialize) -> bool {
    fn any(value: &Value) -> bool {
        match value {
            Value::String(text) => is_hash(text),
            Value::Array(items) => items.iter().any(any),
            Value::Object(fields) => fields.values().any(any),
            _ => false,
        }
    }
    json_value(part).is_ok_and(|value| any(&value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: &str = r#"
        name = "texts"
        arrival = { kind = "poisson", rate_per_s = 5.0 }
        [[classes]]
        name = "chat"
        input_tokens = { kind = "constant", value = 10 }
        output_tokens = { kind = "constant", value = 5 }
        prompt = { kind = "templates", templates = ["canary one", "canary two"] }
        answer = { kind = "json_schema", schema = { type = "string", const = "canary" } }
        [[classes]]
        name = "search"
        input_tokens = { kind = "constant", value = 10 }
        output_tokens = { kind = "constant", value = 5 }
        prompt = { kind = "retrieval", questions = ["canary?"] }
        answer = { kind = "tools", tools = [{ name = "look", description = "canary", parameters = { type = "object", title = "canary" } }], choice = "look" }
        [[checks]]
        name = "one"
        prompt = "canary?"
        expect = { contains = ["canary"], not_contains = ["canary!"], regex = "canar[y]", exact = "canary", json_schema = { const = "canary" }, min_characters = 3 }
        [[checks]]
        name = "two"
        messages = [{ role = "user", content = [{ type = "text", text = "canary" }] }]
        expect = { contains = "canary" }
    "#;

    #[test]
    fn no_text_is_left_and_the_rest_is() {
        let spec = WorkloadSpec::from_toml(TEXTS, "a test").unwrap();
        let stored = spec.without_texts();
        let json = serde_json::to_string(&stored).unwrap();
        assert!(!json.contains("canar"), "{json}");
        // printf 'canary one' | sha256sum
        let hash = "sha256:fb9c1301c8356c87825a597d82422b5aa44074073e1d122cd416fe181177cab2";
        for kept in [hash, "\"look\"", "\"min_characters\":3", "\"chat\""] {
            assert!(json.contains(kept), "{kept} in {json}");
        }
        let read: WorkloadSpec = serde_json::from_str(&json).unwrap();
        assert_eq!((&read, read.without_texts()), (&stored, stored.clone()), "it reads back, and is hashed once");
        assert!(stored.lacks_texts() && !spec.lacks_texts());
    }
}
