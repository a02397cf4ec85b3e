//! Inputs that one request has answered at once, in place of a text that is generated.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, VariantNames};

use crate::workload::reading::spec_table;
use crate::workload::reading::value::Allowed;

/// Sizes of batches.
const BATCH: Allowed = Allowed::from(1.0, InputBatch::MOST as f64);

spec_table! {
    /// Inputs of each request of a class, which one answer covers. No text is generated.
    #[derive(Copy, Eq)]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub struct InputBatch = "the inputs of a class" {
        /// The kind of each input.
        kind: InputKind = required(|value| value.variant()),
        /// Inputs of one request. Each has the length that is drawn for the request.
        size: u32 = required(|value| value.whole(BATCH)),
    }
}

/// A kind of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Display, EnumString, VariantNames)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum InputKind {
    /// A text by itself, as embeddings take it.
    Texts,
    /// A query with a text, as rerankers take them. All texts of a request have one query.
    Pairs,
}

impl InputBatch {
    /// Most inputs of one request.
    pub const MOST: u32 = 10_000;
    /// Tokens of a query, unless its pair is too short for it.
    const QUERY: u32 = 32;

    /// Tokens of all inputs, of so many in each. A query counts with each of its texts, as models read it.
    pub fn tokens(self, each: u32) -> u32 {
        let each = if self.has_query() { each.max(2) } else { each };
        each.saturating_mul(self.size)
    }

    /// Tokens of the query and of each text, of all inputs together so many.
    pub fn parts(self, all: u32) -> (u32, u32) {
        let each = all / self.size.max(1);
        let query = if self.has_query() { Self::QUERY.min(each / 2) } else { 0 };
        (query, each - query)
    }

    /// Whether its texts have a query. It is the same for all of a request, and a prefix cache may find it.
    pub fn has_query(self) -> bool {
        self.kind == InputKind::Pairs
    }

    /// Whether it is one text alone, which any prompt can be.
    pub fn is_one_text(self) -> bool {
        self.kind == InputKind::Texts && self.size == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_counts_with_each_of_its_texts() {
        let pairs = InputBatch { kind: InputKind::Pairs, size: 4 };
        for (each, all, query, text) in [(256, 1_024, 32, 224), (40, 160, 20, 20), (1, 8, 1, 1)] {
            assert_eq!((pairs.tokens(each), pairs.parts(all)), (all, (query, text)), "{each}");
        }
        let texts = InputBatch { kind: InputKind::Texts, size: 3 };
        assert_eq!((texts.tokens(7), texts.parts(21)), (21, (0, 7)));
    }
}
