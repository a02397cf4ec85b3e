//! The format that a class requires of its answers, and the check of an answer against it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json_schema::JsonSchema;
use crate::workload::reading::fields::Fields;
use crate::workload::reading::value::SpecValue;
use crate::workload::reading::{spec_kinds, spec_table};

spec_kinds! {
    /// A format that the server must keep answers to. The length of such an answer is not forced: `output_tokens` is
    /// its limit.
    pub enum AnswerShape = "answer" {
        /// Any JSON object.
        "json" Json {
            /// Whether an answer in another format misses its SLO.
            in_slo: bool = optional(false, |value| value.flag()),
        },
        /// JSON that fits a schema.
        "json_schema" JsonSchema {
            /// The schema.
            schema: JsonSchema = required(JsonSchema::read),
            /// Field that is sent as `strict`. `OpenAI` then enforces the schema, and refuses a schema that does not
            /// follow its strict subset.
            strict: bool = optional(false, |value| value.flag()),
            /// Whether an answer in another format misses its SLO.
            in_slo: bool = optional(false, |value| value.flag()),
        },
        /// A call of one of these tools.
        "tools" Tools {
            /// The tools; at least one.
            tools: Vec<ToolSpec> = required(|value| value.list(ToolSpec::read)),
            /// Whether the model must call one.
            choice: ToolChoice = optional(ToolChoice::Auto, |value| {
                ToolChoice::read(value, tools.as_deref().unwrap_or_default())
            }),
            /// Whether an answer in another format misses its SLO.
            in_slo: bool = strict_then_flag(&mut tools),
        },
    }
}

spec_table! {
    /// A tool that a model may call.
    pub struct ToolSpec = "a tool" {
        /// Its name.
        name: String = required(|value| match value.name()?.as_str() {
            "auto" | "required" => {
                value.refuse("another name than auto and required, which `choice` has taken")
            }
            name => Some(name.to_owned()),
        }),
        /// The description that the model sees.
        description: Option<String> = option(|value| value.nonblank()),
        /// Schema of the arguments; an object without fields when the file does not say.
        parameters: JsonSchema = optional(JsonSchema::of_no_field()?, JsonSchema::read),
        /// Sent as `strict`: vLLM and `OpenAI` hold the arguments to the schema only then.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        strict: bool = optional(false, |value| value.flag()),
    }
}

/// Whether a model must call a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model may answer in text.
    Auto,
    /// The model must call some tool.
    Required,
    /// The model must call this tool.
    #[serde(untagged)]
    Named(String),
}

/// Why an answer is not in the required format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ShapeFault {
    /// The answer is not JSON, or not an object where any object would do.
    NotJson,
    /// The answer is JSON that does not fit the schema.
    NotOfSchema,
    /// The answer calls no tool, and had to.
    NoToolCall,
    /// The answer calls an unknown tool, or another one than required.
    WrongTool,
    /// The arguments of a call are not JSON.
    ArgumentsNotJson,
    /// The arguments of a call do not fit the tool's schema.
    ArgumentsNotOfSchema,
}

impl ShapeFault {
    /// Its description, to follow "2 answers".
    pub const fn description(self) -> &'static str {
        match self {
            Self::NotJson => "not JSON",
            Self::NotOfSchema => "not of the schema",
            Self::NoToolCall => "without a tool call",
            Self::WrongTool => "calling a wrong tool",
            Self::ArgumentsNotJson => "with arguments that are not JSON",
            Self::ArgumentsNotOfSchema => "with arguments not of the schema",
        }
    }
}

impl AnswerShape {
    /// Whether an answer in another format misses its SLO.
    pub const fn is_in_slo(&self) -> bool {
        match self {
            Self::Json { in_slo } | Self::JsonSchema { in_slo, .. } | Self::Tools { in_slo, .. } => *in_slo,
        }
    }

    /// Whether it has tools whose schemas the server was not asked to hold to.
    pub fn has_lax_tools(&self) -> bool {
        matches!(self, Self::Tools { tools, .. } if tools.iter().any(|tool| !tool.strict))
    }

    /// Checks an answer with this `content` and these tool calls. Each call is a name with its arguments.
    pub fn judge<'a>(&self, content: &str, calls: impl Iterator<Item = (&'a str, &'a str)>) -> Result<(), ShapeFault> {
        match self {
            Self::Json { .. } => match serde_json::from_str(content) {
                Ok(Value::Object(_)) => Ok(()),
                Ok(_) | Err(_) => Err(ShapeFault::NotJson),
            },
            Self::JsonSchema { schema, .. } => {
                let value = serde_json::from_str(content).map_err(|_| ShapeFault::NotJson)?;
                schema.check(&value).map_err(|_| ShapeFault::NotOfSchema)
            }
            Self::Tools { tools, choice, .. } => judge_calls(tools, choice, calls),
        }
    }
}

fn judge_calls<'a>(
    tools: &[ToolSpec],
    choice: &ToolChoice,
    calls: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<(), ShapeFault> {
    let mut called = false;
    for (name, arguments) in calls {
        called = true;
        let meant = match choice {
            ToolChoice::Auto | ToolChoice::Required => true,
            ToolChoice::Named(only) => only == name,
        };
        let tool = tools.iter().find(|tool| meant && tool.name == name).ok_or(ShapeFault::WrongTool)?;
        // Models often call a tool without parameters with an empty text.
        let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
        let value = serde_json::from_str(arguments).map_err(|_| ShapeFault::ArgumentsNotJson)?;
        tool.parameters.check(&value).map_err(|_| ShapeFault::ArgumentsNotOfSchema)?;
    }
    if called || *choice == ToolChoice::Auto { Ok(()) } else { Err(ShapeFault::NoToolCall) }
}

impl Fields<'_> {
    /// Reads a flag after `strict`, which holds for all `tools`.
    fn strict_then_flag(&mut self, name: &'static str, tools: &mut Option<Vec<ToolSpec>>) -> Option<bool> {
        let strict = self.optional("strict", false, |value| value.flag());
        let flag = self.optional(name, false, |value| value.flag());
        let strict = strict?;
        tools.iter_mut().flatten().for_each(|tool| tool.strict |= strict);
        flag
    }
}

impl ToolChoice {
    fn read(value: SpecValue<'_>, tools: &[ToolSpec]) -> Option<Self> {
        let known = ["auto", "required"].into_iter().chain(tools.iter().map(|tool| tool.name.as_str()));
        let known: Vec<_> = known.map(|name| (name, name)).collect();
        Some(match value.choice(&known)? {
            "auto" => Self::Auto,
            "required" => Self::Required,
            name => Self::Named(name.to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::spec::WorkloadSpec;

    /// The answer format of a class that says this.
    fn shape(answer: &str) -> AnswerShape {
        let text = format!(
            "name = \"w\"\narrival = {{ kind = \"poisson\", rate_per_s = 2 }}\n[[classes]]\nname = \"c\"\ninput_tokens \
             = {{ kind = \"constant\", value = 10 }}\noutput_tokens = {{ kind = \"constant\", value = 5 }}\nanswer = \
             {answer}"
        );
        let mut spec = WorkloadSpec::from_toml(&text, "a test").unwrap();
        spec.classes.remove(0).answer.unwrap()
    }

    #[test]
    fn json_is_held_against_its_schema() {
        let any = shape(r#"{ kind = "json" }"#);
        let judge = |shape: &AnswerShape, content: &str| shape.judge(content, std::iter::empty());
        assert_eq!(judge(&any, " {\"a\": [1]}\n"), Ok(()));
        for content in ["[1]", "```json\n{}\n```", "{\"a\":", ""] {
            assert_eq!(judge(&any, content), Err(ShapeFault::NotJson), "{content}");
        }
        let year = shape(r#"{ kind = "json_schema", schema = { type = "integer", minimum = 1900 } }"#);
        assert_eq!(judge(&year, "1984"), Ok(()));
        assert_eq!(judge(&year, "84"), Err(ShapeFault::NotOfSchema));
        assert_eq!(judge(&year, "in 1984"), Err(ShapeFault::NotJson));
    }

    #[test]
    fn calls_are_held_against_the_tools() {
        let tools = r#"tools = [{ name = "weather", parameters = { type = "object", required = ["city"],
                       properties = { city = { type = "string" } } } }, { name = "stop" }]"#
            .replace('\n', " ");
        let judge = |choice: &str, calls: &[(&str, &str)]| {
            shape(&format!("{{ kind = \"tools\", {tools}, choice = \"{choice}\" }}"))
                .judge("words", calls.iter().copied())
        };
        let (good, stop) = (("weather", r#"{"city": "Rome"}"#), ("stop", "{}"));
        assert_eq!(judge("auto", &[]), Ok(()));
        assert_eq!(judge("required", &[]), Err(ShapeFault::NoToolCall));
        assert_eq!(judge("required", &[good, stop]), Ok(()));
        assert_eq!(judge("stop", &[good]), Err(ShapeFault::WrongTool));
        assert_eq!(judge("auto", &[("whether", "{}")]), Err(ShapeFault::WrongTool));
        assert_eq!(judge("auto", &[("weather", "{\"city\"")]), Err(ShapeFault::ArgumentsNotJson));
        assert_eq!(judge("auto", &[stop, ("weather", "{}")]), Err(ShapeFault::ArgumentsNotOfSchema));
        assert_eq!(judge("stop", &[("stop", "[]")]), Err(ShapeFault::ArgumentsNotOfSchema));
    }
}
