//! HTTP/1.1: requests as bytes, and the heads and bodies of responses.

mod body;
mod marks;
mod request;
mod response;
mod retry_after;

pub(crate) use body::{Body, Piece, Rest};
pub(crate) use marks::OURS;
pub use marks::RequestMarks;
pub(super) use request::Outgoing;
pub(crate) use request::RequestHead;
pub(super) use response::{Persistence, ResponseHead};
pub(crate) use retry_after::retry_after;
