//! Rows of text files: their lines, their JSON objects, and the lengths and moments that they say.

use std::fmt;
use std::io::{self, BufRead, Read};
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::units::cut;
use crate::workload::TOKEN_LIMIT;

/// Some editors write it at the beginning of a file.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The lines of a file that are not blank, one at a time.
#[derive(Debug)]
pub(super) struct FileLines<R> {
    reader: R,
    /// Most bytes of a line.
    longest: u64,
    /// The last line read, without its end.
    pub(super) line: Vec<u8>,
    /// Number of the line, from 1.
    pub(super) number: u64,
    /// Bytes of the file before it.
    pub(super) offset: u64,
    /// Bytes of the file before the next line.
    next_offset: u64,
}

/// Reason why a line cannot be read.
#[derive(Debug)]
pub(super) enum LineError {
    Io(io::Error),
    TooLong,
}

impl<R: BufRead> FileLines<R> {
    pub(super) fn new(reader: R, longest: u64) -> Self {
        Self { reader, longest, line: Vec::new(), number: 0, offset: 0, next_offset: 0 }
    }

    /// Reads the next line that is not blank; false at the end.
    pub(super) fn advance(&mut self) -> Result<bool, LineError> {
        loop {
            self.line.clear();
            let read = (&mut self.reader).take(self.longest + 1).read_until(b'\n', &mut self.line);
            let read = read.map_err(LineError::Io)? as u64;
            if read == 0 {
                return Ok(false);
            }
            self.number += 1;
            if read > self.longest {
                return Err(LineError::TooLong);
            }
            (self.offset, self.next_offset) = (self.next_offset, self.next_offset + read);
            if self.number == 1 && self.line.starts_with(BYTE_ORDER_MARK) {
                self.line.drain(..BYTE_ORDER_MARK.len());
                self.offset += BYTE_ORDER_MARK.len() as u64;
            }
            self.line.truncate(self.line.trim_ascii_end().len());
            if !self.line.is_empty() {
                return Ok(true);
            }
        }
    }
}

/// Returns what a JSON parser says, without the position.
pub(super) fn cause_of(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or(message.as_str(), |(cause, _)| cause).to_owned()
}

/// A value read from an object with named fields. Derived readers also accept a list of the fields' values; such a
/// line was meant as something else.
#[derive(Debug)]
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData)).map(Self)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with named fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields))
    }
}

/// The beginning of a long text, for a message.
pub(super) fn excerpt(text: &str) -> String {
    /// Longest excerpt, characters.
    const ENOUGH: usize = 80;
    cut(text.to_owned(), ENOUGH)
}

/// Nanoseconds of a moment in this unit; `None` for NaN or beyond 145 years.
pub(super) fn nanoseconds(value: f64, unit_ns: f64) -> Option<i64> {
    let ns = (value * unit_ns).round();
    // Half of the type's range, so that differences fit too.
    (ns.abs() <= 4.6e18).then_some(ns as i64)
}

/// Checks a token count.
pub(super) fn tokens(count: u64) -> Result<u32, String> {
    match u32::try_from(count) {
        Ok(0) => Err("0 tokens, and a request has at least one (traces mark failed requests in this way)".to_owned()),
        Ok(count) if count <= TOKEN_LIMIT => Ok(count),
        _ => Err(format!("{count} tokens, and {TOKEN_LIMIT} are the most")),
    }
}

/// Reads a date as traces write it, as nanoseconds since 1970. `2023-11-16 18:15:46.6805900` is one, with a time zone
/// or without (then UTC).
pub(super) fn parse_moment(text: &str) -> Option<i64> {
    let moment = text.parse::<jiff::Timestamp>().ok().or_else(|| {
        let civil = text.parse::<jiff::civil::DateTime>().ok()?;
        jiff::tz::TimeZone::UTC.to_timestamp(civil).ok()
    })?;
    i64::try_from(moment.as_nanosecond()).ok()
}
