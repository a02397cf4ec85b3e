//! Finds where the body of a response ends, and decodes the chunked transfer coding.

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
                let (data, rest) = bytes.split_at(usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len()));
                *bytes = rest;
                *left -= data.len() as u64;
                Ok(Piece::Data(data))
            }
            Self::UntilClose => Ok(Piece::Data(std::mem::take(bytes))),
        }
    }

    /// Lines of fields behind the body.
    pub(crate) fn trailers(&self) -> &[u8] {
        if let Self::Chunked(chunked) = self { &chunked.trailers } else { &[] }
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

/// Bytes allowed in the extensions of one chunk's size line, and in all trailers together.
const ASIDE_LIMIT: u32 = 16 << 10;

/// An incremental decoder of the chunked transfer coding (RFC 9112, section 7.1). It ignores extensions,
/// keeps trailers as they come, and is strict about everything else.
#[derive(Debug, Default)]
pub(crate) struct Chunked {
    state: DecodeState,
    /// Bytes decoded so far, with the framing.
    passed: u64,
    /// Lines of the trailers.
    trailers: Vec<u8>,
}

/// The kind of byte that must come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DecodeState {
    /// A digit of a size; one has come if `digits` is above zero.
    Size { size: u64, digits: u8 },
    /// Part of an extension after this size, or the end of its line.
    Extension { size: u64, aside: u32 },
    /// The line feed after a size.
    SizeEnd { size: u64 },
    /// Data, this many bytes.
    Data { left: u64 },
    /// The carriage return after data.
    DataReturn,
    /// The line feed after data.
    DataEnd,
    /// The beginning of a trailer line, or of the last, empty line.
    TrailerStart { aside: u32 },
    /// Inside a trailer line.
    Trailer { aside: u32 },
    /// The line feed that ends the body.
    LastEnd,
    /// Nothing: the body is over.
    Over,
}

impl Default for DecodeState {
    fn default() -> Self {
        Self::Size { size: 0, digits: 0 }
    }
}

/// A byte that is not allowed where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {at} of the body is '{}', not {wanted}", .byte.escape_ascii())]
pub(crate) struct ChunkError {
    byte: u8,
    /// Its index in the body as it came over the wire.
    at: u64,
    wanted: &'static str,
}

/// The result of a decoding step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Bytes of the body.
    Data(&'a [u8]),
    /// The bytes are used up, and the body goes on.
    More,
    /// The body is over; the rest of the bytes is not part of it.
    End,
}

impl Chunked {
    /// Takes the next piece off the front of `bytes`.
    pub(crate) fn next<'a>(&mut self, bytes: &mut &'a [u8]) -> Result<Piece<'a>, ChunkError> {
        let given = *bytes;
        let mut used = 0;
        let found = loop {
            if let DecodeState::Data { left } = self.state {
                let length = usize::try_from(left).unwrap_or(usize::MAX).min(given.len() - used);
                if length == 0 {
                    break Ok(Piece::More);
                }
                let data = &given[used..used + length];
                used += length;
                let left = left - length as u64;
                self.state = if left == 0 { DecodeState::DataReturn } else { DecodeState::Data { left } };
                break Ok(Piece::Data(data));
            }
            if self.state == DecodeState::Over {
                break Ok(Piece::End);
            }
            let Some(&byte) = given.get(used) else { break Ok(Piece::More) };
            match self.state.after(byte) {
                Ok(state) => {
                    self.state = state;
                    if matches!(state, DecodeState::TrailerStart { .. } | DecodeState::Trailer { .. }) {
                        self.trailers.push(byte);
                    }
                }
                Err(wanted) => break Err(ChunkError { byte, at: self.passed + used as u64, wanted }),
            }
            used += 1;
        };
        self.passed += used as u64;
        *bytes = &given[used..];
        found
    }
}

impl DecodeState {
    /// The state after this byte of framing, or what was expected instead.
    fn after(self, byte: u8) -> Result<Self, &'static str> {
        Ok(match (self, byte) {
            (Self::Size { size, digits }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                let value = char::from(byte).to_digit(16).unwrap_or_default();
                let size = size.checked_mul(16).ok_or("the end of a chunk's size, which is too large")?;
                Self::Size { size: size + u64::from(value), digits: digits.saturating_add(1) }
            }
            (Self::Size { digits: 0, .. }, _) => return Err("a hexadecimal digit of a chunk's size"),
            (Self::Size { size, .. } | Self::Extension { size, .. }, b'\r') => Self::SizeEnd { size },
            (Self::Size { size, .. }, b' ' | b'\t' | b';') => Self::Extension { size, aside: 1 },
            (Self::Size { .. }, _) => return Err("a hexadecimal digit or the end of a chunk's size"),
            (Self::Extension { aside: ASIDE_LIMIT, .. }, _) => return Err("the end of a chunk's extensions"),
            (Self::Extension { .. }, b'\n') => return Err("the carriage return after a chunk's size"),
            (Self::Extension { size, aside }, _) => Self::Extension { size, aside: aside + 1 },
            (Self::SizeEnd { size: 0 }, b'\n') => Self::TrailerStart { aside: 0 },
            (Self::SizeEnd { size }, b'\n') => Self::Data { left: size },
            (Self::SizeEnd { .. }, _) => return Err("the line feed after a chunk's size"),
            (Self::DataReturn, b'\r') => Self::DataEnd,
            (Self::DataReturn, _) => return Err("the carriage return after a chunk's data"),
            (Self::DataEnd, b'\n') => Self::default(),
            (Self::DataEnd, _) => return Err("the line feed after a chunk's data"),
            (Self::TrailerStart { .. }, b'\r') => Self::LastEnd,
            (Self::TrailerStart { aside: ASIDE_LIMIT } | Self::Trailer { aside: ASIDE_LIMIT }, _) => {
                return Err("the end of the trailers");
            }
            (Self::Trailer { aside }, b'\n') => Self::TrailerStart { aside: aside + 1 },
            (Self::TrailerStart { aside } | Self::Trailer { aside }, _) => Self::Trailer { aside: aside + 1 },
            (Self::LastEnd, b'\n') => Self::Over,
            (Self::LastEnd, _) => return Err("the line feed that ends the body"),
            (Self::Data { .. } | Self::Over, _) => unreachable!("no byte of framing is looked at here"),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Decodes a body given in pieces of `size` bytes. Returns its data, what is left after its end, and whether the
    /// end came.
    fn decode(body: &[u8], size: usize) -> Result<(Vec<u8>, usize, bool), ChunkError> {
        let (mut decoder, mut data, mut used) = (Chunked::default(), Vec::new(), 0);
        for mut piece in body.chunks(size) {
            loop {
                let before = piece.len();
                let found = decoder.next(&mut piece)?;
                used += before - piece.len();
                match found {
                    Piece::Data(found) => data.extend_from_slice(found),
                    Piece::More => break,
                    Piece::End => return Ok((data, body.len() - used, true)),
                }
            }
        }
        Ok((data, 0, false))
    }

    #[test]
    fn bodies_are_read_whole_however_they_are_cut() {
        for (body, data, left) in [
            ("3\r\nabc\r\n0\r\n\r\n", "abc", 0),
            ("1;a=\"b;c\"\r\nx\r\n00A \t; q\r\n0123456789\r\n0\r\n\r\n", "x0123456789", 0),
            ("2\r\n\r\n\r\n0\r\nTrailer: one\r\nOther: two\r\n\r\nHTTP", "\r\n", 4),
            ("0;last\r\n\r\n", "", 0),
        ] {
            for size in 1..=body.len() {
                let found = decode(body.as_bytes(), size).unwrap();
                assert_eq!(found, (data.as_bytes().to_vec(), left, true), "{body:?} by {size}");
            }
        }
        assert_eq!(decode(b"5\r\nab", 2), Ok((b"ab".to_vec(), 0, false)));
    }

    #[test]
    fn a_wrong_byte_is_named_with_its_place() {
        let long = format!("1;{}\r\n", "x".repeat(20_000));
        let trailers = format!("0\r\n{}", "a: b\r\n".repeat(4_000));
        for (body, words) in [
            ("xyz\r\n", "byte 0 of the body is 'x', not a hexadecimal digit of a chunk's size"),
            ("\r\n", "byte 0 of the body is '\\r', not a hexadecimal digit of a chunk's size"),
            ("3g\r\n", "byte 1 of the body is 'g', not a hexadecimal digit or the end of a chunk's size"),
            ("3\nabc", "byte 1 of the body is '\\n', not a hexadecimal digit or the end of a chunk's size"),
            ("3\rabc", "byte 2 of the body is 'a', not the line feed after a chunk's size"),
            ("3 \nabc", "byte 2 of the body is '\\n', not the carriage return after a chunk's size"),
            ("1\r\nab", "byte 4 of the body is 'b', not the carriage return after a chunk's data"),
            ("1\r\na\rb", "byte 5 of the body is 'b', not the line feed after a chunk's data"),
            ("0\r\n\rx", "byte 4 of the body is 'x', not the line feed that ends the body"),
            ("10000000000000000\r\n", "byte 16 of the body is '0', not the end of a chunk's size, which is too large"),
            (&long, "byte 16385 of the body is 'x', not the end of a chunk's extensions"),
            (&trailers, "byte 16387 of the body is '\\r', not the end of the trailers"),
        ] {
            for size in [1, 7, body.len()] {
                assert_eq!(decode(body.as_bytes(), size).unwrap_err().to_string(), words);
            }
        }
    }

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

    proptest! {
        #[test]
        fn what_was_chunked_is_read_back(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..20),
            size in 1usize..400,
        ) {
            let mut body = Vec::new();
            for chunk in &chunks {
                body.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                body.extend_from_slice(chunk);
                body.extend_from_slice(b"\r\n");
            }
            body.extend_from_slice(b"0\r\n\r\n");
            prop_assert_eq!(decode(&body, size), Ok((chunks.concat(), 0, true)));
        }

        #[test]
        fn no_bytes_are_too_wild(body in prop::collection::vec(any::<u8>(), 1..200), size in 1usize..50) {
            prop_assert_eq!(decode(&body, size), decode(&body, 200));
        }
    }
}
