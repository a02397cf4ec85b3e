//! Cuts a byte stream into server-sent events.

use std::borrow::Cow;

use memchr::memchr2;

use super::reasons::{is_error, says_failure};
use crate::record::{Oddities, OddityKind};

/// One event: borrowed from the piece that has it whole, else owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SseEvent<'p> {
    /// The `event:` field, if any.
    pub name: Option<Cow<'p, [u8]>>,
    /// The `data:` lines, joined with line feeds.
    pub data: Cow<'p, [u8]>,
    /// Whether it is none by the standard: a name without data, a field `error`, JSON without a field.
    pub stray: bool,
}

/// An incremental parser of `text/event-stream` (WHATWG HTML, 9.2.6): bytes go in as they come, whole events
/// come out. It ignores `id:` and `retry:`, which do not matter to one answer. What the standard drops, and may be the
/// server's only word on a failure, comes out as stray events, or is kept.
///
/// A common event, whole in one piece and with one `data:` line, is a slice of that piece, without a copy.
/// For all others the lines are kept until the empty one comes. Between events a framer holds no memory.
#[derive(Debug, Default)]
pub(crate) struct SseFramer {
    /// A line has ended, so a byte order mark can no longer come.
    begun: bool,
    /// The last line ended with a carriage return, so a line feed now belongs to it.
    after_carriage_return: bool,
    /// The beginning of an incomplete line.
    line: Vec<u8>,
    /// The `event:` field of the incomplete event.
    name: Option<Vec<u8>>,
    /// The `data:` lines of the incomplete event, joined with line feeds.
    data: Option<Vec<u8>>,
    /// Lines of unknown fields.
    pub(super) oddities: Oddities,
    /// The last such line, or comment that says that something failed.
    pub(super) words: Vec<u8>,
}

/// Most bytes of a line that are kept as words.
const WORDS: usize = 1 << 10;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl SseFramer {
    /// Takes the next whole event off the front of `rest`, the unread part of a piece; takes all of `rest`
    /// where it ends no event.
    pub(crate) fn next_event<'p>(&mut self, rest: &mut &'p [u8]) -> Option<SseEvent<'p>> {
        loop {
            self.skip_line_feed(rest);
            if let Some(event) = self.whole_event(rest) {
                return Some(event);
            }
            let Some(end) = memchr2(b'\n', b'\r', rest) else { break };
            let line = &rest[..end];
            self.after_carriage_return = rest[end] == b'\r';
            *rest = &rest[end + 1..];
            if let Some(event) = self.end_line(line) {
                return Some(event);
            }
        }
        self.line.extend_from_slice(rest);
        *rest = &[];
        None
    }

    /// Bytes held for an incomplete event.
    pub(crate) fn held(&self) -> usize {
        let of = |part: &Option<Vec<u8>>| part.as_ref().map_or(0, Vec::len);
        self.line.len() + of(&self.name) + of(&self.data)
    }

    /// The event that the end of the stream left without its empty line, if any. The standard drops it, so
    /// the caller must decide whether to use it.
    pub(crate) fn unterminated(&mut self) -> Option<SseEvent<'static>> {
        self.end_line(&[]).or_else(|| self.dispatch())
    }

    /// A common event at the front of `rest`: a `data:` line and an empty line, both whole. The general path
    /// gives the same result with copies.
    fn whole_event<'p>(&mut self, rest: &mut &'p [u8]) -> Option<SseEvent<'p>> {
        let in_the_making = !self.line.is_empty() || self.name.is_some() || self.data.is_some();
        if in_the_making || !self.begun {
            return None;
        }
        let value = rest.strip_prefix(b"data:")?;
        let end = memchr2(b'\n', b'\r', value)?;
        let (value, after) = value.split_at(end);
        let empty_line = &after[line_end(after)..];
        let length = line_end(empty_line);
        if length == 0 {
            return None;
        }
        self.after_carriage_return = empty_line[length - 1] == b'\r';
        *rest = &empty_line[length..];
        let data = Cow::Borrowed(value.strip_prefix(b" ").unwrap_or(value));
        Some(SseEvent { name: None, data, stray: false })
    }

    fn skip_line_feed(&mut self, rest: &mut &[u8]) {
        if let (true, Some(first)) = (self.after_carriage_return, rest.first()) {
            self.after_carriage_return = false;
            if *first == b'\n' {
                *rest = &rest[1..];
            }
        }
    }

    /// Ends the line begun in earlier pieces with `rest_of_line`; an empty line ends an event.
    fn end_line(&mut self, rest_of_line: &[u8]) -> Option<SseEvent<'static>> {
        let mut joined = std::mem::take(&mut self.line);
        let mut line = rest_of_line;
        if !joined.is_empty() {
            joined.extend_from_slice(rest_of_line);
            line = &joined;
        }
        if !self.begun {
            self.begun = true;
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch();
        }
        self.field(line)
    }

    fn field(&mut self, line: &[u8]) -> Option<SseEvent<'static>> {
        let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => match &mut self.data {
                None => self.data = Some(value.to_vec()),
                Some(lines) => {
                    lines.push(b'\n');
                    lines.extend_from_slice(value);
                }
            },
            b"event" => self.name = Some(value.to_vec()),
            b"id" | b"retry" => {}
            b"" => {
                if says_failure(&String::from_utf8_lossy(&value[..value.len().min(WORDS)])) {
                    self.oddities.note(OddityKind::Line, ":");
                    self.keep(value);
                }
            }
            b"error" | b"errors" => {
                return Some(SseEvent {
                    name: Some(Cow::Borrowed(b"error")),
                    data: Cow::Owned(value.to_vec()),
                    stray: true,
                });
            }
            _ if line.starts_with(b"{") => {
                return Some(SseEvent { name: None, data: Cow::Owned(line.to_vec()), stray: true });
            }
            // Words of a program or a proxy that failed: `Error: …`, `Traceback …`, a page of HTML.
            _ if line.starts_with(b"<")
                || is_error(&String::from_utf8_lossy(&line[..line.len().min(WORDS)])) =>
            {
                return Some(SseEvent {
                    name: Some(Cow::Borrowed(b"error")),
                    data: Cow::Owned(line.to_vec()),
                    stray: true,
                });
            }
            name => {
                self.oddities
                    .note(OddityKind::Line, &String::from_utf8_lossy(&name[..name.len().min(WORDS)]));
                self.keep(line);
            }
        }
        None
    }

    fn keep(&mut self, words: &[u8]) {
        self.words = words[..words.len().min(WORDS)].to_vec();
    }

    fn dispatch(&mut self) -> Option<SseEvent<'static>> {
        let name = self.name.take().map(Cow::Owned);
        let stray = self.data.is_none();
        (name.is_some() || !stray).then(|| SseEvent {
            name,
            data: Cow::Owned(self.data.take().unwrap_or_default()),
            stray,
        })
    }
}

/// Length of the line end at the front of `bytes`; 0 without one.
fn line_end(bytes: &[u8]) -> usize {
    match bytes {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
