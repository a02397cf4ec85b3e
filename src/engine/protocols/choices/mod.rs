//! Answers whose documents have `choices`: those of chats and of completions, each in either's shape.

mod common;
mod message;
mod transcriptions;

use std::borrow::Cow;

use serde::de::IgnoredAny;

use crate::engine::stream::AnswerGrammar;
use crate::engine::stream::chunk::loose::{LooseValue, MemberList, note};
use crate::engine::stream::chunk::message::Message;
use crate::engine::stream::chunk::{Choice, ChunkJson};
use crate::engine::stream::reasons::{is_error, names_error};

pub use transcriptions::TRANSCRIPTIONS;

/// The grammar of these answers.
pub(super) static CHOICES: AnswerGrammar = AnswerGrammar {
    member,
    common: common::read,
    events: &["", "message"],
    ends: &["[DONE]", "\"[DONE]\""],
    end_name: "[DONE]",
    text_member: "choices",
    lists: false,
    pointers: None,
};

impl Default for &AnswerGrammar {
    fn default() -> Self {
        &CHOICES
    }
}

fn member<'a>(document: &mut ChunkJson<'a>, _: &MemberList<'a>, name: &str, value: LooseValue<'a>) -> bool {
    match name {
        "choices" if value.0.get() != "null" => document.read_choices(value),
        "usage" if value.0.get() != "null" => document.read_usage(value),
        "x_groq" if document.usage.is_none() => {
            let members = value.members().unwrap_or_default();
            let usage = members.into_iter().find(|(name, value)| name == "usage" && value.get() != "null");
            if let Some((_, usage)) = usage {
                document.read_usage(LooseValue(usage));
            }
        }
        _ => return false,
    }
    true
}

impl<'a> ChunkJson<'a> {
    fn read_choices(&mut self, value: LooseValue<'a>) {
        let mut choices = Vec::new();
        self.choices = Some(Vec::new());
        let Some(items) = value.items() else { return note(&mut self.unread, "choices") };
        let mut usage = None;
        for item in items {
            let Some(members) = LooseValue(item).members() else {
                note(&mut self.unread, "choices");
                continue;
            };
            let mut choice = Choice::default();
            for (name, value) in members.into_iter().filter(|(_, value)| value.get() != "null") {
                match (&*name, LooseValue(value)) {
                    (name, value) if names_error(name.as_bytes()) => self.note_error(value),
                    // What the provider behind a gateway gave as its reason.
                    ("native_finish_reason", value) if value.string().is_some_and(|word| is_error(&word)) => {
                        self.note_error(value);
                    }
                    // Moonshot.
                    ("usage", value) => usage = Some(value),
                    (name, value) => choice.read(name, value, &mut self.unread),
                }
            }
            self.error = self.error.or(choice.message.as_ref().and_then(|message| message.error));
            choices.push(choice);
        }
        self.choices = Some(choices);
        if let Some(usage) = usage {
            self.read_usage(usage);
        }
    }
}

impl<'a> Choice<'a> {
    /// Reads one of its members.
    fn read(&mut self, name: &str, value: LooseValue<'a>, unread: &mut Vec<&'static str>) {
        let mut text = |field: &mut Cow<'a, str>, name| match value.text() {
            Some(text) => *field = text,
            None => note(unread, name),
        };
        match name {
            "text" => text(&mut self.text, "text"),
            "finish_reason" => match value.string() {
                Some(word) => self.finish = Some(word).filter(|word| !word.is_empty()),
                None if value.is_empty() => {}
                None => note(unread, "finish_reason"),
            },
            "index" => match value.count() {
                Some(index) => self.index = u32::try_from(index).unwrap_or(u32::MAX),
                None => note(unread, "index"),
            },
            "token_ids" => match value.read::<Vec<IgnoredAny>>() {
                Some(ids) => self.token_ids = Some(ids.len() as u32),
                None => note(unread, "token_ids"),
            },
            "delta" | "message" if name == "delta" || self.message.is_none() || self.is_whole => {
                self.is_whole = name == "message";
                match value.members() {
                    Some(members) => self.message = Some(Message::read(members, unread)),
                    None => note(unread, "delta"),
                }
            }
            _ => {}
        }
    }
}
