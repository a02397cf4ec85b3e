//! Traces made of access logs.

use serde_json::Value;

use super::requests::{TracedRequest, nanoseconds, parse_moment, tokens};

/// Which fields of an access log say what; a field inside another is `usage.prompt_tokens`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFields {
    /// When the request came: a date, or a number of `unit`.
    pub time: String,
    /// What a number is in.
    pub unit: TimeUnit,
    /// Tokens of the prompt.
    pub input: String,
    /// Tokens of the answer.
    pub output: String,
    /// The kind of the request, if the log tells.
    pub class: Option<String>,
}

/// What a number of an access log's clock is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
}

impl TimeUnit {
    fn nanoseconds(self) -> f64 {
        match self {
            Self::Seconds => 1e9,
            Self::Milliseconds => 1e6,
            Self::Microseconds => 1e3,
            Self::Nanoseconds => 1.0,
        }
    }
}

impl LogFields {
    /// The request that a line of the log tells of, or what is wrong with the line.
    pub fn request(&self, line: &str) -> Result<TracedRequest, String> {
        let line: Value = serde_json::from_str(line).map_err(|error| {
            let cause = error.to_string();
            let cause = cause.rsplit_once(" at line ").map_or(cause.as_str(), |(cause, _)| cause);
            format!("column {}: {cause}", error.column())
        })?;
        let count = |field: &str| {
            let count =
                at(&line, field)?.as_u64().ok_or_else(|| format!("`{field}` is not a whole number"))?;
            tokens(count).map_err(|cause| format!("`{field}`: {cause}"))
        };
        let kind = match &self.class {
            None => None,
            Some(field) => Some(match at(&line, field)? {
                Value::String(text) => text.as_str().into(),
                value => value.to_string().into(),
            }),
        };
        Ok(TracedRequest {
            at_ns: self.moment(at(&line, &self.time)?)?,
            input_tokens: count(&self.input)?,
            output_tokens: count(&self.output)?,
            kind,
            ..TracedRequest::default()
        })
    }

    fn moment(&self, value: &Value) -> Result<i64, String> {
        let found = match value {
            Value::String(text) => parse_moment(text),
            // Whole numbers keep their last digit, which a float of nanoseconds since 1970 has not.
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(whole), _) => whole.checked_mul(self.unit.nanoseconds() as i64),
                (None, value) => value.and_then(|value| nanoseconds(value, self.unit.nanoseconds())),
            },
            _ => None,
        };
        found.ok_or_else(|| format!("`{}` is {value}, neither a date nor a time", self.time))
    }
}

/// The value of a field, which may lie inside others.
fn at<'v>(line: &'v Value, field: &str) -> Result<&'v Value, String> {
    let inside = field.split('.').try_fold(line, |value, name| value.get(name));
    // A name with dots in it may also be one field.
    line.get(field).or(inside).ok_or_else(|| format!("`{field}` is missing"))
}

/// Puts the requests of a log in order and counts their moments from the first of them.
#[must_use]
pub fn from_the_first(mut requests: Vec<TracedRequest>) -> Vec<TracedRequest> {
    requests.sort_by_key(|request| request.at_ns);
    let zero = requests.first().map_or(0, |request| request.at_ns);
    for request in &mut requests {
        request.at_ns = request.at_ns.saturating_sub(zero);
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> LogFields {
        LogFields {
            time: "ts".to_owned(),
            unit: TimeUnit::Milliseconds,
            input: "usage.prompt_tokens".to_owned(),
            output: "usage.completion_tokens".to_owned(),
            class: Some("route".to_owned()),
        }
    }

    #[test]
    fn a_log_is_put_in_order_and_counted_from_its_first_request() {
        let read = |line: &str| fields().request(line).unwrap();
        let requests = from_the_first(vec![
            read(
                r#"{"ts": 1700000000250, "usage": {"prompt_tokens": 7, "completion_tokens": 9}, "route": "/chat"}"#,
            ),
            read(
                r#"{"ts": "2023-11-14T22:13:20Z", "usage.prompt_tokens": 3, "usage": {"completion_tokens": 4}, "route": 1}"#,
            ),
        ]);
        let told: Vec<_> = requests
            .iter()
            .map(|request| {
                (request.at_ns, request.input_tokens, request.output_tokens, request.kind.as_deref())
            })
            .collect();
        assert_eq!(told, [(0, 3, 4, Some("1")), (250_000_000, 7, 9, Some("/chat"))]);
    }

    #[test]
    fn what_is_wrong_with_a_line_is_named() {
        for (line, cause) in [
            ("{", "column 1: EOF while parsing an object"),
            (r#"{"ts": true, "usage": {}, "route": 1}"#, "`ts` is true, neither a date nor a time"),
            (
                r#"{"ts": 1, "usage": {"prompt_tokens": 1.5}, "route": ""}"#,
                "`usage.prompt_tokens` is not a whole number",
            ),
            (
                r#"{"ts": 1, "usage": {"prompt_tokens": 1}, "route": ""}"#,
                "`usage.completion_tokens` is missing",
            ),
            (r#"{"ts": 1, "usage": {"prompt_tokens": 0}, "route": ""}"#, "`usage.prompt_tokens`: 0 tokens"),
        ] {
            let found = fields().request(line).unwrap_err();
            assert!(found.contains(cause), "{line}: {found}");
        }
    }
}
