//! The cure for a test request that failed.

use crate::engine::answer::{Cause, DiagnosedFailure};
use crate::engine::intake::listing;
use crate::engine::openai::hints::{of_no_endpoint, of_redirect, of_refused_field, of_refused_key, of_unready};
use crate::engine::openai::readiness::hint_for;
use crate::engine::target::{PriorityField, Target};
use crate::generator::PromptNeed;
use crate::record::{Failure, FailureKind};

/// Returns the cure for `fault`, of a test request to `model` at `target`. The target has the models that are `listed`.
pub(super) fn diagnose(target: &Target, model: &str, listed: &[String], fault: &DiagnosedFailure) -> String {
    let DiagnosedFailure { failure, cause } = fault;
    let unlisted = !listed.is_empty() && !listed.iter().any(|name| name == model);
    match failure.reason {
        _ if *cause == Cause::Endless => {
            "the server ignores how many tokens are requested, or its stream hangs: look at its log, and at proxies \
             before it"
                .into()
        }
        FailureKind::Connect | FailureKind::ClientLimit | FailureKind::Tls => hint_for(target, fault),
        FailureKind::HttpStatus(403) if failure.message.contains(SCALE_OUT) => {
            format!("this endpoint is off by default: start vLLM with {SCALE_OUT}")
        }
        FailureKind::HttpStatus(401 | 403) => of_refused_key(target),
        FailureKind::HttpStatus(400 | 404 | 422) if unlisted => {
            format!("the server does not list a model `{model}`; it lists: {}", listing(listed))
        }
        FailureKind::HttpStatus(400 | 404)
            if *cause == Cause::Field("model".to_owned()) || quotes(&failure.message, model) =>
        {
            format!("does the server serve `{model}`? name another with --model")
        }
        FailureKind::HttpStatus(404 | 405) => {
            let hint = of_no_endpoint(&target.url, &target.url.endpoint_path(target.endpoint), !listed.is_empty());
            hint + &of_no_results(target)
        }
        FailureKind::HttpStatus(400 | 422)
            if target.priority == PriorityField::Sent && failure.message.to_lowercase().contains("priority") =>
        {
            let with = target.dialect.start_options().priority.map(|option| format!(": start it with {option}"));
            format!("the server does not accept priorities{}, or leave --send-priority out", with.unwrap_or_default())
        }
        FailureKind::HttpStatus(400 | 415 | 422) => {
            let named = if let Cause::Field(name) = cause { Some(name.as_str()) } else { None };
            of_refused_field(target, named, &failure.message)
        }
        FailureKind::HttpStatus(status @ (413 | 429 | 500..)) => of_unready(target, status, &failure.message),
        FailureKind::HttpStatus(_) => match cause {
            Cause::Redirects(location) => {
                of_redirect(&target.url, &target.url.endpoint_path(target.endpoint), location)
            }
            _ => "the server answers with an unexpected status: check --url (is it https?)".into(),
        },
        FailureKind::Malformed if is_of_audio(target) && target.fixes("response_format") => {
            "answers are read as JSON: take `response_format` out of --extra-body, or ask for \"verbose_json\"".into()
        }
        FailureKind::Malformed if *cause == Cause::NotStreaming => {
            "the server, or a proxy before it, does not stream: measure whole answers with --no-stream".into()
        }
        FailureKind::Malformed if *cause == Cause::ContentType => {
            "is this the address of an LLM server and not of a web page or proxy? check --url".into()
        }
        FailureKind::Malformed if *cause == Cause::Compressed => {
            "switch compression off for event streams in the proxy before the server".into()
        }
        FailureKind::Malformed | FailureKind::Empty if target.endpoint.inputs.is_some() => {
            of_other_results(target, &failure.message)
        }
        FailureKind::Malformed | FailureKind::Empty | FailureKind::Truncated if target.endpoint.template.is_some() => {
            of_template(target, failure).unwrap_or_default()
        }
        FailureKind::Malformed => "the server does not speak the OpenAI protocol: check --url and --endpoint".into(),
        FailureKind::StreamError | FailureKind::Aborted => "the server failed while answering: look at its log".into(),
        FailureKind::Empty if is_of_audio(target) => {
            "the model heard no words in the audio, which is made for the run: try more of it with --audio, another \
             model, or look at the server's log"
                .into()
        }
        FailureKind::Empty => {
            let other = target.endpoint.another(|_| true);
            format!("the model returned no text: try --endpoint {other}, or look at the server's log")
        }
        FailureKind::Reset | FailureKind::Truncated => {
            "the server or a proxy before it closed the connection: look at its log and time limits".into()
        }
        FailureKind::Internal => "this is a bug in skyline: please report it".into(),
        FailureKind::TimeoutFirstToken | FailureKind::TimeoutBetweenTokens | FailureKind::TimeoutTotal => {
            "the server is slow or stuck: look at its log, and whether other load runs on it".into()
        }
    }
}

/// Whether requests have audio.
fn is_of_audio(target: &Target) -> bool {
    target.endpoint.only == Some(PromptNeed::Audio)
}

/// Option with which vLLM serves token ids.
const SCALE_OUT: &str = "--enable-scale-out";

/// The cure for an answer in which a template finds no text, or no end.
fn of_template(target: &Target, failure: &Failure) -> Option<String> {
    let pointers = target.endpoint.answers.pointers?;
    let is_found = failure.message.contains("with text");
    let end = pointers.end.as_ref().map(|end| format!("`end = {end:?}`"));
    let end = end.or_else(|| pointers.last.as_ref().map(|last| format!("`last = \"{last}\"`")));
    Some(match (target.endpoint.template_file(), end) {
        (None, _) => {
            let endpoint = target.endpoint;
            format!("the answer is none of the endpoint {endpoint}: check --url, --endpoint and --path")
        }
        _ if failure.message.contains("is not the JSON of a chunk") => {
            "an event is no JSON: if it ends the stream, say so in the template with `end`".to_owned()
        }
        (Some(_), Some(end)) if is_found => {
            format!("nothing in the answer is {end}: correct it in the template, or take it out")
        }
        _ => format!("correct `text = \"{}\"` in the template by the words of the answer", pointers.text),
    })
}

/// Further cause of a missing endpoint for results or audio: the model is for texts.
fn of_no_results(target: &Target) -> String {
    if is_of_audio(target) {
        return "; a model that reads text alone has no transcriptions: serve one for speech, such as Whisper".into();
    }
    if target.endpoint.inputs.is_none() {
        return String::new();
    }
    format!(
        "; a model that generates text has no {}: serve one for it (vLLM: --runner pooling, llama.cpp: --embedding or \
         --reranking)",
        target.endpoint
    )
}

/// The cure for results that are too few, or in another form than asked for.
fn of_other_results(target: &Target, words: &str) -> String {
    let endpoint = target.endpoint;
    if words.starts_with("vectors came as") {
        return "ask for the form that comes: --extra-body '{\"encoding_format\": \"float\"}', or \"base64\"".into();
    }
    if words.contains(" were asked for") {
        return "does the server take so many inputs at once? lower --batch, or leave `top_n` out of --extra-body"
            .into();
    }
    format!("the answer is none of the endpoint {endpoint}: check --endpoint and --path, and what the model is for")
}

/// An option of the server in use, if one is known: ` (--jinja)`.
pub(in crate::engine::openai) fn in_brackets(option: Option<&str>) -> String {
    option.map_or_else(String::new, |option| format!(" ({option})"))
}

/// Returns whether a server's message quotes the model's name. Servers without a field for it (older vLLM, Ollama)
/// report an unknown model this way.
fn quotes(words: &str, model: &str) -> bool {
    [('`', '`'), ('"', '"'), ('\'', '\'')].iter().any(|(open, close)| words.contains(&format!("{open}{model}{close}")))
}
