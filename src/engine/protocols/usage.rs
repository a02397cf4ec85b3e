//! Token counts of answers, by the names that any API gives them.

use crate::engine::stream::chunk::ChunkJson;
use crate::engine::stream::chunk::loose::{LooseValue, note};
use crate::record::Usage;

impl<'a> ChunkJson<'a> {
    /// Reads its token counts, by the names of any API.
    pub(super) fn read_usage(&mut self, value: LooseValue<'a>) {
        self.usage = None;
        let Some(members) = value.members() else {
            self.wrong_usage.extend((!value.is_empty()).then(|| format!("usage: {}", value.0.get())));
            return;
        };
        let mut usage = Usage::default();
        // Anthropic counts what was in the cache, or was put there, beside the other tokens of the prompt.
        let (mut is_beside, mut beside) = (false, 0);
        for (name, value) in members.into_iter().filter(|(_, value)| value.get() != "null") {
            let value = LooseValue(value);
            let Usage { prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens } = &mut usage;
            let count = match &*name {
                "prompt_tokens" => {
                    is_beside = false;
                    prompt_tokens
                }
                "completion_tokens" => completion_tokens,
                "input_tokens" if *prompt_tokens == 0 => {
                    is_beside = true;
                    prompt_tokens
                }
                "output_tokens" if *completion_tokens == 0 => completion_tokens,
                "cache_read_input_tokens" | "cache_creation_input_tokens" => {
                    let tokens = value.count().unwrap_or(0);
                    beside += tokens;
                    if name == "cache_read_input_tokens" {
                        *cached_tokens = cached_tokens.or(Some(tokens));
                    }
                    continue;
                }
                "prompt_tokens_details" | "input_tokens_details" => {
                    *cached_tokens = detail(value, "cached_tokens", &mut self.unread).or(*cached_tokens);
                    continue;
                }
                "completion_tokens_details" | "output_tokens_details" => {
                    *reasoning_tokens = detail(value, "reasoning_tokens", &mut self.unread).or(*reasoning_tokens);
                    continue;
                }
                // Moonshot and DeepSeek; SGLang.
                "cached_tokens" | "prompt_cache_hit_tokens" => {
                    *cached_tokens = cached_tokens.or(value.count());
                    continue;
                }
                "reasoning_tokens" => {
                    *reasoning_tokens = reasoning_tokens.or(value.count());
                    continue;
                }
                "error" => {
                    self.note_error(value);
                    continue;
                }
                _ => continue,
            };
            match value.count() {
                Some(tokens) => *count = tokens,
                None => self.wrong_usage.push(format!("usage.{name}: {}", value.0.get())),
            }
        }
        if is_beside {
            usage.prompt_tokens = usage.prompt_tokens.saturating_add(beside);
        }
        self.usage = Some(usage);
    }
}

/// The count called `wanted` in an object of details.
fn detail(value: LooseValue<'_>, wanted: &'static str, unread: &mut Vec<&'static str>) -> Option<u64> {
    let found = value.members().and_then(|members| {
        let (_, value) = members.into_iter().rfind(|(name, _)| name == wanted)?;
        Some(value)
    })?;
    let count = LooseValue(found).count();
    if count.is_none() && found.get() != "null" {
        note(unread, wanted);
    }
    count
}
