//! Sockets, with or without TLS, read with the times at which bytes came.

mod addresses;
mod delays;
mod dial;
mod handshake;
mod probe;
mod receive;
mod rest;
mod stamped;
mod tcp_or_tls;
mod ticks;
mod tls;
mod tunnel;

#[cfg(test)]
pub(crate) use addresses::tests::HOSTS;
pub(crate) use addresses::{Peer, PeerInUse, addresses_of};
pub(crate) use delays::ReadDelays;
pub(crate) use dial::Dialer;
pub(super) use handshake::NOT_OFFERED;
pub(crate) use rest::{Opening, ReaderRest};
pub(crate) use tcp_or_tls::HTTP2;
pub(super) use tcp_or_tls::Socket;
pub(crate) use ticks::ReaderTicks;
pub(crate) use tls::{check_ca_cert, client_config, offering};
