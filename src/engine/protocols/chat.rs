//! Chats: `messages`, answered by a message.

use std::sync::Arc;

use super::choices::CHOICES;
use super::limits::{MAX_COMPLETION_TOKENS, MAX_TOKENS};
use super::prompt::{content, string};
use super::protocol::Protocol;
use super::shapes::shape;
use crate::engine::dialect_traits::LengthForcing;
use crate::generator::{Prompt, PromptNeed};
use crate::record::WorkKind;

/// `/v1/chat/completions`.
pub static CHAT: Protocol = Protocol {
    name: "chat",
    path: "/v1/chat/completions",
    backend: "openai-chat",
    prompt_field: "messages",
    write_prompt: messages,
    carries: &[PromptNeed::Messages, PromptNeed::Images],
    only: None,
    is_form: false,
    inputs: None,
    limits: &[MAX_COMPLETION_TOKENS, MAX_TOKENS],
    within: None,
    usual_tokens: None,
    form: None,
    whole: None,
    template: None,
    asks_for_usage: true,
    forces: LengthForcing::IgnoreEosAndMinTokens,
    lacks: &[],
    headers: &[],
    key_header: None,
    shape: Some(shape),
    work: WorkKind::Tokens,
    answers: &CHOICES,
};

/// The messages of a prompt; a text becomes one of the user.
fn messages(body: &mut Vec<u8>, prompt: &Prompt) {
    match prompt {
        Prompt::Messages(messages) => body.extend_from_slice(messages.as_bytes()),
        Prompt::Dialogue(dialogue) => {
            body.extend_from_slice(dialogue.list().as_bytes());
            if let Some(tools) = &dialogue.tools {
                body.extend_from_slice(b",\"tools\":");
                body.extend_from_slice(tools.as_bytes());
            }
        }
        Prompt::Conversation(said) => conversation(body, said),
        prompt => {
            body.extend_from_slice(br#"[{"role":"user","content":"#);
            content(body, prompt);
            body.extend_from_slice(b"}]");
        }
    }
}

/// The messages of a chat, user and server in turn.
fn conversation(body: &mut Vec<u8>, said: &[Arc<str>]) {
    let roles: [&[u8]; 2] = [br#"{"role":"user","content":"#, br#"{"role":"assistant","content":"#];
    let mut before = b'[';
    for (text, role) in said.iter().zip(roles.iter().cycle()) {
        body.push(before);
        body.extend_from_slice(role);
        string(body, text);
        body.push(b'}');
        before = b',';
    }
    body.push(b']');
}
