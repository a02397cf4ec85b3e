//! Texts of requests with several inputs: each of so many tokens, no two alike.

use super::builder::{Onset, PromptBuilder};
use crate::generator::request::{PlannedRequest, Prompt};
use crate::workload::InputBatch;

impl PromptBuilder {
    /// The query and the texts of a request with several inputs. Each begins with words of its own.
    pub(super) fn written_inputs(&self, inputs: InputBatch, request: &PlannedRequest) -> Prompt {
        let PlannedRequest { index, class, input_tokens, .. } = *request;
        let (query, each) = inputs.parts(input_tokens);
        // The index of a later turn has its number in the upper bits, which no shift can take.
        let number = |place: u32| index.wrapping_mul(u64::from(InputBatch::MOST) + 1).wrapping_add(place.into());
        let text = |place, tokens| self.text(String::new(), tokens, (class, number(place)), Onset::Lead);
        Prompt::Inputs {
            query: (query > 0).then(|| text(0, query)),
            texts: (1..=inputs.size).map(|place| text(place, each)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::generator::prompts::builder::test_classes::{TOKENIZER, classes, count, tokenizer};
    use crate::record::Turn;
    use crate::workload::{InputKind, RequestClass};

    #[test]
    fn a_request_has_its_query_and_its_texts_each_exact_to_the_token() {
        let inputs = InputBatch { kind: InputKind::Pairs, size: 5 };
        let classes: Vec<_> =
            classes().into_iter().map(|class| RequestClass { inputs: Some(inputs), ..class }).collect();
        let builder = PromptBuilder::with_tokenizer(&classes, 3, TOKENIZER).unwrap();
        let (tokenizer, mut seen) = (tokenizer(), HashSet::new());
        let turns = (1..4).flat_map(|number| (0..2).map(move |user| Turn::index_of(user, number)));
        for index in (0..4).chain(turns) {
            let request = PlannedRequest { index, input_tokens: inputs.tokens(120), ..PlannedRequest::default() };
            let Prompt::Inputs { query: Some(query), texts } = builder.prompt(&request) else { panic!("no inputs") };
            assert_eq!((count(&tokenizer, &query), texts.len()), (32, 5));
            assert!(texts.iter().all(|text| count(&tokenizer, text) == 88), "{texts:?}");
            assert!(texts.into_iter().chain([query]).all(|text| seen.insert(text)), "no two are alike");
            assert_eq!(builder.prompt(&request), builder.prompt(&request));
        }
    }
}
