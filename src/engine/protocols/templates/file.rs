//! Templates in files and in the binary, and the protocols that they are.

use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

use super::super::chat::CHAT;
use super::super::prompt::content;
use super::super::protocol::Protocol;
use super::body::{PROMPTS, TemplateBody, TemplateFile};
use crate::engine::dialect_traits::LengthForcing;
use crate::engine::stream::AnswerGrammar;
use crate::engine::stream::chunk::pointers::AnswerPointers;
use crate::engine::stream::form::AnswerForm;
use crate::generator::PromptNeed;
use crate::record::WorkKind;
use crate::units::hexadecimal;
use crate::workload::reading::{parse_toml, read_file, read_whole, spec_table};

/// Names and texts of the templates in the binary.
const READY: [(&str, &str); 2] = [("tgi", include_str!("tgi.toml")), ("triton", include_str!("triton.toml"))];

/// The protocols of the templates in the binary.
pub(in crate::engine::protocols) static READY_MADE: LazyLock<Vec<&'static Protocol>> = LazyLock::new(|| {
    let read = |text| read_whole(parse_toml(text), "a template", None, EndpointTemplate::read).ok();
    READY.iter().filter_map(|(name, text)| Some(read(text)?.protocol(name))).collect()
});

/// Parameters that a template may have no place for, with its placeholders for each.
const PARAMETERS: [(&str, &[&str]); 5] = [
    ("model", &["model"]),
    ("temperature", &["temperature", "temperature_above_0"]),
    ("top_p", &["top_p"]),
    ("top_k", &["top_k"]),
    ("seed", &["seed"]),
];
/// Parameters that no template has a place for.
const NEVER: [&str; 3] = ["n", "best_of", "priority"];

spec_table! {
    /// A template: how requests to an endpoint are written, and how its answers are read.
    pub(crate) struct EndpointTemplate = "a template" {
        /// One or two sentences about it.
        description: Option<String> = option(|value| value.text()),
        /// The body of every request.
        body: TemplateBody = required(TemplateBody::read),
        /// Answers as server-sent events.
        stream: Option<AnswerPointers> = option(AnswerPointers::read),
        /// Answers in one document.
        whole: Option<AnswerPointers> = option(AnswerPointers::read),
    }
    check(fields) {
        if let (Some(None), Some(None)) = (&stream, &whole) {
            return fields.reject_of("stream", "and `whole` are missing; a template needs one of them");
        }
        if let Some(Some(answers)) = &whole
            && (answers.cumulative || !answers.end_with_body())
        {
            return fields.reject_of("whole", "has `cumulative`, `last` or `end`, which only `[stream]` has");
        }
    }
}

impl Protocol {
    /// Name of the endpoint that a user's template describes.
    pub const CUSTOM: &'static str = "custom";

    /// The protocol that the template in this file describes.
    ///
    /// # Errors
    ///
    /// Every mistake in it, in sentences.
    pub fn from_template(path: &Path) -> Result<&'static Self, String> {
        /// Protocols read so far; each is there as long as the program.
        static READ: Mutex<Vec<&'static Protocol>> = Mutex::new(Vec::new());
        let node = read_file(path, "skyline guide first-run").map_err(|error| error.to_string())?;
        let shown = path.display().to_string();
        let mut template = read_whole(node, &shown, None, EndpointTemplate::read).map_err(|error| error.to_string())?;
        let json = serde_json::to_string(&template).unwrap_or_default();
        let file = TemplateFile { path: path.to_owned(), sha256: hexadecimal(&Sha256::digest(json)) };
        let mut all = READ.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.iter().find(|known| known.template_file() == Some(&file)) {
            return Ok(known);
        }
        template.body.file = Some(file);
        let protocol = template.protocol(Self::CUSTOM);
        all.push(protocol);
        Ok(protocol)
    }
}

impl EndpointTemplate {
    /// The protocol of this name, which is there as long as the program.
    fn protocol(self, name: &'static str) -> &'static Protocol {
        let body = leaked(self.body);
        let whole = self.whole.map(|answers| leaked(protocol(name, body, answers, (AnswerForm::Whole, None))));
        match (self.stream, whole) {
            (Some(answers), whole) => leaked(protocol(name, body, answers, (AnswerForm::Streamed, whole))),
            (None, whole) => whole.unwrap_or_default(),
        }
    }
}

/// The protocol of answers in one form, and of whole ones beside it.
fn protocol(
    name: &'static str,
    body: &'static TemplateBody,
    answers: AnswerPointers,
    (form, whole): (AnswerForm, Option<&'static Protocol>),
) -> Protocol {
    let answers = leaked(answers);
    let ends: Vec<&str> = answers.end.iter().map(String::as_str).collect();
    let place_of = |name| body.place_of(name).map_or("", |place| leaked(place).as_str());
    let limit = place_of("output_tokens");
    let (within, limit) = limit.rsplit_once('/').map_or((None, limit), |(within, limit)| (Some(within), limit));
    let carries: &[PromptNeed] = match (body.has("messages"), body.has("token_ids")) {
        (true, _) => CHAT.carries,
        (_, true) => &[PromptNeed::TokenIds],
        _ => &[],
    };
    let prompt = PROMPTS.into_iter().find(|name| body.has(name)).unwrap_or_default();
    let lacked = PARAMETERS.iter().filter(|(_, places)| !places.iter().any(|place| body.has(place)));
    let lacks: Vec<&str> = lacked.map(|(name, _)| *name).chain(NEVER).collect();
    Protocol {
        name,
        path: &answers.path,
        backend: name,
        prompt_field: place_of(prompt),
        write_prompt: if body.has("messages") { CHAT.write_prompt } else { content },
        carries,
        only: body.has("token_ids").then_some(PromptNeed::TokenIds),
        is_form: false,
        inputs: None,
        limits: leaked(vec![limit]),
        within,
        usual_tokens: None,
        form: Some(form),
        whole,
        template: Some(body),
        asks_for_usage: false,
        forces: match (body.has("min_tokens"), body.has("ignore_eos")) {
            (true, _) => LengthForcing::IgnoreEosAndMinTokens,
            (false, true) => LengthForcing::IgnoreEos,
            (false, false) => LengthForcing::None,
        },
        lacks: leaked(lacks),
        headers: &[],
        key_header: None,
        shape: None,
        work: WorkKind::Tokens,
        answers: leaked(AnswerGrammar {
            member: |_, _, _, _| false,
            common: |_| None,
            events: &["", "message"],
            ends: leaked(ends),
            end_name: match (&answers.end, &answers.last) {
                (Some(end), _) => end,
                (None, Some(last)) => last.as_str(),
                (None, None) => "a text",
            },
            text_member: answers.text.as_str(),
            lists: false,
            pointers: Some(answers),
        }),
    }
}

fn leaked<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}
