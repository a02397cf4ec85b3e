//! Bodies, as JSON or as forms: what all requests share, with the places of what each has of its own.

use serde_json::{Map, Value};

use crate::engine::protocols::protocol::{BOUNDARY, Protocol};
use crate::engine::protocols::templates::body::{PROMPTS, placeholder};
use crate::generator::Prompt;

/// A part of a body.
enum BodyPart {
    /// Bytes that all requests share.
    Shared(Vec<u8>),
    /// The requested length.
    Length,
    /// The prompt, as the protocol writes it.
    Prompt,
}

/// The parts of a body in their order, of JSON or of a form.
pub(super) struct BodyParts {
    parts: Vec<BodyPart>,
    protocol: &'static Protocol,
}

impl BodyParts {
    /// The body of a request to this endpoint, without a part so far.
    pub(super) fn new(protocol: &'static Protocol) -> Self {
        Self { parts: Vec::new(), protocol }
    }

    /// Adds bytes that all requests share.
    pub(super) fn share(&mut self, bytes: &[u8]) {
        match self.parts.last_mut() {
            Some(BodyPart::Shared(last)) => last.extend_from_slice(bytes),
            _ => self.parts.push(BodyPart::Shared(bytes.to_vec())),
        }
    }

    /// Begins the body with fields that all requests share; others may follow.
    pub(super) fn begin(&mut self, fields: Map<String, Value>) {
        if !self.protocol.is_form {
            return self.share_open(&fields.into());
        }
        for (name, value) in fields {
            match value {
                // A field with several values comes several times.
                Value::Array(values) => values.iter().for_each(|value| self.form_field(&name, value)),
                value => self.form_field(&name, &value),
            }
        }
    }

    /// Adds an object without its closing brace.
    pub(super) fn share_open(&mut self, object: &Value) {
        let json = object.to_string();
        self.share(json.strip_suffix('}').unwrap_or(&json).as_bytes());
    }

    fn form_field(&mut self, name: &str, value: &Value) {
        self.name(name);
        self.share(value.as_str().map_or_else(|| value.to_string(), str::to_owned).as_bytes());
    }

    /// Ends the body.
    pub(super) fn end(&mut self) {
        if self.protocol.is_form {
            self.share(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
        } else {
            self.share(b"}");
        }
    }

    /// Adds the name of a field, whose value comes next.
    pub(super) fn name(&mut self, name: &str) {
        if self.protocol.is_form {
            let begin = if self.parts.is_empty() { "" } else { "\r\n" };
            let is_file = name == self.protocol.prompt_field;
            let kind = if is_file { "; filename=\"audio.wav\"\r\nContent-Type: audio/wav" } else { "" };
            // As browsers write names (HTML, 4.10.21.8).
            let name = name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
            let head = format!("{begin}--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"{kind}\r\n\r\n");
            return self.share(head.as_bytes());
        }
        let is_first = matches!(self.parts.last(), Some(BodyPart::Shared(last)) if last.last() == Some(&b'{'));
        self.share(if is_first { b"" } else { b"," });
        self.share(Value::from(name).to_string().as_bytes());
        self.share(b":");
    }

    /// Adds the requested length.
    pub(super) fn length(&mut self) {
        self.parts.push(BodyPart::Length);
    }

    /// Adds the prompt.
    pub(super) fn prompt(&mut self) {
        self.parts.push(BodyPart::Prompt);
    }

    /// Adds a value of a template. Its placeholders stand for what each request has of its own.
    pub(super) fn value(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => {
                self.share(b"{");
                for (name, value) in fields {
                    self.name(name);
                    self.value(value);
                }
                self.share(b"}");
            }
            Value::Array(items) => {
                self.share(b"[");
                for (place, item) in items.iter().enumerate() {
                    self.share(if place == 0 { b"" } else { b"," });
                    self.value(item);
                }
                self.share(b"]");
            }
            Value::String(text) => match placeholder(text) {
                Some(name) if PROMPTS.contains(&name) => self.prompt(),
                Some("output_tokens") => self.length(),
                _ => self.share(value.to_string().as_bytes()),
            },
            other => self.share(other.to_string().as_bytes()),
        }
    }

    /// Whether each request has its own prompt.
    pub(super) fn have_prompt(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, BodyPart::Prompt))
    }

    /// Bytes that all requests share.
    pub(super) fn shared_bytes(&self) -> usize {
        let bytes = |part: &BodyPart| if let BodyPart::Shared(bytes) = part { bytes.len() } else { 0 };
        self.parts.iter().map(bytes).sum()
    }

    /// Writes the body of one request.
    pub(super) fn write(&self, body: &mut Vec<u8>, prompt: &Prompt, output_tokens: u32) {
        for part in &self.parts {
            match part {
                BodyPart::Shared(bytes) => body.extend_from_slice(bytes),
                BodyPart::Length => body.extend_from_slice(output_tokens.to_string().as_bytes()),
                BodyPart::Prompt => (self.protocol.write_prompt)(body, prompt),
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
        let ids = r#"{"body": {"ids": "{token_ids}", "n": "{output_tokens}"}, "whole": {"path": "/i", "text": "/t"}}"#;
        let mut target = Target::new("http://x".parse().unwrap(), EngineKind::Openai);
        target.endpoint = of_file("ids.json", ids).unwrap();
        let template = BodyTemplate::new(&target, "m", RequestedForm::Words);
        assert_eq!(template.render(&Prompt::TokenIds(vec![4, 5]), 7), r#"{"ids":[4,5],"n":7}"#);
    }

    #[test]
    fn a_form_has_the_fields_and_the_file() {
        let mut target = Target::new("http://x".parse().unwrap(), EngineKind::Openai);
        target.endpoint = Protocol::named("transcriptions").unwrap();
        target.sampling = Sampling { temperature: None, seed: Some(3), ..Sampling::default() };
        let extra = json!({"language": "en", "timestamp_granularities[]": ["word", "segment"], "a\"b": 1});
        target.extra_body.0 = extra.as_object().unwrap().clone();
        let template = BodyTemplate::new(&target, "m", RequestedForm::Words);
        let body = template.render(&Prompt::Audio(b"RIFF\xff\0".to_vec()), 7);
        let field = |name: &str, value: &str| {
            format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let head: String = [
            ("model", "m"),
            ("stream", "true"),
            ("stream_include_usage", "true"),
            ("seed", "3"),
            ("language", "en"),
            ("timestamp_granularities[]", "word"),
            ("timestamp_granularities[]", "segment"),
            ("a%22b", "1"),
            ("max_completion_tokens", "7"),
        ]
        .map(|(name, value)| field(name, value))
        .concat();
        let file = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"audio.wav\"\r\n\
             Content-Type: audio/wav\r\n\r\n"
        );
        let end = format!("\r\n--{BOUNDARY}--\r\n");
        let expected = [head.as_bytes(), file.as_bytes(), b"RIFF\xff\0", end.as_bytes()].concat();
        assert_eq!(String::from_utf8_lossy(&body), String::from_utf8_lossy(&expected));
        let media = target.endpoint.content_type();
        assert_eq!(media, format!("multipart/form-data; boundary={BOUNDARY}"));
    }
}
