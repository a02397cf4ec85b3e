//! The columns of a table that are prompts, answers and tags, and what a row says in them.

use serde_json::{Map, Value, json};

use crate::generator::datasets::messages;
use crate::generator::datasets::parse::{AnswerLength, DatasetRow, listed, number_length, tag};
use crate::generator::request::Prompt;
use crate::workload::{Dataset, nearest};

/// Names that columns of prompts have. The second list counts where none of the first is there.
const PROMPTS: [&[&str]; 2] = [
    &["prompt", "question", "instruction", "messages", "conversations", "conversation"],
    &["text", "query", "problem", "input", "content"],
];
/// Names that columns of answers, or of their lengths, have.
const OUTPUTS: [&[&str]; 2] = [&["output_tokens"], &["answer", "response", "output", "completion", "solution"]];

/// The columns of a table that are read.
#[derive(Debug)]
pub(super) struct TableColumns {
    prompt: String,
    /// The column of answers or their lengths, or why it is not known.
    output: Result<String, String>,
    tags: Vec<String>,
    /// The column of expected answers.
    expected: Option<String>,
}

impl TableColumns {
    /// The columns that `dataset` names of these, and guesses where it names none. `Err` is a question.
    pub(super) fn find(dataset: &Dataset, names: &[String]) -> Result<Self, String> {
        let prompt = column(names, dataset.prompt_column.as_deref(), PROMPTS, "prompt")?;
        let given = dataset.output_tokens_column.as_deref();
        let output = column(names, given, OUTPUTS, "output");
        if given.is_some() {
            output.as_ref().map_err(Clone::clone)?;
        }
        let output = output.map_err(|why| format!("{why}: name it with --dataset-columns output=NAME"));
        let expected = dataset.score.as_ref().map(|scoring| scoring.column.as_str());
        let expected = expected.map(|given| column(names, Some(given), OUTPUTS, "expected answer")).transpose()?;
        Ok(Self { prompt, output, tags: dataset.metadata.values().cloned().collect(), expected })
    }

    /// Whether a column is read.
    pub(super) fn has(&self, name: &str) -> bool {
        let expects = self.expected.as_deref() == Some(name);
        self.prompt == name || self.output.as_deref() == Ok(name) || expects || self.tags.iter().any(|tag| tag == name)
    }

    /// Reads a row.
    pub(super) fn row(&self, fields: &Map<String, Value>) -> Result<DatasetRow, String> {
        let prompt = &self.prompt;
        let (said, after) = match fields.get(prompt).unwrap_or(&Value::Null) {
            Value::String(text) => (Prompt::Text(text.clone()), AnswerLength::Unknown),
            Value::Array(turns) => until_the_answer(turns).map_err(|cause| format!("in `{prompt}`: {cause}"))?,
            Value::Null => return Err(format!("it has no `{prompt}`; its columns are {}", listed(fields.keys()))),
            other => return Err(format!("`{prompt}` is {other}, neither a text nor a list of messages")),
        };
        let output = self.output.as_deref();
        let answer = match output.ok().and_then(|name| fields.get(name)).unwrap_or(&Value::Null) {
            Value::String(text) => AnswerLength::Of(text.clone()),
            Value::Number(tokens) => number_length(tokens.as_f64().unwrap_or(f64::NAN))
                .map_err(|cause| format!("`{}` {cause}", output.unwrap_or_default()))?,
            Value::Null if after != AnswerLength::Unknown => after,
            Value::Null => self.output.as_ref().err().cloned().map_or(after, AnswerLength::Elsewhere),
            other => {
                return Err(format!("`{}` is {other}, neither a text nor a number", output.unwrap_or_default()));
            }
        };
        let value = |name: &String| {
            let value = fields.get(name).unwrap_or(&Value::Null).to_string();
            tag(&value).map_err(|mistake| format!("`{name}` {mistake}"))
        };
        let tags = self.tags.iter().map(value).collect::<Result<_, _>>()?;
        let expected = self.expected.as_ref().map(|name| fields.get(name).cloned().unwrap_or_default());
        Ok(DatasetRow { prompt: said, answer, tags, expected })
    }
}

/// The column with this role: the given one, or the only usual one.
fn column(names: &[String], given: Option<&str>, usual: [&[&str]; 2], role: &str) -> Result<String, String> {
    let there = || format!("its columns are {}", listed(names.iter()));
    if let Some(given) = given {
        if names.iter().any(|name| name == given) {
            return Ok(given.to_owned());
        }
        let near = nearest(given, names.iter().map(String::as_str));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        return Err(format!("there is no column `{given}`{near}; {}", there()));
    }
    let among = |usual: &[&str]| {
        let fits = names.iter().filter(|name| usual.contains(&name.to_ascii_lowercase().as_str()));
        fits.cloned().collect::<Vec<_>>()
    };
    let fits = usual.into_iter().map(among).find(|fits| !fits.is_empty()).unwrap_or_default();
    match &*fits {
        [one] => Ok(one.clone()),
        [] => Err(format!("no column has a usual name of the {role}; {}", there())),
        [..] => Err(format!("each of {} may be the {role}", listed(fits.iter()))),
    }
}

/// The turns before the first answer, and that answer.
fn until_the_answer(turns: &[Value]) -> Result<(Prompt, AnswerLength), String> {
    let mut said = Vec::new();
    let mut answer = AnswerLength::Unknown;
    for turn in turns {
        let own = |name: &str| turn.get(name).and_then(Value::as_str);
        let role =
            own("role").or_else(|| own("from")).ok_or_else(|| format!("{turn} has neither `role` nor `from`"))?;
        let text = own("content").or_else(|| own("value"));
        let role = match role {
            "human" => "user",
            "gpt" | "chatgpt" | "bing" | "bard" | "model" => "assistant",
            other => other,
        };
        if role == "assistant" {
            answer = text.map_or(AnswerLength::Unknown, |text| AnswerLength::Of(text.to_owned()));
            break;
        }
        let is_message = turn.get("role").is_some_and(|known| known == role);
        said.push(if is_message { turn.clone() } else { json!({ "role": role, "content": text }) });
    }
    if let [only] = &*said
        && only.get("role").is_some_and(|role| role == "user")
        && let Some(text) = only.get("content").and_then(Value::as_str)
    {
        return Ok((Prompt::Text(text.to_owned()), answer));
    }
    let list = Value::Array(said).to_string();
    messages::texts(&list).map_err(|error| error.to_string())?;
    Ok((Prompt::Messages(list), answer))
}
