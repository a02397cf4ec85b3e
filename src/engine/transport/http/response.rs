//! Reads the head of a response.

use http::StatusCode;
use http::header::{CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING};

use super::body::{Body, Chunked};

/// Longest head accepted.
const HEAD_LIMIT: usize = 64 << 10;
/// Most headers in a head.
const HEADER_LIMIT: usize = 128;
/// Most interim responses before a response.
const INTERIM_LIMIT: usize = 32;

/// The head of a response.
#[derive(Debug)]
pub(crate) struct ResponseHead {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// How its body ends.
    pub body: Body,
    pub persistence: Persistence,
    /// Its length in bytes, with interim responses before it.
    pub length: usize,
}

/// The state of the connection after the response, as the server announces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Persistence {
    KeepAlive,
    Close,
}

/// Why bytes are not the head of a response. It repeats some of them, perhaps with secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HeadError {
    #[error("{0}")]
    Syntax(#[from] httparse::Error),
    #[error("its head has more than 64 KiB")]
    TooLong,
    #[error("more than 32 interim responses, HTTP 1xx, and no answer")]
    MoreInterim,
    #[error("its content length is `{0}`")]
    ContentLength(String),
    #[error("its body has a transfer coding that was not requested: `{0}`")]
    TransferCoding(String),
}

impl ResponseHead {
    /// Reads the head at the front of `bytes`; `None` while it is incomplete. Interim responses (RFC 9110,
    /// section 15.2) are skipped, except 101, after which no HTTP follows.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Self>, HeadError> {
        let mut passed = 0;
        for _ in 0..=INTERIM_LIMIT {
            let mut fields = [httparse::EMPTY_HEADER; HEADER_LIMIT];
            let mut head = httparse::Response::new(&mut fields);
            let httparse::Status::Complete(length) = head.parse(&bytes[passed..])? else {
                return if bytes.len() > HEAD_LIMIT { Err(HeadError::TooLong) } else { Ok(None) };
            };
            passed += length;
            let status = head.code.and_then(|code| StatusCode::from_u16(code).ok());
            let status = status.ok_or(httparse::Error::Status)?;
            if status.is_informational() && status != StatusCode::SWITCHING_PROTOCOLS {
                continue;
            }
            let headers = head.headers.iter().filter_map(field).collect();
            let old = head.version == Some(0);
            let body = body(status, &headers)?;
            let persistence = if status == StatusCode::SWITCHING_PROTOCOLS {
                Persistence::Close
            } else {
                persistence(&headers, &body, old)
            };
            return Ok(Some(Self { status, headers, body, persistence, length: passed }));
        }
        Err(HeadError::MoreInterim)
    }
}

fn field(header: &httparse::Header<'_>) -> Option<(HeaderName, HeaderValue)> {
    let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
    Some((name, HeaderValue::from_bytes(header.value).ok()?))
}

/// The items of a list header.
fn words<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a [u8]> {
    let lists = headers.get_all(name).into_iter().map(HeaderValue::as_bytes);
    lists.flat_map(|list| list.split(|&byte| byte == b',')).map(<[u8]>::trim_ascii)
}

/// A list header as text.
fn said(headers: &HeaderMap, name: &HeaderName) -> String {
    words(headers, name).map(String::from_utf8_lossy).collect::<Vec<_>>().join(", ")
}

/// RFC 9112, section 6.3, for the response to a POST.
fn body(status: StatusCode, headers: &HeaderMap) -> Result<Body, HeadError> {
    if status.is_informational() || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
        return Ok(Body::Length(0));
    }
    let mut codings = words(headers, &TRANSFER_ENCODING);
    match (codings.next(), codings.next()) {
        (None, _) => {}
        (Some(only), None) if only.eq_ignore_ascii_case(b"chunked") => {
            return Ok(Body::Chunked(Chunked::default()));
        }
        (Some(only), None) if only.eq_ignore_ascii_case(b"identity") => return Ok(Body::UntilClose),
        _ => return Err(HeadError::TransferCoding(said(headers, &TRANSFER_ENCODING))),
    }
    let mut lengths = words(headers, &CONTENT_LENGTH);
    let Some(first) = lengths.next() else { return Ok(Body::UntilClose) };
    let digits = lengths.all(|other| other == first) && first.iter().all(u8::is_ascii_digit);
    let length = str::from_utf8(first).ok().filter(|_| digits).and_then(|text| text.parse().ok());
    length.map(Body::Length).ok_or_else(|| HeadError::ContentLength(said(headers, &CONTENT_LENGTH)))
}

/// RFC 9112, section 9.3. HTTP/1.0 has no chunks: a server that mixes the two gets no second request.
fn persistence(headers: &HeaderMap, body: &Body, old: bool) -> Persistence {
    let says = |option: &str| words(headers, &CONNECTION).any(|said| said.eq_ignore_ascii_case(option.as_bytes()));
    let mixed = old && headers.contains_key(TRANSFER_ENCODING);
    if matches!(body, Body::UntilClose) || says("close") || mixed || (old && !says("keep-alive")) {
        Persistence::Close
    } else {
        Persistence::KeepAlive
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(head: &str) -> ResponseHead {
        ResponseHead::parse(head.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn the_end_of_a_body_and_of_a_connection_is_known() {
        for (line, fields, body, persistence) in [
            ("HTTP/1.1 200 OK", "content-length: 7", "Length(7)", Persistence::KeepAlive),
            ("HTTP/1.1 200 OK", "Content-Length: 7, 7\r\ncontent-length: 7", "Length(7)", Persistence::KeepAlive),
            ("HTTP/1.1 200 OK", "transfer-encoding: Chunked", "Chunked", Persistence::KeepAlive),
            // The coding wins over a length (RFC 9112, section 6.3).
            ("HTTP/1.1 200 OK", "content-length: 7\r\ntransfer-encoding: chunked", "Chunked", Persistence::KeepAlive),
            ("HTTP/1.1 200 OK", "x: y", "UntilClose", Persistence::Close),
            ("HTTP/1.1 200", "content-length: 7\r\nConnection: x, Close", "Length(7)", Persistence::Close),
            ("HTTP/1.0 200 OK", "content-length: 7", "Length(7)", Persistence::Close),
            ("HTTP/1.0 200 OK", "content-length: 7\r\nconnection: Keep-Alive", "Length(7)", Persistence::KeepAlive),
            ("HTTP/1.0 200 OK", "transfer-encoding: chunked\r\nconnection: keep-alive", "Chunked", Persistence::Close),
            ("HTTP/1.1 204 No Content", "x: y", "Length(0)", Persistence::KeepAlive),
            ("HTTP/1.1 304 Not Modified", "content-length: 7", "Length(0)", Persistence::KeepAlive),
            ("HTTP/1.1 101 Switching Protocols", "upgrade: x", "Length(0)", Persistence::Close),
        ] {
            let head = parse(&format!("{line}\r\n{fields}\r\n\r\nrest"));
            assert!(format!("{:?}", head.body).starts_with(body), "{line} {fields}: {:?}", head.body);
            assert_eq!(head.persistence, persistence, "{line} {fields}");
        }
    }

    #[test]
    fn interim_responses_are_passed_over() {
        let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n";
        let last = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nx-a: 1\r\nx-a: 2\r\n\r\n";
        let all = format!("{interim}{last}");
        let head = parse(&format!("{all}rest"));
        assert_eq!((head.status.as_u16(), head.length), (404, all.len()));
        assert_eq!(head.headers.get_all("x-a").iter().count(), 2);
        for cut in 0..all.len() {
            assert!(ResponseHead::parse(&all.as_bytes()[..cut]).unwrap().is_none(), "{cut}");
        }
    }

    #[test]
    fn what_is_no_head_is_said_to_be_none() {
        for (bytes, words) in [
            ("SSH-2.0-x\r\n\r\n".to_owned(), "invalid HTTP version"),
            ("HTTP/2.0 200 OK\r\n\r\n".to_owned(), "invalid HTTP version"),
            ("HTTP/1.1 099 OK\r\n\r\n".to_owned(), "invalid response status"),
            ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n".to_owned(), "invalid header name"),
            (format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(129)), "too many headers"),
            (format!("HTTP/1.1 200 OK\r\na: {}", "b".repeat(70_000)), "more than 64 KiB"),
            ("HTTP/1.1 100 Continue\r\n\r\n".repeat(INTERIM_LIMIT + 1), "more than 32 interim responses"),
            ("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n".to_owned(), "its content length is `-1`"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 1, 2\r\n\r\n".to_owned(), "its content length is `1, 2`"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\n".to_owned(), "`9999999999"),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n".to_owned(), "`gzip, chunked`"),
        ] {
            let error = ResponseHead::parse(bytes.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(words), "{error} is not {words}");
        }
    }
}
