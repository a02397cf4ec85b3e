//! One answer under way, whatever its protocol.

use std::cell::Cell;
use std::ops::Range;

use serde_json::Value;

use super::text::Text;
use crate::engine::{AnswerForm, Protocol};
use crate::mock::faults::Fault;
use crate::mock::metrics::Finish;
use crate::mock::options::PromptDetails;
use crate::mock::request::{Request, ResultsAsked, UsageIn};

/// One choice of an answer.
#[derive(Clone, Debug)]
pub(crate) struct ReplyChoice {
    /// Its text.
    pub(crate) text: Text,
    /// Its tokens when it is complete.
    pub(crate) planned: u32,
    /// Reason why it then ends.
    pub(crate) finish: Finish,
    /// The stop text that ended it.
    pub(crate) stop_reason: Option<String>,
    /// Tokens of its prompt.
    pub(crate) prompt_tokens: u32,
    /// Tokens found in the prefix cache; `None` before the first token.
    pub(crate) cached_tokens: Option<u32>,
    /// Tokens of its prompt's first text, where that has two.
    pub(crate) first_tokens: u32,
    /// Tokens sent so far.
    pub(crate) sent: u32,
}

/// An event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReplyEvent {
    /// Name of the event. Empty where it has none.
    pub(crate) name: &'static str,
    /// Data of the event.
    pub(crate) data: String,
}

impl From<String> for ReplyEvent {
    fn from(data: String) -> Self {
        Self { name: "", data }
    }
}

/// How the answers of a protocol are written.
pub(crate) trait Wording: Sync {
    /// The protocol.
    fn protocol(&self) -> &'static Protocol;
    /// Beginning of the ids of answers.
    fn id_prefix(&self) -> &'static str;
    /// Other paths of the endpoint, beside the usual one.
    fn paths(&self) -> &'static [&'static str] {
        &[]
    }
    /// The wording of a request with this body, where another one has the same path.
    fn of_body(&self, _body: &[u8]) -> Option<&'static dyn Wording> {
        None
    }
    /// The error of a refusal, where it is worded otherwise than in chats.
    fn error(&self, _of_chats: &Value) -> Option<Value> {
        None
    }
    /// Beginning of every document of the answer with this id, of a model.
    fn head(&self, named: (&str, &str), form: AnswerForm) -> String;
    /// Events before any text.
    fn first(&self, reply: &Reply) -> Vec<ReplyEvent>;
    /// Events with these tokens of the choice of this index.
    fn chunk(&self, reply: &Reply, index: usize, tokens: Range<u32>) -> Vec<ReplyEvent>;
    /// Events after all text, the last of them what ends a stream.
    fn last(&self, reply: &Reply) -> Vec<ReplyEvent>;
    /// Events of a stream that fails.
    fn failure(&self, reply: &Reply) -> Vec<ReplyEvent>;
    /// The whole answer in one body.
    fn whole(&self, reply: &Reply) -> String;
}

/// An answer under way.
pub(crate) struct Reply {
    pub(super) wording: &'static dyn Wording,
    form: AnswerForm,
    pub(super) usage_in: UsageIn,
    pub(super) return_token_ids: bool,
    pub(super) prompt_details: PromptDetails,
    pub(super) faults: Vec<Fault>,
    /// Requirements of results.
    pub(super) results: ResultsAsked,
    /// The tool that is called, if any.
    pub(super) tool: Option<String>,
    /// Beginning of every document.
    pub(super) head: String,
    pub(super) choices: Vec<ReplyChoice>,
    /// Choices per prompt; those of the first prompt come first.
    pub(super) n: u32,
    pub(super) progress: Cell<ReplyProgress>,
}

/// Progress of a stream of numbered events.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReplyProgress {
    /// Events so far.
    pub(super) events: u32,
    /// Items or blocks that have begun.
    pub(super) items: u32,
    /// The first token of the last of them.
    pub(super) from: u32,
}

impl Reply {
    /// The reply with `id` of `model`.
    pub(crate) fn new(
        wording: &'static dyn Wording,
        named: (&str, &str),
        request: &Request,
        choices: Vec<ReplyChoice>,
        prompt_details: PromptDetails,
        faults: Vec<Fault>,
    ) -> Self {
        Self {
            wording,
            form: request.form,
            usage_in: request.usage_in,
            return_token_ids: request.return_token_ids,
            prompt_details,
            tool: match &request.shape.tool {
                None if faults.contains(&Fault::ToolCalls) => Some("look_up".to_owned()),
                tool => tool.clone(),
            },
            faults,
            results: request.results.unwrap_or_default(),
            head: wording.head(named, request.form),
            choices,
            n: request.n,
            progress: Cell::default(),
        }
    }

    /// Whether it is streamed.
    pub(super) fn is_streamed(&self) -> bool {
        self.form == AnswerForm::Streamed
    }

    /// Whether its first tokens are reasoning.
    pub(super) fn thinks(&self) -> bool {
        self.has(Fault::Reasoning) && self.tool.is_none()
    }

    /// Tokens of its reasoning, where it has some.
    pub(super) fn thought_tokens(&self) -> u32 {
        self.choices.first().map_or(0, |choice| choice.planned / 2)
    }

    /// Tokens of its prompts, and those of them that were cached. Each prompt counts once. The cached ones are absent
    /// where the server does not tell.
    pub(super) fn prompt_counts(&self) -> (u32, Option<u32>) {
        let prompts = || self.choices.iter().step_by(self.n as usize);
        let tokens = prompts().map(|choice| choice.prompt_tokens).fold(0, u32::saturating_add);
        let cached = match self.prompt_details {
            PromptDetails::Hidden => None,
            PromptDetails::Shown => prompts().map(|choice| choice.cached_tokens).sum(),
        };
        (tokens, cached)
    }

    /// Sets how much of a choice's prompt was in the prefix cache.
    pub(crate) fn cached(&mut self, index: usize, tokens: u32) {
        if let Some(choice) = self.choices.get_mut(index) {
            choice.cached_tokens = Some(tokens);
        }
    }

    pub(crate) const fn choices(&self) -> usize {
        self.choices.len()
    }

    /// Answer tokens of all choices together when they are complete.
    pub(crate) fn planned(&self) -> u32 {
        self.choices.iter().map(|choice| choice.planned).fold(0, u32::saturating_add)
    }

    /// Answer tokens sent so far.
    pub(crate) fn sent(&self) -> u32 {
        self.choices.iter().map(|choice| choice.sent).fold(0, u32::saturating_add)
    }

    pub(super) fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }

    /// Events with the next `tokens` tokens of a choice.
    pub(crate) fn chunk(&mut self, index: usize, tokens: u32) -> Vec<ReplyEvent> {
        let Some(choice) = self.choices.get_mut(index) else { return Vec::new() };
        let range = choice.sent..choice.sent.saturating_add(tokens);
        choice.sent = range.end;
        self.wording.chunk(self, index, range)
    }

    /// The whole answer in one body.
    pub(crate) fn whole(&mut self) -> String {
        for choice in &mut self.choices {
            choice.sent = choice.planned;
        }
        self.wording.whole(self)
    }
}
