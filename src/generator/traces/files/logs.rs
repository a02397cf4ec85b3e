//! The lines of access logs.

use serde_json::Value;

use super::json_lines::{json, of_field};
use crate::generator::rows::{excerpt, nanoseconds, parse_moment, tokens};
use crate::generator::traces::requests::{BadLine, TracedRequest};

/// The fields of an access log; a nested field is `usage.prompt_tokens`.
#[derive(Clone, Debug)]
pub struct AccessLogFields {
    /// Arrival time: a date, or a number.
    pub time: String,
    /// Nanoseconds in the unit of a numeric time.
    pub unit_ns: f64,
    /// Tokens of the prompt.
    pub input: String,
    /// Tokens of the answer.
    pub output: String,
    /// Kind of the request, if the log has one.
    pub class: Option<String>,
}

impl AccessLogFields {
    /// Reads the request of a log line.
    pub(super) fn request(&self, bytes: &[u8]) -> Result<TracedRequest, BadLine> {
        let line: Value = json(bytes)?;
        let value_at = |field: &str| {
            at(&line, field)
                .ok_or_else(|| BadLine { place: "column 1".to_owned(), cause: format!("`{field}` is missing") })
        };
        let bad = |field: &str, cause: String| of_field(bytes, field.rsplit('.').next().unwrap_or(field), cause);
        let count = |field: &str| {
            let value = value_at(field)?;
            let count = whole(value)
                .ok_or_else(|| bad(field, format!("{} is not a whole number", excerpt(&value.to_string()))))?;
            tokens(count).map_err(|cause| bad(field, cause))
        };
        let kind = match &self.class {
            None => None,
            Some(field) => Some(match value_at(field)? {
                Value::String(text) => text.as_str().into(),
                value => value.to_string().into(),
            }),
        };
        let time = value_at(&self.time)?;
        let at_ns = self
            .moment(time)
            .ok_or_else(|| bad(&self.time, format!("{} is neither a date nor a time", excerpt(&time.to_string()))))?;
        Ok(TracedRequest {
            at_ns,
            input_tokens: count(&self.input)?,
            output_tokens: count(&self.output)?,
            kind,
            ..TracedRequest::default()
        })
    }

    fn moment(&self, value: &Value) -> Option<i64> {
        match value {
            Value::String(text) => parse_moment(text),
            // Whole numbers keep their last digit, unlike a float of nanoseconds since 1970.
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(whole), _) => whole.checked_mul(self.unit_ns as i64),
                (None, value) => value.and_then(|value| nanoseconds(value, self.unit_ns)),
            },
            _ => None,
        }
    }
}

/// A whole number, possibly written with a fraction of zero.
fn whole(value: &Value) -> Option<u64> {
    let float = || value.as_f64().filter(|float| float.fract() == 0.0 && (0.0..1e15).contains(float));
    value.as_u64().or_else(|| float().map(|float| float as u64))
}

/// The value of a field, possibly nested.
fn at<'v>(line: &'v Value, field: &str) -> Option<&'v Value> {
    let inside = field.split('.').try_fold(line, |value, name| value.get(name));
    // A name with dots may also be one field.
    line.get(field).or(inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::traces::files::reader::read_log;
    use crate::workload::BadLines;

    fn fields() -> AccessLogFields {
        AccessLogFields {
            time: "ts".to_owned(),
            unit_ns: 1e6,
            input: "usage.prompt_tokens".to_owned(),
            output: "usage.completion_tokens".to_owned(),
            class: Some("route".to_owned()),
        }
    }

    fn read(log: &[u8], bad_lines: BadLines) -> Result<(Vec<TracedRequest>, u64), String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, log).unwrap();
        read_log(path.to_str().unwrap(), &fields(), bad_lines).map_err(|error| error.to_string())
    }

    #[test]
    fn a_log_is_put_in_order_and_counted_from_its_first_request() {
        let log = br#"{"ts": 1700000000250, "usage": {"prompt_tokens": 7.0, "completion_tokens": 9}, "route": "/chat"}

            {"ts": "2023-11-14T22:13:20Z", "usage.prompt_tokens": 3, "usage": {"completion_tokens": 4}, "route": 1}"#;
        let requests: Vec<_> = read(log, BadLines::Refuse)
            .unwrap()
            .0
            .into_iter()
            .map(|request| (request.at_ns, request.input_tokens, request.output_tokens, request.kind))
            .collect();
        let kind = |kind: &str| Some(Box::from(kind));
        assert_eq!(requests, [(0, 3, 4, kind("1")), (250_000_000, 7, 9, kind("/chat"))]);
    }

    #[test]
    fn what_is_wrong_with_a_line_is_named_with_its_column() {
        let good = br#"{"ts": 1, "usage": {"prompt_tokens": 1, "completion_tokens": 1}, "route": ""}"#;
        for (line, cause) in [
            (&b"{"[..], "line 2, column 1: EOF while parsing an object"),
            (br#"{"ts": true, "usage": {}, "route": 1}"#, "line 2, column 2 (`ts`): true is neither a date nor a time"),
            (
                br#"{"ts": 1, "usage": {"prompt_tokens": 1.5}, "route": ""}"#,
                "line 2, column 21 (`prompt_tokens`): 1.5 is not a whole number",
            ),
            (
                br#"{"ts": 1, "usage": {"prompt_tokens": 1}, "route": ""}"#,
                "line 2, column 1: `usage.completion_tokens` is missing",
            ),
            (br#"{"ts": 1, "usage": {"prompt_tokens": 0}, "route": ""}"#, "(`prompt_tokens`): 0 tokens"),
            (b"{\"route\": \"\xff\"}", "line 2, column 12: invalid unicode code point"),
        ] {
            let log = [good, &b"\n"[..], line].concat();
            let error = read(&log, BadLines::Refuse).unwrap_err();
            assert!(error.contains(cause), "{error}");
            assert_eq!(read(&log, BadLines::Skip).unwrap().1, 1, "{error}");
        }
        assert!(read(b"\n", BadLines::Refuse).unwrap_err().contains("holds no request"));
    }
}
