//! Framing against the standard, at every split of the bytes.

use eventsource_stream::Eventsource as _;
use futures::{FutureExt as _, StreamExt as _};
use proptest::prelude::*;

use super::*;

/// Every event of `stream`, read in pieces cut at `cuts`, and then what the end leaves.
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
    for (mut piece, data) in
        [(&b"data: a\r\n\r"[..], "a"), (b"\ndata: b\r\n\r", "b"), (b"\ndata: c\r\n\r", "c")]
    {
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
