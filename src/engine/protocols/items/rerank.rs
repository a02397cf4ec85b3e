//! Reranking: a `query` and `documents`, each of which is answered by a score.

use super::super::protocol::Protocol;
use super::results::{member, pairs, protocol, results, score};
use crate::engine::stream::AnswerGrammar;
use crate::workload::{InputBatch, InputKind};

/// `/v1/rerank`.
pub static RERANK: Protocol = protocol(
    ["rerank", "/v1/rerank", "vllm-rerank", "query"],
    |body, prompt| pairs(body, prompt, "documents"),
    InputBatch { kind: InputKind::Pairs, size: 16 },
    &SCORES,
);

/// Scores by the names of vLLM, Cohere and Jina. Those of SGLang and TEI are bare lists.
static SCORES: AnswerGrammar = results("results", |document, _, name, value| {
    member(document, (name, "results"), value, |item| score(item, &["relevance_score", "score"]))
});

#[cfg(test)]
mod tests {
    use crate::engine::protocols::items::readings::{answer, bodies, cut_anywhere};

    use super::*;

    /// An answer of vLLM, best first.
    const VLLM: &str = r#"{"id":"rerank-1","model":"m","usage":{"prompt_tokens":40,"total_tokens":40},"results":[
        {"index":1,"document":{"text":"b"},"relevance_score":0.75},
        {"index":0,"document":{"text":"a"},"relevance_score":-0.5}]}"#;
    /// Answers of SGLang, TEI, Jina and Cohere.
    const OTHERS: [(&str, Option<u64>); 4] = [
        (
            r#"[{"score":0.9,"document":"a","index":0,"meta_info":{"prompt_tokens":20}},
                {"score":0.1,"document":"b","index":1,"meta_info":{"prompt_tokens":21}}]"#,
            Some(41),
        ),
        (r#"[{"index":1,"score":0.9},{"index":0,"score":0.1}]"#, None),
        (
            r#"{"usage":{"total_tokens":38},"results":[
                {"index":0,"relevance_score":0.9},{"index":1,"relevance_score":0.2}]}"#,
            Some(38),
        ),
        (
            r#"{"id":"x","results":[{"index":0,"relevance_score":0.9},{"index":1,"relevance_score":0.2}],
                "meta":{"billed_units":{"search_units":1}}}"#,
            None,
        ),
    ];

    #[test]
    fn each_document_has_a_score() {
        assert_eq!(answer(&RERANK, (2, ""), VLLM), Ok(Some(40)));
        for (body, tokens) in OTHERS {
            assert_eq!(answer(&RERANK, (2, ""), body), Ok(tokens), "{body}");
        }
        let one = r#"{"results":[{"index":1,"relevance_score":0.5}]}"#;
        assert_eq!(answer(&RERANK, (2, r#"{"top_n":1}"#), one), Ok(None));
        assert_eq!(answer(&RERANK, (2, r#"{"top_n":0}"#), VLLM), Ok(Some(40)), "0 is all of them");
        for (now, says) in [
            (one.to_owned(), "1 results, and 2 were asked for"),
            (VLLM.replace("relevance_score", "rank"), "the result of input 2 has no score"),
            (VLLM.replace("-0.5", "null"), "the result of input 1 has no score"),
            (VLLM.replace("-0.5", "1e999"), "the result of input 1 has no score"),
            (VLLM.replace("results", "data"), "the answer has no results"),
            (r#"{"detail":"Not Found"}"#.to_owned(), "Not Found"),
        ] {
            let error = answer(&RERANK, (2, ""), &now).unwrap_err();
            assert!(error.contains(says), "{now}: {error}");
        }
    }

    #[test]
    fn an_answer_that_is_cut_anywhere_is_not_complete() {
        cut_anywhere(&RERANK, 2, VLLM);
        cut_anywhere(&RERANK, 2, OTHERS[0].0);
    }

    #[test]
    fn documents_stand_beside_the_query() {
        let [.., several] = bodies(&RERANK);
        assert_eq!(several, r#"{"query":"q","documents":["c","d"]}"#);
    }
}
