//! What rows say besides a prompt: who speaks, and how long answers are.

use super::*;

#[test]
fn a_system_turn_is_the_systems_message_and_the_next_one_the_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    let turn = |from: &str, value: &str| serde_json::json!({ "from": from, "value": value });
    let rows = serde_json::json!([
        { "conversations": [turn("system", "Be terse."), turn("human", "hello there"), turn("gpt", "one two three")] },
        { "conversations": [turn("human", "hello"), turn("gpt", "one")] },
    ]);
    std::fs::write(&path, rows.to_string()).unwrap();
    let (_, datasets) = open(with_dataset(&path, "")).unwrap();
    assert_eq!(datasets.needs().next(), Some(PromptNeed::Nothing), "a completion takes it too");
    let said = said(with_dataset(&path, ""));
    let Prompt::Messages(messages) = &said[0].1 else { panic!("{:?}", said[0].1) };
    let messages: Value = serde_json::from_str(messages).unwrap();
    let message = |role: &str, content: &str| serde_json::json!({ "role": role, "content": content });
    assert_eq!(messages, serde_json::json!([message("system", "Be terse."), message("user", "hello there")]));
    assert_eq!((said[0].0.output_tokens, &said[1].1), (3, &text("hello")));
}

#[test]
fn whole_numbers_that_python_writes_as_floats_are_lengths() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    std::fs::write(&path, "{\"prompt\": \"hello\", \"output_tokens\": 128.0}\n").unwrap();
    assert_eq!(said(with_dataset(&path, ""))[0].0.output_tokens, 128);
}
