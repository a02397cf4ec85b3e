//! Streams cut and corrupted at random: the reader neither panics nor gives different results.

use std::sync::LazyLock;

use http::header::HeaderValue;
use proptest::prelude::*;

use super::*;
use crate::engine::stream::transcripts::streamed_bodies;

/// Everything read from a stream in pieces cut at `cuts`. Every piece has the same stamp, so that the pieces
/// cannot show.
fn read_in_pieces(stream: &[u8], mut cuts: Vec<usize>, close: BodyEnd) -> (AnswerEvents, AnswerEnd) {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    let mut reader = ResponseReader::new(StatusCode::OK, &headers, AnswerForm::Streamed, Secrets::default());
    let arrival = ArrivalStamp { at: Timestamp::ZERO, late_by: Duration::ZERO, read: 1 };
    let mut events = AnswerEvents::new();
    cuts.push(stream.len());
    cuts.sort_unstable();
    let mut start = 0;
    for cut in cuts {
        // Each piece in memory of its own, so that reads beyond it are found.
        let piece = stream[start..cut].to_vec();
        start = cut;
        if let Some(end) = reader.bytes(&piece, arrival, &mut events) {
            return (events, end);
        }
    }
    let end = reader.end(close, arrival, &mut events);
    (events, end)
}

/// Up to 1,500 bytes from the beginning of a stream, or all of one that is short.
static BEGINNINGS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let cut = |(_, mut body): (String, Vec<u8>)| {
        body.truncate(1500);
        body
    };
    streamed_bodies().into_iter().map(cut).collect()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_split_of_any_stream_spoilt_anyhow_is_read_alike(
        which in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..4_usize, prop_oneof![
            prop::collection::vec(any::<u8>(), 0..3),
            prop::sample::select(vec![&b"\n"[..], b"\r", b"\n\n", b"\r\n\r\n", b"data: ", b": x\n", b"event: error\n", b"\"", b"[DONE]"])
                .prop_map(<[u8]>::to_vec),
        ]), 0..4),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        clean in any::<bool>(),
    ) {
        let mut stream = which.get(&BEGINNINGS).clone();
        for (at, gone, put) in edits {
            let at = at.index(stream.len() + 1);
            let end = stream.len().min(at + gone);
            stream.splice(at..end, put);
        }
        let close = if clean { BodyEnd::Clean } else { BodyEnd::Broken };
        let whole = read_in_pieces(&stream, Vec::new(), close);
        let cuts = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        prop_assert_eq!(&read_in_pieces(&stream, cuts, close), &whole);
        prop_assert_eq!(&read_in_pieces(&stream, (0..stream.len()).collect(), close), &whole);
    }

    #[test]
    fn bytes_of_any_kind_are_read_alike(stream in prop::collection::vec(any::<u8>(), 0..200), cut in any::<prop::sample::Index>()) {
        let whole = read_in_pieces(&stream, Vec::new(), BodyEnd::Clean);
        prop_assert_eq!(&read_in_pieces(&stream, vec![cut.index(stream.len() + 1)], BodyEnd::Clean), &whole);
    }
}

#[test]
fn an_event_of_several_lines_without_its_empty_line_is_taken_whole() {
    let stream = b"data: {\"choices\":\ndata: [{\"text\":\"a\",\"finish_reason\":\"stop\"}]}\n";
    let (events, end) = read_in_pieces(stream, Vec::new(), BodyEnd::Clean);
    assert_eq!((events.len(), end.result), (1, Ok(())));
}
