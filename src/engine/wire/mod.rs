//! Sockets: opening, keeping and reading HTTP/1.1 connections, with the moments noted.

mod dial;
mod exchange;
mod pool;
mod stamped;
mod tls;

pub(crate) use dial::Dialer;
pub use exchange::Exchange;
pub(crate) use exchange::RequestHead;
pub(crate) use pool::Pool;
pub(crate) use tls::client_config;
