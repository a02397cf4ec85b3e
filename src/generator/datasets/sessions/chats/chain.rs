//! Turns of files, and whole prompts: which of them begin with another and its answer.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use super::chat::{ChatMessage, ChatRole, joined};
use crate::generator::datasets::sessions::session::{FilePrompt, FileRequest};

/// A turn of a conversation of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct FileTurn {
    /// Messages of the prompt: new ones, or all of them.
    pub(super) messages: Vec<ChatMessage>,
    pub(super) tools: Option<Arc<str>>,
    pub(super) model: Option<Box<str>>,
    pub(super) output_tokens: Option<u32>,
    /// Wait before it.
    pub(super) delay: Duration,
}

impl FileTurn {
    /// Returns the request of the turn, which follows the one at `before`. Its prompt is left to
    /// [`SessionPrompts::fill`].
    pub(super) fn request(&self, name: String, before: Option<usize>) -> FileRequest {
        FileRequest {
            name,
            waits: before.map(|before| (before, self.delay)).into_iter().collect(),
            output_tokens: self.output_tokens,
            model: self.model.clone(),
            ..FileRequest::default()
        }
    }
}

/// The prompts of a session, as far as its file has been read.
#[derive(Debug, Default)]
pub(super) struct SessionPrompts {
    prompts: Vec<KnownPrompt>,
    /// Numbers of those that the file gives whole, by a hash of their messages.
    by_text: HashMap<u64, Vec<usize>>,
}

#[derive(Debug)]
struct KnownPrompt {
    carries: Option<usize>,
    new: Box<str>,
    answer: Option<ChatMessage>,
    tools: Option<Arc<str>>,
}

impl SessionPrompts {
    /// Adds a prompt that is these messages after what another said and was answered.
    pub(super) fn add_new(&mut self, carries: Option<usize>, messages: &[ChatMessage], tools: Option<Arc<str>>) {
        self.prompts.push(KnownPrompt { carries, new: joined(messages), answer: None, tools });
    }

    /// Adds a whole prompt, and its answer where it is recorded. It carries on the longest of those that `ended` before
    /// and that it begins with, their answer included.
    pub(super) fn add_whole(
        &mut self,
        messages: &[ChatMessage],
        answer: Option<ChatMessage>,
        tools: Option<Arc<str>>,
        ended: impl Fn(usize) -> bool,
    ) {
        let mut hasher = DefaultHasher::new();
        let beginnings = messages.iter().map(|message| {
            message.json.hash(&mut hasher);
            hasher.finish()
        });
        let beginnings: Vec<u64> = beginnings.collect();
        let prompts = &self.prompts;
        let longest = (1..messages.len().saturating_sub(1)).rev().find_map(|length| {
            let said = messages.get(length).filter(|said| said.role == ChatRole::Assistant)?;
            let answered = |at: &usize| {
                let answer = prompts[*at].answer.as_ref();
                prompts[*at].tools == tools && answer.is_none_or(|answer| answer.essence == said.essence)
            };
            let same = self.by_text.get(&beginnings[length - 1])?;
            let at = same.iter().rev().copied().find(|at| ended(*at) && answered(at))?;
            Some((at, length, said))
        });
        let (carries, length) = match longest {
            Some((at, length, said)) => {
                // Its form in the later prompt is what is sent.
                self.prompts[at].answer = Some(said.clone());
                (Some(at), length + 1)
            }
            None => (None, 0),
        };
        if let Some(whole) = beginnings.last() {
            self.by_text.entry(*whole).or_default().push(self.prompts.len());
        }
        self.prompts.push(KnownPrompt { carries, new: joined(&messages[length..]), answer, tools });
    }

    /// Gives the requests their prompts, in the order in which these were added.
    pub(super) fn fill(self, requests: &mut [FileRequest]) {
        for (request, KnownPrompt { carries, new, answer, tools }) in requests.iter_mut().zip(self.prompts) {
            let answer = answer.map(|answer| (*answer.json).into());
            request.prompt = FilePrompt::Messages { carries, new, answer, tools };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(texts: &str) -> Vec<ChatMessage> {
        let message = |text: &str| {
            let role = if text.starts_with('a') { "assistant" } else { "user" };
            ChatMessage::of_value(&serde_json::json!({ "role": role, "content": text })).unwrap()
        };
        texts.split_whitespace().map(message).collect()
    }

    #[test]
    fn a_prompt_carries_on_the_longest_that_it_begins_with() {
        let mut whole = SessionPrompts::default();
        let answer = messages("a1").pop();
        whole.add_whole(&messages("u1"), answer, None, |_| true);
        whole.add_whole(&messages("u1 a1 u2"), None, None, |_| true);
        // The answer of the second is known from the third; the fourth comes while the third goes on.
        whole.add_whole(&messages("u1 a1 u2 a2 u3"), None, None, |_| true);
        whole.add_whole(&messages("u1 a1 u2 a2 u3 a3 u4"), None, None, |at| at < 2);
        // Another answer, other tools, and an answer with nothing after it.
        whole.add_whole(&messages("u1 a9 u2"), None, None, |_| true);
        whole.add_whole(&messages("u1 a1 u2"), None, Some("[]".into()), |_| true);
        whole.add_whole(&messages("u1 a1"), None, None, |_| true);
        let mut requests = vec![FileRequest::default(); 7];
        whole.fill(&mut requests);
        let found: Vec<_> = requests
            .into_iter()
            .map(|request| {
                let FilePrompt::Messages { carries, new, answer, .. } = request.prompt else { unreachable!() };
                let answer = answer.map(|answer| answer.contains("\"a2\"") || answer.contains("\"a1\""));
                (carries, new.matches("role").count(), answer)
            })
            .collect();
        let (none, kept) = (None, Some(true));
        assert_eq!(
            found,
            [
                (None, 1, kept),
                (Some(0), 1, kept),
                (Some(1), 1, none),
                (Some(1), 3, none),
                (None, 3, none),
                (None, 3, none),
                (None, 2, none)
            ]
        );
    }
}
