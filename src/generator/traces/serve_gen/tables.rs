//! The token counts of a client's requests, by frequency.

use serde_json::{Map, Value};

use crate::random::{RandomStream, WeightedChoice};
use crate::workload::TOKEN_LIMIT;

/// Tolerance of the sum of shares, as in `ServeGen`.
const TOTAL_ERROR: f64 = 1e-6;
/// Prompt token fields. They are those of language and reasoning models, and the text of multimodal ones, whose images,
/// audio and video are ignored.
const INPUT: [&str; 2] = ["input_tokens", "text_tokens"];
const OUTPUT: &str = "output_tokens";

/// Token counts with their probabilities.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LengthTable {
    counts: Vec<u32>,
    choice: WeightedChoice,
}

/// The prompt and answer lengths of a client from a moment on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LengthTables {
    /// Second from which on the lengths apply.
    pub(super) at_s: u32,
    pub(super) lengths: PoolLengths,
}

/// Known lengths.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PoolLengths {
    /// Both are known.
    Known {
        /// Prompts.
        input: LengthTable,
        /// Answers.
        output: LengthTable,
    },
    /// All prompts or all answers have 0 tokens: nothing is sent.
    Nothing,
    /// The table could not be read and was left out.
    LeftOut,
}

impl LengthTables {
    /// Reads the tables of one moment. `None` where a field is empty: then, as in `ServeGen`, the previous ones
    /// continue. An error is a field and what is wrong with it.
    pub(super) fn read(moment: &str, fields: &Map<String, Value>) -> Result<Option<Self>, (String, String)> {
        let bad = |field: &str, cause: String| (field.to_owned(), cause);
        let at_s = moment.parse().map_err(|_| bad(moment, "is not a whole number of seconds".to_owned()))?;
        if fields.values().any(|field| field.as_str().is_some_and(|text| text.trim() == "{}")) {
            return Ok(None);
        }
        let table = |name: &str| {
            let text = fields.get(name).and_then(Value::as_str);
            let text = text.ok_or_else(|| bad(name, "is missing, or not a text".to_owned()))?;
            LengthTable::read(text).map_err(|cause| bad(name, cause))
        };
        let input = INPUT.into_iter().find(|name| fields.contains_key(*name)).unwrap_or(INPUT[0]);
        let lengths = match (table(input)?, table(OUTPUT)?) {
            (Some(input), Some(output)) => PoolLengths::Known { input, output },
            _ => PoolLengths::Nothing,
        };
        Ok(Some(Self { at_s, lengths }))
    }

    /// The tables of a moment that were left out.
    pub(super) fn left_out(moment: &str) -> Option<Self> {
        Some(Self { at_s: moment.parse().ok()?, lengths: PoolLengths::LeftOut })
    }

    /// Draws prompt and answer tokens; `None` where lengths are unknown.
    pub(super) fn draw(&self, input_chance: &mut RandomStream, output_chance: &mut RandomStream) -> Option<(u32, u32)> {
        let PoolLengths::Known { input, output } = &self.lengths else { return None };
        Some((input.draw(input_chance), output.draw(output_chance)))
    }
}

impl LengthTable {
    /// Reads `{143: 0.25, 148: 0.75}`. Counts of 0 tokens are ignored; `None` if there are no others.
    fn read(text: &str) -> Result<Option<Self>, String> {
        let inside = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        let inside = inside
            .ok_or_else(|| format!("{:?} is not a table in braces", text.chars().take(30).collect::<String>()))?;
        let (mut counts, mut shares, mut total) = (Vec::new(), Vec::new(), 0.0);
        for (entry, number) in inside.split(',').zip(1..) {
            let (count, share) = entry
                .split_once(':')
                .and_then(|(count, share)| Some((count.trim().parse::<u64>().ok()?, share.trim().parse::<f64>().ok()?)))
                .ok_or_else(|| format!("entry {number}, {entry:?}, is not a count of tokens and a share"))?;
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("entry {number} has the share {share}, which is not between 0 and 1"));
            }
            total += share;
            let count = u32::try_from(count).ok().filter(|count| *count <= TOKEN_LIMIT);
            let count = count.ok_or_else(|| format!("entry {number} has more than {TOKEN_LIMIT} tokens"))?;
            if count > 0 && share > 0.0 {
                counts.push(count);
                shares.push(share);
            }
        }
        if (total - 1.0).abs() > TOTAL_ERROR {
            return Err(format!("its shares are {total} together, not 1"));
        }
        Ok((!counts.is_empty()).then(|| Self { counts, choice: WeightedChoice::new(shares) }))
    }

    fn draw(&self, stream: &mut RandomStream) -> u32 {
        self.counts.get(self.choice.draw(stream)).copied().unwrap_or(1)
    }
}
