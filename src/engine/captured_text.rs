//! Captures the text of an answer as raw bytes, and reads it after the answer is over.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::answer_limits::HeldMemory;
use super::stream::AnswerGrammar;
use super::stream::chunk::ChunkJson;
use super::stream::chunk::loose::{MemberList, members};
use super::stream::chunk::repair::readable;
use crate::record::Failure;

/// Whether the text of an answer is captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CaptureText {
    /// No capture: the text is skipped, which is cheapest.
    #[default]
    No,
    /// Captured as bytes, which are read only after the answer is over.
    Yes,
}

/// The bytes of an answer that came whole, one JSON document after another. Chunks differ in little, so each is kept as
/// what it has not in common with the one before.
#[derive(Clone, Default)]
pub struct CapturedText {
    /// The grammar of the documents.
    answers: &'static AnswerGrammar,
    /// The documents, each as three lengths and some bytes. The lengths are those of the beginning and end that it
    /// shares, and of what is between; the bytes are what is between.
    bytes: Vec<u8>,
    /// The last document, unless it is long.
    last: Vec<u8>,
    documents: usize,
    /// Part of the memory for answers that it holds, as long as it is there.
    memory: Option<Arc<HeldMemory>>,
}

impl PartialEq for CapturedText {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl fmt::Debug for CapturedText {
    /// Shows the length, not the bytes: they may repeat a credential.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CapturedText").field("length", &self.bytes.len()).finish_non_exhaustive()
    }
}

/// Longest document with which the next one is compared.
const SHORT: usize = u16::MAX as usize;
/// Bytes of the three lengths.
const LENGTHS: usize = 8;

/// The text of an answer: of its first choice, where there are several (`n`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerText {
    /// The answer itself.
    pub content: String,
    /// The reasoning of a reasoning model.
    pub reasoning: String,
    /// The tool calls, in order.
    pub tool_calls: Vec<ToolCall>,
}

/// A tool call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// The tool's name.
    pub name: String,
    /// Its arguments: JSON, if the model wrote JSON.
    pub arguments: String,
}

impl AnswerText {
    /// Takes out the calls that a later prompt can repeat. Servers refuse arguments that are no JSON object, such as
    /// those of an answer that was cut off. A call without arguments has an empty object.
    pub fn take_whole_calls(&mut self) -> Vec<ToolCall> {
        let is_object = |text: &str| serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).is_ok();
        let calls = std::mem::take(&mut self.tool_calls).into_iter();
        let calls = calls.map(|ToolCall { name, arguments }| ToolCall {
            name,
            arguments: if arguments.trim().is_empty() { "{}".to_owned() } else { arguments },
        });
        calls.filter(|call| is_object(&call.arguments)).collect()
    }
}

impl CapturedText {
    /// Nothing yet of an answer with this grammar.
    pub(super) fn new(answers: &'static AnswerGrammar) -> Self {
        Self { answers, ..Self::default() }
    }

    pub(super) fn push(&mut self, document: &[u8]) {
        let begin = self.last.iter().zip(document).take_while(|(a, b)| a == b).count();
        let (of_last, of_new) = (&self.last[begin..], &document[begin..]);
        let end = of_last.iter().rev().zip(of_new.iter().rev()).take_while(|(a, b)| a == b).count();
        let between = &of_new[..of_new.len() - end];
        self.bytes.extend_from_slice(&(begin as u16).to_le_bytes());
        self.bytes.extend_from_slice(&(end as u16).to_le_bytes());
        self.bytes.extend_from_slice(&(between.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(between);
        self.last.clear();
        self.last.extend_from_slice(if document.len() > SHORT { &[] } else { document });
        self.documents += 1;
    }

    /// Keeps nothing but this document.
    pub(super) fn keep_only(&mut self, document: &[u8]) {
        *self = Self { memory: self.memory.take(), ..Self::new(self.answers) };
        self.push(document);
    }

    /// Calls `each` with every document.
    fn each_document(&self, mut each: impl FnMut(&[u8])) {
        let (mut rest, mut last) = (&self.bytes[..], Vec::new());
        while let Some((&[b0, b1, e0, e1, l0, l1, l2, l3], after)) = rest.split_first_chunk::<LENGTHS>() {
            let [begin, end] = [[b0, b1], [e0, e1]].map(|bytes| usize::from(u16::from_le_bytes(bytes)));
            let (between, after) = after.split_at(u32::from_le_bytes([l0, l1, l2, l3]) as usize);
            rest = after;
            let document = [&last[..begin], between, &last[last.len() - end..]].concat();
            each(&document);
            last = if document.len() > SHORT { Vec::new() } else { document };
        }
    }

    /// Calls `each` with every document that is an object, and its members.
    pub(super) fn each_members(&self, mut each: impl FnMut(&[u8], &MemberList<'_>)) {
        self.each_document(|document| {
            if let Ok(members) = members(&readable(document)) {
                each(document, &members);
            }
        });
    }

    /// The number of the next document.
    pub(super) fn end(&self) -> usize {
        self.documents
    }

    /// Takes the document of this number away.
    pub(super) fn remove(&mut self, number: usize) {
        let mut kept = Self { memory: self.memory.take(), ..Self::new(self.answers) };
        let mut numbers = 0..;
        self.each_document(|document| {
            if numbers.next() != Some(number) {
                kept.push(document);
            }
        });
        *self = kept;
    }

    /// Bytes that it holds.
    pub(super) fn held(&self) -> usize {
        self.bytes.len() + self.last.len()
    }

    /// Counts it in `memory` until it is dropped.
    pub(super) fn count_in(&mut self, mut memory: HeldMemory) -> Result<(), Failure> {
        self.last = Vec::new();
        memory.hold_all(self.held() as u64)?;
        self.memory = Some(Arc::new(memory));
        Ok(())
    }

    /// An answer with this content, for tests.
    #[cfg(test)]
    pub(crate) fn of_content(content: &str) -> Self {
        let mut captured = Self::default();
        let delta = serde_json::json!({"choices": [{"index": 0, "delta": {"content": content}}]});
        captured.push(delta.to_string().as_bytes());
        captured
    }

    /// The text of the first choice. Takes time in proportion to the answer's length: not for the measured
    /// path.
    pub fn read(&self) -> AnswerText {
        self.read_all().remove(&0).unwrap_or_default()
    }

    /// The text of every choice (`n`) by its index; index 0 is always there.
    pub fn read_all(&self) -> BTreeMap<u32, AnswerText> {
        let mut answers = BTreeMap::from([(0, AnswerText::default())]);
        let mut calls: BTreeMap<(u32, u32), ToolCall> = BTreeMap::new();
        self.each_document(|document| {
            let json = readable(document);
            // What is no document was passed over.
            let Ok(document) = ChunkJson::parse(&json, self.answers) else { return };
            for choice in document.choices() {
                let text = answers.entry(choice.index).or_default();
                if document.marks.is_so_far {
                    text.content.clear();
                }
                text.content.push_str(choice.content());
                text.reasoning.push_str(choice.reasoning());
                for (index, name, arguments) in choice.tool_calls() {
                    let call = calls.entry((choice.index, index)).or_default();
                    // Some servers repeat the name with every piece of the arguments.
                    if call.name != name {
                        call.name.push_str(name);
                    }
                    call.arguments.push_str(arguments);
                }
            }
        });
        for ((choice, _), call) in calls {
            answers.entry(choice).or_default().tool_calls.push(call);
        }
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: &str = r#"{"choices":[{"index":1,"delta":{"content":"another answer"}}]}"#;

    fn captured(documents: &[&str]) -> CapturedText {
        let mut captured = CapturedText::default();
        for document in documents {
            captured.push(document.as_bytes());
        }
        captured
    }

    fn read(documents: &[&str]) -> AnswerText {
        captured(documents).read()
    }

    #[test]
    fn every_answer_is_there_for_who_wants_all() {
        let answers = captured(&[OTHER, OTHER]).read_all();
        let said: Vec<_> = answers.values().map(|answer| answer.content.as_str()).collect();
        assert_eq!(said, ["", "another answeranother answer"]);
    }

    #[test]
    fn chunks_that_differ_in_a_word_take_little_memory() {
        let chunk = |word: &str| {
            let id = "chatcmpl-0123456789abcdef0123456789abcdef";
            format!(
                r#"{{"id":"{id}","object":"chat.completion.chunk","choices":[{{"index":0,"delta":{{"content":"{word}"}}}}]}}"#
            )
        };
        let long = chunk(&"l".repeat(2 * SHORT));
        let words = ["a", "aa", "", "b", "b", "aab", &long, "c", "caca", "ca"];
        let documents: Vec<_> =
            words.iter().map(|word| if word.len() > SHORT { long.clone() } else { chunk(word) }).collect();
        for left_out in 0..=documents.len() {
            let mut captured = captured(&documents.iter().map(String::as_str).collect::<Vec<_>>());
            captured.remove(left_out);
            let mut expected = documents.clone();
            expected.drain(left_out..(left_out + 1).min(documents.len()));
            let mut found = Vec::new();
            captured.each_document(|document| found.push(String::from_utf8_lossy(document).into_owned()));
            assert_eq!((found, captured.end()), (expected.clone(), expected.len()));
        }
        let mut captured = CapturedText::default();
        (0..1_000).for_each(|number| captured.push(chunk(&number.to_string()).as_bytes()));
        assert!(captured.held() < 12_000, "{}", captured.held());
    }

    #[test]
    fn pieces_of_a_chat_are_joined() {
        let text = read(&[
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"reasoning_content":"Hm. "}}]}"#,
            OTHER,
            "{\"choices\":[{\"index\":0,\n\"delta\":{\"content\":\"Zwei \\u00e4pfel\\n\"}}]}",
            r#"{"choices":[{"index":0,"delta":{"content":"und \"Brot\""},"finish_reason":"stop"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5}}"#,
        ]);
        assert_eq!(text.content, "Zwei äpfel\nund \"Brot\"");
        assert_eq!((text.reasoning.as_str(), text.tool_calls.len()), ("Hm. ", 0));
        assert_eq!(read(&[r#"{"choices":[{"text":"one "}]}"#, r#"{"choices":[{"text":"two"}]}"#]).content, "one two");
    }

    #[test]
    fn calls_of_tools_are_put_together_by_their_places() {
        let delta = |calls: &str| format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{calls}]}}}}]}}"#);
        let text = read(&[
            &delta(r#"{"index":0,"id":"a","type":"function","function":{"name":"weather","arguments":""}}"#),
            &delta(r#"{"index":0,"function":{"arguments":"{\"city\":"}}"#),
            &delta(r#"{"index":1,"id":"b","function":{"name":"time","arguments":"{}"}}"#),
            &delta(r#"{"index":0,"function":{"arguments":" \"Oslo\"}"}}"#),
        ]);
        let call = |name: &str, arguments: &str| ToolCall { name: name.into(), arguments: arguments.into() };
        assert_eq!(text.tool_calls, [call("weather", r#"{"city": "Oslo"}"#), call("time", "{}")]);
        // A whole answer gives its calls without indices.
        let whole = r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":"a","arguments":"1"}},{"function":{"name":"b","arguments":"2"}}]}}]}"#;
        assert_eq!(read(&[whole]).tool_calls, [call("a", "1"), call("b", "2")]);
    }

    #[test]
    fn its_bytes_are_not_shown() {
        let mut captured = CapturedText::default();
        captured.push(b"a secret");
        assert_eq!(format!("{captured:?}"), "CapturedText { length: 16, .. }");
    }
}
