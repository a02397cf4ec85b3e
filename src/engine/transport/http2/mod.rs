//! HTTP/2: requests as streams of shared connections, with the time at which each of their bytes came.

mod connection;
mod frames;
mod lanes;
mod ledger;
mod stream;
mod watched;

pub(crate) use connection::speaks;
pub(super) use lanes::{Lanes, StreamSlot};
pub(super) use stream::OpenStream;
