//! Messages of chats as files have them, and the requests that a whole chat becomes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::fields::JsonFields;
use crate::generator::datasets::json_list::ItemPosition;
use crate::generator::datasets::sessions::session::{FilePrompt, FileRequest, FileSession, FoundSessions};
use crate::generator::rows::Object;
use crate::units::cut;

/// Speaker of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ChatRole {
    System,
    User,
    Assistant,
    Tool,
}

/// A message of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChatMessage {
    pub(super) role: ChatRole,
    /// The object that is sent. It is as in the file, unless it holds what no server reads.
    pub(super) json: Arc<str>,
    /// Ids of the tool calls that it makes.
    calls: Vec<String>,
    /// Id of the tool call whose result it is.
    result_of: Option<String>,
    /// Hash of what it says and calls, without other fields.
    pub(super) essence: u64,
}

#[derive(Deserialize)]
struct Call<'j> {
    id: String,
    #[serde(borrow)]
    function: Object<Function<'j>>,
}

#[derive(Deserialize)]
struct Function<'j> {
    name: String,
    #[serde(borrow)]
    arguments: &'j RawValue,
}

/// Fields of messages that are not sent. They are marks for training, or of a recording.
const UNSENT: [&str; 2] = ["weight", "finish_reason"];

impl ChatMessage {
    /// Reads a message in the form of `OpenAI`.
    pub(super) fn read(json: &RawValue) -> Result<Self, String> {
        let mut fields = JsonFields::of_object(json)?;
        let role: String = fields.need("role")?;
        let role = match role.as_str() {
            "system" | "developer" => ChatRole::System,
            "user" => ChatRole::User,
            "assistant" => ChatRole::Assistant,
            "tool" | "function" => ChatRole::Tool,
            _ => {
                let known = "system, developer, user, assistant, tool and function are known";
                return Err(format!("the role `{}` is unknown: {known}", cut(role, 40)));
            }
        };
        let content = fields.raw("content").map_or("", RawValue::get);
        if !matches!(content.as_bytes().first(), None | Some(b'"' | b'[')) {
            return Err(format!("`content` is {}, neither a text nor a list of parts", cut(content.to_owned(), 40)));
        }
        if content.is_empty() && role != ChatRole::Assistant {
            return Err("it has no `content`".to_owned());
        }
        let calls: Vec<Object<Call<'_>>> = fields.take("tool_calls")?.unwrap_or_default();
        let result_of: Option<String> = fields.take("tool_call_id")?;
        let as_text = |Object(call): &Object<Call<'_>>| call.function.0.arguments.get().starts_with('"');
        let stays = calls.iter().all(as_text) && !UNSENT.iter().any(|name| fields.has(name));
        let mut essence = DefaultHasher::new();
        (role, content.trim_matches('"'), &result_of).hash(&mut essence);
        for Object(call) in &calls {
            (&call.id, &call.function.0.name).hash(&mut essence);
        }
        Ok(Self {
            role,
            json: if stays { json.get().into() } else { as_sent(json)?.into() },
            calls: calls.into_iter().map(|Object(call)| call.id).collect(),
            result_of,
            essence: essence.finish(),
        })
    }

    /// Reads a message that has been put together.
    pub(super) fn of_value(value: &Value) -> Result<Self, String> {
        let json = serde_json::value::to_raw_value(value).map_err(|error| error.to_string())?;
        Self::read(&json)
    }

    /// Reads a list of messages; what is wrong is said with the message's number.
    pub(super) fn read_all(list: &[&RawValue]) -> Result<Vec<Self>, String> {
        let read =
            |(json, number): (&&RawValue, u32)| Self::read(json).map_err(|cause| format!("message {number}: {cause}"));
        list.iter().zip(1..).map(read).collect()
    }
}

/// The message as servers take it: the arguments of its calls are texts.
fn as_sent(json: &RawValue) -> Result<String, String> {
    let mut message: Value = serde_json::from_str(json.get()).map_err(|error| error.to_string())?;
    if let Some(fields) = message.as_object_mut() {
        fields.retain(|name, _| !UNSENT.contains(&name.as_str()));
    }
    for call in message.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(arguments) = call.pointer_mut("/function/arguments").filter(|arguments| !arguments.is_string()) {
            *arguments = Value::String(arguments.to_string());
        }
    }
    Ok(message.to_string())
}

/// Messages as JSON objects with commas between them.
pub(super) fn joined(messages: &[ChatMessage]) -> Box<str> {
    let messages: Vec<&str> = messages.iter().map(|message| &*message.json).collect();
    messages.join(",").into()
}

/// Tool calls of a chat that have no result yet.
#[derive(Debug, Default)]
pub(super) struct OpenCalls(Vec<String>);

impl OpenCalls {
    /// Takes the next message of the chat. Servers refuse one that leaves a call open, or answers none.
    pub(super) fn follow(&mut self, message: &ChatMessage) -> Result<(), String> {
        if let Some(id) = &message.result_of {
            let Some(at) = self.0.iter().position(|open| open == id) else {
                return Err(format!(
                    "it is the result of the tool call `{id}`, and the message of the assistant before it makes no \
                     such call, or it has its result already: correct `tool_call_id`"
                ));
            };
            self.0.swap_remove(at);
        } else if let Some(open) = self.0.first() {
            return Err(format!(
                "the tool call `{open}` has no result before it: add a tool message with this `tool_call_id`"
            ));
        } else {
            self.0.clone_from(&message.calls);
        }
        Ok(())
    }
}

/// Reasons why a chat has fewer requests than answers, or none.
const UNASKED: &str = "answers that nobody asked for";
pub(super) const NOBODY_ASKS: &str = "chats in which nobody asks anything";

/// A chat that becomes requests. Each answer to new messages ends one.
#[derive(Debug, Default)]
pub(super) struct Chat {
    requests: Vec<FileRequest>,
    /// Messages since the last request.
    new: Vec<ChatMessage>,
    /// Wait before the next request.
    delay: Duration,
    open: OpenCalls,
    /// Answers that nobody asked for: they are history alone.
    unasked: u64,
    pub(super) tools: Option<Arc<str>>,
}

impl Chat {
    /// Takes the next message, which came `delay` after the answer before it.
    pub(super) fn say(&mut self, message: ChatMessage, delay: Duration) -> Result<(), String> {
        self.open.follow(&message)?;
        self.delay += delay;
        if message.role != ChatRole::Assistant {
            self.new.push(message);
        } else if self.asks() {
            self.request(Some(&message));
        } else {
            self.unasked += 1;
            self.new.push(message);
        }
        Ok(())
    }

    fn asks(&self) -> bool {
        self.new.iter().any(|message| matches!(message.role, ChatRole::User | ChatRole::Tool))
    }

    fn request(&mut self, answer: Option<&ChatMessage>) {
        let carries = self.requests.len().checked_sub(1);
        self.requests.push(FileRequest {
            name: format!("turn {}", self.requests.len() + 1),
            waits: carries.map(|before| (before, self.delay)).into_iter().collect(),
            prompt: FilePrompt::Messages {
                carries,
                new: joined(&self.new),
                answer: answer.map(|answer| (*answer.json).into()),
                tools: self.tools.clone(),
            },
            ..FileRequest::default()
        });
        self.new.clear();
        self.delay = Duration::ZERO;
    }

    /// Adds the session that the chat is. Its last request may have no recorded answer.
    pub(super) fn add_to(mut self, found: &mut FoundSessions, name: String, place: ItemPosition) {
        if self.asks() {
            self.request(None);
        }
        let nobody_asks = u64::from(self.requests.is_empty());
        for (reason, number) in [(UNASKED, self.unasked), (NOBODY_ASKS, nobody_asks)] {
            found.leave_out(reason, number);
        }
        if !self.requests.is_empty() {
            found.sessions.push(FileSession {
                name,
                place,
                begins_ns: None,
                requests: self.requests,
                blocks: Arc::default(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<ChatMessage, String> {
        ChatMessage::read(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn messages_stay_as_they_are_unless_a_server_cannot_read_them() {
        let kept = r#"{ "role":"user",  "content":[{"type":"image_url","image_url":{"url":"x"}}], "name":"N" }"#;
        assert_eq!(&*read(kept).unwrap().json, kept);
        let call = r#"{"role":"assistant","content":null,"weight":0,"tool_calls":[{"id":"c","type":"function",
            "function":{"name":"add","arguments":{"a":1.50,"b":[2]}}}]}"#;
        assert_eq!(
            &*read(call).unwrap().json,
            concat!(
                r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","#,
                r#""function":{"name":"add","arguments":"{\"a\":1.5,\"b\":[2]}"}}]}"#
            )
        );
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for (json, said) in [
            (r#"["user","x"]"#, "expected an object with named fields"),
            (r#"{"content":"x"}"#, "it has no `role`"),
            (r#"{"role":"robot","content":"x"}"#, "the role `robot` is unknown: system, developer, user"),
            (r#"{"role":"user","content":3}"#, "`content` is 3, neither a text nor a list of parts"),
            (r#"{"role":"user","content":null}"#, "it has no `content`"),
            (r#"{"role":"tool","tool_call_id":7,"content":"x"}"#, "in `tool_call_id`: invalid type: integer `7`"),
            (r#"{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":""}}]}"#, "missing field `id`"),
        ] {
            let cause = read(json).unwrap_err();
            assert!(cause.contains(said), "{cause}");
        }
    }

    #[test]
    fn results_belong_to_calls() {
        let call = r#"{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}},
            {"id":"d","function":{"name":"f","arguments":"{}"}}]}"#;
        let result = |id: &str| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"3"}}"#);
        let user = r#"{"role":"user","content":"x"}"#.to_owned();
        let follow = |messages: &[&str]| {
            let mut open = OpenCalls::default();
            messages.iter().try_for_each(|message| open.follow(&read(message).unwrap()))
        };
        assert_eq!(follow(&[&user, call, &result("d"), &result("c"), &user]), Ok(()));
        for (messages, said) in [
            ([user.as_str(), &result("c"), &user], "the result of the tool call `c`, and the message of the assistant"),
            ([call, &result("c"), &result("c")], "or it has its result already: correct `tool_call_id`"),
            ([call, &result("c"), &user], "the tool call `d` has no result before it: add a tool message"),
        ] {
            let cause = follow(&messages).unwrap_err();
            assert!(cause.contains(said), "{cause}");
        }
    }
}
