//! Opens connections over which HTTP/2 is spoken.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use h2::{Ping, PingPong};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::watched::{SharedLedger, Watched};
use crate::clock::RunClock;
use crate::engine::answer::{Cause, DiagnosedFailure};
use crate::engine::http_url::Http2;
use crate::engine::transport::socket::{Dialer, NOT_OFFERED, Peer, PeerInUse, ReaderRest, Socket};
use crate::record::{Failure, FailureKind};

/// The largest flow-control window: no server waits for room in it.
const WINDOW: u32 = (1 << 31) - 1;
/// Longest head of an answer accepted, as over HTTP/1.1.
const HEAD_LIMIT: u32 = 64 << 10;
/// Cancelled streams of which frames may still come. They must not be taken for a server's fault.
const CANCELLED: usize = 1 << 20;
/// Longest wait for the server's settings, which it sends at once.
const SETTLED_WITHIN: Duration = Duration::from_secs(10);

/// A connection that many requests share. A task of its own reads and writes it.
pub(super) struct Connection {
    /// Taken anew for each request.
    pub(super) requests: SendRequest<Bytes>,
    pub(super) ledger: SharedLedger,
    /// The clock of the ledger: those who share the connection may have others.
    pub(super) clock: RunClock,
    pub(super) peer: PeerInUse,
    /// Time that opening it took.
    pub(super) opening: Duration,
}

impl Connection {
    /// Opens a connection to `peer`, or to another address where that one fails. It is open when the server has said
    /// how many streams it takes.
    pub(super) async fn open(dialer: &Dialer, peer: Option<Arc<Peer>>) -> Result<Self, DiagnosedFailure> {
        ReaderRest::bind();
        let begun = Instant::now();
        let (mut socket, peer) = dialer.open(peer).await?;
        if matches!(socket, Socket::Tls(_)) && !socket.has_agreed_on_http2() {
            return Err(no_http2(NOT_OFFERED));
        }
        let (clock, ledger) = (RunClock::starting_in(Duration::ZERO), SharedLedger::default());
        socket.stamped().begin(clock);
        let opened = async {
            let (requests, mut connection) = builder().handshake(Watched::new(socket, ledger.clone())).await?;
            let settled = poll_fn(|cx| match Pin::new(&mut connection).poll(cx) {
                Poll::Ready(over) => Poll::Ready(over.map(|()| false)),
                Poll::Pending if ledger.open().is_settled => Poll::Ready(Ok(true)),
                Poll::Pending => Poll::Pending,
            });
            Ok::<_, h2::Error>(settled.await?.then_some((requests, connection)))
        };
        let (requests, mut connection) = match tokio::time::timeout(SETTLED_WITHIN, opened).await {
            Ok(Ok(Some(opened))) => opened,
            Ok(Ok(None)) => return Err(no_http2("it closed the connection")),
            Ok(Err(error)) => return Err(no_http2(&error.to_string())),
            Err(_) => return Err(no_http2("it says nothing")),
        };
        let doubted = asked_when_doubted(connection.ping_pong(), Arc::clone(&ledger.open().doubts));
        let task = ledger.clone();
        tokio::spawn(async move {
            tokio::select! {
                // Every request that it carried hears of the error itself.
                _ = connection => {}
                () = doubted => {}
            }
            task.open().is_closing = true;
        });
        Ok(Self { requests, ledger, clock, peer, opening: begun.elapsed() })
    }

    /// Whether it takes no more requests.
    pub(super) fn is_closing(&self) -> bool {
        self.ledger.open().is_closing
    }
}

/// Asks the server at each doubt whether it is still there. The read of its answer ends the doubt. It never returns.
async fn asked_when_doubted(mut pings: Option<PingPong>, doubts: Arc<Notify>) {
    loop {
        doubts.notified().await;
        if let Some(pings) = &mut pings {
            // Where the connection is over, its end is read.
            let _ = pings.ping(Ping::opaque()).await;
        }
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder
        .enable_push(false)
        .initial_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_header_list_size(HEAD_LIMIT)
        // A token is a small frame, and many of them are no attack.
        .data_frame_budget(usize::MAX)
        .max_concurrent_reset_streams(CANCELLED)
        .max_local_error_reset_streams(None);
    builder
}

/// Opens a connection as requests would. Returns whether HTTP/2 is spoken over it.
pub(crate) async fn speaks(dialer: &Dialer, http2: Http2) -> Result<bool, DiagnosedFailure> {
    match http2 {
        Http2::Always(_) => Connection::open(dialer, dialer.addresses.next()).await.map(|_| true),
        Http2::IfOffered(_) | Http2::Never => {
            dialer.open(dialer.addresses.next()).await.map(|(socket, _)| socket.has_agreed_on_http2())
        }
    }
}

fn no_http2(why: &str) -> DiagnosedFailure {
    let message = format!("the server does not speak HTTP/2 at this port: {why}");
    DiagnosedFailure { failure: Failure::new(FailureKind::Connect, message), cause: Cause::NoHttp2 }
}
