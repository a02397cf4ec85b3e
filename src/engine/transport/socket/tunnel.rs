//! Tunnels through an HTTP proxy (RFC 9110, section 9.3.6).

use std::io;

use http::header::PROXY_AUTHORIZATION;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::engine::address::BaseUrl;
use crate::engine::answer::{Cause, DiagnosedFailure};
use crate::engine::proxy::Proxy;
use crate::engine::transport::http::ResponseHead;
use crate::record::{Failure, FailureKind};

/// Returns the request that asks `proxy` for a tunnel to the server. It may hold a password.
pub(super) fn tunnel_request(url: &BaseUrl, proxy: &Proxy) -> Vec<u8> {
    let host = if url.host().contains(':') { format!("[{}]", url.host()) } else { url.host().to_owned() };
    let server = format!("{host}:{}", url.port());
    let mut request = format!("CONNECT {server} HTTP/1.1\r\nhost: {server}\r\n").into_bytes();
    if let Some(login) = proxy.authorization() {
        let line = [PROXY_AUTHORIZATION.as_str().as_bytes(), b": ", login.as_bytes(), b"\r\n"];
        request.extend(line.concat());
    }
    request.extend_from_slice(b"\r\n");
    request
}

/// Asks the proxy at the other end of `socket` for a tunnel.
pub(super) async fn open_tunnel(socket: &mut TcpStream, request: &[u8]) -> Result<(), DiagnosedFailure> {
    let (message, cause) = match ask(socket, request).await {
        Ok(200..=299) => return Ok(()),
        // It cannot reach the server, which may come.
        Ok(status @ 500..) => (format!("it answers {status}"), Cause::Unknown),
        Ok(status) => (format!("it refuses with {status}"), Cause::ProxyRefuses),
        Err(error) => (format!("it opens no tunnel: {error}"), Cause::Unknown),
    };
    Err(DiagnosedFailure { failure: Failure::new(FailureKind::Connect, message), cause })
}

/// The status of the answer to `request`.
async fn ask(socket: &mut TcpStream, request: &[u8]) -> io::Result<u16> {
    socket.write_all(request).await?;
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
