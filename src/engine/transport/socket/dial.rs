//! Opens connections.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};
use tokio_rustls::TlsConnector;

use super::handshake::no_handshake;
use super::stamped::Stamped;
use super::tcp_or_tls::Socket;
use super::tunnel::{open_tunnel, tunnel_request};
use crate::clock::start_thread;
use crate::engine::address::BaseUrl;
use crate::engine::answer::{Cause, DiagnosedFailure};
use crate::engine::http_url::Scheme;
use crate::engine::proxy::Proxy;
use crate::record::{Failure, FailureKind};

/// Time limit for opening a connection.
const LIMIT: Duration = Duration::from_secs(30);
/// Wait for an address before the next is tried beside it (RFC 8305, section 5).
const STAGGER: Duration = Duration::from_millis(250);

/// Looks up the addresses of a host on a thread of its own. The runtime panics where it has none.
pub(crate) async fn addresses_of(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![(address, port).into()]);
    }
    let (host, (found, finding)) = (host.to_owned(), oneshot::channel());
    start_thread("name lookup", move || {
        let _ = found.send((host.as_str(), port).to_socket_addrs().map(Iterator::collect));
    })?;
    finding.await.map_err(io::Error::other)?
}

/// Dialer of connections to one server, or to the proxy before it. The name is resolved once.
pub(crate) struct Dialer {
    addresses: Vec<SocketAddr>,
    pub(super) proxy: Option<Proxy>,
    /// The request for a tunnel, where TLS is spoken through the proxy.
    tunnel: Option<Vec<u8>>,
    /// Index of the last address that answered, which is tried first.
    preferred: AtomicUsize,
    pub(super) tls: Option<(TlsConnector, ServerName<'static>)>,
    /// A connection is there, before anything is said on it.
    pub(super) connected: Notify,
}

impl Dialer {
    /// Resolves the name of the server, or of the proxy before it.
    pub(crate) async fn resolve(
        url: &BaseUrl,
        proxy: Option<&Proxy>,
        tls: ClientConfig,
    ) -> Result<Self, DiagnosedFailure> {
        let (host, port) = proxy.map_or((url.host(), url.port()), |proxy| (proxy.host(), proxy.port()));
        let unknown =
            |why: String| unconnected(format!("the host `{host}` cannot be found: {why}"), Cause::UnknownHost);
        let found = addresses_of(host, port).await.map_err(|error| unknown(error.to_string()));
        let addresses = found.map_err(|fault| through(proxy, fault))?;
        if addresses.is_empty() {
            return Err(through(proxy, unknown("its name has no address".to_owned())));
        }
        let tls = if url.scheme() == Scheme::Https {
            let name = ServerName::try_from(url.host().to_owned()).map_err(|error| {
                unconnected(format!("`{}` is no host's name: {error}", url.host()), Cause::UnknownHost)
            })?;
            Some((TlsConnector::from(Arc::new(tls)), name))
        } else {
            None
        };
        let tunnel = proxy.filter(|_| tls.is_some()).map(|proxy| tunnel_request(url, proxy));
        let (preferred, connected) = (AtomicUsize::new(0), Notify::new());
        Ok(Self { addresses, proxy: proxy.cloned(), tunnel, preferred, tls, connected })
    }

    /// Opens a connection.
    pub(crate) async fn open(&self) -> Result<Socket, DiagnosedFailure> {
        tokio::time::timeout(LIMIT, self.open_unlimited()).await.unwrap_or_else(|_| {
            let message = format!("no connection within {} s", LIMIT.as_secs());
            Err(unconnected(message, Cause::Unknown))
        })
    }

    async fn open_unlimited(&self) -> Result<Socket, DiagnosedFailure> {
        let mut tcp = self.tcp().await.map_err(|fault| through(self.proxy.as_ref(), fault))?;
        self.connected.notify_one();
        if let Some(tunnel) = &self.tunnel {
            open_tunnel(&mut tcp, tunnel).await.map_err(|fault| through(self.proxy.as_ref(), fault))?;
        }
        let socket = Stamped::new(tcp);
        let Some((connector, name)) = &self.tls else { return Ok(Socket::Plain(socket)) };
        let shaken = connector.connect(name.clone(), socket).await;
        Ok(Socket::Tls(Box::new(shaken.map_err(|error| no_handshake(&error))?)))
    }

    /// Connects to the first address that accepts. A silent one does not block the others: they are tried
    /// beside it.
    pub(super) async fn tcp(&self) -> Result<TcpStream, DiagnosedFailure> {
        let count = self.addresses.len();
        let first = self.preferred.load(Ordering::Relaxed);
        let mut untried = (0..count).map(|turn| (first + turn) % count);
        let mut tries = FuturesUnordered::new();
        let mut refusal = None;
        loop {
            let next = untried.next();
            tries.extend(next.map(|index| self.tcp_to(index)));
            // After the last address only waiting is left.
            let patience = if next.is_some() { STAGGER } else { LIMIT };
            match tokio::time::timeout(patience, tries.next()).await {
                Ok(Some((index, Ok(socket)))) => {
                    self.preferred.store(index, Ordering::Relaxed);
                    return Ok(socket);
                }
                Ok(Some((_, Err(fault)))) => refusal = refusal.or(Some(fault)),
                Ok(None) => {
                    let nothing = || unconnected("the server has no address".to_owned(), Cause::Unknown);
                    return Err(refusal.unwrap_or_else(nothing));
                }
                Err(_) => {}
            }
        }
    }

    async fn tcp_to(&self, index: usize) -> (usize, Result<TcpStream, DiagnosedFailure>) {
        let address = self.addresses[index];
        let opened = TcpStream::connect(address).await;
        let opened = opened.and_then(|socket| socket.set_nodelay(true).map(|()| socket));
        (index, opened.map_err(|error| no_connection(address, &error)))
    }
}

/// Turns a fault into a failure of the proxy, where there is one. A fault of this machine stays as it is.
fn through(proxy: Option<&Proxy>, fault: DiagnosedFailure) -> DiagnosedFailure {
    let Some(proxy) = proxy.filter(|_| fault.failure.reason != FailureKind::ClientLimit) else {
        return fault;
    };
    let cause = match fault.cause {
        Cause::Refused | Cause::UnknownHost => Cause::Proxy,
        other => other,
    };
    unconnected(format!("the proxy {proxy}: {}", fault.failure.message), cause)
}

pub(super) fn unconnected(message: String, cause: Cause) -> DiagnosedFailure {
    let kind = match cause {
        Cause::OutOfFiles | Cause::OutOfPorts => FailureKind::ClientLimit,
        _ => FailureKind::Connect,
    };
    DiagnosedFailure { failure: Failure::new(kind, message), cause }
}

fn no_connection(address: SocketAddr, error: &io::Error) -> DiagnosedFailure {
    let (message, cause) = match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::ConnectionRefused, _) => (format!("{address} refused the connection"), Cause::Refused),
        // Too many open files, in this process or in the whole system; the numbers are the same on every
        // Unix.
        (_, Some(24 | 23)) => {
            let message = "this process may open no more files; raise the limit with `ulimit -n`";
            (message.to_owned(), Cause::OutOfFiles)
        }
        (io::ErrorKind::AddrNotAvailable, _) => {
            // The same error where an address family is switched off, as IPv6 is in many containers.
            let message = format!(
                "this machine has no free local port, or no address, to reach {address} from; where connections are \
                 many, widen net.ipv4.ip_local_port_range"
            );
            (message, Cause::OutOfPorts)
        }
        _ => (format!("no connection to {address}: {error}"), Cause::Unknown),
    };
    unconnected(message, cause)
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    fn dialer(addresses: Vec<SocketAddr>) -> Dialer {
        let (preferred, connected) = (AtomicUsize::new(0), Notify::new());
        Dialer { addresses, proxy: None, tunnel: None, preferred, tls: None, connected }
    }

    #[tokio::test]
    async fn a_silent_address_does_not_hide_the_others() {
        // A listener with a full queue does not answer at all.
        let full = TcpSocket::new_v4().unwrap();
        full.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let full = full.listen(1).unwrap();
        let silent = full.local_addr().unwrap();
        let mut filling = Vec::new();
        while let Ok(connected) = tokio::time::timeout(Duration::from_millis(100), TcpStream::connect(silent)).await {
            filling.push(connected.unwrap());
        }
        let good = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addresses = vec![silent, good.local_addr().unwrap()];
        let dialer = dialer(addresses);
        let opened = tokio::time::timeout(Duration::from_secs(10), dialer.open()).await;
        assert!(opened.is_ok_and(|connection| connection.is_ok()));
        assert_eq!(dialer.preferred.load(Ordering::Relaxed), 1, "the next one begins with the good address");
    }

    #[test]
    fn what_this_machine_ran_out_of_is_named() {
        let address = "127.0.0.1:1".parse().unwrap();
        for (error, cause, words) in [
            (io::Error::from_raw_os_error(24), Cause::OutOfFiles, "may open no more files"),
            (io::Error::from_raw_os_error(23), Cause::OutOfFiles, "ulimit -n"),
            (io::ErrorKind::AddrNotAvailable.into(), Cause::OutOfPorts, "ip_local_port_range"),
        ] {
            let fault = no_connection(address, &error);
            assert_eq!((fault.failure.reason, fault.cause), (FailureKind::ClientLimit, cause));
            assert!(fault.failure.message.contains(words), "{}", fault.failure);
        }
        let other = no_connection(address, &io::ErrorKind::HostUnreachable.into());
        assert_eq!((other.failure.reason, other.cause), (FailureKind::Connect, Cause::Unknown));
    }

    #[tokio::test]
    async fn the_first_refusal_is_reported() {
        let mut refusing = Vec::new();
        for _ in 0..2 {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            refusing.push(listener.local_addr().unwrap());
        }
        let dialer = dialer(refusing.clone());
        let fault = dialer.open().await.err().unwrap();
        assert_eq!(fault.cause, Cause::Refused);
        assert!(fault.failure.message.contains(&refusing[0].to_string()), "{}", fault.failure);
    }
}
