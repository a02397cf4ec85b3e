//! Writes prompts: as JSON, and audio as its bytes.

use crate::generator::{Prompt, texts_of_messages};

/// A prompt as one text, or as its token ids.
pub(super) fn content(body: &mut Vec<u8>, prompt: &Prompt) {
    match prompt {
        Prompt::Text(text) => string(body, text),
        Prompt::Messages(messages) => {
            string(body, &texts_of_messages(messages).unwrap_or_default().join("\n\n"));
        }
        Prompt::Dialogue(dialogue) => content(body, &Prompt::Messages(dialogue.list())),
        // Writing to memory cannot fail; if it did, the server would report what is missing.
        Prompt::TokenIds(ids) => _ = serde_json::to_writer(body, ids),
        Prompt::Audio(file) => body.extend_from_slice(file),
        Prompt::Conversation(said) => string(body, &said.concat()),
        Prompt::Inputs { texts, .. } => string(body, &texts.join("\n\n")),
    }
}

/// A text.
pub(super) fn string(body: &mut Vec<u8>, text: &str) {
    let _ = serde_json::to_writer(body, text);
}
