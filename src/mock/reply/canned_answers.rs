//! Canned answers for prompts that contain certain words.

use std::str::FromStr;

use crate::mock::request::Prompt;

/// A canned answer for prompts that contain certain words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannedAnswer {
    /// Words that stand in the prompt one after another.
    pub to: String,
    /// The whole answer.
    pub say: String,
}

impl CannedAnswer {
    /// Whether the prompt contains the words.
    pub(crate) fn is_to(&self, prompt: &Prompt) -> bool {
        let words: Vec<_> = prompt.words().collect();
        let wanted: Vec<_> = self.to.split_whitespace().collect();
        words.windows(wanted.len()).any(|run| run == wanted)
    }
}

impl FromStr for CannedAnswer {
    type Err = String;

    /// `WORDS=ANSWER`, such as `capital of France?=Paris`.
    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (to, say) = text.split_once('=')?;
            let given = !to.trim().is_empty() && !say.is_empty();
            given.then(|| Self { to: to.trim().to_owned(), say: say.to_owned() })
        };
        read().ok_or_else(|| {
            format!("`{text}` is not WORDS=ANSWER: words of a prompt and what is answered, as in 'capital of France?=Paris'")
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_given_to_the_prompts_that_have_its_words() {
        let given: CannedAnswer = "capital of France?=Paris = yes".parse().unwrap();
        assert_eq!((given.to.as_str(), given.say.as_str()), ("capital of France?", "Paris = yes"));
        let is_to = |text: &str| given.is_to(&Prompt::of_texts(&json!(text)));
        assert!(is_to("What is the capital\nof  France? Say."));
        assert!(!is_to("What is the capital of Italy?") && !is_to("capital"));
        for text in ["Paris", "=Paris", "to="] {
            assert!(text.parse::<CannedAnswer>().unwrap_err().contains("WORDS=ANSWER"), "{text}");
        }
    }
}
