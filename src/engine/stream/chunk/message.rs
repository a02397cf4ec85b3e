//! What a choice says: its content, its reasoning and its calls of tools.

use std::borrow::Cow;

use serde_json::value::RawValue;

/// The message of a choice, or a part of one.
#[derive(Debug, Default)]
pub(crate) struct Message<'a> {
    pub content: Cow<'a, str>,
    /// Reasoning, by whichever names.
    pub thoughts: Vec<Cow<'a, str>>,
    pub refusal: Cow<'a, str>,
    /// An error, where it says something.
    pub error: Option<&'a RawValue>,
    /// The name of a field with text that is none of these.
    pub elsewhere: Option<Cow<'a, str>>,
    pub tool_calls: Vec<ToolCallJson<'a>>,
}

/// A call of a tool, or a part of one.
#[derive(Debug, Default)]
pub(crate) struct ToolCallJson<'a> {
    /// Index among the calls of the answer; absent in a whole answer.
    pub index: Option<u32>,
    pub name: Cow<'a, str>,
    pub arguments: Cow<'a, str>,
}

impl<'a> Message<'a> {
    /// A message with this call, or part of one.
    pub(crate) fn of_call(call: ToolCallJson<'a>) -> Self {
        Self { tool_calls: vec![call], ..Self::default() }
    }

    /// Its reasoning, by whichever name.
    pub(super) fn thought(&self) -> &str {
        self.thoughts.iter().find(|text| !text.is_empty()).map_or("", |text| text)
    }
}
