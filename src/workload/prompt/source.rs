//! Where the prompts of a class come from.

use serde::Serialize;

use super::dataset::Dataset;
use crate::workload::reading::allowed::Allowed;
use crate::workload::reading::value::SpecValue;

/// Sizes of vocabularies: the largest known one has about 260,000 entries.
const VOCABULARY: Allowed = Allowed::from(2.0, 16_777_216.0);

/// Where prompts come from. Templates and retrieved passages are extended or cut to the requested length.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PromptSource {
    /// One of these texts, drawn at random, continued with filler words.
    Templates {
        /// The opening texts; at least one.
        templates: Vec<String>,
    },
    /// Retrieval-augmented generation: retrieved passages (filler words) and then a question at the end.
    Retrieval {
        /// The questions; at least one.
        questions: Vec<String>,
    },
    /// Prompts from a file, unchanged.
    Dataset(Dataset),
    /// Random token ids, sent as such (`prompt` of the completions endpoint): exactly as many as requested, and no
    /// text.
    RandomTokens {
        /// Ids are drawn from 0 to this number − 1; absent: the run's tokenizer's ids without its special ones.
        #[serde(skip_serializing_if = "Option::is_none")]
        vocabulary: Option<u32>,
    },
}

impl PromptSource {
    pub(crate) fn read(value: SpecValue<'_>) -> Option<Self> {
        fn texts(value: SpecValue<'_>) -> Option<Vec<String>> {
            value.list(|text| text.nonblank())
        }
        value.tagged(
            "prompt",
            &[
                ("templates", |fields| {
                    Some(Self::Templates { templates: fields.required("templates", texts)? })
                }),
                ("retrieval", |fields| {
                    Some(Self::Retrieval { questions: fields.required("questions", texts)? })
                }),
                ("dataset", |fields| Dataset::read_fields(fields).map(Self::Dataset)),
                ("random_tokens", |fields| {
                    let vocabulary = fields.option("vocabulary", |value| value.whole(VOCABULARY));
                    Some(Self::RandomTokens { vocabulary: vocabulary?.map(|size| size as u32) })
                }),
            ],
        )
    }

    /// The dataset of the prompts, if any.
    pub const fn dataset(&self) -> Option<&Dataset> {
        match self {
            Self::Dataset(dataset) => Some(dataset),
            _ => None,
        }
    }

    /// Whether prompts are taken as they are, instead of being written to a length.
    pub const fn is_verbatim(&self) -> bool {
        matches!(self, Self::Dataset(_) | Self::RandomTokens { .. })
    }

    /// Default templates: everyday questions to a chat server.
    pub(crate) fn everyday() -> Self {
        let templates = [
            "Explain in simple terms how a refrigerator keeps food cold.",
            "Write a polite message that moves Thursday's meeting to next week.",
            "What should I look at before I rent a flat in a city I do not know?",
            "Write a Python function that merges two sorted lists, and explain it.",
            "Suggest a week of dinners for two people who cook for half an hour a day.",
            "Summarise what made the printing press spread so quickly in Europe.",
            "My train was cancelled and I missed my flight. What can I claim, and how?",
            "Compare three ways of learning a language alone, with their weak points.",
        ];
        Self::Templates { templates: templates.map(str::to_owned).to_vec() }
    }
}
