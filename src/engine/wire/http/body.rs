//! Finds where the body of a response ends.

use super::chunked::{ChunkError, Chunked, Piece};

/// How the end of a body is found (RFC 9112, section 6.3).
#[derive(Debug)]
pub(crate) enum Body {
    /// After this many more bytes.
    Length(u64),
    /// By its last chunk.
    Chunked(Chunked),
    /// By the end of the connection.
    UntilClose,
}

impl Body {
    /// Takes the next piece off the front of `bytes`.
    pub(crate) fn next<'a>(&mut self, bytes: &mut &'a [u8]) -> Result<Piece<'a>, ChunkError> {
        match self {
            Self::Chunked(chunked) => chunked.next(bytes),
            Self::Length(0) => Ok(Piece::End),
            Self::Length(_) | Self::UntilClose if bytes.is_empty() => Ok(Piece::More),
            Self::Length(left) => {
                let (data, rest) =
                    bytes.split_at(usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len()));
                *bytes = rest;
                *left -= data.len() as u64;
                Ok(Piece::Data(data))
            }
            Self::UntilClose => Ok(Piece::Data(std::mem::take(bytes))),
        }
    }

    /// Skips the rest of the body in `bytes`.
    pub(crate) fn skip(&mut self, mut bytes: &[u8]) -> Rest {
        loop {
            match self.next(&mut bytes) {
                Ok(Piece::Data(_)) => {}
                Ok(Piece::More) => return Rest::Awaited,
                Ok(Piece::End) if bytes.is_empty() => return Rest::None,
                Ok(Piece::End) | Err(_) => return Rest::Unusable,
            }
        }
    }
}

/// The state of a body after its useful part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nothing left: the connection waits for a request.
    None,
    /// Its last bytes have not come.
    Awaited,
    /// Something unexpected: the connection cannot be used again.
    Unusable,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_ends_a_body_and_leaves_the_rest() {
        let mut body = Body::Length(3);
        let mut bytes = &b"ab"[..];
        assert_eq!(body.next(&mut bytes), Ok(Piece::Data(b"ab")));
        assert_eq!(body.next(&mut bytes), Ok(Piece::More));
        bytes = b"cd";
        assert_eq!(body.next(&mut bytes), Ok(Piece::Data(b"c")));
        assert_eq!((body.next(&mut bytes), bytes), (Ok(Piece::End), &b"d"[..]));
    }

    #[test]
    fn what_follows_a_body_makes_its_connection_unusable() {
        let chunked = || Body::Chunked(Chunked::default());
        for (mut body, bytes, rest) in [
            (Body::Length(2), &b"ab"[..], Rest::None),
            (Body::Length(2), b"abc", Rest::Unusable),
            (Body::Length(2), b"a", Rest::Awaited),
            (chunked(), b"1\r\na\r\n0\r\n\r\n", Rest::None),
            (chunked(), b"0\r\n\r\nHTTP/1.1", Rest::Unusable),
            (chunked(), b"0\r\n\r", Rest::Awaited),
            (chunked(), b"zero", Rest::Unusable),
            (Body::UntilClose, b"a", Rest::Awaited),
        ] {
            assert_eq!(body.skip(bytes), rest, "{bytes:?}");
        }
    }
}
