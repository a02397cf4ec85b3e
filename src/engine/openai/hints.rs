//! What helps against an answer that refuses, leads elsewhere, or is not the server's own.

use http::header::AUTHORIZATION;
use reqwest::Url;

use crate::engine::address::BaseUrl;
use crate::engine::protocols::protocol::Protocol;
use crate::engine::secrets::names_a_credential;
use crate::engine::target::Target;
use crate::generator::PromptNeed;

/// Words of servers that are about to be ready.
const LOADING_WORDS: [&str; 6] = ["loading", "starting", "warm", "initializ", "initialis", "not ready"];

/// For a server that is up, or may be, and is not ready.
pub(super) const LOADING: &str =
    "the server is up but not ready; a model may take minutes to load: wait longer with --wait";

/// Words of servers that miss a key, or refuse it, whatever their status.
const KEY_WORDS: [&str; 4] = ["api key", "api_key", "authentication error", "unauthorized"];

/// Whether the server's words are about a key.
pub(super) fn names_key(words: &str) -> bool {
    let words = words.to_lowercase();
    KEY_WORDS.iter().any(|word| words.contains(word))
}

/// Whether they are of a server that is about to be ready.
pub(super) fn is_loading(words: &str) -> bool {
    let words = words.to_lowercase();
    LOADING_WORDS.iter().any(|word| words.contains(word))
}

/// For a 401 or 403: which key was sent, and from where.
pub(super) fn of_refused_key(target: &Target) -> String {
    let replaced = target.headers.iter().any(|header| *header.name() == AUTHORIZATION);
    let key = target.api_key.as_ref().filter(|_| !replaced).map(|key| match key.variable() {
        Some(name) => format!("the key in the environment variable {name}"),
        None => "the API key".to_owned(),
    });
    let named = target.headers.iter().map(|header| header.name().as_str()).filter(|name| names_a_credential(name));
    let sent: Vec<_> = key.into_iter().chain(named.map(|name| format!("the header {name} of --header"))).collect();
    if sent.is_empty() {
        return "no key was sent: set OPENAI_API_KEY, name another variable with --api-key-env, or give --header \
                'NAME: env:VARIABLE'"
            .to_owned();
    }
    format!(
        "sent was {}, and it was refused: check it, name the variable of another with --api-key-env, or give --header \
         'NAME: env:VARIABLE'",
        sent.join(" and ")
    )
}

/// Fields that a request can do without, by which servers refuse it in their words.
const OPTIONAL: [&str; 12] = [
    "ignore_eos",
    "min_tokens",
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "continuous_usage_stats",
    "stream_options",
    "priority",
    "response_format",
    "tool_choice",
    "tools",
];
/// Fields that it cannot do without, beside the prompt.
const NEEDED: [&str; 2] = ["input", "stream"];

/// Returns the hint for a field that the server does not take (400 or 422). The error object names the field, else the
/// words do.
pub(super) fn of_refused_field(target: &Target, named: Option<&str>, words: &str) -> String {
    let other = format!("choose the server's own --engine (now {})", target.dialect);
    let by_words = || {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let limits = Protocol::all().flat_map(|protocol| protocol.limits).copied();
        let known: Vec<&str> = OPTIONAL.into_iter().chain(limits).collect();
        words.split(|c| !is_word(c)).find(|word| known.contains(word))
    };
    match named.or_else(by_words) {
        _ if target.endpoint.only == Some(PromptNeed::Audio) && is_about_audio(target, named, words) => format!(
            "the server does not take the audio: is `{}` served by a model for speech, and does it take so much audio \
             (--audio)?",
            target.endpoint
        ),
        Some(name) if NEEDED.contains(&name) || name == target.endpoint.prompt_field => format!(
            "the server does not take the request's `{name}` as it is: try another --endpoint (now {}), or {other}",
            target.endpoint
        ),
        Some(name) => format!(
            "the server does not take the field `{name}`: leave it out with --extra-body '{{\"{name}\": null}}', or \
             {other}"
        ),
        None => {
            format!("the server does not take the request as it is, and names no field: {other}, or look at its log")
        }
    }
}

/// Whether a refusal is about the file of audio.
fn is_about_audio(target: &Target, named: Option<&str>, words: &str) -> bool {
    let words = words.to_lowercase();
    named == Some(target.endpoint.prompt_field) || ["audio", "file", "duration"].iter().any(|word| words.contains(word))
}

/// Returns the hint for a redirect of `path` to `location`. It has the address to give in place of this one.
pub(super) fn of_redirect(url: &BaseUrl, path: &str, location: &str) -> String {
    let there = Url::parse(&url.shown(path)).and_then(|asked| asked.join(location)).ok();
    let mut tails = std::iter::once("/models").chain(Protocol::all().map(Protocol::below_api));
    let tail = tails.find(|tail| path.ends_with(tail));
    match (there, tail) {
        (Some(there), Some(tail)) if there.path().ends_with(tail) => {
            let before = there.path().strip_suffix(tail).unwrap_or_default();
            format!(
                "redirects are not followed; give the address that it leads to: --url {}{before}",
                there.origin().ascii_serialization()
            )
        }
        (Some(there), Some(tail)) if there.path().ends_with(&format!("{tail}/")) => {
            format!("redirects are not followed; give the path that it leads to: --path {}", there.path())
        }
        _ => "that is another page, perhaps of a login: check --url, and whether a key is needed (--api-key-env)"
            .to_owned(),
    }
}

/// Returns the hint for a 404 or 405 at `path`. `lists` says whether the server lists its models below the same
/// address.
pub(super) fn of_no_endpoint(url: &BaseUrl, path: &str, lists: bool) -> String {
    if lists {
        return format!(
            "the server has no {path}, though it has {}: choose another --endpoint, or name the endpoint's own path \
             with --path",
            url.models_path()
        );
    }
    format!(
        "the server has neither {path} nor {}: is its API below another path? give that in --url, such as {}, name the \
         endpoint's own path with --path, or choose another --endpoint",
        url.models_path(),
        url.shown("/api/v1")
    )
}

/// Returns the hint for a status that may change. It says whose it is, by the status and by what was said.
pub(super) fn of_unready(target: &Target, status: u16, words: &str) -> String {
    if is_loading(words) {
        return LOADING.to_owned();
    }
    if names_key(words) {
        return of_refused_key(target);
    }
    let around = match &target.proxy {
        Some(proxy) => format!("; NO_PROXY=HOST goes around the proxy {proxy}"),
        None => String::new(),
    };
    match status {
        502 | 504 => format!(
            "a gateway or proxy answers in place of the server, which it does not reach: check that the server runs, \
             and at which address the gateway expects it{around}"
        ),
        503 => format!(
            "the server, or a gateway before it, has nothing to answer with: look at their logs; if it is starting, \
             wait longer with --wait{around}"
        ),
        413 if target.endpoint.only == Some(PromptNeed::Audio) => "the file is larger than the server, or a proxy \
            before it, takes: raise its limit (vLLM: VLLM_MAX_AUDIO_CLIP_FILESIZE_MB; nginx: client_max_body_size), \
            or send less audio (--audio)"
            .to_owned(),
        413 => "the request is larger than the server, or a proxy before it, takes: raise its limit (nginx: \
                client_max_body_size), or shorten the prompts"
            .to_owned(),
        429 => "the server, or a gateway before it, limits how much it takes: wait, or raise its limit".to_owned(),
        _ => "the server failed: look at its log; if it is starting, wait longer with --wait".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::protocols::TRANSCRIPTIONS;
    use crate::engine::target::{CommonRequest, Secret};
    use crate::record::EngineKind;

    #[test]
    fn a_redirect_gives_the_address_to_type() {
        let hint = |url: &str, location: &str| of_redirect(&url.parse().unwrap(), "/v1/chat/completions", location);
        for (location, cure) in [
            ("https://h/v1/chat/completions", "--url https://h/v1"),
            ("https://h:8443/gate/v1/chat/completions", "--url https://h:8443/gate/v1"),
            ("/gate/v1/chat/completions", "--url http://h:8000/gate/v1"),
            ("/v1/chat/completions/", "--path /v1/chat/completions/"),
            ("https://h/login?next=***", "check --url"),
            ("::", "check --url"),
        ] {
            assert!(hint("http://h:8000", location).contains(cure), "{location}");
        }
    }

    #[test]
    fn a_refused_field_is_named_where_the_server_names_it() {
        let target = Target::new("http://h".parse().unwrap(), EngineKind::Openai);
        for (named, words, hint) in [
            (Some("temperature"), "no", r#"--extra-body '{"temperature": null}'"#),
            (None, "Unexpected fields in the request: {'ignore_eos'}", r#"'{"ignore_eos": null}'"#),
            (Some("messages"), "too deep", "try another --endpoint (now chat)"),
            (None, "no", "names no field: choose the server's own --engine (now openai)"),
        ] {
            let said = of_refused_field(&target, named, words);
            assert!(said.contains(hint) && !said.contains("\"field\""), "{said}");
        }
    }

    #[test]
    fn the_key_that_was_sent_is_named_by_where_it_came_from() {
        let mut target = Target::new("http://h".parse().unwrap(), EngineKind::Vllm);
        assert!(of_refused_key(&target).starts_with("no key was sent"));
        target.api_key = Some(Secret::new("hunter2"));
        target.headers = vec!["X-Api-Key: hunter2".parse().unwrap(), "X-Team: hunter2".parse().unwrap()];
        let both = of_refused_key(&target);
        assert!(both.starts_with("sent was the API key and the header x-api-key of --header"), "{both}");
        target.headers.push("Authorization: hunter2".parse().unwrap());
        let replaced = of_refused_key(&target);
        assert!(!replaced.contains("API key") && !replaced.contains("hunter2"), "{replaced}");
    }

    #[test]
    fn only_a_server_that_says_so_is_loading() {
        let target = Target::new("http://h".parse().unwrap(), EngineKind::Vllm);
        for (status, words, cure) in [
            (500, "Authentication Error, No api key passed in.", "no key was sent: set OPENAI_API_KEY"),
            (503, "Loading model", "take minutes to load"),
            (502, "Bad Gateway", "in place of the server"),
            (504, "", "in place of the server"),
            (503, "", "or a gateway before it"),
            (500, "boom", "the server failed"),
            (413, "too large", "shorten the prompts"),
        ] {
            assert!(of_unready(&target, status, words).contains(cure), "{status}");
        }
        let audio = Target { common: CommonRequest { endpoint: &TRANSCRIPTIONS, ..target.common.clone() }, ..target };
        assert!(of_unready(&audio, 413, "too large").contains("or send less audio (--audio)"));
    }
}
