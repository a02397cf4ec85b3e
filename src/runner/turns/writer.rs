//! Writes later turns: the conversation so far, and what the user says next.

use std::collections::HashMap;
use std::sync::Arc;

use crate::engine::{CapturedText, Engine};
use crate::generator::{PlannedRequest, Prompt, PromptBuilder, SessionGraph, SessionPlanner};
use crate::runner::feed::{ReadyRequest, carried};

/// An event of a turn.
pub(super) enum TurnEvent {
    /// The first request of a session was dispatched. It has its prompt where later turns repeat it.
    Began(PlannedRequest, Option<Prompt>),
    /// A turn has ended. It has its answer where that was captured, and the turns that follow.
    Ended { last: PlannedRequest, captured: Option<CapturedText>, next: Vec<PlannedRequest>, is_over: bool },
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
    graph: Option<SessionGraph>,
    /// The texts up to each request that others carry on, by its index. The answer comes when it ends.
    said: HashMap<u64, Said>,
    /// Messages that were written before their moment, by the indices of their requests.
    ahead: HashMap<u64, Prompt>,
}

/// The texts of user and server up to a request and its answer.
#[derive(Debug, Default)]
struct Said {
    before: Option<Arc<Said>>,
    message: Arc<str>,
    answer: Option<Arc<str>>,
}

impl Said {
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
            TurnEvent::Began(opener, prompt) => {
                let session = self.begin(&opener);
                if let Some(Prompt::Text(text)) = prompt {
                    session.said.insert(opener.index, Said { message: text.into(), ..Said::default() });
                }
                Vec::new()
            }
            TurnEvent::Ended { last, captured, next, is_over } => {
                if is_over {
                    self.open_sessions.remove(&last.session());
                } else if let Some(said) = self.text_of(&last).and_then(|session| session.said.get_mut(&last.index)) {
                    said.answer = captured.map(|captured| captured.read().content.into());
                }
                next
            }
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
        let session = self.open_sessions.entry(next.session()).or_default();
        let before = next.turn.and_then(|turn| turn.carried()).map(|index| session.before(index));
        let spec = match (prompt, before) {
            (Prompt::Text(text), before) if goes_on || before.is_some() => {
                let message: Arc<str> = text.into();
                let prompt = match &before {
                    Some(before) => Prompt::Conversation(before.with(&message)),
                    None => Prompt::Text(message.to_string()),
                };
                if goes_on {
                    session.said.insert(next.index, Said { before, message, answer: None });
                }
                next.into_spec(prompt)
            }
            (prompt, _) => next.into_spec(prompt),
        };
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
    /// The texts up to the request of this index and its answer. Of a conversation nothing else needs them.
    fn before(&mut self, index: u64) -> Arc<Said> {
        let Some(said) = self.said.remove(&index) else { return Arc::default() };
        let said = Arc::new(said);
        if self.graph.is_some() {
            let Said { before, message, answer } = &*said;
            let kept = Said { before: before.clone(), message: Arc::clone(message), answer: answer.clone() };
            self.said.insert(index, kept);
        }
        said
    }
}

/// The user's message of a turn.
fn says(prompts: &PromptBuilder, request: &PlannedRequest) -> Prompt {
    let carries_on = request.turn.is_some_and(|turn| turn.carried().is_some());
    if carries_on { Prompt::Text(prompts.next_message(request)) } else { prompts.prompt(request) }
}
