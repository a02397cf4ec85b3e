//! Scores of a text beside others, as vLLM gives them.

use super::super::protocol::Protocol;
use super::results::{member, pairs, protocol, results, score};
use crate::engine::stream::AnswerGrammar;
use crate::workload::{InputBatch, InputKind};

/// `/v1/score`.
pub static SCORE: Protocol = protocol(
    ["score", "/v1/score", "vllm-score", "text_1"],
    |body, prompt| pairs(body, prompt, "text_2"),
    InputBatch { kind: InputKind::Pairs, size: 1 },
    &SCORES,
);

static SCORES: AnswerGrammar =
    results("data", |document, _, name, value| member(document, (name, "data"), value, |item| score(item, &["score"])));

#[cfg(test)]
mod tests {
    use crate::engine::protocols::items::readings::{answer, bodies, cut_anywhere};

    use super::*;

    const TWO: &str = r#"{"id":"score-1","object":"list","created":1,"model":"m","data":[
        {"index":0,"object":"score","score":1.0},{"index":1,"object":"score","score":0.001}],
        "usage":{"prompt_tokens":9,"total_tokens":9,"completion_tokens":0,"prompt_tokens_details":null}}"#;

    #[test]
    fn each_pair_has_a_score() {
        assert_eq!(answer(&SCORE, (2, ""), TWO), Ok(Some(9)));
        let error = answer(&SCORE, (2, ""), &TWO.replace("0.001", "\"NaN\"")).unwrap_err();
        assert!(error.contains("the result of input 2 has no score"), "{error}");
        cut_anywhere(&SCORE, 2, TWO);
    }

    #[test]
    fn the_query_stands_before_the_texts() {
        let [.., several] = bodies(&SCORE);
        assert_eq!(several, r#"{"text_1":"q","text_2":["c","d"]}"#);
    }
}
