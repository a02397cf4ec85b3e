//! The fields of a class that do not go together.

use super::request_class::RequestClass;
use super::session::ClassSession;
use crate::workload::answer::shape::{AnswerShape, ToolChoice};
use crate::workload::prompt::session_file::SaltScope;

impl RequestClass {
    /// The fields that do not go with others, each with a sentence that says so.
    pub(in crate::workload) fn misfits(&self) -> impl Iterator<Item = (&'static str, String)> {
        let broken = MISFITS.into_iter().filter(|(_, is_out_of_place, _)| is_out_of_place(self));
        let continued = if self.session.is_some() { "session" } else { CONTINUED };
        let columns = self.prompt.dataset().map(|dataset| &dataset.metadata);
        let twice = columns.and_then(|columns| columns.keys().find(|key| self.metadata.contains_key(*key)));
        let twice = twice
            .map(|tag| ("metadata", format!("has the tag \"{tag}\", and so has its dataset; leave one of them out")));
        let field_of = move |field| if field == CONTINUED { continued } else { field };
        broken.map(move |(field, _, sentence)| (field_of(field), sentence.to_owned())).chain(twice)
    }
}

impl RequestClass {
    /// Returns what its requests say that others said before, and the cure. Later turns of a conversation do not count.
    pub(in crate::workload) fn shares_texts(&self) -> Option<(&'static str, &'static str)> {
        let dataset = self.prompt.dataset();
        let salt = self.session_rules().map(|rules| rules.salt);
        if self.shared_prefix.is_some() {
            Some(("a shared prefix stands before the prompts", "leave the prefix out, or choose warm"))
        } else if salt.is_some_and(|salt| salt != SaltScope::Session) {
            Some(("sessions have texts in common", "give each its own words (--salt-by session)"))
        } else if dataset.is_some_and(|dataset| !dataset.has_sessions() && !dataset.salt) {
            Some(("rows are sent as they stand", "put words before each (`salt = true` of its dataset)"))
        } else {
            None
        }
    }
}

/// Field that is out of place in a class. With it are when it is so, and a sentence that says so.
type Misfit = (&'static str, fn(&RequestClass) -> bool, &'static str);

/// The field that says how requests continue; `session` where that stands in its place.
const CONTINUED: &str = "conversation";

/// Fields that do not go together in a class.
const MISFITS: [Misfit; 13] = [
    (
        "inputs",
        |class| class.inputs.is_some() && class.continues(),
        "is given with requests that continue, and these do not continue: no answer is a text; leave one of them out",
    ),
    (
        "inputs",
        |class| class.inputs.is_some() && (class.images.is_some() || class.answer.is_some()),
        "is given with images or the form of an answer, which go with texts that are generated; leave one of them out",
    ),
    (
        "inputs",
        |class| {
            let is_written = !class.prompt.is_verbatim() && !class.input_tokens.is_from_file();
            let is_plain = is_written && class.shared_prefix.is_none();
            class.inputs.is_some_and(|inputs| !inputs.is_one_text()) && !is_plain
        },
        "is for prompts that are written to a length and share no prefix, where it is more than one text; take one \
         text (--batch 1), or another workload",
    ),
    (
        "shared_prefix",
        |class| class.shared_prefix.is_some() && class.prompt.is_verbatim(),
        "goes before written prompts only; leave it out with a dataset or token ids",
    ),
    (
        "images",
        |class| class.images.is_some() && class.has_token_ids(),
        "cannot go along with token ids; choose another `prompt`",
    ),
    (
        CONTINUED,
        |class| class.conversation.is_some() && class.session.is_some(),
        "is given with `conversation`, and both say how requests continue; leave one of them out",
    ),
    (
        CONTINUED,
        |class| (class.conversation.is_some() || class.session.is_some()) && class.prompt.dataset().is_some(),
        "is given with a dataset, whose rows are whole requests; leave one of them out, or choose another `prompt`",
    ),
    (
        CONTINUED,
        |class| class.continues() && class.has_token_ids(),
        "is given with token ids, and answers come as text, which cannot be put between them; choose another `prompt`",
    ),
    (
        "images",
        |class| class.images.is_some() && class.continues(),
        "is given with a conversation or a session, whose turns are texts; leave one of them out",
    ),
    (
        "audio",
        |class| {
            let has_texts = class.continues() || class.prompt.is_verbatim() || class.shared_prefix.is_some();
            class.audio.is_some() && (has_texts || class.images.is_some() || class.inputs.is_some())
        },
        "takes the place of a text; leave it out with images, inputs, shared prefixes, datasets, token ids and \
         requests that continue",
    ),
    (
        "answer",
        |class| class.answer.is_some() && class.has_token_ids(),
        "cannot be requested with token ids; choose another `prompt`",
    ),
    (
        CONTINUED,
        |class| {
            let has_tools = matches!(class.answer, Some(AnswerShape::Tools { choice: ToolChoice::Auto, .. }));
            !has_tools && class.session.as_ref().is_some_and(ClassSession::has_tool_results)
        },
        "has a step for calls of tools, and no answer is free to call one; give the class \
         `answer = { kind = \"tools\", … }`, without a `choice`",
    ),
    (
        "answer",
        |class| class.has_session_file() && matches!(class.answer, Some(AnswerShape::Tools { .. })),
        "is given with sessions of a file, which have their own tools; leave one of them out",
    ),
];
