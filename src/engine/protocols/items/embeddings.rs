//! Embeddings: `input`, a text or several, each answered by a vector.

use super::super::prompt::content;
use super::super::protocol::Protocol;
use super::results::{member, protocol, results, texts, vector};
use crate::engine::stream::AnswerGrammar;
use crate::generator::{Prompt, PromptNeed};
use crate::workload::{InputBatch, InputKind};

/// `/v1/embeddings`.
pub static EMBEDDINGS: Protocol = Protocol {
    carries: &[PromptNeed::TokenIds],
    ..protocol(
        ["embeddings", "/v1/embeddings", "openai-embeddings", "input"],
        |body, prompt| match prompt {
            Prompt::Inputs { .. } => texts(body, prompt),
            one => content(body, one),
        },
        InputBatch { kind: InputKind::Texts, size: 1 },
        &VECTORS,
    )
};

static VECTORS: AnswerGrammar = results("data", |document, _, name, value| {
    member(document, (name, "data"), value, |item| vector(item, "embedding"))
});

#[cfg(test)]
mod tests {
    use crate::engine::protocols::items::readings::{answer, bodies, cut_anywhere};

    use super::*;

    const TWO: &str = r#"{"object":"list","model":"m","data":[
        {"object":"embedding","index":0,"embedding":[0.25,-1e-3]},
        {"object":"embedding","index":1,"embedding":[1,2.5]}],
        "usage":{"prompt_tokens":12,"total_tokens":12,"completion_tokens":0}}"#;

    #[test]
    fn each_input_has_a_vector() {
        assert_eq!(answer(&EMBEDDINGS, (2, ""), TWO), Ok(Some(12)));
        let text = TWO.replace("[0.25,-1e-3]", "\"AACAPgAAgD4=\"").replace("[1,2.5]", "\"AACAPwAAIEA=\"");
        assert_eq!(answer(&EMBEDDINGS, (2, r#"{"encoding_format":"base64"}"#), &text), Ok(Some(12)));
        for (now, says) in [
            (TWO.replace("[1,2.5]", "[1]"), "different sizes, 1 and 2"),
            (TWO.replace("[1,2.5]", "[]"), "the result of input 2 has no vector"),
            (TWO.replace("[1,2.5]", "[1,null]"), "the result of input 2 has no vector"),
            (TWO.replace("\"index\":1", "\"index\":0"), "their indexes are [0, 0]"),
            (TWO.replace("\"data\"", "\"vectors\""), "the answer has no data"),
            (text.clone(), "vectors came as text (base64), and numbers were asked for"),
            (
                TWO.replace("\"embedding\":[1,2.5]", "\"error\":{\"message\":\"too long\"}"),
                "input 2 of 2 failed: too long",
            ),
            (
                r#"{"error":{"message":"The model does not support Embeddings API","code":400}}"#.into(),
                "does not support",
            ),
        ] {
            let error = answer(&EMBEDDINGS, (2, ""), &now).unwrap_err();
            assert!(error.contains(says), "{now}: {error}");
        }
        assert!(answer(&EMBEDDINGS, (3, ""), TWO).unwrap_err().contains("2 results, and 3 were asked for"));
        assert_eq!(answer(&EMBEDDINGS, (2, ""), &TWO.replace("\"usage\"", "\"counts\"")), Ok(None), "no count is 0");
    }

    #[test]
    fn an_answer_that_is_cut_anywhere_is_not_complete() {
        cut_anywhere(&EMBEDDINGS, 2, TWO);
    }

    #[test]
    fn one_text_stands_alone_and_several_in_a_list() {
        let [one, ids, several] = bodies(&EMBEDDINGS);
        assert_eq!(one, r#"{"input":"a \"b\""}"#);
        assert_eq!(ids, r#"{"input":[1,20]}"#);
        assert_eq!(several, r#"{"input":["c","d"]}"#);
    }
}
