//! Protocols: what each endpoint is called, what its requests carry, and what its answers look like.

use strum::{Display, EnumString, IntoStaticStr};

use crate::generator::PromptNeed;

/// The endpoint of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase", parse_err_ty = String, parse_err_fn = unknown_endpoint)]
pub enum Endpoint {
    /// `/v1/chat/completions`.
    #[default]
    Chat,
    /// `/v1/completions`.
    Completions,
}

/// One endpoint's protocol: nothing outside of this file asks which endpoint a request is for.
#[derive(Debug)]
pub struct Protocol {
    /// Usual path.
    pub path: &'static str,
    /// The field of the prompt, and the form of it.
    pub prompt: PromptForm,
    /// Prompts that it carries besides texts.
    pub carries: &'static [PromptNeed],
    /// Whether answers of a form (a schema, tools) can be requested.
    pub shapes_answers: bool,
    /// Names of the field that limits an answer's tokens. Where there are several, the dialect says which, and the
    /// first counts before the others.
    pub limits: &'static [&'static str],
    /// Tokens of an answer whose request sets no limit; `None` for as many as fit.
    pub usual_tokens: Option<u32>,
    /// Beginning of the ids of answers.
    pub id_prefix: &'static str,
    /// `object` of an event of a stream, and of a whole answer.
    pub objects: [&'static str; 2],
}

/// The form of a prompt in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptForm {
    /// `messages`, answered by a message; a text becomes one of the user.
    Messages,
    /// `prompt`, a text or token ids, answered by a text.
    Text,
}

impl PromptForm {
    /// Name of its field.
    pub const fn field(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Text => "prompt",
        }
    }
}

const CHAT: Protocol = Protocol {
    path: "/v1/chat/completions",
    prompt: PromptForm::Messages,
    carries: &[PromptNeed::Messages, PromptNeed::Images],
    shapes_answers: true,
    limits: &["max_completion_tokens", "max_tokens"],
    usual_tokens: None,
    id_prefix: "chatcmpl",
    objects: ["chat.completion.chunk", "chat.completion"],
};

const COMPLETIONS: Protocol = Protocol {
    path: "/v1/completions",
    prompt: PromptForm::Text,
    carries: &[PromptNeed::TokenIds],
    shapes_answers: false,
    limits: &["max_tokens"],
    usual_tokens: Some(16),
    id_prefix: "cmpl",
    objects: ["text_completion", "text_completion"],
};

impl Endpoint {
    /// Every endpoint, the default first.
    pub const ALL: [Self; 2] = [Self::Chat, Self::Completions];

    /// Protocol of the endpoint.
    pub const fn protocol(self) -> &'static Protocol {
        match self {
            Self::Chat => &CHAT,
            Self::Completions => &COMPLETIONS,
        }
    }

    /// Name for `--endpoint`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The first other endpoint that `can`, for advice.
    pub fn another(self, can: impl Fn(&Protocol) -> bool) -> Option<Self> {
        Self::ALL.into_iter().find(|other| *other != self && can(other.protocol()))
    }
}

impl Protocol {
    /// Whether it carries prompts of this kind.
    pub fn carries(&self, need: PromptNeed) -> bool {
        need == PromptNeed::Nothing || self.carries.contains(&need)
    }
}

fn unknown_endpoint(name: &str) -> String {
    format!("`{name}` is not an endpoint; use {}", Endpoint::ALL.map(Endpoint::name).join(" or "))
}
