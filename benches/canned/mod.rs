//! A server that answers from memory, so cheap that what is measured is its client.

mod answer;
mod pacing;
mod request;
mod server;

use skyline::clock::Timestamp;

pub(crate) use server::start;

/// Looks on while answers are written.
pub(crate) trait Watch: Send + Sync + 'static {
    /// A request for `tokens` tokens has come.
    fn asked(&self, tokens: u32);

    /// An answer is written whole. `writes` has a moment for each of its tokens: the system was about to be asked to
    /// take it. The name is the one in the request's `X-Request-Id`.
    fn answered(&self, name: &str, writes: Vec<Timestamp>);
}
