//! Reads and writes what answers with a result for each of several inputs have in common.

use serde_json::Value;

use super::super::protocol::Protocol;
use super::super::typed::{found, word};
use crate::engine::dialect_traits::LengthForcing;
use crate::engine::stream::AnswerGrammar;
use crate::engine::stream::chunk::ChunkJson;
use crate::engine::stream::chunk::items::{AnswerItems, ExpectedItems, ItemFault, ItemValue};
use crate::engine::stream::chunk::loose::{LooseValue, MemberList, note};
use crate::engine::stream::form::AnswerForm;
use crate::engine::stream::reasons::{is_error, names_error};
use crate::engine::target::Target;
use crate::generator::{AudioClip, Prompt, PromptNeed};
use crate::random::RandomStream;
use crate::record::{Usage, WorkKind};
use crate::workload::{Audio, InputBatch};

/// Parameters of generation, which such requests do not carry.
const GENERATION: &[&str] = &["temperature", "top_p", "top_k", "seed", "n", "best_of"];

/// The protocol of an endpoint that answers inputs with results. Its words are name, path, backend and prompt field.
pub(super) const fn protocol(
    [name, path, backend, prompt_field]: [&'static str; 4],
    write_prompt: fn(&mut Vec<u8>, &Prompt),
    inputs: InputBatch,
    answers: &'static AnswerGrammar,
) -> Protocol {
    Protocol {
        name,
        path,
        backend,
        prompt_field,
        write_prompt,
        carries: &[],
        only: None,
        is_form: false,
        inputs: Some(inputs),
        limits: &[],
        within: None,
        usual_tokens: None,
        form: Some(AnswerForm::Whole),
        whole: None,
        template: None,
        asks_for_usage: false,
        forces: LengthForcing::None,
        lacks: GENERATION,
        headers: &[],
        key_header: None,
        shape: None,
        work: WorkKind::Items,
        answers,
    }
}

/// The grammar of answers whose results are in `text_member`, or are a bare list.
pub(super) const fn results(
    text_member: &'static str,
    member: for<'a> fn(&mut ChunkJson<'a>, &MemberList<'a>, &str, LooseValue<'a>) -> bool,
) -> AnswerGrammar {
    AnswerGrammar {
        member,
        common: |_| None,
        events: &["", "message"],
        ends: &["[DONE]"],
        end_name: "the last result",
        text_member,
        lists: true,
        pointers: None,
    }
}

/// Reads a member of an answer: its `results`, by their name, or its counts.
pub(super) fn member<'a>(
    document: &mut ChunkJson<'a>,
    (name, results): (&str, &'static str),
    value: LooseValue<'a>,
    read: fn(&MemberList<'a>) -> Result<ItemValue, &'static str>,
) -> bool {
    match name {
        _ if name == results && value.0.get() != "null" => document.read_items(results, value, read),
        "usage" if value.0.get() != "null" => {
            document.read_usage(value);
            let all = value.members().and_then(|counts| found(&counts, "total_tokens")?.count());
            // Some count the prompt in the total alone.
            if let (Some(usage), Some(all)) = (&mut document.usage, all)
                && usage.prompt().is_none()
            {
                usage.prompt_tokens = all;
            }
        }
        _ => return false,
    }
    true
}

impl<'a> ChunkJson<'a> {
    fn read_items(
        &mut self,
        name: &'static str,
        value: LooseValue<'a>,
        read: fn(&MemberList<'a>) -> Result<ItemValue, &'static str>,
    ) {
        let Some(items) = value.0.get().starts_with('[').then(|| value.parts()).flatten() else {
            return note(&mut self.unread, name);
        };
        let (mut all, mut counted) = (Vec::with_capacity(items.len()), Some(0));
        for item in items {
            let Some(members) = LooseValue(item).members() else {
                all.push((None, Err(ItemFault::Unread("members"))));
                continue;
            };
            let index = found(&members, "index").and_then(LooseValue::count);
            let words = error_of(&members);
            all.push((index, words.map_or_else(|| read(&members).map_err(ItemFault::Unread), Err)));
            let tokens = found(&members, "meta_info").and_then(|of| found(&of.members()?, "prompt_tokens")?.count());
            counted = counted.zip(tokens).map(|(sum, tokens): (u64, u64)| sum.saturating_add(tokens));
        }
        // SGLang counts the prompt of each result.
        if let Some(prompt_tokens) = counted.filter(|_| self.usage.is_none()) {
            self.usage = Some(Usage { prompt_tokens, ..Usage::default() });
        }
        self.items = Some(AnswerItems { all });
    }
}

/// The server's words where the input of a result failed.
fn error_of(item: &MemberList<'_>) -> Option<ItemFault> {
    let says = item.iter().find(|(name, value)| names_error(name.as_bytes()) && !LooseValue(value).is_empty());
    let says = says.map(|(_, value)| LooseValue(value));
    let is_one = word(item, "object").is_some_and(|kind| is_error(&kind));
    let said = says.or_else(|| found(item, "message").filter(|_| is_one))?;
    let inner = said.members().and_then(|error| word(&error, "message"));
    let words = inner.or_else(|| said.string()).map_or_else(|| said.0.get().to_owned(), std::borrow::Cow::into_owned);
    Some(ItemFault::Failed(words))
}

/// The score in one of these members.
pub(super) fn score(item: &MemberList<'_>, names: &[&str]) -> Result<ItemValue, &'static str> {
    let score = names.iter().find_map(|name| found(item, name)).and_then(|value| value.0.get().parse::<f64>().ok());
    score.filter(|score| score.is_finite()).map(|_| ItemValue::Score).ok_or("score")
}

/// The vector in a member: numbers, or text that encodes them.
pub(super) fn vector(item: &MemberList<'_>, name: &str) -> Result<ItemValue, &'static str> {
    let json = found(item, name).map_or("", |value| value.0.get());
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE, \t\r\n".contains(byte);
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let within = |open, close| Some(json.strip_prefix(open)?.strip_suffix(close)?.as_bytes());
    match (within('[', ']'), within('"', '"')) {
        (Some(numbers), _)
            if numbers.iter().any(u8::is_ascii_digit) && numbers.iter().all(is_part) && all_finite(numbers) =>
        {
            Ok(ItemValue::Numbers { count: numbers.split(|byte| *byte == b',').count() })
        }
        (_, Some(text)) if text.iter().all(is_base64) && encodes_numbers(text) => {
            Ok(ItemValue::Encoded { bytes: text.len() })
        }
        _ => Err("vector"),
    }
}

/// Whether no number of a list is too large for one. Only those with an exponent can be.
fn all_finite(numbers: &[u8]) -> bool {
    let has_exponent = |number: &&[u8]| number.iter().any(|byte| matches!(byte, b'e' | b'E'));
    let is_finite = |number: &[u8]| {
        let value = std::str::from_utf8(number).ok().and_then(|text| text.trim().parse::<f64>().ok());
        value.is_some_and(f64::is_finite)
    };
    numbers.split(|byte| *byte == b',').filter(has_exponent).all(is_finite)
}

/// Whether a text in base64 has whole numbers of four bytes.
fn encodes_numbers(text: &[u8]) -> bool {
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    let bytes = (text.len() / 4 * 3).saturating_sub(padding);
    text.len().is_multiple_of(4) && padding <= 2 && bytes > 0 && bytes.is_multiple_of(4)
}

/// Writes the texts of a request as a list.
pub(super) fn texts(body: &mut Vec<u8>, prompt: &Prompt) {
    let Prompt::Inputs { texts, .. } = prompt else {
        body.push(b'[');
        super::super::prompt::content(body, prompt);
        return body.push(b']');
    };
    // Writing to memory cannot fail.
    let _ = serde_json::to_writer(body, texts);
}

/// Writes the query of a request, and its texts as the member of this name.
pub(super) fn pairs(body: &mut Vec<u8>, prompt: &Prompt, name: &str) {
    query(body, prompt);
    body.extend_from_slice(format!(",\"{name}\":").as_bytes());
    texts(body, prompt);
}

/// Writes the query of a request; a prompt that has none is its own.
fn query(body: &mut Vec<u8>, prompt: &Prompt) {
    match prompt {
        Prompt::Inputs { query: Some(query), .. } => super::super::prompt::string(body, query),
        prompt => super::super::prompt::content(body, prompt),
    }
}

/// Number of times that the text of a test request stands in its prompt. `None` where models read it once or several
/// times, as they read a query.
pub(in crate::engine) fn times_of_text(prompt: &Prompt) -> Option<u64> {
    match prompt {
        Prompt::Inputs { query: Some(_), .. } | Prompt::TokenIds(_) | Prompt::Audio(_) => None,
        Prompt::Inputs { texts, .. } => Some(texts.len() as u64),
        _ => Some(1),
    }
}

impl Target {
    /// Results that the answer to a prompt must have; `None` where it is a text.
    pub(crate) fn expected_items(&self, prompt: &Prompt) -> Option<ExpectedItems> {
        let extra = &self.extra_body.0;
        let inputs = match prompt {
            _ if self.endpoint.inputs.is_none() => return None,
            Prompt::Inputs { texts, .. } => texts.len() as u32,
            _ => 1,
        };
        let most = extra.get("top_n").and_then(Value::as_u64).filter(|most| *most > 0);
        let encoded = extra.get("encoding_format").and_then(Value::as_str) == Some("base64");
        Some(ExpectedItems { inputs, most: most.and_then(|most| most.try_into().ok()), encoded })
    }

    /// The prompt of a test request. It has as many inputs, or as much audio, as those of the run.
    pub(crate) fn test_prompt(&self, text: &str) -> Prompt {
        match self.inputs.or(self.endpoint.inputs) {
            _ if self.endpoint.only == Some(PromptNeed::Audio) => {
                let mut stream = RandomStream::named(0, "test audio");
                let longest = Audio { seconds: f64::from(self.audio_tenths) / 10.0 };
                let audio = if self.audio_tenths == 0 { Audio::USUAL } else { longest };
                AudioClip::made(audio, stream.branch(0)).prompt(&mut stream)
            }
            // Every vocabulary has these.
            _ if self.endpoint.only.is_some() => Prompt::TokenIds((100..108).collect()),
            Some(inputs) if !inputs.is_one_text() => Prompt::Inputs {
                query: inputs.has_query().then(|| text.to_owned()),
                texts: vec![text.to_owned(); inputs.size as usize],
            },
            _ => Prompt::Text(text.to_owned()),
        }
    }
}
