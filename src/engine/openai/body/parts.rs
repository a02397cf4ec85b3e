//! Bodies as what all requests share, with the places of what each has of its own.

use serde_json::Value;

use crate::engine::protocols::protocol::Protocol;
use crate::engine::protocols::templates::body::placeholder;
use crate::generator::Prompt;

/// A part of a body.
enum BodyPart {
    /// Bytes that all requests share.
    Shared(Vec<u8>),
    /// The requested length.
    Length,
    /// The prompt, as this protocol writes it.
    Prompt(&'static Protocol),
}

/// The parts of a body in their order.
#[derive(Default)]
pub(super) struct BodyParts(Vec<BodyPart>);

impl BodyParts {
    /// Adds bytes that all requests share.
    pub(super) fn share(&mut self, bytes: &[u8]) {
        match self.0.last_mut() {
            Some(BodyPart::Shared(last)) => last.extend_from_slice(bytes),
            _ => self.0.push(BodyPart::Shared(bytes.to_vec())),
        }
    }

    /// Adds the name of a field, whose value comes next.
    pub(super) fn name(&mut self, name: &str) {
        let is_first = matches!(self.0.last(), Some(BodyPart::Shared(last)) if last.last() == Some(&b'{'));
        self.share(if is_first { b"" } else { b"," });
        self.share(Value::from(name).to_string().as_bytes());
        self.share(b":");
    }

    /// Adds the requested length.
    pub(super) fn length(&mut self) {
        self.0.push(BodyPart::Length);
    }

    /// Adds the prompt.
    pub(super) fn prompt(&mut self, protocol: &'static Protocol) {
        self.0.push(BodyPart::Prompt(protocol));
    }

    /// Adds a value of a template. Its placeholders stand for what each request has of its own.
    pub(super) fn value(&mut self, value: &Value, protocol: &'static Protocol) {
        match value {
            Value::Object(fields) => {
                self.share(b"{");
                for (name, value) in fields {
                    self.name(name);
                    self.value(value, protocol);
                }
                self.share(b"}");
            }
            Value::Array(items) => {
                self.share(b"[");
                for (place, item) in items.iter().enumerate() {
                    self.share(if place == 0 { b"" } else { b"," });
                    self.value(item, protocol);
                }
                self.share(b"]");
            }
            Value::String(text) => match placeholder(text) {
                Some("prompt" | "messages") => self.prompt(protocol),
                Some("output_tokens") => self.length(),
                _ => self.share(value.to_string().as_bytes()),
            },
            other => self.share(other.to_string().as_bytes()),
        }
    }

    /// Whether each request has its own prompt.
    pub(super) fn have_prompt(&self) -> bool {
        self.0.iter().any(|part| matches!(part, BodyPart::Prompt(_)))
    }

    /// Bytes that all requests share.
    pub(super) fn shared_bytes(&self) -> usize {
        let bytes = |part: &BodyPart| if let BodyPart::Shared(bytes) = part { bytes.len() } else { 0 };
        self.0.iter().map(bytes).sum()
    }

    /// Writes the body of one request.
    pub(super) fn write(&self, body: &mut Vec<u8>, prompt: &Prompt, output_tokens: u32) {
        for part in &self.0 {
            match part {
                BodyPart::Shared(bytes) => body.extend_from_slice(bytes),
                BodyPart::Length => body.extend_from_slice(output_tokens.to_string().as_bytes()),
                BodyPart::Prompt(protocol) => (protocol.write_prompt)(body, prompt),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::answer_form::RequestedForm;
    use super::super::template::BodyTemplate;
    use super::*;
    use crate::engine::protocols::templates::tests::{OWN, of_file};
    use crate::engine::target::{AnswerForm, Sampling, Target};
    use crate::record::EngineKind;

    fn body(protocol: &'static Protocol, change: impl FnOnce(&mut Target)) -> Value {
        let mut target = Target::new("http://x".parse().unwrap(), EngineKind::Openai);
        (target.endpoint, target.form) = protocol.answering_in(AnswerForm::Streamed).unwrap();
        change(&mut target);
        let template = BodyTemplate::new(&target, "m", RequestedForm::Words);
        serde_json::from_slice(&template.render(&Prompt::Text("say \"\u{e9}\"".to_owned()), 7)).unwrap()
    }

    #[test]
    fn values_stand_where_the_placeholders_were() {
        assert_eq!(
            body(Protocol::named("tgi").unwrap(), |_| ()),
            json!({"inputs": "say \"\u{e9}\"",
                   "parameters": {"max_new_tokens": 7, "do_sample": false, "details": true}}),
            "TGI refuses a temperature of 0"
        );
        let warm = |target: &mut Target| {
            target.sampling = Sampling { temperature: Some(0.5), top_p: Some(0.9), top_k: Some(4), seed: Some(3) };
            target.extra_body.0.insert("parameters".into(), json!({"stop": ["x"], "details": null}));
        };
        assert_eq!(
            body(Protocol::named("tgi").unwrap(), warm)["parameters"],
            json!({"max_new_tokens": 7, "do_sample": true, "temperature": 0.5, "top_p": 0.9, "top_k": 4, "seed": 3,
                   "stop": ["x"]})
        );
        let exact = json!({"text_input": "say \"\u{e9}\"", "max_tokens": 7, "min_length": 7, "stream": true,
                           "temperature": 0.0});
        assert_eq!(
            body(Protocol::named("triton").unwrap(), |_| ()),
            exact,
            "its template forces lengths, whatever the dialect"
        );
        let own = of_file("own.toml", OWN).unwrap();
        assert_eq!(
            body(own, |_| ()),
            json!({"request": {"text": "say \"\u{e9}\"", "a/b": ["m"]}, "limit": {"most": 7, "whole": true}})
        );
        let fixed = |target: &mut Target| _ = target.extra_body.0.insert("limit".into(), json!({"most": 2}));
        assert_eq!(body(own, fixed)["limit"], json!({"most": 2, "whole": true}));
        let chat =
            r#"{"body": {"messages": "{messages}", "n": "{output_tokens}"}, "whole": {"path": "/c", "text": "/t"}}"#;
        let chat = body(of_file("chat.json", chat).unwrap(), |_| ());
        assert_eq!(chat, json!({"messages": [{"role": "user", "content": "say \"\u{e9}\""}], "n": 7}));
    }
}
