//! One golden prompt with what is expected of its answer.

use serde::Serialize;
use serde_json::Value;

use super::Expect;
use crate::workload::TOKEN_LIMIT;
use crate::workload::reading::{Allowed, Fields, Place};

/// Tokens of an answer when the file does not say.
const USUAL_TOKENS: u32 = 64;

/// A question whose answer is known. It is sent at temperature 0 with a fixed sampling seed and ends by itself, on top of
/// the load and in none of its figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GoldenCheck {
    /// Name shown in reports, unique in its workload.
    pub name: String,
    /// What is asked: in a chat, the one message of the user. Either this or `messages` is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The messages of a chat, sent as they stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Value>,
    /// The longest answer, tokens; 64 when the file does not say.
    pub max_tokens: u32,
    /// What must hold of the answer.
    pub expect: Expect,
}

impl GoldenCheck {
    /// Seconds from one check under load to the next, when the file does not say.
    pub const USUAL_EVERY_S: f64 = 5.0;

    /// The checks of a workload; none when it gives none.
    pub(in crate::workload) fn read_all(fields: &mut Fields<'_>) -> Option<Vec<Self>> {
        let mut seen = Vec::new();
        fields.optional("checks", Vec::new(), |place| {
            place.list_or_none(|place| {
                let check = Self::read(place)?;
                if seen.contains(&check.name) {
                    place.complain(&format!(
                        "has the name \"{}\" of a check before it; give it its own",
                        check.name
                    ));
                }
                seen.push(check.name.clone());
                Some(check)
            })
        })
    }

    fn read(place: Place<'_>) -> Option<Self> {
        place.table("a check", |fields| {
            let name = fields.required("name", |place| place.name());
            let prompt = fields.optional("prompt", None, |place| place.said().map(Some));
            let messages = fields.optional("messages", None, |place| messages(place).map(Some));
            let tokens = Allowed::from(1.0, TOKEN_LIMIT.into());
            let max_tokens = fields.optional("max_tokens", USUAL_TOKENS.into(), |place| place.whole(tokens));
            let expect = fields.required("expect", Expect::read);
            let (prompt, messages) = (prompt?, messages?);
            if prompt.is_some() == messages.is_some() {
                fields.complain("must have either a `prompt` or `messages`");
            }
            Some(Self { name: name?, prompt, messages, max_tokens: max_tokens? as u32, expect: expect? })
        })
    }
}

/// Messages of a chat: tables with a role and a content.
fn messages(place: Place<'_>) -> Option<Value> {
    place
        .list(|place| {
            place.table("a message", |fields| {
                let role = fields.required("role", |place| place.said())?;
                let content = fields.required("content", |place| place.json())?;
                Some(serde_json::json!({ "role": role, "content": content }))
            })
        })
        .map(Value::Array)
}
