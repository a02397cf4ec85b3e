//! Tunnels through an HTTP proxy (RFC 9110, section 9.3.6).

use std::io;

use http::header::PROXY_AUTHORIZATION;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::engine::address::BaseUrl;
use crate::engine::answer::{Cause, DiagnosedFailure};
use crate::engine::proxy::Proxy;
use crate::engine::wire::http::ResponseHead;
use crate::record::{Failure, FailureKind};

/// What asks a proxy for a tunnel to one server. It may hold a password, so it has no `Debug`.
pub(super) struct Tunnel(Vec<u8>);

impl Tunnel {
    pub(super) fn new(url: &BaseUrl, proxy: &Proxy) -> Self {
        let host = if url.host().contains(':') { format!("[{}]", url.host()) } else { url.host().to_owned() };
        let server = format!("{host}:{}", url.port());
        let mut request = format!("CONNECT {server} HTTP/1.1\r\nhost: {server}\r\n").into_bytes();
        if let Some(login) = proxy.authorization() {
            let line = [PROXY_AUTHORIZATION.as_str().as_bytes(), b": ", login.as_bytes(), b"\r\n"];
            request.extend(line.concat());
        }
        request.extend_from_slice(b"\r\n");
        Self(request)
    }

    /// Asks the proxy at the other end of `socket` for the tunnel.
    pub(super) async fn open(&self, socket: &mut TcpStream) -> Result<(), DiagnosedFailure> {
        let refused = |message: String, cause| DiagnosedFailure {
            failure: Failure::new(FailureKind::Connect, message),
            cause,
        };
        match self.ask(socket).await {
            Ok(200..=299) => Ok(()),
            // It cannot reach the server, which may come.
            Ok(status @ 500..) => Err(refused(format!("it answers {status}"), Cause::Unknown)),
            Ok(status) => Err(refused(format!("it refuses with {status}"), Cause::ProxyRefuses)),
            Err(error) => Err(refused(format!("it opens no tunnel: {error}"), Cause::Unknown)),
        }
    }

    async fn ask(&self, socket: &mut TcpStream) -> io::Result<u16> {
        socket.write_all(&self.0).await?;
        let mut answer = Vec::new();
        loop {
            // Nothing follows the head: in TLS the client speaks first.
            if socket.read_buf(&mut answer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let head = ResponseHead::parse(&answer).map_err(|error| io::Error::other(error.to_string()))?;
            if let Some(head) = head {
                return Ok(head.status.as_u16());
            }
        }
    }
}
