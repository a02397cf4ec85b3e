//! Sockets: opened, with or without TLS, and read with the moments at which bytes came.

mod delays;
mod dial;
mod receive;
mod stamped;
mod tcp_or_tls;
mod tls;

pub(crate) use delays::ReadDelays;
pub(crate) use dial::Dialer;
pub(super) use tcp_or_tls::Socket;
pub(crate) use tls::client_config;
