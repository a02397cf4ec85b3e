//! Checks that the answer to a test request has what a template says of answers.

use super::SmokeError;
use crate::engine::answer::AnswerEnd;
use crate::engine::captured_text::CaptureText;
use crate::engine::openai::engine::OpenAiEngine;
use crate::engine::stream::chunk::pointers::AnswerPointers;
use crate::engine::stream::fault::excerpt;
use crate::engine::target::Target;
use crate::record::{Failure, FailureKind};

impl OpenAiEngine {
    /// Whether the documents of the answer are kept, to be looked through.
    pub(super) fn test_capture(&self) -> CaptureText {
        if of_file(&self.target).is_some() { CaptureText::Yes } else { CaptureText::No }
    }

    /// The first place of a user's template that no document of an answer has.
    pub(super) fn misses(&self, end: Option<&AnswerEnd>) -> Option<SmokeError> {
        let (pointers, captured) = (of_file(&self.target)?, end?.captured.as_ref()?);
        let mut missing: Vec<_> = pointers.expected().collect();
        let mut last = Vec::new();
        captured.each_members(|document, members| {
            missing.retain(|(_, pointer)| pointer.find(members).is_none());
            last = document.to_vec();
        });
        let (name, pointer) = missing.first()?;
        let said = excerpt(&last, &self.secrets());
        let message = format!("the answer has nothing at {pointer}, where `{name}` is; its last document: {said}");
        let hint = format!(
            "correct `{name} = \"{pointer}\"` in the template, or take it out{}",
            if *name == "cached_tokens" { "; some servers give it only with an option" } else { "" }
        );
        let url = &self.target.url;
        Some(SmokeError {
            address: url.shown(&url.endpoint_path(self.target.endpoint)),
            failure: Failure::new(FailureKind::Malformed, message),
            hint,
            retry_after: None,
        })
    }
}

/// Places of answers in a user's template.
fn of_file(target: &Target) -> Option<&'static AnswerPointers> {
    target.endpoint.template_file().and(target.endpoint.answers.pointers)
}
