//! Places of an answer's parts in its documents, as a template names them.

use std::fmt;

use serde::Serialize;

use super::loose::{LooseValue, MemberList};
use crate::workload::reading::{SpecValue, spec_table};

/// A place in a document: a JSON pointer (RFC 6901).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct JsonPointer(String);

spec_table! {
    /// The way in which answers of one form are read.
    pub(crate) struct AnswerPointers = "a form of answers" {
        /// Path of requests for them, below the server's address.
        path: String = required(|value| path(&value)),
        /// The text, or what is new of it.
        text: JsonPointer = required(JsonPointer::read),
        /// Whether that text is all of the answer so far.
        cumulative: bool = optional(false, |value| value.flag()),
        /// The text of the model's reasoning.
        reasoning: Option<JsonPointer> = option(JsonPointer::read),
        /// Why the model stopped.
        finish: Option<JsonPointer> = option(JsonPointer::read),
        /// Tokens of the prompt.
        prompt_tokens: Option<JsonPointer> = option(JsonPointer::read),
        /// Tokens of the answer so far.
        completion_tokens: Option<JsonPointer> = option(JsonPointer::read),
        /// Tokens of the prompt that were in the cache.
        cached_tokens: Option<JsonPointer> = option(JsonPointer::read),
        /// The server's words where it failed.
        error: Option<JsonPointer> = option(JsonPointer::read),
        /// A value that only the last document has; `null` and `false` are none.
        last: Option<JsonPointer> = option(JsonPointer::read),
        /// Data of the event that ends a stream.
        end: Option<String> = option(|value| value.nonblank()),
    }
    check(fields) {
        if let (Some(Some(_)), Some(Some(_))) = (&last, &end) {
            return fields.reject_of("end", "and `last` both say what ends a stream; give one of them");
        }
    }
}

fn path(value: &SpecValue<'_>) -> Option<String> {
    let path = value.nonblank()?;
    if path.starts_with('/') { Some(path) } else { value.refuse("a path, such as \"/generate_stream\"") }
}

impl JsonPointer {
    fn read(value: SpecValue<'_>) -> Option<Self> {
        let text = value.text()?;
        if text.starts_with('/') {
            Some(Self(text))
        } else {
            value.refuse("a JSON pointer, such as \"/choices/0/text\"")
        }
    }

    /// The pointer as it is written.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The value at this place of a document with these members.
    pub(crate) fn find<'a>(&self, members: &MemberList<'a>) -> Option<LooseValue<'a>> {
        let mut parts = self.0.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~"));
        let first = member(members, &parts.next()?)?;
        parts.try_fold(first, |value, part| {
            if value.0.get().starts_with('[') {
                return value.parts()?.get(part.parse::<usize>().ok()?).map(|item| LooseValue(item));
            }
            member(&value.members()?, &part)
        })
    }
}

fn member<'a>(members: &MemberList<'a>, wanted: &str) -> Option<LooseValue<'a>> {
    members.iter().rfind(|(name, _)| name == wanted).map(|(_, value)| LooseValue(value))
}

impl fmt::Display for JsonPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl AnswerPointers {
    /// Places that a good answer has, by their names. Not each has reasoning, and none an error.
    pub(crate) fn expected(&self) -> impl Iterator<Item = (&'static str, &JsonPointer)> {
        let all = [
            ("text", Some(&self.text)),
            ("finish", self.finish.as_ref()),
            ("prompt_tokens", self.prompt_tokens.as_ref()),
            ("completion_tokens", self.completion_tokens.as_ref()),
            ("cached_tokens", self.cached_tokens.as_ref()),
            ("last", self.last.as_ref()),
        ];
        all.into_iter().filter_map(|(name, pointer)| Some((name, pointer?)))
    }

    /// Whether nothing ends a stream but the end of its body.
    pub(crate) const fn end_with_body(&self) -> bool {
        self.end.is_none() && self.last.is_none()
    }
}
