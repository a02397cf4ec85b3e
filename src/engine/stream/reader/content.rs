//! What a body is, by its first bytes.

use crate::engine::stream::chunk::AnswerGrammar;
use crate::engine::stream::chunk::ChunkJson;
use crate::engine::target::AnswerForm;

/// Kinds of body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyContent {
    /// An event stream, or a chunk of JSON in each line.
    Events,
    /// JSON.
    Json,
    /// A web page.
    Page,
    /// Bytes of gzip.
    Compressed,
    /// Anything else.
    Other,
}

/// Fields of an event stream; a comment is one without a name.
const FIELDS: [&str; 6] = ["data", "event", "id", "retry", "error", ""];

/// Returns the kind of a body that begins with `bytes`. It is `None` where more must come, unless this is its end.
pub(super) fn content(bytes: &[u8], answers: &AnswerGrammar, form: AnswerForm, at_end: bool) -> Option<BodyContent> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let begun = bytes.trim_ascii_start();
    match begun {
        [0x1f, 0x8b, ..] => Some(BodyContent::Compressed),
        [b'<', ..] => Some(BodyContent::Page),
        [b'{', ..] if form == AnswerForm::Streamed => json(begun, answers, at_end),
        [b'{' | b'[', ..] => Some(BodyContent::Json),
        _ if begun.len() < bytes.len() && bytes.first() == Some(&b' ') => Some(BodyContent::Other),
        _ => {
            let mut starts = FIELDS.iter().map(|field| {
                let common = field.bytes().chain([b':']).zip(begun).take_while(|(a, b)| a == *b).count();
                (common == field.len() + 1, common == begun.len())
            });
            let marks = [&b"\xEF\xBB\xBF"[..], b"\x1f"];
            let part = marks.iter().any(|mark| mark.starts_with(begun)) || starts.clone().any(|(_, part)| part);
            if starts.any(|(whole, _)| whole) {
                Some(BodyContent::Events)
            } else {
                (at_end || !part).then_some(BodyContent::Other)
            }
        }
    }
}

/// Chunks in lines, or a document: the first line shows it.
fn json(begun: &[u8], answers: &AnswerGrammar, at_end: bool) -> Option<BodyContent> {
    let line = begun.split(|byte| *byte == b'\n').next().filter(|line| line.len() < begun.len());
    match line {
        Some(line) if ChunkJson::parse(line, answers).is_ok_and(|document| document.is_chunk()) => {
            Some(BodyContent::Events)
        }
        None if !at_end && begun.len() < LINE => None,
        _ => Some(BodyContent::Json),
    }
}

/// Longest first line of chunks in lines.
const LINE: usize = 8 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_say_what_a_body_is() {
        let chunk = b"{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}\n";
        for (bytes, kind) in [
            (&b"data: x"[..], Some(BodyContent::Events)),
            (b"\n\n: ping", Some(BodyContent::Events)),
            (b"\xEF\xBB\xBFevent: x", Some(BodyContent::Events)),
            (b"dat", None),
            (b"", None),
            (b"\x1f", None),
            (b"\x1f\x8b\x08", Some(BodyContent::Compressed)),
            (b"<html>", Some(BodyContent::Page)),
            (b"{\"error\":", None),
            (b"{\"error\":\"x\"}\n", Some(BodyContent::Json)),
            (b"{\"choices\":[{\"message\":{\"content\":\"a\"}}]}\n\ndata: [DONE]", Some(BodyContent::Json)),
            (chunk, Some(BodyContent::Events)),
            (b"[{", Some(BodyContent::Json)),
            (b" data: x", Some(BodyContent::Other)),
            (b"Internal", Some(BodyContent::Other)),
        ] {
            assert_eq!(
                content(bytes, Default::default(), AnswerForm::Streamed, false),
                kind,
                "{}",
                String::from_utf8_lossy(bytes)
            );
        }
        assert_eq!(content(b"dat", Default::default(), AnswerForm::Streamed, true), Some(BodyContent::Other));
        assert_eq!(content(b"{\"a\":1}", Default::default(), AnswerForm::Streamed, true), Some(BodyContent::Json));
        assert_eq!(content(b"{\"a\":", Default::default(), AnswerForm::Whole, false), Some(BodyContent::Json));
    }
}
