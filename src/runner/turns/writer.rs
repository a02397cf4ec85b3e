//! Writes later turns: the conversation so far, and what the user says next.

use std::collections::HashMap;
use std::sync::Arc;

use crate::engine::{CapturedText, Engine};
use crate::generator::{PlannedRequest, Prompt, PromptBuilder, SessionPlanner};
use crate::runner::feed::{ReadyRequest, carried};

/// An event of a turn.
pub(super) enum TurnEvent {
    /// The first request of a session was dispatched. It has its prompt where later turns repeat it.
    Began(PlannedRequest, Option<Prompt>),
    /// A turn has ended. It has its answer where that was captured, and the turn that follows, if any.
    Ended { last: PlannedRequest, captured: Option<CapturedText>, next: Option<PlannedRequest> },
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
    /// The messages so far, user and server in turn, the user first.
    said: Vec<String>,
    /// User's next message and its request's index, if the current turn is answered. The current turn is the one in
    /// flight.
    ahead: Option<(u64, Prompt)>,
}

impl<E: Engine> TurnWriter<E> {
    pub(super) fn new(engine: Arc<E>, sessions: SessionPlanner, prompts: Arc<PromptBuilder>) -> Self {
        Self { engine, sessions, prompts, open_sessions: HashMap::new() }
    }

    /// Takes an event and returns the request that follows, if any. The message after that is left to
    /// [`TurnWriter::write_ahead`], so that the request does not wait for it.
    pub(super) fn take(&mut self, event: TurnEvent) -> Option<ReadyRequest> {
        match event {
            TurnEvent::Began(opener, said) => {
                let said = match said {
                    Some(Prompt::Text(text)) => vec![text],
                    _ => Vec::new(),
                };
                self.open_sessions.insert(opener.session(), SessionText { said, ahead: None });
                None
            }
            TurnEvent::Ended { last, next: None, .. } => {
                self.open_sessions.remove(&last.session());
                None
            }
            TurnEvent::Ended { captured, next: Some(next), .. } => Some(self.write(&next, captured.as_ref())),
        }
    }

    fn write(&mut self, next: &PlannedRequest, captured: Option<&CapturedText>) -> ReadyRequest {
        let session = self.open_sessions.entry(next.session()).or_default();
        let ahead = session.ahead.take().filter(|(index, _)| *index == next.index);
        let prompt = ahead.map_or_else(|| says(&self.prompts, next), |(_, prompt)| prompt);
        let goes_on = self.sessions.has_next_turn(next);
        let spec = match prompt {
            Prompt::Text(text) if carries_on(next) => {
                session.said.push(captured.map(CapturedText::read).unwrap_or_default().content);
                session.said.push(text);
                next.into_spec(Prompt::Conversation(std::mem::take(&mut session.said)))
            }
            prompt => next.into_spec(prompt),
        };
        let prepared = carried(self.engine.prepare(&spec), goes_on);
        let session = self.open_sessions.entry(next.session()).or_default();
        session.said = match spec.prompt {
            Prompt::Conversation(said) => said,
            Prompt::Text(text) if goes_on => vec![text],
            _ => Vec::new(),
        };
        ReadyRequest { request: *next, prepared, said: None }
    }

    /// Writes the message that follows `request` if it is answered.
    pub(super) fn write_ahead(&mut self, request: &PlannedRequest) {
        let Some(next) = self.sessions.if_answered(request) else { return };
        let prompt = says(&self.prompts, &next);
        if let Some(session) = self.open_sessions.get_mut(&request.session()) {
            session.ahead = Some((next.index, prompt));
        }
    }
}

/// The user's message of a turn.
fn says(prompts: &PromptBuilder, request: &PlannedRequest) -> Prompt {
    if carries_on(request) { Prompt::Text(prompts.next_message(request)) } else { prompts.prompt(request) }
}

/// Whether a turn continues a conversation.
fn carries_on(request: &PlannedRequest) -> bool {
    request.turn.is_some_and(|turn| turn.place() > 0)
}
