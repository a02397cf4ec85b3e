//! Makes the prompts of sessions of a file, and hands on what its rows expect of answers.

use std::sync::Arc;

use super::builder::PromptBuilder;
use super::draft::Draft;
use crate::generator::datasets::messages::led_by;
use crate::generator::datasets::{AnswerKey, FilePromptText, SessionStore};
use crate::generator::request::{PlannedRequest, Prompt};
use crate::generator::traces::requests::Blocks;

/// Tokens reserved for a lead alone: more than any lead has.
const LEAD_ROOM: u32 = 256;

impl PromptBuilder {
    /// The prompt of a request of a session in a file. It is what is new where live answers are carried on.
    pub(super) fn of_session(&self, sessions: &SessionStore, request: &PlannedRequest, row: u64) -> Prompt {
        let (place, opener) = request.turn.map_or((0, request.index), |turn| (turn.place(), turn.opener()));
        let recorded = request.turn.and_then(|turn| turn.graph?.recorded);
        let salt = sessions.salt(row, opener);
        let carries_on = request.turn.is_some_and(|turn| turn.carried().is_some());
        match sessions.prompt(row, recorded.unwrap_or(place), salt) {
            Some(FilePromptText::Blocks(ids, tokens)) => self.written(&Blocks { ids: ids.into(), tokens }, request),
            Some(FilePromptText::Dialogue(dialogue)) => {
                let prompt = Prompt::Dialogue(dialogue);
                if sessions.leads() && !carries_on { led_by(&self.lead(salt), prompt) } else { prompt }
            }
            Some(FilePromptText::Words) if carries_on => Prompt::Text(self.next_message(request)),
            Some(FilePromptText::Words) | None => self.written(&Blocks::default(), request),
        }
    }

    /// Expected answers of the rows of each class, where these are scored.
    pub fn answer_keys(&self) -> Vec<Option<Arc<AnswerKey>>> {
        self.datasets.answer_keys()
    }

    /// Words that no other request of this run begins with.
    pub(super) fn lead(&self, index: u64) -> String {
        let mut draft = Draft::new(LEAD_ROOM);
        self.leads.write(index, &mut draft);
        draft.finish()
    }
}
