//! Engines without a network, for runs in exact time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::sleep_until;

use crate::clock::{RunClock, Timestamp};
use crate::engine::{Answer, AnswerEnd, AnswerEvent, CaptureText, CapturedText, ChunkText, Engine, PreparedRequest};
use crate::generator::{Prompt, RequestSpec};
use crate::record::{Failure, FailureKind, FinishReason};

pub(super) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(super) const fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

/// Answers every request with `tokens` tokens: the first after `ttft`, the others `gap` apart.
#[derive(Clone, Copy)]
pub(in crate::runner) struct Script {
    pub(in crate::runner) ttft: Duration,
    pub(in crate::runner) gap: Duration,
    pub(in crate::runner) tokens: u32,
}

impl Engine for Script {
    type Answer = Scripted;

    fn prepare(&self, request: &RequestSpec) -> PreparedRequest {
        PreparedRequest::new(request.planned.index, Bytes::new())
    }

    fn generate(&self, _request: PreparedRequest, clock: RunClock) -> Scripted {
        Scripted { script: *self, clock, sent: None, tokens_sent: 0 }
    }

    async fn warm_up(&self, _count: usize) {}
}

pub(in crate::runner) struct Scripted {
    script: Script,
    clock: RunClock,
    sent: Option<Timestamp>,
    tokens_sent: u32,
}

impl Answer for Scripted {
    async fn next(&mut self) -> AnswerEvent {
        let Some(sent) = self.sent else {
            let now = self.clock.now();
            self.sent = Some(now);
            return AnswerEvent::Sent { at: now, opened_connection: false };
        };
        let moment = sent.after(self.script.ttft + self.script.gap * self.tokens_sent.min(self.script.tokens - 1));
        sleep_until(self.clock.instant(moment)).await;
        if self.tokens_sent == self.script.tokens {
            let end = AnswerEnd {
                at: moment,
                result: Ok(()),
                whole_answer: None,
                finish_reason: None,
                usage: None,
                impossible_usage: None,
                hidden_tokens: 0,
                last_repeats: false,
                oddities: crate::record::Oddities::default(),
                captured: None,
                retry_after: None,
            };
            return AnswerEvent::Ended(Box::new(end));
        }
        self.tokens_sent += 1;
        AnswerEvent::Chunk { at: moment, tokens: Some(1), text: ChunkText::Content, merged: false, choice: 0 }
    }
}

/// An engine that answers at once and claims that the answers came later. Each answer has one token and the end. It is
/// as a stalled loop sees what the kernel had stamped meanwhile.
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
            return AnswerEvent::Chunk { at, tokens: Some(1), text: ChunkText::Content, merged: false, choice: 0 };
        }
        let at = self.begin.after(self.left.end);
        let end = AnswerEnd {
            at,
            result: Ok(()),
            whole_answer: Some(at),
            finish_reason: None,
            usage: None,
            impossible_usage: None,
            hidden_tokens: 0,
            last_repeats: false,
            oddities: crate::record::Oddities::default(),
            captured: None,
            retry_after: None,
        };
        AnswerEvent::Ended(Box::new(end))
    }
}

/// Sends its one-token text after 40 ms with the finish reason, and then nothing more.
#[derive(Clone, Copy)]
pub(super) struct Endless;

pub(super) struct EndlessAnswer {
    clock: RunClock,
    ended: bool,
}

impl Engine for Endless {
    type Answer = EndlessAnswer;

    fn prepare(&self, request: &RequestSpec) -> PreparedRequest {
        PreparedRequest::new(request.planned.index, Bytes::new())
    }

    fn generate(&self, _request: PreparedRequest, clock: RunClock) -> EndlessAnswer {
        EndlessAnswer { clock, ended: false }
    }

    async fn warm_up(&self, _count: usize) {}
}

impl Answer for EndlessAnswer {
    async fn next(&mut self) -> AnswerEvent {
        if self.ended {
            return std::future::pending().await;
        }
        sleep_until(self.clock.instant(at(40))).await;
        self.ended = true;
        AnswerEvent::Chunk { at: at(40), tokens: None, text: ChunkText::Content, merged: false, choice: 0 }
    }

    fn finish_reason(&self) -> Option<FinishReason> {
        self.ended.then_some(FinishReason::Stop)
    }
}

/// An engine that answers "answer INDEX" in two tokens and keeps the prompts in order. The second token comes `stay`
/// after the request was sent. A request whose number in its session is in `fails` fails after the same time.
#[derive(Clone, Default)]
pub(super) struct ConversationEngine {
    pub(super) stay: Duration,
    pub(super) fails: Vec<u32>,
    pub(super) asked: Arc<Mutex<Vec<(u64, Prompt)>>>,
}

impl ConversationEngine {
    /// The prompt of the request with this index.
    pub(super) fn asked(&self, index: u64) -> Prompt {
        let asked = self.asked.lock().unwrap();
        asked.iter().find(|(other, _)| *other == index).map(|(_, prompt)| prompt.clone()).unwrap()
    }
}

impl Engine for ConversationEngine {
    type Answer = ScriptedAnswer;

    fn prepare(&self, request: &RequestSpec) -> PreparedRequest {
        self.asked.lock().unwrap().push((request.planned.index, request.prompt.clone()));
        PreparedRequest::new(request.planned.index, Bytes::new())
    }

    fn generate(&self, request: PreparedRequest, clock: RunClock) -> ScriptedAnswer {
        let number = (request.index >> 28) as u32;
        ScriptedAnswer { request, clock, stay: self.stay, fails: self.fails.contains(&number), sent: None, texts: 0 }
    }

    async fn warm_up(&self, _count: usize) {}
}

pub(super) struct ScriptedAnswer {
    request: PreparedRequest,
    clock: RunClock,
    stay: Duration,
    fails: bool,
    sent: Option<Timestamp>,
    texts: u32,
}

impl Answer for ScriptedAnswer {
    async fn next(&mut self) -> AnswerEvent {
        let Some(sent) = self.sent else {
            let now = self.clock.now();
            self.sent = Some(now);
            return AnswerEvent::Sent { at: now, opened_connection: false };
        };
        if self.texts == 0 {
            self.texts += 1;
            return AnswerEvent::Chunk {
                at: sent,
                tokens: Some(1),
                text: ChunkText::Content,
                merged: false,
                choice: 0,
            };
        }
        let at = sent.after(self.stay);
        sleep_until(self.clock.instant(at)).await;
        if self.texts == 1 && !self.fails {
            self.texts += 1;
            return AnswerEvent::Chunk { at, tokens: Some(1), text: ChunkText::Content, merged: false, choice: 0 };
        }
        let said = format!("answer {}", self.request.index);
        let end = AnswerEnd {
            at,
            result: if self.fails { Err(Failure::new(FailureKind::HttpStatus(503), "busy")) } else { Ok(()) },
            whole_answer: None,
            finish_reason: None,
            usage: None,
            impossible_usage: None,
            hidden_tokens: 0,
            last_repeats: false,
            oddities: crate::record::Oddities::default(),
            captured: (self.request.capture == CaptureText::Yes && !self.fails)
                .then(|| CapturedText::of_content(&said)),
            retry_after: None,
        };
        AnswerEvent::Ended(Box::new(end))
    }
}
