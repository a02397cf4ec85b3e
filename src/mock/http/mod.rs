//! The mock over HTTP: its paths, its sockets, and answers written when their tokens are due.

mod connection_log;
mod reset;
mod responder;
mod routes;

pub(super) use connection_log::{ConnectionLog, LoggedSocket};
pub(super) use reset::ResetStream;
pub(super) use routes::router;
