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
    /// Whether it is no event by the standard. It has a name without data, a field `error`, or JSON without a field.
    pub stray: bool,
}

/// An incremental parser of `text/event-stream` (WHATWG HTML, 9.2.6). Bytes go in as they come, whole events come out.
/// It ignores `id:` and `retry:`, which do not matter to one answer. What the standard drops, and may be the server's
/// only word on a failure, comes out as stray events, or is kept.
///
/// A common event, whole in one piece and with one `data:` line, is a slice of that piece, without a copy.
/// For all others the lines are kept until the empty one comes. Between events a framer holds no memory.
#[derive(Debug, Default)]
pub(crate) struct SseFramer {
    /// A line has ended, so a byte order mark can no longer come.
    begun: bool,
    /// Whether the last line ended with a carriage return. A line feed then belongs to it.
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
    /// Takes the next whole event off the front of `rest`, a piece's unread part. It takes all of `rest` where that
    /// ends no event.
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

    /// Takes a common event off the front of `rest`. It is a `data:` line and an empty line, both whole. The general
    /// path gives the same result with copies.
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
            _ if line.starts_with(b"<") || is_error(&String::from_utf8_lossy(&line[..line.len().min(WORDS)])) => {
                return Some(SseEvent {
                    name: Some(Cow::Borrowed(b"error")),
                    data: Cow::Owned(line.to_vec()),
                    stray: true,
                });
            }
            name => {
                self.oddities.note(OddityKind::Line, &String::from_utf8_lossy(&name[..name.len().min(WORDS)]));
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
mod tests {
    use eventsource_stream::Eventsource as _;
    use futures::{FutureExt as _, StreamExt as _};
    use proptest::prelude::*;

    use super::*;

    /// Returns every event of `stream` cut at `cuts`, and what the end leaves.
    fn events(stream: &[u8], cuts: &[usize]) -> (Vec<(Option<String>, String)>, Option<String>) {
        let mut framer = SseFramer::default();
        let mut found = Vec::new();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (stream.len() + 1)).collect();
        cuts.sort_unstable();
        cuts.push(stream.len());
        let mut start = 0;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        for cut in cuts {
            let mut piece = &stream[start..cut];
            start = cut;
            while let Some(event) = framer.next_event(&mut piece) {
                // What the standard drops.
                if event.stray {
                    continue;
                }
                found.push((event.name.as_deref().map(text), text(&event.data)));
            }
            assert!(piece.is_empty(), "left unread");
        }
        (found, framer.unterminated().filter(|event| !event.stray).map(|event| text(&event.data)))
    }

    /// Name and data of every event that the crate `eventsource-stream` finds in the same pieces.
    fn events_of_another(stream: &[u8], cuts: &[usize]) -> Vec<(String, String)> {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (stream.len() + 1)).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|cut| Ok::<_, std::convert::Infallible>(&stream[cut[0]..cut[1]]));
        let found = futures::stream::iter(pieces).eventsource().collect::<Vec<_>>().now_or_never().unwrap();
        found.into_iter().map(Result::unwrap).map(|event| (event.event, event.data)).collect()
    }

    fn data(stream: &str) -> Vec<String> {
        events(stream.as_bytes(), &[]).0.into_iter().map(|(_, data)| data).collect()
    }

    #[test]
    fn the_examples_of_the_standard() {
        // WHATWG HTML 9.2.6, in order: YHOO; test stream; two empty events; with and without the space.
        assert_eq!(data("data: YHOO\ndata: +2\ndata: 10\n\n"), ["YHOO\n+2\n10"]);
        assert_eq!(
            data(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event"),
            ["first event", "second event"]
        );
        assert_eq!(data("data\n\ndata\ndata\n\ndata:"), ["", "\n"]);
        assert_eq!(data("data:test\n\ndata: test\n\n"), ["test", "test"]);
    }

    #[test]
    fn any_line_end_and_a_byte_order_mark() {
        for stream in ["data: a\n\ndata: b\n\n", "data: a\r\n\r\ndata: b\r\n\r\n", "data: a\r\rdata: b\r\r"] {
            assert_eq!(data(stream), ["a", "b"], "{stream:?}");
            assert_eq!(data(&format!("\u{feff}{stream}")), ["a", "b"], "{stream:?}");
        }
    }

    #[test]
    fn an_event_is_whole_as_soon_as_its_empty_line_begins() {
        // The second event lies whole in a piece, the first does not: the two ways must agree on the late line feed.
        let mut framer = SseFramer::default();
        for (mut piece, data) in [(&b"data: a\r\n\r"[..], "a"), (b"\ndata: b\r\n\r", "b"), (b"\ndata: c\r\n\r", "c")] {
            assert_eq!(&*framer.next_event(&mut piece).unwrap().data, data.as_bytes());
            assert_eq!(framer.next_event(&mut piece), None);
        }
    }

    #[test]
    fn names_comments_and_unknown_fields() {
        let (found, rest) = events(b"event: error\ndata: x\n\n: ping\n\nretry: 3\nfoo\n\ndata: y\n\n", &[]);
        assert_eq!(found, [(Some("error".into()), "x".into()), (None, "y".into())]);
        assert_eq!(rest, None);
    }

    #[test]
    fn the_end_may_leave_an_event_unterminated() {
        assert_eq!(events(b"data: a\n\ndata: [DONE]\n", &[]).1.as_deref(), Some("[DONE]"));
        assert_eq!(events(b"data: a\n\ndata: {\"cho", &[]).1.as_deref(), Some("{\"cho"));
        assert_eq!(events(b"data: a\n\n:", &[]).1, None);
    }

    #[test]
    fn a_whole_event_is_a_slice_of_its_piece_and_between_events_nothing_is_held() {
        let mut framer = SseFramer::default();
        let mut piece = &b": hello\n\ndata: abc\n\nevent: x\ndata: de"[..];
        assert!(matches!(framer.next_event(&mut piece).unwrap().data, Cow::Borrowed(b"abc")));
        assert_eq!(framer.next_event(&mut piece), None);
        assert_eq!(framer.held(), b"x".len() + b"data: de".len());
        let mut piece = &b"f\n\n"[..];
        assert!(matches!(framer.next_event(&mut piece).unwrap().data, Cow::Owned(data) if data == b"def"));
        assert_eq!(framer.next_event(&mut piece), None);
        assert_eq!((framer.held(), framer.line.capacity(), framer.data, framer.name), (0, 0, None, None));
    }

    proptest! {
        #[test]
        fn any_split_of_any_stream_yields_the_same_events(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "data: ", "data:", "data", "event: x", ": ping", "é", "漢", "😀", "{\"a\":1}", "\n", "\n\n", "\r\n",
                    "\r\n\r\n", "\r", "\r\r", " ", ":", "id: 1", "\u{feff}", "[DONE]",
                ]),
                0..40,
            ),
            cuts in prop::collection::vec(any::<usize>(), 0..12),
        ) {
            let stream = parts.concat().into_bytes();
            let every_byte: Vec<usize> = (0..stream.len()).collect();
            let whole = events(&stream, &[]);
            prop_assert_eq!(&events(&stream, &cuts), &whole);
            prop_assert_eq!(&events(&stream, &every_byte), &whole);
        }

        /// An independent reader as the oracle, which gets the same pieces. It does not read a byte order mark,
        /// and waits at a carriage return for what follows, so that lone ones are left to the test above.
        #[test]
        fn another_reader_finds_the_same_events(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "data: ", "data:", "data", "event: x", "event:", ": ping", "é", "漢", "😀", "{\"a\":1}", "\n", "\n\n",
                    "\r\n", "\r\n\r\n", "data: b\n\n", " ", ":", "id: 1", "retry: 3", "[DONE]",
                ]),
                0..40,
            ),
            cuts in prop::collection::vec(any::<usize>(), 0..12),
        ) {
            let stream = parts.concat().into_bytes();
            let every_byte: Vec<usize> = (0..stream.len()).collect();
            for cuts in [&cuts, &every_byte, &Vec::new()] {
                let ours = events(&stream, cuts).0;
                let named = |name: Option<String>| name.filter(|name| !name.is_empty()).unwrap_or("message".to_owned());
                let ours: Vec<_> = ours.into_iter().map(|(name, data)| (named(name), data)).collect();
                prop_assert_eq!(&ours, &events_of_another(&stream, cuts));
            }
        }
    }
}
