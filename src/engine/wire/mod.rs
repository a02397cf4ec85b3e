//! Sockets: opening, keeping and reading HTTP/1.1 connections, with the moments noted.

mod body;
mod chunked;
mod conversation;
mod delays;
mod dial;
mod exchange;
mod lane;
mod pool;
mod receive;
mod reply;
mod request;
mod response;
mod socket;
mod stamped;
mod tls;

pub(crate) use delays::ReadDelays;
pub(crate) use dial::Dialer;
pub use exchange::Exchange;
pub(crate) use pool::Pool;
pub(crate) use request::RequestHead;
pub(crate) use tls::client_config;
