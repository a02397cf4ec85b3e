//! The chunks of an answer in files.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ChunkTrain, TokenChunk};
use crate::clock::Timestamp;

/// The form in files. Gaps are in nanoseconds, the first from the run's zero; `tokens` is omitted when every chunk has
/// one, `choices` when all are of the first.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    gaps_ns: Vec<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<Vec<u32>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    choices: Vec<u8>,
}

impl Serialize for ChunkTrain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut gaps_ns = Vec::with_capacity(self.len());
        let mut tokens = Vec::with_capacity(self.len());
        let mut last = 0;
        for chunk in self.iter() {
            gaps_ns.push(chunk.at.as_nanos() - last);
            tokens.push(chunk.tokens);
            last = chunk.at.as_nanos();
        }
        let all_one = tokens.iter().all(|&count| count == 1);
        let choices = self.choices.as_deref().cloned().unwrap_or_default();
        Stored { gaps_ns, tokens: (!all_one).then_some(tokens), choices }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ChunkTrain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Stored { gaps_ns, tokens, choices } = Stored::deserialize(deserializer)?;
        if let Some(tokens) = &tokens
            && tokens.len() != gaps_ns.len()
        {
            return Err(serde::de::Error::custom(format!("{} gaps but {} token counts", gaps_ns.len(), tokens.len())));
        }
        let mut at = 0u64;
        let chunks = gaps_ns.iter().enumerate().map(|(i, gap)| {
            at = at.saturating_add(*gap);
            let choice = choices.get(i).copied().unwrap_or(0);
            TokenChunk { at: Timestamp::from_nanos(at), tokens: tokens.as_ref().map_or(1, |t| t[i]), choice }
        });
        let mut train: Self = chunks.collect();
        train.shrink_to_fit();
        Ok(train)
    }
}
