//! Reads common chunks fast: those with one choice, or with usage alone, in one pass.

use crate::engine::stream::chunk::counted;
use crate::engine::stream::fast_chunk::{ChunkText, FastChunk};
use crate::engine::stream::json::JsonCursor;
use crate::engine::stream::reasons::names_error;
use crate::record::Usage;

use super::message::is_reasoning;

/// Types of chunks that are no errors.
const CHUNKS: [&[u8]; 3] = [b"chat.completion.chunk", b"text_completion", b"transcription.chunk"];

/// Reads a chunk if it is a common one.
///
/// It is none with several choices, an error, escapes in names, counts with a sign or a fraction, and anything wrong.
pub(super) fn read(json: &[u8]) -> Option<FastChunk<'_>> {
    let mut reader = Reader { length: json.len(), chunk: FastChunk::default(), elsewhere: false };
    let mut choices = None;
    let mut walk = JsonCursor::new(json);
    walk.object(|walk, name, seen| match name {
        b"choices" => seen.once(0, walk, |walk| {
            choices = Some(walk.array(|walk| reader.choice(walk))?);
            Some(())
        }),
        b"usage" => seen.once(1, walk, |walk| reader.usage(walk)),
        b"object" => seen.once(2, walk, |walk| CHUNKS.contains(&walk.string()?).then_some(())),
        // Beside choices, an error of `null` is no error; anything else is left to the full reader.
        b"type" | b"event" | b"status" | b"status_code" | b"code" | b"success" | b"x_groq" | b"data" | b"base_resp" => {
            walk.null().then_some(())
        }
        name if names_error(name) => walk.null().then_some(()),
        _ => walk.any(),
    })?;
    walk.end()?;
    let is_known = reader.chunk.said.text.is_some() || !reader.elsewhere;
    (matches!(choices, Some(0 | 1)) && is_known).then_some(reader.chunk)
}

/// A chunk under way.
struct Reader<'a> {
    /// Length of the JSON.
    length: usize,
    chunk: FastChunk<'a>,
    /// Whether a field of another name may have text.
    elsewhere: bool,
}

impl<'a> Reader<'a> {
    fn choice(&mut self, walk: &mut JsonCursor<'a>) -> Option<()> {
        self.chunk.index = Some(0);
        walk.object(|walk, name, seen| match name {
            b"index" => seen.once(0, walk, |walk| {
                self.chunk.index = Some(u32::try_from(walk.count()?).ok()?);
                Some(())
            }),
            b"delta" => seen.once(1, walk, |walk| self.delta(walk)),
            b"text" => seen.once(2, walk, |walk| self.text(walk, ChunkText::Content)),
            b"finish_reason" => seen.once(3, walk, |walk| {
                let word = walk.string().filter(|word| !word.contains(&b'\\'))?;
                self.chunk.finish = Some(str::from_utf8(word).ok()?).filter(|word| !word.is_empty());
                Some(())
            }),
            b"token_ids" => seen.once(4, walk, |walk| {
                self.chunk.said.token_ids = Some(walk.array(JsonCursor::any)?);
                Some(())
            }),
            // The message is that of a whole answer, the usage Moonshot's, the other reason that of a
            // gateway's provider.
            b"message" | b"usage" | b"native_finish_reason" => walk.null().then_some(()),
            name if names_error(name) => walk.null().then_some(()),
            _ => walk.any(),
        })
    }

    fn delta(&mut self, walk: &mut JsonCursor<'a>) -> Option<()> {
        walk.object(|walk, name, seen| match name {
            b"content" => seen.once(0, walk, |walk| self.text(walk, ChunkText::Content)),
            b"reasoning" => seen.once(1, walk, |walk| self.text(walk, ChunkText::Reasoning)),
            b"reasoning_content" => seen.once(2, walk, |walk| self.text(walk, ChunkText::Reasoning)),
            b"refusal" => seen.once(3, walk, |walk| self.text(walk, ChunkText::Content)),
            b"tool_calls" => seen.once(4, walk, |walk| walk.array(|walk| self.tool_call(walk)).map(drop)),
            b"function_call" => walk.null().then_some(()),
            name if names_error(name) => walk.null().then_some(()),
            name if str::from_utf8(name).is_ok_and(is_reasoning) => walk.null().then_some(()),
            b"role" => walk.any(),
            _ if walk.null() => Some(()),
            _ => {
                self.elsewhere = true;
                walk.any()
            }
        })
    }

    fn tool_call(&mut self, walk: &mut JsonCursor<'a>) -> Option<()> {
        walk.object(|walk, name, seen| match name {
            b"function" => seen.once(0, walk, |walk| self.function(walk)),
            _ => walk.any(),
        })
    }

    fn function(&mut self, walk: &mut JsonCursor<'a>) -> Option<()> {
        walk.object(|walk, name, seen| match name {
            b"name" => seen.once(0, walk, |walk| self.text(walk, ChunkText::ToolCall)),
            b"arguments" => seen.once(1, walk, |walk| self.text(walk, ChunkText::ToolCall)),
            _ => walk.any(),
        })
    }

    fn text(&mut self, walk: &mut JsonCursor<'a>, kind: ChunkText) -> Option<()> {
        let text = walk.string()?;
        if !text.is_empty() {
            let end = self.length - walk.left() - 1;
            self.chunk.text_at = end - text.len()..end;
            self.chunk.text_bytes += text.len();
            let said = &mut self.chunk.said;
            said.text = ChunkText::stronger(said.text, Some(kind));
        }
        Some(())
    }

    fn usage(&mut self, walk: &mut JsonCursor<'a>) -> Option<()> {
        let (mut usage, mut cached, mut reasoning) = (Usage::default(), None, None);
        walk.object(|walk, name, seen| match name {
            b"cached_tokens" => seen.once(4, walk, |walk| count(walk, &mut cached)),
            b"reasoning_tokens" => seen.once(5, walk, |walk| count(walk, &mut reasoning)),
            b"prompt_tokens" => seen.once(0, walk, |walk| count(walk, &mut usage.prompt_tokens)),
            b"completion_tokens" => seen.once(1, walk, |walk| count(walk, &mut usage.completion_tokens)),
            b"prompt_tokens_details" => {
                seen.once(2, walk, |walk| detail(walk, b"cached_tokens", &mut usage.cached_tokens))
            }
            b"completion_tokens_details" => {
                seen.once(3, walk, |walk| detail(walk, b"reasoning_tokens", &mut usage.reasoning_tokens))
            }
            // Failures, and counts of other APIs.
            b"error" | b"input_tokens" | b"output_tokens" | b"prompt_cache_hit_tokens" => walk.null().then_some(()),
            _ => walk.any(),
        })?;
        usage.cached_tokens = usage.cached_tokens.or(cached);
        usage.reasoning_tokens = usage.reasoning_tokens.or(reasoning);
        self.chunk.said.usage = counted(usage);
        Some(())
    }
}

fn count(walk: &mut JsonCursor<'_>, found: &mut impl From<u64>) -> Option<()> {
    *found = walk.count()?.into();
    Some(())
}

/// The count called `wanted` in an object.
fn detail(walk: &mut JsonCursor<'_>, wanted: &[u8], found: &mut Option<u64>) -> Option<()> {
    walk.object(|walk, name, seen| match name {
        name if name == wanted => seen.once(0, walk, |walk| count(walk, found)),
        _ => walk.any(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::protocols::choices::CHOICES;
    use crate::engine::stream::chunk::ChunkJson;
    use crate::engine::stream::fast_chunk::ChunkContents;
    use crate::engine::stream::fast_chunk::ChunkText::{Content, Reasoning, ToolCall};

    fn choice(delta: &str) -> String {
        format!(r#"{{"id":"x","choices":[{{"index":2,"delta":{delta},"finish_reason":null}}],"usage":null}}"#)
    }

    #[test]
    fn the_shapes_of_servers_are_usual() {
        for (json, index, text, at) in [
            (choice(r#"{"content":"a\n"}"#), 2, Some(Content), r"a\n"),
            (choice(r#"{"role":"assistant","content":""}"#), 2, None, ""),
            (
                choice(r#"{"role":null,"content":null,"reasoning_content":"b","tool_calls":null}"#),
                2,
                Some(Reasoning),
                "b",
            ),
            (choice(r#"{"reasoning":"b","content":"c"}"#), 2, Some(Content), "c"),
            (choice(r#"{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{"}}]}"#), 2, Some(ToolCall), "{"),
            (r#"{"choices":[{"text":" é","logprobs":{"tokens":[1.5e-3,-2]}}]}"#.to_owned(), 0, Some(Content), " é"),
        ] {
            let chunk = read(json.as_bytes()).unwrap();
            assert_eq!((chunk.index, chunk.said.text), (Some(index), text), "{json}");
            assert_eq!(&json[chunk.text_at], at, "{json}");
        }
    }

    #[test]
    fn counts_ids_and_reasons_are_read() {
        let json = br#"{"choices":[{"index":0,"delta":{},"token_ids":[7, 8],"finish_reason":"stop"}],
            "usage":{"prompt_tokens":12,"total_tokens":15,"completion_tokens":3,
                "prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":2}}}"#;
        let chunk = read(json).unwrap();
        let usage =
            Usage { prompt_tokens: 12, completion_tokens: 3, cached_tokens: Some(8), reasoning_tokens: Some(2) };
        assert_eq!(chunk.said, ChunkContents { text: None, token_ids: Some(2), usage: Some(usage) });
        assert_eq!(chunk.finish, Some("stop"));
        let alone = br#"{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3}}"#;
        let usage = Usage { cached_tokens: None, reasoning_tokens: None, ..usage };
        let said = ChunkContents { usage: Some(usage), ..ChunkContents::default() };
        assert_eq!(read(alone), Some(FastChunk { said, ..FastChunk::default() }));
    }

    #[test]
    fn what_is_not_usual_is_left_to_the_full_reader() {
        for (json, valid) in [
            (r#"{"usage":{"prompt_tokens":1}}"#, true),
            (r#"{"choices":[],"error":"x"}"#, true),
            (r#"{"choices":[{},{}]}"#, true),
            (r#"{"choices":[{}],"error":"x"}"#, true),
            (r#"{"choices":[{"\u0069ndex":1}]}"#, true),
            (r#"{"choices":[{"message":{"content":"x"}}]}"#, true),
            (r#"{"choices":[{"finish_reason":"\u0061bort"}]}"#, true),
            (r#"{"choices":[{"delta":{"content":"\ud83d\ude00"}}]}"#, true),
            (r#"{"choices":[{"delta":{"content":"\ud83d"}}]}"#, true),
            (r#"{"choices":[{"index":1.0}]}"#, true),
            (r#"{"choices":[{"index":-1}]}"#, true),
            (r#"{"choices":[{"index":4294967296}]}"#, true),
            (r#"{"choices":[{"index":0,"index":0}]}"#, true),
            (r#"{"choices":[{}],"choices":null}"#, true),
            (r#"{"choices":[{"delta":{"content":5}}]}"#, true),
            (r#"{"choices":[{"delta":"x"}]}"#, true),
            (r#"{"choices":[{"delta":{"content":"","inner_voice":"x"}}]}"#, true),
            (r#"{"choices":[{"delta":{"error":"x"}}]}"#, true),
            (r#"{"choices":[{}],"success":false}"#, true),
            (r#"{"choices":[{}]} x"#, false),
            (r#"{"choices":[{},]}"#, false),
        ] {
            assert_eq!(read(json.as_bytes()), None, "{json}");
            assert_eq!(ChunkJson::parse(json.as_bytes(), &CHOICES).is_ok(), valid, "{json}");
        }
    }

    #[test]
    fn a_member_that_comes_twice_is_left_to_the_full_reader_which_takes_the_last() {
        for (around, members) in [
            ("{@}", &[r#""choices":[{}]"#, r#""usage":null"#, r#""object":null"#][..]),
            (
                r#"{"choices":[{@}]}"#,
                &[
                    r#""index":0"#,
                    r#""delta":null"#,
                    r#""text":null"#,
                    r#""finish_reason":null"#,
                    r#""token_ids":null"#,
                ],
            ),
            (
                r#"{"choices":[{"delta":{@}}]}"#,
                &[
                    r#""content":null"#,
                    r#""reasoning":null"#,
                    r#""reasoning_content":null"#,
                    r#""refusal":null"#,
                    r#""tool_calls":null"#,
                ],
            ),
            (r#"{"choices":[{"delta":{"tool_calls":[{@}]}}]}"#, &[r#""function":null"#]),
            (
                r#"{"choices":[{"delta":{"tool_calls":[{"function":{@}}]}}]}"#,
                &[r#""name":null"#, r#""arguments":null"#],
            ),
            (
                r#"{"choices":[{}],"usage":{@}}"#,
                &[
                    r#""prompt_tokens":1"#,
                    r#""completion_tokens":1"#,
                    r#""prompt_tokens_details":null"#,
                    r#""completion_tokens_details":null"#,
                ],
            ),
            (r#"{"choices":[{}],"usage":{"prompt_tokens_details":{@}}}"#, &[r#""cached_tokens":1"#]),
            (r#"{"choices":[{}],"usage":{"completion_tokens_details":{@}}}"#, &[r#""reasoning_tokens":1"#]),
        ] {
            for member in members {
                let twice = around.replace('@', &format!("{member},{member}"));
                assert_eq!(read(twice.as_bytes()), None, "{twice}");
                assert!(ChunkJson::parse(twice.as_bytes(), &CHOICES).is_ok(), "{twice}");
                let other = around.replace('@', &format!(r#"{member},"x":null,"x":null"#));
                assert_eq!(read(other.as_bytes()).is_some(), other.contains(r#""choices""#), "{other}");
            }
        }
    }
}
