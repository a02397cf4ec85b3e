//! The fields that request an answer format.

use serde_json::{Map, Value};

use crate::engine::dialect_traits::SchemaField;
use crate::engine::protocols::protocol::Protocol;
use crate::workload::AnswerShape;

/// The form of answer that a request asks for, beside the prompt.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RequestedForm<'a> {
    /// Text of the requested length, where that can be forced.
    Words,
    /// An answer in this format, which ends by itself.
    Shaped(&'a AnswerShape),
    /// An answer that ends by itself.
    Free,
}

impl RequestedForm<'_> {
    /// Whether the length is forced.
    pub(crate) const fn is_forced(self) -> bool {
        matches!(self, Self::Words)
    }

    /// Adds the fields that request it of an endpoint.
    pub(crate) fn ask(self, fields: &mut Map<String, Value>, endpoint: &Protocol, dialect: SchemaField) {
        if let (Self::Shaped(shape), Some(add)) = (self, endpoint.shape) {
            add(fields, shape, dialect);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::openai::body::template::BodyTemplate;
    use crate::engine::target::Target;
    use crate::generator::Prompt;
    use crate::record::EngineKind;
    use crate::workload::{JsonSchema, ToolChoice, ToolSpec};

    fn asked(dialect: EngineKind, shape: &AnswerShape) -> Value {
        let target = Target::new("http://x".parse().unwrap(), dialect);
        let template = BodyTemplate::new(&target, "m", RequestedForm::Shaped(shape));
        serde_json::from_slice(&template.render(&Prompt::Text("hi".to_owned()), 9)).unwrap()
    }

    #[test]
    fn each_server_is_reported_the_schema_in_its_own_way_and_no_length_is_forced() {
        let schema = json!({ "type": "object", "required": ["a"] });
        let shape = |strict| AnswerShape::JsonSchema {
            schema: JsonSchema::new(schema.clone()).unwrap(),
            strict,
            in_slo: false,
        };
        let openai = json!({ "type": "json_schema", "json_schema": { "name": "answer", "schema": schema } });
        for (dialect, format) in [
            (EngineKind::Vllm, openai.clone()),
            (EngineKind::Sglang, openai.clone()),
            (EngineKind::Llamacpp, openai),
            (EngineKind::Trtllm, json!({ "type": "json", "schema": schema })),
            (EngineKind::Tgi, json!({ "type": "json_object", "value": schema })),
        ] {
            let body = asked(dialect, &shape(false));
            assert_eq!(body["response_format"], format, "{dialect}");
            assert!(body.get("ignore_eos").is_none() && body.get("min_tokens").is_none(), "{body}");
            assert_eq!(body["max_tokens"], 9, "{body}");
        }
        assert_eq!(asked(EngineKind::Openai, &shape(true))["response_format"]["json_schema"]["strict"], true);
        let any = AnswerShape::Json { in_slo: false };
        assert_eq!(asked(EngineKind::Vllm, &any)["response_format"], json!({ "type": "json_object" }));
        assert_eq!(asked(EngineKind::Tgi, &any)["response_format"]["value"], json!({ "type": "object" }));
    }

    #[test]
    fn tools_go_as_functions_with_the_choice_of_them() {
        let parameters = JsonSchema::new(json!({ "type": "object" })).unwrap();
        let (name, description) = ("look".to_owned(), Some("Looks".to_owned()));
        let tool = ToolSpec { name, description, parameters, strict: false };
        for (choice, sent) in [
            (ToolChoice::Auto, json!("auto")),
            (ToolChoice::Required, json!("required")),
            (ToolChoice::Named("look".to_owned()), json!({ "type": "function", "function": { "name": "look" } })),
        ] {
            let shape = |tool| AnswerShape::Tools { tools: vec![tool], choice: choice.clone(), in_slo: false };
            let strict = asked(EngineKind::Vllm, &shape(ToolSpec { strict: true, ..tool.clone() }));
            assert_eq!(strict["tools"][0]["function"]["strict"], true);
            let body = asked(EngineKind::Vllm, &shape(tool.clone()));
            assert_eq!(body["tool_choice"], sent);
            let function = json!({ "name": "look", "description": "Looks", "parameters": { "type": "object" } });
            assert_eq!(body["tools"], json!([{ "type": "function", "function": function }]));
        }
    }
}
