//! Reads the `delta` or the `message` of a choice.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::super::typed::joined;
use crate::engine::stream::chunk::loose::{LooseValue, MemberList, note};
use crate::engine::stream::chunk::message::{Message, ToolCallJson};
use crate::engine::stream::reasons::names_error;

impl<'a> Message<'a> {
    pub(super) fn read(members: MemberList<'a>, unread: &mut Vec<&'static str>) -> Self {
        let mut message = Self::default();
        for (name, value) in members.into_iter().filter(|(_, value)| value.get() != "null") {
            let value = LooseValue(value);
            match &*name {
                "content" => message.read_content(value, unread),
                "refusal" => match value.text() {
                    Some(text) => message.refusal = text,
                    None => note(unread, "refusal"),
                },
                "tool_calls" => match value.items() {
                    Some(calls) => {
                        message.tool_calls = calls.into_iter().map(|c| ToolCallJson::read(c, unread)).collect();
                    }
                    None => note(unread, "tool_calls"),
                },
                "function_call" => {
                    let mut call = ToolCallJson::default();
                    call.read_function(value.members().unwrap_or_default());
                    message.tool_calls.push(call);
                }
                name if names_error(name.as_bytes()) => {
                    message.error = message.error.or(Some(value.0).filter(|_| !value.is_empty()));
                }
                known if is_reasoning(known) => match value.text() {
                    Some(text) => message.thoughts.push(text),
                    None => note(unread, "reasoning"),
                },
                other => {
                    let is_text = !is_about(other) && value.text().is_some_and(|text| !text.is_empty());
                    message.elsewhere = message.elsewhere.or(is_text.then_some(name));
                }
            }
        }
        message
    }

    /// Reads the content. It is a text, or a list of parts of which some are the model's thoughts.
    fn read_content(&mut self, value: LooseValue<'a>, unread: &mut Vec<&'static str>) {
        let Some(parts) = value.parts() else { return note(unread, "content") };
        let (mut content, mut thoughts) = (Vec::new(), Vec::new());
        for part in parts {
            let part = LooseValue(part);
            let kind =
                part.members().and_then(|all| LooseValue(all.into_iter().find(|(name, _)| name == "type")?.1).string());
            let thinks = kind.is_some_and(|kind| kind.contains("think") || kind.contains("reason"));
            match part.text() {
                Some(text) => if thinks { &mut thoughts } else { &mut content }.push(text),
                None => note(unread, "content"),
            }
        }
        self.content = joined(content);
        self.thoughts.push(joined(thoughts));
    }
}

/// Parts of the names of fields that hold reasoning: `thinking`, `thoughts`, `reasoning_details`, `reasoning_text`.
const REASONING: [&str; 7] = ["reasoning", "think", "thought", "chain_of", "cot", "scratchpad", "monologue"];
/// Ends of names of what is said about it.
const ABOUT: [&str; 10] = ["signature", "id", "type", "effort", "format", "status", "tokens", "budget", "role", "name"];

/// Whether a field of this name holds reasoning.
pub(super) fn is_reasoning(name: &str) -> bool {
    REASONING.iter().any(|part| name.contains(part)) && !is_about(name)
}

fn is_about(name: &str) -> bool {
    ABOUT.iter().any(|end| name.ends_with(end))
}

impl<'a> ToolCallJson<'a> {
    fn read(call: &'a RawValue, unread: &mut Vec<&'static str>) -> Self {
        let mut read = Self::default();
        let members = LooseValue(call).members();
        if members.is_none() {
            note(unread, "tool_calls");
        }
        for (name, value) in members.unwrap_or_default() {
            match (&*name, LooseValue(value)) {
                ("index", value) => read.index = value.count().and_then(|index| index.try_into().ok()),
                ("function", value) if value.0.get() != "null" => match value.members() {
                    Some(function) => read.read_function(function),
                    None => note(unread, "tool_calls"),
                },
                _ => {}
            }
        }
        read
    }

    /// Arguments that are no string are the JSON that they would have in one.
    fn read_function(&mut self, members: MemberList<'a>) {
        for (name, value) in members.into_iter().filter(|(_, value)| value.get() != "null") {
            match &*name {
                "name" => self.name = LooseValue(value).string().unwrap_or_default(),
                "arguments" => {
                    self.arguments = LooseValue(value).string().unwrap_or(Cow::Borrowed(value.get()));
                }
                _ => {}
            }
        }
    }
}
