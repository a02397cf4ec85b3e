//! Writes later turns: the conversation so far, and what the user says next.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;

use crate::engine::{CapturedText, Engine, ToolCall};
use crate::generator::{Dialogue, PlannedRequest, Prompt, PromptBuilder, SessionGraph, SessionPlanner};
use crate::record::Turn;
use crate::runner::feed::{ReadyRequest, carried};

/// An event of a turn.
pub(super) enum TurnEvent {
    /// The first request of a session was dispatched. It has its prompt where later turns repeat it, and comes with
    /// those that wait for no other.
    Began(PlannedRequest, Option<Prompt>, Vec<PlannedRequest>),
    /// A turn has ended. It has its answer where that was captured, and the turns that follow.
    Ended {
        last: PlannedRequest,
        captured: Option<CapturedText>,
        /// Whether the answer came whole and called no tool.
        is_last_word: bool,
        next: Vec<PlannedRequest>,
        is_over: bool,
    },
    /// Requests that were written, or will have been, come at other moments.
    Moved(Vec<PlannedRequest>),
}

/// Writes later turns.
///
/// The user's next message does not depend on the answer, so it is written while the turn before is
/// in flight. After that turn ends, the two are only joined.
pub(super) struct TurnWriter<E> {
    engine: Arc<E>,
    sessions: SessionPlanner,
    prompts: Arc<PromptBuilder>,
    /// The sessions under way, by their numbers.
    open_sessions: HashMap<u64, SessionText>,
}

/// A session under way.
#[derive(Debug, Default)]
struct SessionText {
    /// The graph of its requests; absent of a conversation.
    graph: Option<Arc<SessionGraph>>,
    /// The texts up to each request that others carry on, by its index. The answer comes when it ends.
    said: HashMap<u64, Said>,
    /// Messages that were written before their moment, by the indices of their requests.
    ahead: HashMap<u64, Prompt>,
}

/// The texts of user and server up to a request and its answer.
#[derive(Clone, Debug, Default)]
struct Said {
    before: Option<Arc<Said>>,
    /// A text, or messages as JSON.
    message: Arc<str>,
    answer: Option<Arc<str>>,
    /// Calls of tools in the answer, which what follows answers one by one.
    calls: Vec<String>,
    form: SaidForm,
}

/// Result of a tool whose call is not answered.
const NO_RESULT: &str = "none";

/// Form of what was said.
#[derive(Clone, Debug, Default)]
enum SaidForm {
    /// Texts.
    #[default]
    Texts,
    /// Messages as JSON, with the tools of the agent.
    Messages(Option<Arc<str>>),
}

impl Said {
    /// The prompt that says all from the first on, and then `message`.
    fn prompt(self: &Arc<Self>, message: &Arc<str>) -> Prompt {
        let said = self.with(message);
        match &self.form {
            SaidForm::Texts => Prompt::Conversation(said),
            SaidForm::Messages(tools) => Prompt::Dialogue(Dialogue { messages: said.join(","), tools: tools.clone() }),
        }
    }

    /// Notes the answer to the request of this index as it is repeated.
    fn answered(&mut self, index: u64, captured: &CapturedText) {
        let mut text = captured.read();
        if let SaidForm::Texts = self.form {
            self.answer = Some(text.content.into());
            return;
        }
        let tool_calls = text.take_whole_calls();
        let mut message = json!({ "role": "assistant", "content": text.content });
        if !tool_calls.is_empty() {
            self.calls = (0..tool_calls.len()).map(|call| format!("call_{index}_{call}")).collect();
            let calls = self.calls.iter().zip(tool_calls).map(|(id, ToolCall { name, arguments })| {
                json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
            });
            message["tool_calls"] = calls.collect();
        }
        self.answer = Some(message.to_string().into());
    }

    /// A text that follows the answer. It is a result for each tool that was called, or the user's: then nothing is
    /// said of what tools found.
    fn reply(&self, text: &str, has_results: bool) -> Arc<str> {
        if self.calls.is_empty() {
            return of_user(text);
        }
        if !has_results {
            let none = self.calls.iter().map(|id| json!({ "role": "tool", "tool_call_id": id, "content": NO_RESULT }));
            let messages = none.map(|message| message.to_string().into()).chain([of_user(text)]);
            return messages.collect::<Vec<Arc<str>>>().join(",").into();
        }
        let words: Vec<&str> = text.split_inclusive(' ').collect();
        let (each, more) = (words.len() / self.calls.len(), words.len() % self.calls.len());
        let mut words = words.into_iter();
        let results = self.calls.iter().enumerate().map(|(call, id)| {
            let result: String = words.by_ref().take(each + usize::from(call < more)).collect();
            json!({ "role": "tool", "tool_call_id": id, "content": result }).to_string()
        });
        results.collect::<Vec<_>>().join(",").into()
    }

    /// All texts from the first on, and then `message`.
    fn with(self: &Arc<Self>, message: &Arc<str>) -> Vec<Arc<str>> {
        let mut texts = vec![Arc::clone(message)];
        let mut at = Some(self);
        while let Some(said) = at {
            texts.push(said.answer.clone().unwrap_or_default());
            texts.push(Arc::clone(&said.message));
            at = said.before.as_ref();
        }
        texts.reverse();
        texts
    }
}

impl<E: Engine> TurnWriter<E> {
    pub(super) fn new(engine: Arc<E>, sessions: SessionPlanner, prompts: Arc<PromptBuilder>) -> Self {
        Self { engine, sessions, prompts, open_sessions: HashMap::new() }
    }

    /// Takes an event and returns the requests that follow. The messages after them are left to
    /// [`TurnWriter::write_ahead`], so that no request waits for it.
    pub(super) fn take(&mut self, event: TurnEvent) -> impl Iterator<Item = ReadyRequest> {
        let requests = match event {
            TurnEvent::Began(opener, prompt, next) => {
                let has_tools = self.sessions.has_tools(&opener);
                let session = self.begin(&opener);
                if let Some((message, form)) = prompt.as_ref().and_then(|prompt| said_by(prompt, has_tools, None)) {
                    session.said.insert(opener.index, Said { message, form, ..Said::default() });
                }
                next
            }
            TurnEvent::Ended { last, captured, is_last_word, next, is_over } => {
                if is_over {
                    self.open_sessions.remove(&last.session());
                } else if let Some(session) = self.text_of(&last) {
                    if is_last_word {
                        session.leave_out_after(&last);
                    }
                    if let Some((said, captured)) = session.said.get_mut(&last.index).zip(captured) {
                        said.answered(last.index, &captured);
                    }
                }
                next
            }
            TurnEvent::Moved(_) => Vec::new(),
        };
        requests.into_iter().map(|next| self.write(&next))
    }

    /// Begins the text of the session that this request opens.
    fn begin(&mut self, opener: &PlannedRequest) -> &mut SessionText {
        let session = SessionText { graph: self.sessions.graph_of(opener), ..SessionText::default() };
        self.open_sessions.entry(opener.session()).insert_entry(session).into_mut()
    }

    fn text_of(&mut self, request: &PlannedRequest) -> Option<&mut SessionText> {
        self.open_sessions.get_mut(&request.session())
    }

    fn write(&mut self, next: &PlannedRequest) -> ReadyRequest {
        let ahead = self.text_of(next).and_then(|session| session.ahead.remove(&next.index));
        let prompt = ahead.unwrap_or_else(|| says(&self.prompts, next));
        if next.turn.is_some_and(|turn| turn.place() == 0) {
            self.begin(next);
        }
        let goes_on = match self.text_of(next).and_then(|session| session.graph.as_ref()) {
            Some(graph) => next.turn.is_some_and(|turn| graph.is_carried(turn.place())),
            None => self.sessions.has_next_turn(next),
        };
        let graph = self.text_of(next).and_then(|session| session.graph.as_ref());
        let has_results = graph.zip(next.turn).is_some_and(|(graph, turn)| graph.brings_results(turn.place()));
        let session = self.open_sessions.entry(next.session()).or_default();
        let before = next.turn.and_then(|turn| turn.carried()).map(|index| session.before(index));
        let has_tools = self.sessions.has_tools(next);
        let follows = before.as_deref().map(|before| (before, has_results));
        let said = if goes_on || before.is_some() { said_by(&prompt, has_tools, follows) } else { None };
        let prompt = match (&before, &said) {
            (Some(before), Some((message, _))) => before.prompt(message),
            _ => prompt,
        };
        if let Some((message, form)) = said.filter(|_| goes_on) {
            session.said.insert(next.index, Said { before, message, form, ..Said::default() });
        }
        let spec = next.into_spec(prompt);
        let prepared = carried(self.engine.prepare(&spec), goes_on);
        ReadyRequest { request: *next, prepared, said: None }
    }

    /// Writes the messages that follow `request` if it is answered.
    pub(super) fn write_ahead(&mut self, request: &PlannedRequest) {
        let graph = self.text_of(request).and_then(|session| session.graph.as_ref());
        let followers: Vec<PlannedRequest> = match graph.zip(request.turn) {
            Some((graph, turn)) => {
                graph.begun_by(turn.place()).filter_map(|place| graph.request(request, place, 0)).collect()
            }
            None => self.sessions.if_answered(request).into_iter().collect(),
        };
        for next in followers {
            let prompt = says(&self.prompts, &next);
            if let Some(session) = self.text_of(request) {
                session.ahead.insert(next.index, prompt);
            }
        }
    }
}

impl SessionText {
    /// Leaves out what would bring results of tools to the answer of `last`.
    fn leave_out_after(&mut self, last: &PlannedRequest) {
        let Some((graph, turn)) = self.graph.as_mut().zip(last.turn) else { return };
        if graph.asks_for_tools(turn.place()) {
            for place in Arc::make_mut(graph).leave_out_after(turn.place()) {
                self.ahead.remove(&Turn::index_of(turn.session, turn.begun + place));
            }
        }
    }

    /// The texts up to the request of this index and its answer. Of a conversation nothing else needs them.
    fn before(&mut self, index: u64) -> Arc<Said> {
        let Some(said) = self.said.remove(&index) else { return Arc::default() };
        let said = Arc::new(said);
        if self.graph.is_some() {
            let kept = (*said).clone();
            self.said.insert(index, kept);
        }
        said
    }
}

/// The user's message of a turn.
fn says(prompts: &PromptBuilder, request: &PlannedRequest) -> Prompt {
    let carries_on = request.turn.is_some_and(|turn| turn.carried().is_some());
    let is_written = carries_on && request.row.is_none();
    if is_written { Prompt::Text(prompts.next_message(request)) } else { prompts.prompt(request) }
}

/// A message of the user, as JSON.
fn of_user(text: &str) -> Arc<str> {
    json!({ "role": "user", "content": text }).to_string().into()
}

/// The text, or the messages and tools, of a prompt that others may carry on. Where answers may call tools, a text
/// becomes the message that follows another, as results of tools or as the user's.
fn said_by(prompt: &Prompt, has_tools: bool, before: Option<(&Said, bool)>) -> Option<(Arc<str>, SaidForm)> {
    match prompt {
        Prompt::Text(text) if has_tools => {
            let message = before.map_or_else(|| of_user(text), |(before, has_results)| before.reply(text, has_results));
            Some((message, SaidForm::Messages(None)))
        }
        Prompt::Text(text) => Some((text.as_str().into(), SaidForm::Texts)),
        Prompt::Dialogue(dialogue) => {
            Some((dialogue.messages.as_str().into(), SaidForm::Messages(dialogue.tools.clone())))
        }
        _ => None,
    }
}
