//! Keeps a request for another try, as long as it may be needed.

use std::future::Future as _;
use std::pin::Pin;
use std::task::Context;
use std::time::Duration;

use tokio::time::{Sleep, sleep};

use super::receiver::Origin;
use crate::engine::answer::PreparedRequest;

/// A request that went over an idle or shared connection, kept for another try. It is sent again if the connection was
/// being closed, or the server refused the stream. It is kept only as long as it may be: the bodies of many requests
/// take much memory.
pub(super) struct Spare {
    pub(super) request: PreparedRequest,
    /// Time within which a close may have met the request.
    race: Duration,
    /// Its end, from when the request was sent.
    over: Option<Pin<Box<Sleep>>>,
}

impl Spare {
    /// Keeps a request that goes over a connection of this origin. `None` on a new one.
    pub(super) fn new(request: &PreparedRequest, origin: Origin) -> Option<Self> {
        origin.race().map(|race| Self { request: request.clone(), race, over: None })
    }

    /// Whether it may be needed yet. It is not once a byte of an answer has come, nor some time after sending.
    pub(super) fn is_needed(&mut self, cx: &mut Context<'_>, progress: RequestProgress) -> bool {
        let race = self.race;
        match progress {
            RequestProgress::Unsent => true,
            RequestProgress::Sent => {
                self.over.get_or_insert_with(|| Box::pin(sleep(race))).as_mut().poll(cx).is_pending()
            }
            RequestProgress::Answered => false,
        }
    }
}

/// The try of a request for which a connection is opened.
#[derive(Clone, Copy)]
pub(super) enum Try {
    First,
    /// The server closed an idle connection.
    Second,
    /// The server says that it did not look at the request.
    Unseen,
}

/// How far a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestProgress {
    /// A part of it is not written.
    Unsent,
    /// Nothing of its answer has come.
    Sent,
    Answered,
}
