//! Writes later turns: what was said before, and what the user says next.

use std::collections::HashMap;
use std::sync::Arc;

use crate::engine::{Engine, Keep, Kept, PreparedRequest};
use crate::generator::{PlannedRequest, Prompt, PromptBuilder, RequestSpec, SessionPlanner};
use crate::runner::release::Order;

/// What a writer is told.
#[derive(Debug)]
pub(super) enum News {
    /// The first request of a session was let go. What it says, where later turns carry it on.
    Began(PlannedRequest, Option<Prompt>),
    /// A turn has ended; what was kept of its answer, and what follows, if anything does.
    Ended { last: PlannedRequest, kept: Option<Kept>, next: Option<PlannedRequest> },
}

/// Makes the orders of later turns.
///
/// What the user says next does not depend on the answer, so it is written while the turn before is in flight, and what
/// is left to do after its end is to put the two together.
#[derive(Debug)]
pub(super) struct Writer<E> {
    engine: Arc<E>,
    sessions: SessionPlanner,
    prompts: Arc<PromptBuilder>,
    /// The sessions under way, by their numbers.
    talks: HashMap<u64, Talk>,
}

/// A session under way.
#[derive(Debug, Default)]
struct Talk {
    /// What was said so far by the user and the server in turn, the user first.
    said: Vec<String>,
    /// What is said next if the turn in flight is answered.
    ahead: Option<Ahead>,
}

/// A text written ahead.
#[derive(Debug)]
struct Ahead {
    index: u64,
    prompt: Prompt,
}

impl<E: Engine> Writer<E> {
    pub(super) fn new(engine: Arc<E>, sessions: SessionPlanner, prompts: Arc<PromptBuilder>) -> Self {
        Self { engine, sessions, prompts, talks: HashMap::new() }
    }

    /// Takes note of news and makes the order that follows, if one does. What is written ahead for the turn after that
    /// is left to [`Writer::write_ahead`], so that the order need not wait for it.
    pub(super) fn take(&mut self, news: News) -> Option<Order> {
        match news {
            News::Began(opener, said) => {
                let said = match said {
                    Some(Prompt::Text(text)) => vec![text],
                    _ => Vec::new(),
                };
                self.talks.insert(opener.session(), Talk { said, ahead: None });
                None
            }
            News::Ended { last, next: None, .. } => {
                self.talks.remove(&last.session());
                None
            }
            News::Ended { kept, next: Some(next), .. } => Some(self.write(&next, kept.as_ref())),
        }
    }

    fn write(&mut self, next: &PlannedRequest, kept: Option<&Kept>) -> Order {
        let talk = self.talks.entry(next.session()).or_default();
        let ahead = talk.ahead.take().filter(|ahead| ahead.index == next.index);
        let prompt = ahead.map_or_else(|| says(&self.prompts, next), |ahead| ahead.prompt);
        let goes_on = self.sessions.goes_on(next);
        let spec = match prompt {
            Prompt::Text(text) if carries_on(next) => {
                talk.said.push(kept.map(Kept::read).unwrap_or_default().content);
                talk.said.push(text);
                next.saying(Prompt::Conversation(std::mem::take(&mut talk.said)))
            }
            prompt => next.saying(prompt),
        };
        let prepared = carried(self.engine.prepare(&spec), goes_on);
        let talk = self.talks.entry(next.session()).or_default();
        talk.said = match spec.prompt {
            Prompt::Conversation(said) => said,
            Prompt::Text(text) if goes_on => vec![text],
            _ => Vec::new(),
        };
        Order { request: *next, prepared, said: None }
    }

    /// Writes what is said after `request`, if it is answered.
    pub(super) fn write_ahead(&mut self, request: &PlannedRequest) {
        let Some(next) = self.sessions.if_answered(request) else { return };
        let prompt = says(&self.prompts, &next);
        if let Some(talk) = self.talks.get_mut(&request.session()) {
            talk.ahead = Some(Ahead { index: next.index, prompt });
        }
    }
}

/// What a turn says itself.
fn says(prompts: &PromptBuilder, request: &PlannedRequest) -> Prompt {
    if carries_on(request) { Prompt::Text(prompts.going_on(request)) } else { prompts.say(request) }
}

/// Whether a turn goes on from what was said before.
fn carries_on(request: &PlannedRequest) -> bool {
    request.turn.is_some_and(|turn| turn.place() > 0)
}

/// The request, with the words of its answer kept where a turn may follow that says them again.
fn carried(request: PreparedRequest, goes_on: bool) -> PreparedRequest {
    if goes_on { request.keeping(Keep::Words) } else { request }
}

/// The order of a request of the plan, and what it says where later turns carry it on.
pub(in crate::runner) fn first_order<E: Engine>(
    engine: &E,
    sessions: Option<&SessionPlanner>,
    spec: RequestSpec,
) -> Order {
    let goes_on = sessions.is_some_and(|sessions| sessions.goes_on(&spec.planned));
    let prepared = carried(engine.prepare(&spec), goes_on);
    Order { request: spec.planned, prepared, said: goes_on.then_some(spec.prompt) }
}
