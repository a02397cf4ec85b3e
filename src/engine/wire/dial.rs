//! Opens connections.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;

use super::stamped::{Marks, Stamped};
use crate::engine::BaseUrl;
use crate::record::{Failure, FailureKind};

/// How long a connection may take to open.
const LIMIT: Duration = Duration::from_secs(30);

/// Opens connections to one server, whose name is looked up once.
pub(crate) struct Dialer {
    addresses: Vec<SocketAddr>,
    /// Index of the address that answered last: the first to try.
    preferred: AtomicUsize,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

/// An open connection. Its future is not spawned: whoever uses the connection polls it, so that an answer is
/// read in one task.
pub(crate) struct Lane {
    pub(super) sender: http1::SendRequest<Full<Bytes>>,
    pub(super) connection: Pin<Box<http1::Connection<TokioIo<BoxedSocket>, Full<Bytes>>>>,
    pub(super) marks: Marks,
}

/// TCP or TLS.
pub(super) type BoxedSocket = Box<dyn Socket>;

/// What a connection needs of a socket.
pub(super) trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Socket for S {}

impl Dialer {
    /// Looks the server's name up.
    pub(crate) async fn resolve(url: &BaseUrl, tls: ClientConfig) -> Result<Self, Failure> {
        let unknown = |why: String| {
            let message = format!("the host `{}` cannot be found: {why}", url.host());
            Failure::new(FailureKind::Connect, message)
        };
        let found =
            lookup_host((url.host(), url.port())).await.map_err(|error| unknown(error.to_string()))?;
        let addresses: Vec<SocketAddr> = found.collect();
        if addresses.is_empty() {
            return Err(unknown("its name has no address".to_owned()));
        }
        let tls = if url.is_https() {
            let name =
                ServerName::try_from(url.host().to_owned()).map_err(|error| unknown(error.to_string()))?;
            Some((TlsConnector::from(Arc::new(tls)), name))
        } else {
            None
        };
        Ok(Self { addresses, preferred: AtomicUsize::new(0), tls })
    }

    /// Opens a connection.
    pub(crate) async fn open(&self) -> Result<Lane, Failure> {
        tokio::time::timeout(LIMIT, self.open_unlimited()).await.unwrap_or_else(|_| {
            let message = format!("no connection within {} s", LIMIT.as_secs());
            Err(Failure::new(FailureKind::Connect, message))
        })
    }

    async fn open_unlimited(&self) -> Result<Lane, Failure> {
        let (socket, marks) = Stamped::new(self.tcp().await?);
        let socket: BoxedSocket = match &self.tls {
            None => Box::new(socket),
            Some((connector, name)) => {
                let shaken = connector.connect(name.clone(), socket).await;
                Box::new(shaken.map_err(|error| Failure::new(FailureKind::Tls, error.to_string()))?)
            }
        };
        let (sender, connection) = http1::Builder::new()
            .handshake(TokioIo::new(socket))
            .await
            .map_err(|error| Failure::new(FailureKind::Connect, error.to_string()))?;
        Ok(Lane { sender, connection: Box::pin(connection), marks })
    }

    async fn tcp(&self) -> Result<TcpStream, Failure> {
        let first = self.preferred.load(Ordering::Relaxed);
        let mut refusal = None;
        for turn in 0..self.addresses.len() {
            let index = (first + turn) % self.addresses.len();
            let address = self.addresses[index];
            let opened = match TcpStream::connect(address).await {
                Ok(socket) => socket.set_nodelay(true).map(|()| socket),
                Err(error) => Err(error),
            };
            match opened {
                Ok(socket) => {
                    self.preferred.store(index, Ordering::Relaxed);
                    return Ok(socket);
                }
                Err(error) => refusal = refusal.or(Some(no_connection(address, &error))),
            }
        }
        Err(refusal.unwrap_or_else(|| Failure::new(FailureKind::Connect, "the server has no address")))
    }
}

fn no_connection(address: SocketAddr, error: &io::Error) -> Failure {
    let message = match error.kind() {
        io::ErrorKind::ConnectionRefused => format!("{address} refused the connection"),
        // Too many open files; the number is the same on every Unix.
        _ if error.raw_os_error() == Some(24) => {
            "this process may open no more files; raise the limit with `ulimit -n`".to_owned()
        }
        _ => format!("no connection to {address}: {error}"),
    };
    Failure::new(FailureKind::Connect, message)
}
