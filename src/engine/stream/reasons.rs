//! The words by which servers say how an answer ended.

use crate::engine::intake::ServerText;
use crate::engine::secrets::Secrets;
use crate::record::FinishReason;

/// The meaning of a server's finish reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The word is no reason: the answer goes on.
    GoesOn,
    /// The answer is over; a word that nobody knows is kept.
    Ended(FinishReason),
    /// The server gave the answer up.
    Failed(String),
}

/// Words for "no reason yet" that stand in place of `null`.
const NO_REASON: &str = "null none nil undefined unspecified not_finished in_progress false";

/// Finish reasons of OpenAI, vLLM, SGLang, TensorRT-LLM, TGI, llama.cpp, Mistral, Anthropic, Gemini and gateways.
const REASONS: [(FinishReason, &str); 4] = [
    (
        FinishReason::Stop,
        "stop eos eos_token end end_turn end_of_turn end_of_text end_id stop_sequence stop_token stop_string stop_str \
         stop_word stop_words complete completed completion done finish finished success normal",
    ),
    (
        FinishReason::Length,
        "length max_tokens max_length max_new_tokens max_output_tokens max_completion_tokens token_limit model_length \
         model_context_window_exceeded",
    ),
    (FinishReason::ToolCalls, "tool_calls tool_call tool_use tool function_call function_calls"),
    (
        FinishReason::ContentFilter,
        "content_filter content_filtered safety image_safety recitation blocklist language prohibited_content spii \
         refusal sensitive moderation guardrail_intervened",
    ),
];

/// Parts of words that say failure wherever they stand: events, types and states too.
const ERRORS: &str = "error fail exception abort fatal traceback";
/// Parts of words that say that there is none.
const NO_ERROR: &str = "no_error noerror error_none";
/// Parts of finish reasons that mean the limit of the length, whatever else they say.
const LIMITS: &str = "max_tokens token_limit context_length context_window max_length";
/// Parts of finish reasons and comments that say it beside these.
const FAILURES: &str = "cancel timeout time_out timed_out disconnect connection insufficient overload unavailable \
    crash out_of_memory kill interrupt incomplete malformed unexpected invalid evict preempt reject denied expired \
    exhausted exceeded shut_down shutdown shutting rate_limit throttl panic oom died dead dropped lost overflow quota \
    capacity stalled broken unhealthy refused";

/// A word in the form of the tables.
fn plain(word: &str) -> String {
    word.trim().to_ascii_lowercase().replace(['-', ' '], "_")
}

/// Returns whether a name of an event is that of an error. It may also be the type or state of a document.
pub(crate) fn is_error(word: &str) -> bool {
    let word = plain(word);
    ERRORS.split(' ').any(|part| word.contains(part)) && !NO_ERROR.split(' ').any(|part| word.contains(part))
}

/// Whether the field of this name holds an error: `error`, `errors`, `error_msg`, `exception`.
pub(crate) fn names_error(name: &[u8]) -> bool {
    [&b"error"[..], b"err_", b"exception"].iter().any(|begin| name.starts_with(begin))
}

/// Returns whether the text of an event only keeps the connection alive. It may also be the type of a document.
pub(crate) fn is_ping(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    ["ping", "heartbeat", "keep"].iter().any(|ping| word.trim_start_matches([':', ' ']).starts_with(ping))
}

/// Whether a finish reason or a comment says that something failed.
pub(crate) fn says_failure(words: &str) -> bool {
    let words = plain(words);
    ERRORS.split(' ').chain(FAILURES.split_whitespace()).any(|part| words.contains(part))
}

/// The meaning of a server's finish reason, without `secrets`.
pub(crate) fn ending(word: &str, secrets: &Secrets) -> Ending {
    let plain = plain(word);
    let plain =
        ["finish_reason_", "finishreason."].iter().find_map(|prefix| plain.strip_prefix(prefix)).unwrap_or(&plain);
    if plain.is_empty() || NO_REASON.split(' ').any(|word| word == plain) {
        return Ending::GoesOn;
    }
    if let Some((reason, _)) = REASONS.iter().find(|(_, words)| words.split(' ').any(|word| word == plain)) {
        return Ending::Ended(reason.clone());
    }
    if LIMITS.split(' ').any(|part| plain.contains(part)) {
        return Ending::Ended(FinishReason::Length);
    }
    let word = ServerText::FinishReason.without(secrets, word);
    if says_failure(plain) { Ending::Failed(word) } else { Ending::Ended(FinishReason::Other(word)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_says_that_the_answer_goes_on_ended_or_failed() {
        let meaning = |word: &str| ending(word, &Secrets::default());
        for word in ["null", "None", "unspecified", "FINISH_REASON_UNSPECIFIED", " ", "NOT_FINISHED"] {
            assert_eq!(meaning(word), Ending::GoesOn, "{word}");
        }
        for (word, reason) in [
            ("stop", FinishReason::Stop),
            ("STOP", FinishReason::Stop),
            ("end_turn", FinishReason::Stop),
            ("eos_token", FinishReason::Stop),
            ("MAX_TOKENS", FinishReason::Length),
            ("FINISH_REASON_MAX_TOKENS", FinishReason::Length),
            ("model_context_window_exceeded", FinishReason::Length),
            ("max_tokens_exceeded", FinishReason::Length),
            ("tool_use", FinishReason::ToolCalls),
            ("content-filter", FinishReason::ContentFilter),
            ("SAFETY", FinishReason::ContentFilter),
            ("repetition", FinishReason::Other("repetition".to_owned())),
            ("Weary", FinishReason::Other("Weary".to_owned())),
        ] {
            assert_eq!(meaning(word), Ending::Ended(reason), "{word}");
        }
        for word in [
            "error",
            "abort",
            "aborted",
            "cancelled",
            "CANCELED",
            "network_error",
            "timeout",
            "timed out",
            "failed",
            "server_error",
            "insufficient_system_resource",
            "MALFORMED_FUNCTION_CALL",
            "engine-overloaded",
            "connection_lost",
            "out_of_memory",
        ] {
            assert_eq!(meaning(word), Ending::Failed(word.to_owned()), "{word}");
        }
    }

    #[test]
    fn names_of_events_are_errors_only_where_they_say_so() {
        assert!(["error", "Exception", "response.failed", "stream_error"].map(is_error).iter().all(|is| *is));
        assert!(!["message", "ping", "tool_call_dispatch", "connection", "interrupt"].map(is_error).contains(&true));
    }
}
