//! A server that answers from memory, so cheap that what is measured is its client.

mod answer;
mod pacing;
mod receive;
mod request;
mod server;

use std::time::Duration;

use skyline::clock::Timestamp;

pub(crate) use server::start;

/// Looks on while answers are written.
pub(crate) trait Watch: Send + Sync + 'static {
    /// Whether it matters when requests arrive. To know that costs a control message a read.
    fn wants_arrivals(&self) -> bool {
        false
    }

    /// A request for an answer is whole. The kernel received its last packet so long after 1970; absent where that
    /// does not matter, or the kernel does not tell.
    fn asked(&self, arrived: Option<Duration>);

    /// An answer is written whole. `writes` has a moment for each of its tokens: the system was about to be asked to
    /// take it. The name is the one in the request's `X-Request-Id`.
    fn answered(&self, name: &str, writes: Vec<Timestamp>);
}
