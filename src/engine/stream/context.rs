//! Settings and findings that the answers of a run share.

use std::sync::Arc;

use http::HeaderName;

use super::chunk::AnswerGrammar;
use super::habits::Habits;
use super::replicas::Replicas;
use crate::engine::answer_limits::{AnswerLimits, AnswerMemory};
use crate::engine::secrets::Secrets;
use crate::engine::target::AnswerForm;

/// Settings that all answers of a run share.
#[derive(Clone)]
pub(crate) struct AnswerContext {
    /// The grammar of the protocol's answers.
    pub(super) answers: &'static AnswerGrammar,
    /// Whether they are streamed.
    pub(super) form: AnswerForm,
    /// Secrets that no message may repeat.
    pub(super) secrets: Secrets,
    /// The memory that all answers in flight may hold together.
    pub(super) memory: Arc<AnswerMemory>,
    /// Habits that the server's answers have shown.
    pub(super) habits: Arc<Habits>,
    /// Replicas behind the address, where a header tells them apart.
    pub(super) replicas: Option<Arc<Replicas>>,
}

impl AnswerContext {
    /// Answers of this form.
    pub(crate) fn new(answers: &'static AnswerGrammar, form: AnswerForm, secrets: Secrets) -> Self {
        let memory = Arc::new(AnswerMemory::new(AnswerLimits::default().memory));
        Self { answers, form, secrets, memory, habits: Arc::default(), replicas: None }
    }

    /// The context of answers whose replicas this header names.
    pub(crate) fn with_replicas(self, header: Option<HeaderName>) -> Self {
        Self { replicas: header.map(|header| Arc::new(Replicas::named_by(header))), ..self }
    }

    /// Names of the replicas that answered so far, where a header tells them apart.
    pub(crate) fn replicas(&self) -> Option<Vec<String>> {
        self.replicas.as_ref().map(|replicas| replicas.names())
    }

    /// The context with so much memory.
    pub(crate) fn with_memory(&self, limit: u64) -> Self {
        Self { memory: Arc::new(AnswerMemory::new(limit)), ..self.clone() }
    }
}
