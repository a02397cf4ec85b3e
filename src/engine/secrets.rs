//! Takes secrets out of what servers say.

use std::fmt;
use std::sync::Arc;

use super::Target;
use super::answer::AnswerEnd;

/// The secrets of a target: a server may echo the key that it refused.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Arc<[String]>);

/// Shorter values are not looked for: they would be found everywhere.
const SHORTEST: usize = 4;

impl Secrets {
    /// The API key and the values of the headers that carry credentials, so far as they can be told.
    pub(crate) fn of(target: &Target) -> Self {
        let key = target.api_key.iter().map(|key| key.expose().to_owned());
        let values = target.headers.iter().filter_map(|header| header.value.to_str().ok());
        // `Bearer abc` is echoed as `abc`.
        let words = values.flat_map(|value| [Some(value), value.split_once(' ').map(|(_, word)| word)]);
        let mut all: Vec<String> = key.chain(words.flatten().map(str::to_owned)).collect();
        all.retain(|secret| secret.len() >= SHORTEST);
        all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(all.into())
    }

    /// `text` without them.
    pub(crate) fn hide(&self, text: String) -> String {
        self.0.iter().fold(text, |text, secret| text.replace(secret, "***"))
    }

    /// `end` with a message without them.
    pub(crate) fn hide_in(&self, mut end: AnswerEnd) -> AnswerEnd {
        if let Err(failure) = &mut end.result {
            failure.message = self.hide(std::mem::take(&mut failure.message));
        }
        end
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(***)")
    }
}
