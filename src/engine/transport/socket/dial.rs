//! Opens connections.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_rustls::TlsConnector;

use super::addresses::{Addresses, Peer, PeerInUse, addresses_of};
use super::handshake::no_handshake;
use super::rest::ReaderRest;
use super::stamped::Stamped;
use super::tcp_or_tls::Socket;
use super::tunnel::{open_tunnel, tunnel_request};
use crate::engine::address::{BaseUrl, NameLookup};
use crate::engine::answer::{Cause, DiagnosedFailure};
use crate::engine::http_url::{Scheme, Way};
use crate::engine::proxy::Proxy;
use crate::record::{Failure, FailureKind};

/// Time limit for opening a connection.
const LIMIT: Duration = Duration::from_secs(30);
/// Wait for room in the queue of a Unix socket.
const BACKLOG: Duration = Duration::from_millis(1);
/// Time limit of a try of an address by itself.
const TRY: Duration = Duration::from_secs(1);
/// Wait for an address before the next is tried beside it (RFC 8305, section 5).
const STAGGER: Duration = Duration::from_millis(250);

/// Dialer of connections to one server, or to the proxy before it.
pub(crate) struct Dialer {
    pub(crate) addresses: Arc<Addresses>,
    /// The Unix socket that takes the place of all addresses.
    socket: Option<PathBuf>,
    pub(super) proxy: Option<Proxy>,
    /// The request for a tunnel, where TLS is spoken through the proxy.
    tunnel: Option<Vec<u8>>,
    pub(super) tls: Option<(TlsConnector, ServerName<'static>)>,
    /// A connection is there, before anything is said on it.
    pub(super) connected: Notify,
}

impl Dialer {
    /// Resolves the name of the server, or of the proxy before it.
    pub(crate) async fn resolve(
        url: &BaseUrl,
        proxy: Option<&Proxy>,
        lookup: NameLookup,
        tls: ClientConfig,
    ) -> Result<Self, DiagnosedFailure> {
        let (host, port) = proxy.map_or((url.host(), url.port()), |proxy| (proxy.host(), proxy.port()));
        let way = url.way().filter(|_| proxy.is_none());
        let socket = way.and_then(Way::socket).map(Path::to_owned);
        // The system knows the number of the zone.
        let zoned = way.and_then(Way::interface).map(|zone| format!("{host}%{zone}"));
        let host = zoned.as_deref().unwrap_or(host);
        let unknown =
            |why: String| unconnected(format!("the host `{host}` cannot be found: {why}"), Cause::UnknownHost);
        let found = match socket {
            Some(_) => Ok(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port))]),
            None => addresses_of(host, port).await.map_err(|error| unknown(error.to_string())),
        };
        let addresses = found.map_err(|fault| through(proxy, fault))?;
        if addresses.is_empty() {
            return Err(through(proxy, unknown("its name has no address".to_owned())));
        }
        let lookup = if socket.is_some() { NameLookup::Once } else { lookup };
        let watched = Addresses::watched(host, addresses, lookup);
        let addresses = watched.map_err(|error| unconnected(error.to_string(), Cause::Unknown))?;
        let tls = if url.scheme() == Scheme::Https {
            let name = ServerName::try_from(url.host().to_owned()).map_err(|error| {
                unconnected(format!("`{}` is no host's name: {error}", url.host()), Cause::UnknownHost)
            })?;
            Some((TlsConnector::from(Arc::new(tls)), name))
        } else {
            None
        };
        let tunnel = proxy.filter(|_| tls.is_some()).map(|proxy| tunnel_request(url, proxy));
        Ok(Self { addresses, socket, proxy: proxy.cloned(), tunnel, tls, connected: Notify::new() })
    }

    /// Whether bytes go to a connection as they are.
    pub(crate) fn is_plain(&self) -> bool {
        self.tls.is_none()
    }

    /// The addresses that each connection takes a local port to.
    pub(crate) fn peers(&self) -> Vec<SocketAddr> {
        let known = self.addresses.known();
        known.iter().filter(|_| self.socket.is_none()).map(|peer| peer.address).collect()
    }

    /// Tries each of several addresses once. No request then finds out which of them fail.
    pub(crate) async fn try_all(&self) {
        let known = self.addresses.known();
        let tried = known.iter().filter(|_| known.len() > 1).map(|peer| async {
            let tried = tokio::time::timeout(TRY, self.tcp_to(Arc::clone(peer))).await;
            match tried {
                Ok((_, Ok(_))) => {}
                // It is no fault of the address that this machine has no file or port left.
                Ok((_, Err(fault))) if fault.failure.reason == FailureKind::ClientLimit => {}
                _ => peer.failed(),
            }
        });
        futures::future::join_all(tried).await;
    }

    /// Opens a connection to `first`, or to another address where that one fails.
    pub(crate) async fn open(&self, first: Option<Arc<Peer>>) -> Result<(Socket, PeerInUse), DiagnosedFailure> {
        tokio::time::timeout(LIMIT, self.open_unlimited(first)).await.unwrap_or_else(|_| {
            let message = format!("no connection within {} s", LIMIT.as_secs());
            Err(unconnected(message, Cause::Unknown))
        })
    }

    async fn open_unlimited(&self, first: Option<Arc<Peer>>) -> Result<(Socket, PeerInUse), DiagnosedFailure> {
        let (mut tcp, peer) = self.tcp(first).await.map_err(|fault| through(self.proxy.as_ref(), fault))?;
        self.connected.notify_one();
        if let Some(tunnel) = &self.tunnel {
            open_tunnel(&mut tcp, tunnel).await.map_err(|fault| through(self.proxy.as_ref(), fault))?;
        }
        if self.tls.is_some() || self.socket.is_some() {
            ReaderRest::bind();
        }
        let socket = Stamped::new(tcp);
        let Some((connector, name)) = &self.tls else { return Ok((Socket::Plain(socket), peer)) };
        let shaken = connector.connect(name.clone(), socket).await;
        Ok((Socket::Tls(Box::new(shaken.map_err(|error| no_handshake(&error))?)), peer))
    }

    /// Connects to `first`, or to the first of the others that accepts. A silent one does not block them. They are
    /// tried beside it, and it is left out from then on.
    pub(super) async fn tcp(&self, first: Option<Arc<Peer>>) -> Result<(TcpStream, PeerInUse), DiagnosedFailure> {
        let mut untried = first.iter().flat_map(|first| self.addresses.from(first));
        let (mut tries, mut silent) = (FuturesUnordered::new(), Vec::new());
        let mut refusal: Option<DiagnosedFailure> = None;
        loop {
            let next = untried.next();
            tries.extend(next.clone().map(|peer| self.tcp_to(peer)));
            // After the last address only waiting is left.
            let patience = if next.is_some() { STAGGER } else { LIMIT };
            match tokio::time::timeout(patience, tries.next()).await {
                Ok(Some((peer, Ok(socket)))) => {
                    silent.iter().filter(|silent| !Arc::ptr_eq(silent, &peer)).for_each(|silent| silent.failed());
                    return Ok((socket, self.addresses.connected(peer)));
                }
                Ok(Some((peer, Err(fault)))) => {
                    if fault.failure.reason != FailureKind::ClientLimit {
                        peer.failed();
                    }
                    // A cause says more than that there is no way to an address, as to all of IPv6.
                    refusal = refusal.filter(|first| first.cause != Cause::Unknown).or(Some(fault));
                }
                Ok(None) => {
                    let nothing = || unconnected("the server has no address".to_owned(), Cause::Unknown);
                    return Err(refusal.unwrap_or_else(nothing));
                }
                Err(_) => silent.extend(next),
            }
        }
    }

    async fn tcp_to(&self, peer: Arc<Peer>) -> (Arc<Peer>, Result<TcpStream, DiagnosedFailure>) {
        if let Some(path) = &self.socket {
            return (peer, unix(path).await.map_err(|error| no_socket(path, &error)));
        }
        let opened = TcpStream::connect(peer.address).await;
        let opened = opened.and_then(|socket| socket.set_nodelay(true).map(|()| socket));
        let opened = opened.map_err(|error| no_connection(peer.address, &error));
        (peer, opened)
    }
}

/// Connects to a Unix socket. The runtime's type for TCP reads and writes any stream of bytes. The kernel stamps none
/// of these.
#[cfg(unix)]
async fn unix(path: &Path) -> io::Result<TcpStream> {
    let socket = loop {
        match tokio::net::UnixStream::connect(path).await {
            // Its queue is full: over TCP the system would wait.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::time::sleep(BACKLOG).await,
            opened => break opened?,
        }
    };
    TcpStream::from_std(std::os::fd::OwnedFd::from(socket.into_std()?).into())
}

#[cfg(not(unix))]
async fn unix(_path: &Path) -> io::Result<TcpStream> {
    Err(io::ErrorKind::Unsupported.into())
}

fn no_socket(path: &Path, error: &io::Error) -> DiagnosedFailure {
    let shown = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => unconnected(format!("there is no socket {shown}"), Cause::Refused),
        io::ErrorKind::ConnectionRefused => unconnected(format!("nobody listens at {shown}"), Cause::Refused),
        _ if matches!(error.raw_os_error(), Some(24 | 23)) => out_of_files(),
        _ => unconnected(format!("no connection to {shown}: {error}"), Cause::Unknown),
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

fn out_of_files() -> DiagnosedFailure {
    let message = "this process may open no more files; raise the limit with `ulimit -n`";
    unconnected(message.to_owned(), Cause::OutOfFiles)
}

fn no_connection(address: SocketAddr, error: &io::Error) -> DiagnosedFailure {
    let (message, cause) = match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::ConnectionRefused, _) => (format!("{address} refused the connection"), Cause::Refused),
        // Too many open files, in this process or in the whole system; the numbers are the same on every
        // Unix.
        (_, Some(24 | 23)) => return out_of_files(),
        (io::ErrorKind::AddrNotAvailable, _) if is_reachable(address) => {
            let message = format!(
                "this machine has no free local port to reach {address} from; widen net.ipv4.ip_local_port_range"
            );
            (message, Cause::OutOfPorts)
        }
        (io::ErrorKind::AddrNotAvailable, _) => {
            (format!("this machine has no address to reach {address} from"), Cause::Unknown)
        }
        (io::ErrorKind::InvalidInput, _) if address.is_ipv6() => {
            let message =
                format!("no way to {address}: a link-local address has a zone, as in http://[fe80::1%25eth0]");
            (message, Cause::Unknown)
        }
        _ => (format!("no connection to {address}: {error}"), Cause::Unknown),
    };
    unconnected(message, cause)
}

/// Whether this machine has an address from which there is a way to `address`. Nothing is sent.
fn is_reachable(address: SocketAddr) -> bool {
    let any = if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    UdpSocket::bind(SocketAddr::new(any, 0)).is_ok_and(|socket| socket.connect(address).is_ok())
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    fn dialer(addresses: Vec<SocketAddr>) -> Dialer {
        let addresses = Addresses::new(addresses, false);
        Dialer { addresses, socket: None, proxy: None, tunnel: None, tls: None, connected: Notify::new() }
    }

    /// The address that a connection goes to when it is its turn.
    async fn opened(dialer: &Dialer) -> SocketAddr {
        dialer.open(dialer.addresses.next()).await.map_err(|fault| fault.failure).unwrap().1.peer.address
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
        let good = good.local_addr().unwrap();
        let dialer = dialer(vec![silent, good]);
        let first = tokio::time::timeout(Duration::from_secs(10), opened(&dialer)).await;
        assert_eq!(first, Ok(good));
        let begin = tokio::time::Instant::now();
        for _ in 0..4 {
            assert_eq!(opened(&dialer).await, good);
        }
        assert!(begin.elapsed() < STAGGER, "no other connection waits for it: {:?}", begin.elapsed());
    }

    #[tokio::test]
    async fn connections_go_to_all_addresses_in_turn() {
        let first = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = first.local_addr().unwrap().port();
        let _second = TcpListener::bind(("127.0.0.2", port)).await.unwrap();
        // Nothing listens at the third, and there is no way to the last.
        let all = ["127.0.0.1", "127.0.0.2", "127.0.0.3", "fe80::1"];
        let all = all.map(|address| SocketAddr::new(address.parse().unwrap(), port));
        let dialer = dialer(all.to_vec());
        let mut turns = Vec::new();
        for _ in 0..12 {
            turns.push(opened(&dialer).await);
        }
        let to = |address| turns.iter().filter(|turn| **turn == address).count();
        assert!(to(all[0]) >= 5 && to(all[1]) >= 5, "{turns:?}");
        assert_eq!(dialer.addresses.used(), [all[0].to_string(), all[1].to_string()]);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn whoever_has_a_connection_without_stamps_of_its_packets_rests_no_more() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut dialer = dialer(vec![listener.local_addr().unwrap()]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _unix = tokio::net::UnixListener::bind(&path).unwrap();
        ReaderRest::renew();
        opened(&dialer).await;
        assert!(!ReaderRest::is_bound(), "the kernel stamps TCP");
        dialer.socket = Some(path);
        opened(&dialer).await;
        assert!(ReaderRest::is_bound());
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
        // The system's error where a family is switched off too, as IPv6 is in many containers.
        let off = no_connection("[fe80::1]:1".parse().unwrap(), &io::ErrorKind::AddrNotAvailable.into());
        let other = no_connection(address, &io::ErrorKind::HostUnreachable.into());
        for other in [off, other] {
            assert_eq!((other.failure.reason, other.cause), (FailureKind::Connect, Cause::Unknown));
        }
    }

    #[tokio::test]
    async fn the_first_refusal_is_reported() {
        let mut refusing = Vec::new();
        for _ in 0..2 {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            refusing.push(listener.local_addr().unwrap());
        }
        let dialer = dialer(refusing.clone());
        let fault = dialer.open(dialer.addresses.next()).await.err().unwrap();
        assert_eq!(fault.cause, Cause::Refused);
        assert!(fault.failure.message.contains(&refusing[0].to_string()), "{}", fault.failure);
    }
}
