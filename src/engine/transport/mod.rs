//! Connections of HTTP/1.1 and HTTP/2, opened, pooled and read with exact times.
//!
//! The measured path uses no HTTP client: none shows the time of a read or a write, which chunks shared a
//! read, or the kernel's receive stamps, and none reads all streams of a thread through one buffer. This path
//! and the stream reader above it cost 0.10–0.11 µs of CPU time per token that came with others (200 answers
//! of 2,000 tokens, 8 at a time), where hyper's client and a copying reader cost 0.97 µs; and 4.7–5.7 µs per
//! token in a packet of its own (100 streams × 200 tokens/s), where those cost 6.9–7.1 µs: medians of
//! alternating runs on a busy two-core cloud VM (Intel Xeon). A waiting stream holds 4.2 KB, everything of
//! its request included (5,000 streams).
//!
//! A transport opens connections, exchanges a request for a response, and hands on bytes with their arrivals. What they
//! mean is the business of its [`Receiver`]; nothing above knows how they came.

mod connection;
mod exchange;
mod history;
mod http;
mod http2;
mod idle;
mod incoming;
mod limits;
mod own_exchange;
mod pool;
mod receiver;
mod socket;
mod spare;

use std::sync::Arc;

pub(crate) use exchange::Exchange;
pub use http::RequestMarks;
#[cfg(test)]
pub(crate) use http::Rest;
pub(crate) use http::{OURS, RequestHead, retry_after};
pub(crate) use http2::speaks;
#[cfg(any(fuzzing, test))]
pub(crate) use incoming::{Afterwards, IncomingResponse, ResponseOutcome};
pub(crate) use limits::ConnectionLimits;
pub(crate) use pool::Pool;
pub use receiver::{ArrivalStamp, BodyEnd};
pub(crate) use receiver::{ExchangeEnd, Origin, Receiver};
#[cfg(test)]
pub(crate) use socket::HOSTS;
pub(crate) use socket::{
    Dialer, HTTP2, ReadDelays, ReaderRest, ReaderTicks, addresses_of, check_ca_cert, client_config, offering,
};

use crate::clock::RunClock;
use crate::engine::answer::PreparedRequest;
use crate::record::RequestIds;

/// The way to one server.
#[derive(Clone)]
pub(crate) struct Transport {
    pool: Arc<Pool>,
    head: Arc<RequestHead>,
}

impl Transport {
    /// Connections of this pool, over which requests go with this head.
    pub(crate) fn new(pool: Pool, head: RequestHead) -> Self {
        Self { pool: Arc::new(pool), head: Arc::new(head) }
    }

    /// The transport with the same connections, for requests with other ids.
    pub(crate) fn with_ids(&self, ids: RequestIds) -> Self {
        Self { pool: Arc::clone(&self.pool), head: Arc::new(self.head.with_ids(ids)) }
    }

    /// The transport with connections of its own, which live in the current runtime.
    pub(crate) fn with_own_connections(&self) -> Self {
        Self { pool: Arc::new(self.pool.of_this_runtime()), head: Arc::clone(&self.head) }
    }

    /// Opens connections for about so many requests that will start soon.
    pub(crate) async fn warm_up(&self, count: usize) {
        self.pool.warm_up(count).await;
    }

    /// Where its connections go.
    pub(crate) fn dialer(&self) -> &Dialer {
        &self.pool.dialer
    }

    /// One exchange; nothing is sent before it is polled. Dropping it cancels the request: it closes its connection, or
    /// resets its stream.
    pub(crate) fn exchange<R: Receiver>(
        &self,
        request: PreparedRequest,
        receiver: R,
        clock: RunClock,
        delays: &Arc<ReadDelays>,
    ) -> Exchange<R> {
        let way = (Arc::clone(&self.pool), Arc::clone(&self.head));
        Exchange::new(way, request, receiver, clock, Arc::clone(delays))
    }
}
