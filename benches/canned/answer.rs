//! Renders answers with the events of vLLM 0.32, each a chunk of HTTP/1.1.

use std::io::Write as _;

use super::request::{Counts, Order, Shape};

/// Events in one write of a server that goes flat out: some 15 KB.
pub(super) const BLOCK: u32 = 64;

/// Tokens of every prompt, as far as this server is concerned.
const PROMPT_TOKENS: u32 = 12;

pub(super) const STREAM_HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nserver: canned\r\n\
    content-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";
pub(super) const NOT_FOUND: &[u8] = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
pub(super) const READY: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
pub(super) const MODELS: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n\
    {\"object\":\"list\",\"data\":[{\"id\":\"tiny-llama\",\"object\":\"model\",\"created\":1,\"max_model_len\":1000000}]}";

/// What answers say, over and over.
const WORDS: [&str; 16] = [
    " feature", " the", "Selector", " of", " UNIX", "ing", " path", "_total", " why", " error", "s", " in", " resized",
    " a", " stream", " queue",
];

/// An answer on its way out.
#[derive(Debug)]
pub(super) struct Answer {
    order: Order,
    told: u32,
}

impl Answer {
    pub(super) fn new(order: Order) -> Self {
        Self { order, told: 0 }
    }

    pub(super) fn name(&self) -> &str {
        &self.order.name
    }

    pub(super) fn is_whole(&self) -> bool {
        self.told == self.order.tokens
    }

    /// Appends the next token to `out`; with the first what goes before it, with the last what comes after.
    pub(super) fn render(&mut self, out: &mut Vec<u8>) {
        let Order { shape, counts, tokens, .. } = self.order;
        if self.told == 0 && shape == Shape::Chat {
            let usage = self.usage(Counts::Always);
            event(out, |out| {
                head(out, shape);
                out.extend_from_slice(
                    br#"{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]"#,
                );
                out.extend_from_slice(usage.as_bytes());
                out.extend_from_slice(br#","prompt_token_ids":null,"prompt_text":null}"#);
            });
        }
        let word = WORDS[self.told as usize % WORDS.len()];
        self.told += 1;
        let finish = if self.is_whole() { r#""length","stop_reason":null"# } else { "null" };
        let usage = self.usage(Counts::Always);
        event(out, |out| {
            head(out, shape);
            let (before, after) = match shape {
                Shape::Chat => (r#"{"index":0,"delta":{"content":""#, r#""},"#),
                Shape::Completions => (r#"{"index":0,"text":""#, r#"","#),
            };
            for part in [before, word, after, r#""logprobs":null,"finish_reason":"#, finish] {
                out.extend_from_slice(part.as_bytes());
            }
            out.extend_from_slice(br#","token_ids":null}]"#);
            out.extend_from_slice(usage.as_bytes());
            out.push(b'}');
        });
        if self.told < tokens {
            return;
        }
        if counts != Counts::None {
            let usage = self.usage(counts);
            event(out, |out| {
                head(out, shape);
                out.push(b']');
                out.extend_from_slice(usage.as_bytes());
                out.push(b'}');
            });
        }
        event(out, |out| out.extend_from_slice(b"[DONE]"));
        out.extend_from_slice(b"0\r\n\r\n");
    }

    /// The field that tells how many tokens there were so far, for those who want it this often.
    fn usage(&self, wanted: Counts) -> String {
        if self.order.counts != wanted {
            return String::new();
        }
        let (told, total) = (self.told, PROMPT_TOKENS + self.told);
        format!(r#","usage":{{"prompt_tokens":{PROMPT_TOKENS},"total_tokens":{total},"completion_tokens":{told}}}"#)
    }
}

fn head(out: &mut Vec<u8>, shape: Shape) {
    out.extend_from_slice(match shape {
        Shape::Chat => {
            br#"{"id":"chatcmpl-99ed7cf5f811ae7f","object":"chat.completion.chunk","created":1795226998,"model":"tiny-llama","choices":["#
        }
        Shape::Completions => {
            br#"{"id":"cmpl-8424405785823f8e","object":"text_completion","created":1795227003,"model":"tiny-llama","choices":["#
        }
    });
}

/// One server-sent event as one chunk: its size in four hexadecimal digits is known when it is written.
fn event(out: &mut Vec<u8>, data: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    out.extend_from_slice(b"0000\r\ndata: ");
    data(out);
    out.extend_from_slice(b"\n\n\r\n");
    let size = out.len() - begin - b"0000\r\n".len() - b"\r\n".len();
    write!(&mut out[begin..begin + 4], "{size:04x}").unwrap();
}
