//! Scoring rules: whether an answer is the one that the row of a dataset expects.

use regex::Regex;
use serde::Serialize;
use serde_json::Value;
use strum::{EnumString, IntoStaticStr, VariantNames};

use super::extraction::{choice, last_number, number_alone};
use super::golden::RegexPattern;
use crate::workload::reading::fields::Fields;
use crate::workload::reading::spec_table;

/// Ways in which an answer is compared with the expected one. Reasoning is not part of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, EnumString, IntoStaticStr, VariantNames)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ScoringRule {
    /// The answer is exactly the expected text, surrounding white space ignored.
    Exact,
    /// The number of the answer is the expected one.
    Number,
    /// The letter that the answer chooses is the expected one.
    Choice,
    /// The answer contains the expected text.
    Contains,
    /// A pattern finds the expected text in the answer, or is the expected text.
    Pattern,
    /// The answer is JSON equal to the expected one.
    Json,
    /// A program decides.
    Command,
}

spec_table! {
    /// Rule by which answers are scored against what the rows of a dataset expect.
    pub struct Scoring = "a scoring rule" {
        /// Way in which an answer is compared with the expected one.
        rule: ScoringRule = required(|value| value.variant()),
        /// Column, or field, of the rows with the expected answer. A list in it holds answers that are all right.
        column: String = required(|value| value.nonblank()),
        /// Pattern of the rule `pattern`. Its first group in its first match, without groups the match, is compared.
        /// Where it is absent, each row has a pattern of its own, which matches somewhere in a right answer.
        pattern: Option<RegexPattern> = option(RegexPattern::read),
        /// Program of the rule `command`, with its arguments.
        command: Option<String> = option(|value| value.nonblank()),
        /// Whether a wrong answer misses its SLO.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        in_slo: bool = optional(false, |value| value.flag()),
    }
    then(fitting)
}

fn fitting(fields: &Fields<'_>, scoring: &Scoring) -> Option<()> {
    scoring.misfit().map_or(Some(()), |sentence| fields.reject(&sentence))
}

/// Expected answer of a row, prepared for its rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedAnswer(Box<[Box<str>]>);

impl ExpectedAnswer {
    /// Bytes that it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().map(|text| text.len() + size_of::<Box<str>>()).sum::<usize>() + size_of::<Self>()
    }

    /// Its value as the row has it, for a program.
    pub(crate) fn value(&self) -> Value {
        self.0.first().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}

impl Scoring {
    /// Reads a rule as it is typed: `number`, `pattern:REGEX`, `command:PROGRAM`. Its column is empty.
    pub(in crate::workload) fn typed(text: &str) -> Result<Self, String> {
        let (name, detail) = text.split_once(':').map_or((text, None), |(name, detail)| (name, Some(detail)));
        let rule = name.trim().parse().map_err(|_| {
            let all = ScoringRule::VARIANTS.join(", ");
            format!("`{name}` is no scoring rule; there are {all}")
        })?;
        let read = Self { rule, column: String::new(), pattern: None, command: None, in_slo: false };
        let detail = detail.map(str::trim).filter(|detail| !detail.is_empty());
        let read = match (rule, detail) {
            (ScoringRule::Pattern, Some(pattern)) => Self { pattern: Some(RegexPattern::typed(pattern)?), ..read },
            (ScoringRule::Command, detail) => Self { command: detail.map(str::to_owned), ..read },
            (_, Some(_)) => return Err(format!("`{name}` takes nothing after it; write it alone")),
            (_, None) => read,
        };
        read.misfit().map_or(Ok(read), |sentence| Err(format!("it {sentence}")))
    }

    /// Why its fields do not go together, as the rest of a sentence.
    fn misfit(&self) -> Option<String> {
        let name: &str = self.rule.into();
        match (self.rule, &self.pattern, &self.command) {
            (ScoringRule::Command, None, None) => {
                Some("has no program; name it: command = \"python3 score.py\", or command:python3 score.py".to_owned())
            }
            (ScoringRule::Command, None, Some(line)) => match shlex::split(line) {
                Some(words) if !words.is_empty() => None,
                _ => Some(format!("has the program {line:?}, with a quote that does not end; close it")),
            },
            (ScoringRule::Command, Some(_), _) => {
                Some("has a `pattern`, and its rule is command; leave it out".to_owned())
            }
            (_, _, Some(_)) => Some(format!("has a `command`, and its rule is {name}; leave one of them out")),
            (ScoringRule::Pattern, ..) | (_, None, None) => None,
            (_, Some(_), None) => Some(format!("has a `pattern`, and its rule is {name}; leave one of them out")),
        }
    }

    /// The words of its program.
    pub fn program(&self) -> Option<Vec<String>> {
        self.command.as_deref().and_then(shlex::split)
    }

    /// Prepares what a row expects.
    ///
    /// # Errors
    ///
    /// Why no answer can be compared with it, to follow the name of its column.
    pub(crate) fn expected(&self, value: &Value) -> Result<ExpectedAnswer, String> {
        let one = |text: String| Ok(ExpectedAnswer([text.into_boxed_str()].into()));
        match (self.rule, value) {
            (_, Value::Null) => Err("is empty, and answers are scored by it".to_owned()),
            (ScoringRule::Json, Value::String(text)) => match serde_json::from_str::<Value>(text) {
                Ok(_) => one(text.clone()),
                Err(error) => Err(format!("is no JSON: {error}")),
            },
            (ScoringRule::Json | ScoringRule::Command, value) => one(value.to_string()),
            (_, Value::Array(all)) if !all.is_empty() => {
                let all = all.iter().map(|value| self.comparable(value).map(String::into_boxed_str));
                Ok(ExpectedAnswer(all.collect::<Result<_, _>>()?))
            }
            (_, value) => one(self.comparable(value)?),
        }
    }

    /// One expected answer in the form that answers are compared in.
    fn comparable(&self, value: &Value) -> Result<String, String> {
        let text = match value {
            Value::String(text) => text.trim().to_owned(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            other => return Err(format!("is {other}, no text, number, true or false")),
        };
        if text.is_empty() {
            return Err("is empty, and answers are scored by it".to_owned());
        }
        match self.rule {
            ScoringRule::Number => number_alone(&text)
                .ok_or_else(|| format!("is {text:?}, which does not end in a number alone; another rule may fit")),
            // The number of a label, as in MMLU: 0 is A.
            ScoringRule::Choice if value.is_number() => {
                let place = value.as_u64().and_then(|place| u8::try_from(place).ok()).filter(|place| *place < 26);
                let letter = place.map(|place| char::from(b'A' + place).to_string());
                letter.ok_or_else(|| format!("is {value}; a number of a choice is from 0 (A) to 25 (Z)"))
            }
            ScoringRule::Choice => {
                let known = choice(&text).filter(|_| text.chars().count() <= 4);
                known.ok_or_else(|| format!("is {text:?}, not the letter of a choice, such as B"))
            }
            ScoringRule::Pattern if self.pattern.is_none() => match Regex::new(&text) {
                Ok(_) => Ok(text),
                Err(_) => Err(format!("is {text:?}, which is not a regular expression")),
            },
            _ => Ok(text),
        }
    }

    /// Whether `answer` is right. A program decides elsewhere: `None`.
    pub(crate) fn is_right(&self, expected: &ExpectedAnswer, answer: &str) -> Option<bool> {
        let answer = answer.trim();
        let any = |holds: &dyn Fn(&str) -> bool| expected.0.iter().any(|expected| holds(expected));
        let is_any = |found: Option<&str>| found.is_some_and(|found| any(&|expected| expected == found));
        Some(match self.rule {
            ScoringRule::Exact => is_any(Some(answer)),
            ScoringRule::Number => is_any(last_number(answer).as_deref()),
            ScoringRule::Choice => is_any(choice(answer).as_deref()),
            ScoringRule::Contains => any(&|expected| answer.contains(expected)),
            ScoringRule::Pattern => match &self.pattern {
                Some(pattern) => is_any(pattern.first_of(answer).map(str::trim)),
                None => any(&|expected| Regex::new(expected).is_ok_and(|pattern| pattern.is_match(answer))),
            },
            ScoringRule::Json => {
                let parsed = serde_json::from_str::<Value>(unfenced(answer)).ok();
                let equals = |expected: &str| {
                    serde_json::from_str(expected)
                        .ok()
                        .as_ref()
                        .zip(parsed.as_ref())
                        .is_some_and(|(one, other)| same(one, other))
                };
                any(&equals)
            }
            ScoringRule::Command => return None,
        })
    }
}

/// The content of a block of code, where the answer is one.
fn unfenced(answer: &str) -> &str {
    let inside = answer.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let content = inside.and_then(|inside| inside.split_once('\n')).map(|(_, content)| content);
    content.unwrap_or(answer).trim()
}

/// Whether two values of JSON are equal; 1 and 1.0 are.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, value)| other.get(name).is_some_and(|other| same(value, other)))
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::extraction::boxed;
    use super::*;

    fn right(rule: &str, expected: &Value, answer: &str) -> bool {
        let scoring = Scoring::typed(rule).unwrap();
        scoring.is_right(&scoring.expected(expected).unwrap(), answer).unwrap()
    }

    /// Values of `gsm8k` in lm-evaluation-harness, by its filters `strict-match` and `flexible-extract`.
    #[test]
    fn numbers_are_read_as_lm_evaluation_harness_reads_them() {
        let gold = json!("She eats 3 + 4 = <<3+4=7>>7 a day.\n#### 1,042");
        for (answer, is_right) in [
            ("So the total is 1042.", true),
            ("So the total is $1,042.00 for 3 boxes.\n#### 1042", true),
            ("It costs $1,042", true),
            ("**Answer: 1,042**", true),
            ("#### 1042\n\nQuestion: next? 7", true),
            ("\\boxed{1042} after 3 steps", true),
            ("\\boxed{1{,}042}", true),
            ("The answer is 1,041.", false),
            ("1042 of 2000", false),
            // Headings are no results, as `strict-match` takes a number at once behind the mark.
            ("#### Step 1: eggs\n16\n#### Step 2: money\n5 * 2\n\nThe answer is 1042.", true),
            ("#### 1. Eggs\n16 - 7 = 9\n\n\\boxed{1042}", true),
            ("##### 1. x\n 1042", true),
            ("#### $1042 a day", true),
            ("no number", false),
            ("...", false),
        ] {
            assert_eq!(right("number", &gold, answer), is_right, "{answer}");
        }
        for (expected, answer, is_right) in [
            (json!(-5), "x = -5", true),
            (json!(-5), "x = −5.", true),
            (json!(-5), "9-5", false),
            (json!("18"), "18.00 dollars", true),
            (json!(0.5), "It is .50", true),
            (json!(["3", "4"]), "4", true),
            (json!("$2,000."), "2000", true),
        ] {
            assert_eq!(right("number", &expected, answer), is_right, "{expected} {answer}");
        }
        let scoring = Scoring::typed("number").unwrap();
        for (row, said) in
            [(json!("3/4"), "\"3/4\""), (json!("none"), "number alone"), (json!({}), "{}"), (json!(""), "empty")]
        {
            assert!(scoring.expected(&row).unwrap_err().contains(said), "{row}");
        }
    }

    #[test]
    fn the_chosen_letter_is_found_however_it_is_said() {
        for (answer, is_right) in [
            ("B", true),
            ("(B)", true),
            ("b", true),
            ("B. Paris", true),
            ("B) Paris", true),
            ("**B**", true),
            ("The answer is (B).", true),
            ("the correct answer is B", true),
            ("Not A: the answer is A? No, the answer is B.", true),
            ("Answer: B\n", true),
            ("Answer: **B**", true),
            ("\\boxed{B}", true),
            ("\\boxed{\\text{B}}", true),
            ("I choose (B) over (C) … no, (B)", true),
            ("B. Paris\n\nOption A is wrong because X. Option C is too.", true),
            ("The correct answer is B. Option A is wrong because X, and option D is too small.", true),
            ("B\n\nTo answer I used geography.", true),
            ("The answer is option B because the answer is 5 times larger.", true),
            ("1. Water boils at 100 C.\n2. So it is (B).", true),
            ("The answer is (b).", true),
            ("Answer: b", true),
            ("The answer is `B`.", true),
            ("The answer is \\(B\\).", true),
            ("The answer is $\\text{B}$", true),
            ("\\boxed{\\textbf{B}}", true),
            ("The correct choice is “B”.", true),
            ("I take option B", true),
            ("The answer is a bit unclear", false),
            ("A cat is not B", false),
            ("The answer is Berlin", false),
            ("The answer is C", false),
            ("", false),
        ] {
            assert_eq!(right("choice", &json!("B"), answer), is_right, "{answer}");
        }
        assert!(
            right("choice", &json!(1), "B") && right("choice", &json!("(d)"), "D") && right("choice", &json!("3"), "3")
        );
        let scoring = Scoring::typed("choice").unwrap();
        assert!(scoring.expected(&json!("Paris")).unwrap_err().contains("letter of a choice"));
        assert!(scoring.expected(&json!(26)).unwrap_err().contains("0 (A) to 25 (Z)"));
    }

    #[test]
    fn texts_patterns_and_json_are_compared() {
        for (rule, expected, answer, is_right) in [
            ("exact", json!("Paris"), " Paris\n", true),
            ("exact", json!("Paris"), "Paris.", false),
            ("exact", json!(["Paris", "paris"]), "paris", true),
            ("exact", json!(true), "true", true),
            ("contains", json!("Paris"), "It is Paris.", true),
            ("contains", json!(["Rome", "Oslo"]), "It is Paris.", false),
            // `mmlu_pro`, filter `custom-extract`.
            (r"pattern:answer is \(?([ABCDEFGHIJ])\)?", json!("H"), "Hence the answer is (H).", true),
            (r"pattern:answer is \(?([ABCDEFGHIJ])\)?", json!("H"), "answer is (C). No, answer is (H)", false),
            (r"pattern:answer is \(?([ABCDEFGHIJ])\)?", json!("H"), "H", false),
            (r"pattern:\d{4}", json!("1984"), "in 1984", true),
            ("pattern", json!("^[Yy]es"), "yes, it is", true),
            ("pattern", json!("^[Yy]es"), "oh yes", false),
            ("json", json!({ "a": 1, "b": [2.0] }), "{\"b\": [2], \"a\": 1.0}", true),
            ("json", json!("{\"a\": 1}"), "```json\n{\"a\": 1}\n```", true),
            ("json", json!({ "a": 1 }), "{\"a\": 1, \"b\": 2}", false),
            ("json", json!({ "a": 1 }), "a is 1", false),
        ] {
            assert_eq!(right(rule, &expected, answer), is_right, "{rule} {expected} {answer}");
        }
        assert!(Scoring::typed("pattern").unwrap().expected(&json!("(")).unwrap_err().contains("regular expression"));
        assert!(Scoring::typed("json").unwrap().expected(&json!("{")).unwrap_err().contains("no JSON"));
    }

    #[test]
    fn rules_that_do_not_fit_are_refused_with_the_cure() {
        for (typed, said) in [
            ("nummer", "there are exact, number, choice, contains, pattern, json, command"),
            ("pattern:(", "is not a regular expression"),
            ("command", "has no program; name it"),
            ("command:python3 'a", "close it"),
            ("exact:3", "takes nothing after it"),
        ] {
            let refused = Scoring::typed(typed).unwrap_err();
            assert!(refused.contains(said), "{typed}: {refused}");
        }
        let command = Scoring::typed("command:python3 'my score.py' -x").unwrap();
        assert_eq!(command.program().unwrap(), ["python3", "my score.py", "-x"]);
        let expected = command.expected(&json!({ "a": [1] })).unwrap();
        assert_eq!((expected.value(), command.is_right(&expected, "x")), (json!({ "a": [1] }), None));
        assert_eq!(boxed("\\boxed{\\frac{1}{2}} then \\boxed{3}"), Some("3"));
    }
}
