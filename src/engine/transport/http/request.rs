//! Writes requests.

use std::fmt;
use std::io::{self, IoSlice, Write as _};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, Version};

use super::marks::{REQUEST_ID, TRACEPARENT};
use crate::engine::answer::PreparedRequest;
use crate::engine::transport::socket::Socket;
use crate::record::RequestIds;

/// Bytes that the headers of one request mostly take.
const OWN_BYTES: usize = 256;

/// The beginning of all requests of a run. It may hold credentials, so it has no `Debug`.
#[derive(Clone)]
pub(crate) struct RequestHead {
    /// Request line and headers without those that differ between requests.
    common: Vec<u8>,
    /// Ids of requests and of sessions.
    ids: RequestIds,
    /// Whether requests carry an `X-Request-Id` of ours: not where the user gave one.
    request_ids: bool,
    /// The header that carries the id of a request's session.
    session_header: Option<HeaderName>,
    /// The address and the headers of a request of HTTP/2.
    of_stream: (Uri, HeaderMap),
}

impl RequestHead {
    /// Makes the head of a POST to `target`. It has these headers, `Host` among them, and these ids.
    pub(crate) fn new(target: &str, headers: &HeaderMap, ids: RequestIds) -> Self {
        let mut common = format!("POST {target} HTTP/1.1\r\n").into_bytes();
        for (name, value) in headers {
            common.extend_from_slice(name.as_str().as_bytes());
            common.extend_from_slice(b": ");
            common.extend_from_slice(value.as_bytes());
            common.extend_from_slice(b"\r\n");
        }
        let request_ids = !headers.contains_key(REQUEST_ID);
        Self { common, ids, request_ids, session_header: None, of_stream: Default::default() }
    }

    /// Returns the head for requests of HTTP/2 too, to a whole address. There the host is part of that.
    pub(crate) fn with_address(self, address: Uri, mut headers: HeaderMap) -> Self {
        headers.remove(HOST);
        Self { of_stream: (address, headers), ..self }
    }

    /// Returns the head with the id of each request's session in this header.
    pub(crate) fn with_session_header(self, session_header: Option<HeaderName>) -> Self {
        Self { session_header, ..self }
    }

    /// Returns the head with other ids.
    pub(crate) fn with_ids(&self, ids: RequestIds) -> Self {
        Self { ids, ..self.clone() }
    }

    /// Gives `add` the headers that differ between requests.
    fn own(&self, request: &PreparedRequest, mut add: impl FnMut(&HeaderName, fmt::Arguments<'_>)) {
        let prefix = &self.ids.prefix;
        add(&CONTENT_LENGTH, format_args!("{}", request.body.len()));
        if self.request_ids {
            add(&REQUEST_ID, format_args!("{prefix}{:012x}", request.index));
        }
        if let Some(header) = &self.session_header {
            add(header, format_args!("{prefix}{:012x}", request.session));
        }
        if let Some(trace) = self.ids.trace_of(request.index) {
            add(&TRACEPARENT, format_args!("{}", trace.parent()));
        }
    }

    fn bytes_for(&self, request: &PreparedRequest) -> Vec<u8> {
        let mut head = Vec::with_capacity(self.common.len() + OWN_BYTES);
        head.extend_from_slice(&self.common);
        self.own(request, |name, value| {
            head.extend_from_slice(name.as_str().as_bytes());
            // Nothing can be wrong with writing to memory.
            let _ = write!(head, ": {value}\r\n");
        });
        head.extend_from_slice(b"\r\n");
        head
    }

    /// Returns the head of a request as a stream of HTTP/2.
    pub(crate) fn of_stream(&self, request: &PreparedRequest) -> http::Request<()> {
        let (address, common) = &self.of_stream;
        let mut head = http::Request::new(());
        (*head.method_mut(), *head.version_mut()) = (Method::POST, Version::HTTP_2);
        let mut headers = common.clone();
        self.own(request, |name, value| {
            // Digits, and a prefix that is a header's value already.
            if let Ok(value) = HeaderValue::try_from(value.to_string()) {
                headers.insert(name, value);
            }
        });
        (*head.uri_mut(), *head.headers_mut()) = (address.clone(), headers);
        head
    }
}

/// A request that is being written.
pub(crate) struct Outgoing {
    head: Vec<u8>,
    body: Bytes,
    written: usize,
}

impl Outgoing {
    /// A request of which nothing is written yet.
    pub(crate) fn new(head: &RequestHead, request: PreparedRequest) -> Self {
        Self { head: head.bytes_for(&request), body: request.body, written: 0 }
    }

    /// Writes on until all is written. That is one call, where the socket has room for it.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>, socket: &mut Socket) -> Poll<io::Result<()>> {
        loop {
            let head = &self.head[self.written.min(self.head.len())..];
            let body = &self.body[self.written.saturating_sub(self.head.len())..];
            if head.is_empty() && body.is_empty() {
                return socket.poll_flush(cx);
            }
            match ready!(socket.poll_write(cx, &[IoSlice::new(head), IoSlice::new(body)]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.written += written,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_written_as_http_wants_it() {
        let mut headers = HeaderMap::new();
        headers.insert("host", "h:8000".parse().unwrap());
        headers.append("x-tag", "one".parse().unwrap());
        headers.append("x-tag", "two".parse().unwrap());
        let head = |headers: &HeaderMap| {
            RequestHead::new("/gate/v1/completions", headers, RequestIds::new(7, Some("id-"), headers.len() > 4))
        };
        let written = |head: &RequestHead| {
            let request = PreparedRequest::new(0x2a, Bytes::from_static(b"{\"a\":1}"));
            let request = PreparedRequest { session: 7, ..request };
            String::from_utf8(head.bytes_for(&request)).unwrap()
        };
        let text = |headers: &HeaderMap| written(&head(headers));
        let common = "POST /gate/v1/completions HTTP/1.1\r\nhost: h:8000\r\nx-tag: one\r\nx-tag: two\r\n";
        assert_eq!(
            text(&headers),
            format!("{common}content-length: 7\r\nx-request-id: id-00000000-00000000002a\r\n\r\n")
        );
        headers.insert("x-request-id", "mine".parse().unwrap());
        assert_eq!(text(&headers), format!("{common}x-request-id: mine\r\ncontent-length: 7\r\n\r\n"));
        let mut traced = headers.clone();
        traced.append("x-tag", "three".parse().unwrap());
        let parent = "traceparent: 00-0000000000004007800000000000002a-800000000000002a-01\r\n\r\n";
        assert!(text(&traced).ends_with(parent));
        let sticky = head(&headers).with_session_header(Some(HeaderName::from_static("x-session-id")));
        assert!(written(&sticky).ends_with("content-length: 7\r\nx-session-id: id-00000000-000000000007\r\n\r\n"));
        let address = Uri::from_static("https://h:8000/gate/v1/completions");
        let request = PreparedRequest::new(0x2a, Bytes::from_static(b"{\"a\":1}"));
        let shared = sticky.with_address(address.clone(), headers).of_stream(&request);
        let own = ["x-request-id", "content-length", "x-session-id", "x-tag"].map(|name| &shared.headers()[name]);
        assert_eq!(own, ["mine", "7", "id-00000000-00000000002a", "one"], "a session of its own");
        assert_eq!((shared.uri(), shared.headers().get("host")), (&address, None), "the host is part of the address");
    }
}
