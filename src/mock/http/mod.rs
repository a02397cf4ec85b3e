//! The mock over HTTP: its paths, its sockets, and answers written when their tokens are due.

mod connection_log;
mod generate;
mod logged_socket;
mod responder;
mod routes;

pub(super) use connection_log::ConnectionLog;
pub(super) use logged_socket::LoggedSocket;
pub(super) use routes::router;
