//! An open connection, and whether it can take a request.

use std::num::NonZeroU16;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::task::noop_waker_ref;

use super::http::{Body, Rest};
use super::http2::StreamSlot;
use super::receiver::Origin;
use super::socket::{Peer, PeerInUse, Socket};

/// Reads tried before the rest of an answer is left for later.
const LOOKS: u32 = 4;

/// An open connection. No task belongs to it: whoever uses it polls it, so that an answer is read in one
/// task.
pub(crate) struct PooledConnection {
    pub(super) socket: Socket,
    pub(super) peer: PeerInUse,
    /// Time that opening it took.
    pub(super) opening: Duration,
    /// Number of answers that came over it.
    pub(super) answers: u64,
    /// Rest of the last answer after its end. It has the closing bytes, read when the connection is needed again.
    pub(super) tail: Option<Body>,
}

/// The carrier of one request.
pub(super) enum Carrier {
    /// A connection of its own.
    Own(Box<PooledConnection>),
    /// A stream of a shared connection.
    Shared(StreamSlot),
}

impl Carrier {
    /// Time that opening its connection took.
    pub(super) fn opening(&self) -> Duration {
        match self {
            Self::Own(connection) => connection.opening,
            Self::Shared(slot) => slot.opening(),
        }
    }

    /// The origin of its connection, for a request that found none ready.
    pub(super) fn origin(&self) -> Origin {
        match self {
            Self::Shared(slot) if !slot.is_new => Origin::Idle(slot.opening()),
            Self::Own(_) | Self::Shared(_) => Origin::Opened,
        }
    }

    /// The place of its address, where there may be several.
    pub(super) fn place(&self) -> Option<NonZeroU16> {
        match self {
            Self::Own(connection) => connection.peer.place,
            Self::Shared(slot) => slot.place(),
        }
    }
}

/// Whether a connection can take a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    Ready,
    /// The last answer is not over.
    Closing,
    Dead,
}

impl PooledConnection {
    /// Whether this is the address that it goes to.
    pub(super) fn goes_to(&self, peer: &Arc<Peer>) -> bool {
        Arc::ptr_eq(&self.peer.peer, peer)
    }

    /// Checks without waiting whether the connection can take a request.
    pub(super) fn readiness(&mut self) -> Readiness {
        let cx = &mut Context::from_waker(noop_waker_ref());
        for _ in 0..LOOKS {
            let tail = &mut self.tail;
            let rest = self.socket.poll_read(cx, |_, read| match (read, tail) {
                // A connection on which the server sends something unasked, or which it closes, is dead.
                (Ok(read), Some(tail)) if !read.bytes.is_empty() => tail.skip(read.bytes),
                _ => Rest::Unusable,
            });
            match rest {
                Poll::Pending if self.tail.is_some() => return Readiness::Closing,
                Poll::Pending => return Readiness::Ready,
                Poll::Ready(Rest::Awaited) => {}
                Poll::Ready(Rest::None) => self.tail = None,
                Poll::Ready(Rest::Unusable) => return Readiness::Dead,
            }
        }
        Readiness::Closing
    }
}
