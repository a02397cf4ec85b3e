//! Reads what a client asks for.

use serde::Deserialize;

/// What one request wants.
#[derive(Debug)]
pub(super) enum Wanted {
    /// The list of models.
    Models,
    /// Whether the server is ready.
    Health,
    /// An answer, token by token.
    Answer(Order),
    /// Something that this server does not have, such as a tokenizer.
    Unknown,
}

/// An answer to be given.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) name: String,
    pub(super) shape: Shape,
    pub(super) tokens: u32,
    pub(super) counts: Counts,
}

/// The form of an answer's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Chat,
    Completions,
}

/// Which events bring the count of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counts {
    None,
    InTheEnd,
    Always,
}

/// The fields that matter. What a load generator sends besides is none of this server's business.
#[derive(Deserialize)]
struct Body {
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    #[serde(default)]
    stream_options: StreamOptions,
}

#[derive(Default, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
    #[serde(default)]
    continuous_usage_stats: bool,
}

/// The first request in `received` and its length in bytes; none while it is not whole.
///
/// Panics at what no sound client sends, so that a benchmark of nonsense ends at once.
pub(super) fn read(received: &[u8]) -> Option<(Wanted, usize)> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(head) = request.parse(received).unwrap() else { return None };
    let header = |name: &str| {
        let found = request.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        found.map(|header| std::str::from_utf8(header.value).unwrap())
    };
    let length = header("content-length").map_or(0, |length| length.parse::<usize>().unwrap());
    let body = received.get(head..head + length)?;
    let order = |shape| Wanted::Answer(order(shape, header("x-request-id").unwrap_or_default(), body));
    let wanted = match request.path.unwrap_or_default() {
        "/v1/models" => Wanted::Models,
        "/health" => Wanted::Health,
        "/v1/chat/completions" => order(Shape::Chat),
        "/v1/completions" => order(Shape::Completions),
        _ => Wanted::Unknown,
    };
    Some((wanted, head + length))
}

fn order(shape: Shape, name: &str, body: &[u8]) -> Order {
    let body: Body = serde_json::from_slice(body).unwrap();
    let StreamOptions { include_usage, continuous_usage_stats } = body.stream_options;
    let counts = match (include_usage, continuous_usage_stats) {
        (false, _) => Counts::None,
        (true, false) => Counts::InTheEnd,
        (true, true) => Counts::Always,
    };
    let tokens = body.max_tokens.or(body.max_completion_tokens).unwrap();
    Order { name: name.to_owned(), shape, tokens, counts }
}
