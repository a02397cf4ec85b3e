//! Reads the parts of an answer at the places that a template names.

use std::borrow::Cow;

use crate::engine::stream::chunk::loose::{LooseValue, MemberList, note};
use crate::engine::stream::chunk::message::Message;
use crate::engine::stream::chunk::pointers::{AnswerPointers, JsonPointer};
use crate::engine::stream::chunk::{Choice, ChunkJson};
use crate::record::Usage;

impl<'a> ChunkJson<'a> {
    /// Reads the parts that are at these places of a document with these members.
    pub(in crate::engine) fn read_pointed(&mut self, pointers: &'static AnswerPointers, members: &MemberList<'a>) {
        let at = |pointer: &Option<JsonPointer>| pointer.as_ref()?.find(members);
        let text = pointers.text.find(members).map(|value| self.read_text(&pointers.text, value));
        let thought = pointers.reasoning.as_ref().and_then(|of| Some(self.read_text(of, of.find(members)?)));
        let finish = at(&pointers.finish);
        self.marks.is_last = at(&pointers.last).is_some_and(|value| !matches!(value.0.get(), "null" | "false"));
        self.marks.is_so_far = pointers.cumulative && text.as_ref().is_some_and(|text| !text.is_empty());
        if let Some(words) = at(&pointers.error) {
            self.note_error(words);
        }
        // Where it is a list, the ids of tokens stand for the text as they came.
        let listed = pointers.text.find(members).filter(|value| value.0.get().starts_with('['));
        let token_ids = listed.and_then(|value| Some(value.read::<Vec<u32>>()?.len() as u32));
        self.read_counts(pointers, members);
        if text.is_none() && thought.is_none() && finish.is_none() && !self.marks.is_last {
            return;
        }
        let finish = finish.filter(|value| value.0.get() != "null").map(|value| match value.0.get() {
            "true" => Cow::Borrowed("stop"),
            json => value.string().unwrap_or(Cow::Borrowed(json)),
        });
        let content = text.unwrap_or_default();
        let choice = match thought {
            Some(thought) => Choice::of_part(Message { content, thoughts: vec![thought], ..Message::default() }),
            None => Choice { text: content, ..Choice::default() },
        };
        self.choices = Some(vec![Choice { finish, token_ids, ..choice }]);
    }

    /// The text that a value is; none where it is `null`.
    fn read_text(&mut self, pointer: &'static JsonPointer, value: LooseValue<'a>) -> Cow<'a, str> {
        let text = match value.0.get() {
            "null" => Some(Cow::default()),
            json if value.read::<Vec<u32>>().is_some() => Some(Cow::Borrowed(json.trim_matches(['[', ']', ' ']))),
            _ => value.text(),
        };
        text.unwrap_or_else(|| {
            note(&mut self.unread, pointer.as_str());
            Cow::default()
        })
    }

    /// Reads token counts, where there are some.
    fn read_counts(&mut self, pointers: &AnswerPointers, members: &MemberList<'a>) {
        let AnswerPointers { prompt_tokens, completion_tokens, cached_tokens, .. } = pointers;
        let [prompt, completion, cached] = [prompt_tokens, completion_tokens, cached_tokens].map(|pointer| {
            let pointer = pointer.as_ref()?;
            let value = pointer.find(members).filter(|value| value.0.get() != "null")?;
            let count = value.count();
            if count.is_none() {
                self.wrong_usage.push(format!("{pointer}: {}", value.0.get()));
            }
            count
        });
        if prompt.or(completion).or(cached).is_some() {
            let (prompt_tokens, completion_tokens) = (prompt.unwrap_or(0), completion.unwrap_or(0));
            self.usage = Some(Usage { prompt_tokens, completion_tokens, cached_tokens: cached, ..Usage::default() });
            self.marks.has_part_of_usage = true;
        }
    }
}
