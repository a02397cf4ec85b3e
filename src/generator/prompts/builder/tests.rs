//! Holds prompts to their token counts, and to differing where they must.

use std::collections::HashSet;

use super::test_classes::{TOKENIZER, classes, count, tokenizer};
use super::*;
use crate::record::Turn;

fn text(prompt: Prompt) -> String {
    match prompt {
        Prompt::Text(text) => text,
        other => panic!("{other:?} is no text"),
    }
}

#[test]
fn later_turns_say_exactly_their_new_tokens() {
    let builder = PromptBuilder::with_tokenizer(&classes(), 1, TOKENIZER).unwrap();
    let tokenizer = tokenizer();
    let mut said = builder.shared("an answer", 30);
    let mut total = 30;
    for (number, new_tokens) in (1..60).zip((1..600).step_by(9)) {
        let turn = Turn { session: 5, number, history_tokens: total, ..Turn::default() };
        let input_tokens = total + new_tokens;
        let index = Turn::index_of(5, number);
        let planned = PlannedRequest { index, input_tokens, turn: Some(turn), ..PlannedRequest::default() };
        said += &builder.next_message(&planned);
        total += new_tokens;
        assert_eq!(count(&tokenizer, &said), total, "turn {number} of {new_tokens} tokens");
    }
}

#[test]
fn prompts_are_exact_with_a_tokenizer() {
    let builder = PromptBuilder::with_tokenizer(&classes(), 1, TOKENIZER).unwrap();
    let tokenizer = tokenizer();
    let lengths = (1..200).chain((200..2_000).step_by(17)).chain([2_000]);
    for (index, asked) in lengths.enumerate() {
        for class in 0..2 {
            let prompt = text(builder.build(class, asked, index as u64));
            assert_eq!(count(&tokenizer, &prompt), asked, "{prompt:?}");
        }
    }
}

#[test]
fn a_servers_counts_come_close_and_its_special_tokens_do_no_harm() {
    // A server that puts a special token before every text.
    let tokenizer = tokenizer();
    let counts: Vec<usize> =
        PromptBuilder::texts_to_measure(&classes()).iter().map(|text| count(&tokenizer, text) as usize + 1).collect();
    let builder = PromptBuilder::with_server_counts(&classes(), 1, &counts).unwrap();
    let mut exact = 0;
    for index in 0..200 {
        let asked = 20 + index as u32 * 5;
        let tokens = count(&tokenizer, &text(builder.build((index % 2) as u16, asked, index)));
        assert!(tokens.abs_diff(asked) <= 2, "{tokens} tokens for {asked}");
        exact += u32::from(tokens == asked);
    }
    assert!(exact >= 180, "only {exact} of 200 are exact");
}

#[test]
fn unusable_counts_are_refused() {
    let refuse = |counts: &[usize]| PromptBuilder::with_server_counts(&classes(), 1, counts).unwrap_err().to_string();
    let texts = PromptBuilder::texts_to_measure(&classes()).len();
    assert!(refuse(&[1, 2]).contains("2 counts came"));
    assert!(refuse(&vec![3; texts]).contains("does not count more"));
}

#[test]
fn each_text_is_measured_once() {
    let texts = PromptBuilder::texts_to_measure(&classes());
    assert_eq!(texts.iter().collect::<HashSet<_>>().len(), texts.len());
    assert!(texts.len() < 1_200, "{} texts: too many questions for a server", texts.len());
}

#[test]
fn estimated_prompts_spend_exactly_their_budget() {
    let builder = PromptBuilder::with_word_list(&classes(), 1);
    for asked in 1..1_000 {
        for class in 0..2 {
            let prompt = text(builder.build(class, asked, u64::from(asked)));
            let estimate = crate::generator::tokens::costs::estimate_tokens(&prompt);
            assert!(estimate.abs_diff(asked) <= 1, "{asked} asked, {estimate} in {prompt:?}");
            assert!(!prompt.contains(".."), "{prompt:?}");
        }
    }
}

#[test]
fn no_two_prompts_begin_alike() {
    let builder = PromptBuilder::with_word_list(&classes(), 1);
    let lead = |prompt: &str| prompt.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
    let leads: HashSet<String> = (0..20_000).map(|index| lead(&text(builder.build(0, 12, index)))).collect();
    assert_eq!(leads.len(), 20_000);
    let other_run = PromptBuilder::with_word_list(&classes(), 2);
    assert!((0..20_000).all(|index| !leads.contains(&lead(&text(other_run.build(0, 12, index))))));
}

#[test]
fn the_shortest_prompts_vary_as_far_as_one_word_can() {
    let by_list = PromptBuilder::with_word_list(&classes(), 1);
    let texts: HashSet<String> = (0..512).map(|index| text(by_list.build(1, 1, index))).collect();
    assert_eq!(texts.len(), 512);
    let by_tokenizer = PromptBuilder::with_tokenizer(&classes(), 1, TOKENIZER).unwrap();
    let texts: HashSet<String> = (0..100).map(|index| text(by_tokenizer.build(0, 1, index))).collect();
    assert!(texts.len() >= 16, "only {} different prompts of one token", texts.len());
}

#[test]
fn the_same_salt_and_index_say_the_same() {
    let [one, again, other] = [5, 5, 6].map(|salt| PromptBuilder::with_word_list(&classes(), salt));
    assert_eq!(one.build(0, 300, 17), again.build(0, 300, 17));
    assert_ne!(one.build(0, 300, 17), other.build(0, 300, 17));
    assert_ne!(one.build(0, 300, 17), one.build(0, 300, 18));
    assert_eq!(one.facts(), PromptFacts { method: PromptMethod::WordList, salt: 5, template_tokens: None });
}

#[test]
fn prompts_read_as_text() {
    let builder = PromptBuilder::with_word_list(&classes(), 3);
    for (class, index) in [(0, 0), (0, 1), (0, 2), (1, 3), (1, 4)] {
        let text = text(builder.build(class, 400, index));
        assert!(text.starts_with(|c: char| c.is_ascii_uppercase()), "{text:?}");
        assert!(!text.ends_with(char::is_whitespace) && !text.contains("  ") && !text.contains(".."), "{text:?}");
        assert!(text.contains("\n\n"), "400 tokens have paragraphs: {text:?}");
    }
    let retrieval = text(builder.build(1, 400, 9));
    assert!(retrieval.ends_with("what does it say?"), "the question comes last: {retrieval:?}");
    let mut templates = (0..50).map(|index| text(builder.build(0, 400, index)));
    assert!(templates.any(|text| text.contains(". Explain how photosynthesis works to a ten-year-old")));
}

#[test]
fn texts_too_long_for_a_prompt_are_cut_at_a_word() {
    let builder = PromptBuilder::with_word_list(&classes()[1..], 3);
    let text = text(builder.build(0, 9, 0));
    assert!(text.contains(".\n\nQuestion") && !text.ends_with("say?"), "{text:?}");
    let last = text.split_whitespace().last().unwrap().to_owned();
    let known = "Question: which of the passages above speaks of 1987, and what does it say?";
    assert!(known.split_whitespace().any(|word| word == last), "{text:?} ends within a word");
}

#[test]
fn without_room_there_is_no_text() {
    assert_eq!(PromptBuilder::with_word_list(&classes(), 1).build(0, 0, 0), Prompt::default());
}

#[test]
fn prompts_of_a_trace_share_the_tokens_of_their_blocks() {
    let builder = PromptBuilder::with_tokenizer(&classes(), 1, TOKENIZER).unwrap();
    let tokenizer = tokenizer();
    let blocks = |ids: &[u64]| Blocks { ids: ids.into(), tokens: 64 };
    let tokens = |ids: &[u64], asked: u32, index: u64| {
        let planned = PlannedRequest { index, input_tokens: asked, ..PlannedRequest::default() };
        let prompt = text(builder.prompt_after(&blocks(ids), &planned));
        let tokens = tokenizer.encode(prompt, false).unwrap().get_ids().to_vec();
        assert_eq!(tokens.len() as u32, asked, "{ids:?}");
        tokens
    };
    let common = |a: &[u32], b: &[u32]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    for (ids, asked) in [(&[7, 8, 9][..], 192), (&[7, 8, 9], 150), (&[7, 8, 9], 400), (&[7], 20), (&[7, 8], 128)] {
        let one = tokens(ids, asked, 1);
        let longer: Vec<u64> = ids.iter().copied().chain([50, 51]).collect();
        let whole = (ids.len() * 64).min(asked as usize);
        // The next turn of a conversation begins with all of what came before; a piece may be another at the very end,
        // where a count was corrected.
        let shared = common(&one, &tokens(&longer, 600, 2));
        assert!(shared + 4 >= whole, "{shared} of {whole}");
        assert!(common(&one, &tokens(&[70, 71, 72], asked, 3)) < 8, "other ids, other texts");
    }
    // What blocks leave is the request's own.
    assert!(common(&tokens(&[7], 300, 4), &tokens(&[7], 300, 5)) < 64 + 8);
    let planned = PlannedRequest { index: 6, class: 1, input_tokens: 64, ..PlannedRequest::default() };
    let salted = builder.clone().with_salt(2);
    assert_ne!(salted.prompt_after(&blocks(&[7]), &planned), builder.prompt_after(&blocks(&[7]), &planned));
    assert_eq!(builder.prompt_after(&Blocks::default(), &planned), builder.build(1, 64, 6));
}
