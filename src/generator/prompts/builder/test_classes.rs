//! Classes and a tokenizer to test prompts with.

use tokenizers::Tokenizer;

use crate::workload::{Distribution, PromptSource, RequestClass};

/// A byte-level BPE with the first 6,144 entries of a learned vocabulary. It was learned from source code: half of our
/// words are more than one token in it. Made with the `tokenizers` package: `BpeTrainer` on numpy's sources, Llama 3's
/// splitting rule, then entries and merges above the limit dropped.
pub(in crate::generator) const TOKENIZER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tiny-tokenizer.json");

fn class(name: &str, prompt: PromptSource) -> RequestClass {
    let length = Distribution::Constant { value: 100 };
    RequestClass {
        name: name.into(),
        weight: 1.0,
        input_tokens: length.clone(),
        output_tokens: length,
        inputs: None,
        shared_prefix: None,
        conversation: None,
        session: None,
        prompt,
        images: None,
        audio: None,
        length: crate::workload::AnswerEnding::default(),
        answer: None,
        cancel: None,
        priorities: Vec::new(),
        metadata: std::collections::BTreeMap::new(),
    }
}

/// Two classes of the two kinds of prompt.
pub(in crate::generator) fn classes() -> Vec<RequestClass> {
    let templates = vec![
        "Explain how photosynthesis works to a ten-year-old, using one everyday example.".into(),
        "Write a Python function that merges overlapping intervals (in O(n log n)):\n\n".into(),
        "Give me three ideas for".into(),
    ];
    let questions = vec!["Question: which of the passages above speaks of 1987, and what does it say?".into()];
    vec![class("chat", PromptSource::Templates { templates }), class("rag", PromptSource::Retrieval { questions })]
}

pub(in crate::generator) fn tokenizer() -> Tokenizer {
    Tokenizer::from_file(TOKENIZER).unwrap()
}

pub(in crate::generator) fn count(tokenizer: &Tokenizer, text: &str) -> u32 {
    tokenizer.encode(text, false).unwrap().len() as u32
}
