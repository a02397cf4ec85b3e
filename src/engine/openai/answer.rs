//! The answer of this engine: what a transport brings, read as the server's protocol means it.

use std::future::poll_fn;

use crate::engine::answer::{Answer, AnswerEvent, Cause};
use crate::engine::stream::received::ReceivedAnswer;
use crate::engine::transport::Exchange;
use crate::record::FinishReason;

/// One request under way.
pub struct ServerAnswer(pub(super) Exchange<ReceivedAnswer>);

impl ServerAnswer {
    /// The cause of the failure that ended it.
    pub(super) fn cause(&self) -> Cause {
        self.0.receiver.cause.clone()
    }
}

impl Answer for ServerAnswer {
    fn send_now(&mut self) -> bool {
        self.0.send_now()
    }

    async fn next(&mut self) -> AnswerEvent {
        poll_fn(|cx| self.0.poll_until(cx, |answer| answer.events.pop_front())).await
    }

    fn next_known(&mut self) -> Option<AnswerEvent> {
        self.0.receiver.events.pop_front()
    }

    fn finish_reason(&self) -> Option<FinishReason> {
        self.0.receiver.finish_reason()
    }
}
