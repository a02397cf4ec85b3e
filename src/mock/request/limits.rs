//! Checks a request against what is served, in vLLM's words.

use crate::mock::refusal::Refusal;

/// The models and limits that a request is checked against.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServedModels<'a> {
    pub(crate) model: &'a str,
    pub(crate) adapters: &'a [String],
    pub(crate) max_model_len: u32,
}

/// Most choices per prompt, so that no request can take all memory.
const MOST_CHOICES: u32 = 128;

impl ServedModels<'_> {
    /// Index of the adapter that is asked for; `None` for the model itself or without a name.
    pub(crate) fn adapter(&self, asked: Option<&str>) -> Result<Option<usize>, Refusal> {
        match asked {
            Some(asked) if asked != self.model => match self.adapters.iter().position(|name| name == asked) {
                Some(place) => Ok(Some(place)),
                None => Err(Refusal::unknown_model(asked, self.model)),
            },
            _ => Ok(None),
        }
    }

    /// Most answer tokens: `max_tokens` of the request, else `usual`, else what the context leaves after the
    /// longest prompt.
    pub(super) fn max_tokens(
        &self,
        asked: Option<i64>,
        usual: Option<u32>,
        longest: u32,
    ) -> Result<u32, Refusal> {
        let context = i64::from(self.max_model_len);
        let input = i64::from(longest);
        if let Some(limit) = asked {
            if limit < 1 {
                let words = format!("max_tokens must be at least 1, got {limit}.");
                return Err(Refusal::parameter("max_tokens", limit, &words));
            }
            if limit > context {
                let words = format!(
                    "max_tokens={limit} cannot be greater than max_model_len={context}. Please request fewer output \
                     tokens."
                );
                return Err(Refusal::parameter("max_tokens", limit, &words));
            }
        }
        if input >= context {
            let words = format!(
                "This model's maximum context length is {context} tokens. However, your prompt contains at least {} \
                 input tokens, which exceeds this limit even without any output tokens. Please reduce the length of \
                 the input prompt.",
                context + 1
            );
            return Err(Refusal::parameter("input_tokens", context + 1, &words));
        }
        let left = self.max_model_len - longest;
        let Some(limit) = asked else { return Ok(usual.map_or(left, |usual| usual.min(left))) };
        if limit > i64::from(left) {
            let words = format!(
                "This model's maximum context length is {context} tokens. However, you requested {limit} output tokens \
                 and your prompt contains {input} input tokens, for a total of {} tokens. Please reduce the length of \
                 the input prompt or the number of requested output tokens.",
                input + limit
            );
            return Err(Refusal::parameter("input_tokens", input, &words));
        }
        // It is at most the context, which is a `u32`.
        Ok(limit as u32)
    }
}

/// The request's priority. vLLM accepts the field under any scheduling policy and uses it only under
/// `priority`; so does this engine. (Its protocol mentions an error, which was that of its first engine: 0.32
/// has none.)
pub(super) fn priority(asked: Option<i64>) -> i32 {
    asked.unwrap_or(0).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

/// The least answer tokens.
pub(super) fn min_tokens(asked: Option<i64>, max_tokens: u32) -> Result<u32, Refusal> {
    let least = asked.unwrap_or(0);
    if least < 0 {
        let words = format!("min_tokens must be greater than or equal to 0, got {least}.");
        return Err(Refusal::bad_request(&words));
    }
    if least > i64::from(max_tokens) {
        let words = format!("min_tokens must be less than or equal to max_tokens={max_tokens}, got {least}.");
        return Err(Refusal::bad_request(&words));
    }
    Ok(least as u32)
}

/// Answers to each prompt.
pub(super) fn choices(asked: Option<i64>) -> Result<u32, Refusal> {
    let n = asked.unwrap_or(1);
    u32::try_from(n).ok().filter(|n| (1..=MOST_CHOICES).contains(n)).ok_or_else(|| {
        let words = format!("n must be between 1 and {MOST_CHOICES}, got {n}.");
        Refusal::parameter("n", n, &words)
    })
}
