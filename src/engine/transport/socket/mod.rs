//! Sockets, with or without TLS, read with the times at which bytes came.

mod delays;
mod dial;
mod handshake;
mod probe;
mod receive;
mod stamped;
mod tcp_or_tls;
mod ticks;
mod tls;
mod tunnel;

pub(crate) use delays::ReadDelays;
pub(crate) use dial::{Dialer, addresses_of};
pub(super) use tcp_or_tls::Socket;
pub(crate) use ticks::ReaderTicks;
pub(crate) use tls::{check_ca_cert, client_config};
