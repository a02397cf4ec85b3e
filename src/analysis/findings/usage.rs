//! Counters of the tokens of answers, endpoint by endpoint.

/// Says what has the answers of an endpoint counted. A tokenizer may have counted some of them.
pub(super) fn counting(endpoint: &str, is_streamed: bool, has_tokenizer: bool) -> String {
    let asked = match endpoint {
        "triton" => "answers of this API have no counts",
        "custom" => "name the counts of answers in the template, if they have some",
        "chat" | "completions" | "tokens" if is_streamed => "let the server send usage (stream_options.include_usage)",
        "transcriptions" if is_streamed => "let the server send usage (stream_include_usage)",
        _ => "let the server send usage",
    };
    let or = if endpoint == "triton" { "so" } else { "or" };
    if is_streamed && has_tokenizer {
        return format!(
            "the tokenizer counts only complete answers, and only after a run that is not aborted; {asked}"
        );
    }
    format!("{asked}, {or} give --tokenizer, which counts answers after the run")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_field_is_named_that_an_endpoint_does_not_have() {
        for (endpoint, streamed, tokenizer, says) in [
            ("chat", true, false, "let the server send usage (stream_options.include_usage), or give --tokenizer"),
            ("chat", false, false, "let the server send usage, or give --tokenizer"),
            ("completions", true, true, "not aborted; let the server send usage (stream_options.include_usage)"),
            ("triton", true, false, "answers of this API have no counts, so give --tokenizer"),
            ("transcriptions", true, false, "let the server send usage (stream_include_usage), or"),
            ("custom", true, false, "name the counts of answers in the template, if they have some, or give"),
            ("responses", true, false, "let the server send usage, or give --tokenizer"),
        ] {
            let cure = counting(endpoint, streamed, tokenizer);
            assert!(cure.contains(says), "{endpoint}: {cure}");
        }
    }
}
