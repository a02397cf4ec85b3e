//! Engines without a network, for runs in exact time.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::sleep_until;

use super::at;
use crate::clock::{RunClock, Timestamp};
use crate::engine::{Answer, AnswerEnd, AnswerEvent, ChunkText, Engine, PreparedRequest};
use crate::generator::RequestSpec;
use crate::record::FinishReason;

/// Answers every request with `tokens` tokens: the first after `ttft`, the others `gap` apart.
#[derive(Clone, Copy)]
pub(super) struct Script {
    pub(super) ttft: Duration,
    pub(super) gap: Duration,
    pub(super) tokens: u32,
}

impl Engine for Script {
    type Answer = Scripted;

    fn prepare(&self, request: &RequestSpec) -> PreparedRequest {
        PreparedRequest::new(request.planned.index, Bytes::new())
    }

    fn generate(&self, _request: PreparedRequest, clock: RunClock) -> Scripted {
        Scripted { script: *self, clock, sent: None, told: 0 }
    }

    async fn warm_up(&self, _count: usize) {}
}

pub(super) struct Scripted {
    script: Script,
    clock: RunClock,
    sent: Option<Timestamp>,
    told: u32,
}

impl Answer for Scripted {
    async fn next(&mut self) -> AnswerEvent {
        let Some(sent) = self.sent else {
            let now = self.clock.now();
            self.sent = Some(now);
            return AnswerEvent::Sent { at: now, opened_connection: false };
        };
        let moment = sent.after(self.script.ttft + self.script.gap * self.told.min(self.script.tokens - 1));
        sleep_until(self.clock.instant(moment)).await;
        if self.told == self.script.tokens {
            let end = AnswerEnd {
                at: moment,
                result: Ok(()),
                whole_answer: None,
                finish_reason: None,
                usage: None,
                kept: None,
            };
            return AnswerEvent::Ended(Box::new(end));
        }
        self.told += 1;
        AnswerEvent::Chunk { at: moment, tokens: Some(1), text: ChunkText::Content, merged: false }
    }
}

/// Answers every request at once with one token and the end, and says that they came later: as a loop that was held up
/// sees what the kernel had stamped while it was not looking.
#[derive(Clone, Copy)]
pub(super) struct SeenLate {
    pub(super) token: Option<Duration>,
    pub(super) end: Duration,
}

impl Engine for SeenLate {
    type Answer = SeenLateAnswer;

    fn prepare(&self, request: &RequestSpec) -> PreparedRequest {
        PreparedRequest::new(request.planned.index, Bytes::new())
    }

    fn generate(&self, _request: PreparedRequest, clock: RunClock) -> SeenLateAnswer {
        SeenLateAnswer { begin: clock.now(), left: *self }
    }

    async fn warm_up(&self, _count: usize) {}
}

pub(super) struct SeenLateAnswer {
    begin: Timestamp,
    left: SeenLate,
}

impl Answer for SeenLateAnswer {
    async fn next(&mut self) -> AnswerEvent {
        if let Some(token) = self.left.token.take() {
            let at = self.begin.after(token);
            return AnswerEvent::Chunk { at, tokens: Some(1), text: ChunkText::Content, merged: false };
        }
        let at = self.begin.after(self.left.end);
        let end = AnswerEnd {
            at,
            result: Ok(()),
            whole_answer: Some(at),
            finish_reason: None,
            usage: None,
            kept: None,
        };
        AnswerEvent::Ended(Box::new(end))
    }
}

/// Says all of its one-token text after 40 ms, and why it stopped, and then nothing more.
#[derive(Clone, Copy)]
pub(super) struct Endless;

pub(super) struct EndlessAnswer {
    clock: RunClock,
    told: bool,
}

impl Engine for Endless {
    type Answer = EndlessAnswer;

    fn prepare(&self, request: &RequestSpec) -> PreparedRequest {
        PreparedRequest::new(request.planned.index, Bytes::new())
    }

    fn generate(&self, _request: PreparedRequest, clock: RunClock) -> EndlessAnswer {
        EndlessAnswer { clock, told: false }
    }

    async fn warm_up(&self, _count: usize) {}
}

impl Answer for EndlessAnswer {
    async fn next(&mut self) -> AnswerEvent {
        if self.told {
            return std::future::pending().await;
        }
        sleep_until(self.clock.instant(at(40))).await;
        self.told = true;
        AnswerEvent::Chunk { at: at(40), tokens: None, text: ChunkText::Content, merged: false }
    }

    fn finish_reason(&self) -> Option<FinishReason> {
        self.told.then_some(FinishReason::Stop)
    }
}
