//! Durations, rates and counts in human-readable form, and JSON of values.

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads a duration such as `250ms`, `90s`, `1.5m` or `2h`; a bare number is seconds.
///
/// # Errors
///
/// A sentence that quotes the value and shows the allowed forms.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let trimmed = text.trim();
    let unit_at = trimmed.find(|c: char| c.is_ascii_alphabetic() || c == 'µ').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(unit_at);
    let scale = match unit {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("`{text}` is not a duration; write it like 250ms, 90s, 1.5m or 2h")),
    };
    number
        .trim()
        .parse::<f64>()
        .ok()
        .and_then(|value| Duration::try_from_secs_f64(value * scale).ok())
        .ok_or_else(|| format!("`{text}` is not a duration; write it like 250ms, 90s, 1.5m or 2h"))
}

/// Milliseconds as a float, the unit of every latency in reports.
pub fn millis(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e6
}

/// A number with about three significant digits and thousands separated: `0.0312`, `8.45`, `127`, `12,345`.
pub fn three_digits(value: f64) -> String {
    let magnitude = value.abs();
    let decimals = if magnitude >= 100.0 || magnitude == 0.0 {
        0
    } else {
        // 10–99.9 → 1, 1–9.99 → 2, 0.1–0.999 → 3, …, at most 6.
        (2 - magnitude.log10().floor() as i32).clamp(0, 6) as usize
    };
    let plain = format!("{value:.decimals$}");
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    let whole = thousands(whole);
    if fraction.is_empty() { whole } else { format!("{whole}.{fraction}") }
}

/// A whole number with its thousands separated: `1,234,567`.
pub fn count(value: u64) -> String {
    thousands(&value.to_string())
}

/// A number of things: `1 request`, `1,200 requests`.
pub fn counted(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", count(number))
}

/// Parts joined into one line; empty without parts.
pub fn joined(parts: impl IntoIterator<Item: fmt::Display>, between: &str) -> String {
    parts.into_iter().map(|part| part.to_string()).collect::<Vec<_>>().join(between)
}

/// Parts joined into one line; `None` without parts.
pub fn listed(parts: impl IntoIterator<Item: fmt::Display>, between: &str) -> Option<String> {
    let mut parts = parts.into_iter().peekable();
    parts.peek().is_some().then(|| joined(parts, between))
}

/// Numbers above 0, each with what it counts: `3 failed`.
pub fn numbers<'a>(all: impl IntoIterator<Item = (u64, &'a str)>) -> impl Iterator<Item = String> {
    let some = all.into_iter().filter(|(number, _)| *number > 0);
    some.map(|(number, what)| format!("{} {what}", count(number)))
}

/// Returns words for an interval's ends, as `1 to 2`, `over 1` or `under 2`. It is `None` without either.
pub fn span(ends: (Option<f64>, Option<f64>), to: &str, show: impl Fn(f64) -> String) -> Option<String> {
    match (ends.0.map(&show), ends.1.map(&show)) {
        (Some(low), Some(high)) => Some(format!("{low}{to}{high}")),
        (Some(low), None) => Some(format!("over {low}")),
        (None, high) => Some(format!("under {}", high?)),
    }
}

/// A share between 0 and 1: `12.5 %`; of a whole number without decimals.
pub fn percent(share: f64) -> String {
    let digits = three_digits(share * 100.0);
    let whole = digits.split_once('.').filter(|(_, decimals)| decimals.bytes().all(|digit| digit == b'0'));
    format!("{} %", whole.map_or(digits.as_str(), |(whole, _)| whole))
}

/// Bytes as hexadecimal digits, two for each.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |four_bits: u8| char::from_digit(u32::from(four_bits), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Returns a duration in words, such as `850 ms` or `12.5 s`. From a minute on they are `2 min 5 s` or `1 h 10 min`.
pub fn spoken(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    let whole = seconds.round() as u64;
    if seconds < 1.0 {
        format!("{} ms", three_digits(seconds * 1e3))
    } else if seconds < 59.95 {
        format!("{} s", format!("{seconds:.1}").trim_end_matches(".0"))
    } else if whole < 3600 {
        let (minutes, rest) = (whole / 60, whole % 60);
        if rest == 0 { format!("{minutes} min") } else { format!("{minutes} min {rest} s") }
    } else {
        let (hours, rest) = (whole / 3600, whole % 3600 / 60);
        if rest == 0 { format!("{hours} h") } else { format!("{hours} h {rest} min") }
    }
}

/// A length of time in seconds, in words.
pub fn seconds(length: f64) -> String {
    spoken(Duration::try_from_secs_f64(length.max(0.0)).unwrap_or(Duration::MAX))
}

fn thousands(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let mut out = String::from(sign);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns whether a character could steer a terminal, is invisible or not allowed in XML. Steering is to control the
/// terminal or to change the writing direction.
pub fn steers(sign: char) -> bool {
    sign.is_control()
        || matches!(
            sign,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2064}'
                | '\u{2066}'..='\u{2069}'
                | '\u{feff}'
                | '\u{fffe}'
                | '\u{ffff}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Returns a size in words, such as `64 MiB`. It is `1,000 bytes` where it is no whole number of larger units.
pub fn bytes(size: u64) -> String {
    match size {
        _ if size > 0 && size.is_multiple_of(1 << 30) => format!("{} GiB", count(size >> 30)),
        _ if size > 0 && size.is_multiple_of(1 << 20) => format!("{} MiB", count(size >> 20)),
        _ if size > 0 && size.is_multiple_of(1 << 10) => format!("{} KiB", count(size >> 10)),
        _ => format!("{} bytes", count(size)),
    }
}

/// `text`, or its first `limit` characters and an ellipsis.
pub fn cut(mut text: String, limit: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(limit) {
        text.truncate(end);
        text.push('…');
        // What is cut may be millions of characters.
        text.shrink_to_fit();
    }
    text
}

/// `text`, or its first `limit` characters and how many bytes more there are.
pub fn shortened(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}… ({} bytes more)", &text[..end], count((text.len() - end) as u64)),
        None => text.to_owned(),
    }
}

/// A text no longer than its room, in characters.
pub(crate) fn fitted(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

/// JSON of a value. It goes by the text, so that one serializer is compiled for each type and not two.
///
/// # Errors
///
/// When the value cannot be written as JSON.
pub(crate) fn json_value(value: &impl Serialize) -> serde_json::Result<Value> {
    serde_json::from_slice(&serde_json::to_vec(value)?)
}

/// Value of this JSON, by way of the text as [`json_value`].
///
/// # Errors
///
/// When the JSON is not that of such a value.
pub(crate) fn from_json_value<T: DeserializeOwned>(json: &Value) -> serde_json::Result<T> {
    serde_json::from_slice(&serde_json::to_vec(json)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined_and_none_is_no_text() {
        assert_eq!((joined([1, 2], ", "), listed(["a"], "; ")), ("1, 2".to_owned(), Some("a".to_owned())));
        assert_eq!((joined([""; 0], ", "), listed([""; 0], ", ")), (String::new(), None));
        assert_eq!(numbers([(2, "failed"), (0, "cut off")]).collect::<Vec<_>>(), ["2 failed"]);
    }

    #[test]
    fn an_interval_may_have_one_end_or_none() {
        let words = |low, high| span((low, high), "–", three_digits);
        assert_eq!(words(Some(1.0), Some(2.5)).unwrap(), "1.00–2.50");
        assert_eq!(words(Some(1.0), None).unwrap(), "over 1.00");
        assert_eq!(words(None, Some(2.5)).unwrap(), "under 2.50");
        assert_eq!(words(None, None), None);
    }

    #[test]
    fn durations_are_read_as_written() {
        for (text, millis) in [
            ("250ms", 250.0),
            ("90s", 90e3),
            ("1.5m", 90e3),
            ("2h", 7.2e6),
            ("3", 3e3),
            (" 10 s ", 1e4),
            ("500us", 0.5),
        ] {
            assert_eq!(super::millis(parse_duration(text).unwrap()), millis, "{text}");
        }
        for text in ["", "ms", "-3s", "5 parsecs", "1e400s", "nan"] {
            assert!(parse_duration(text).unwrap_err().contains("write it like"), "{text}");
        }
    }

    #[test]
    fn numbers_keep_three_digits() {
        for (value, shown) in [
            (0.0, "0"),
            (0.031_23, "0.0312"),
            (8.449, "8.45"),
            (12.345, "12.3"),
            (127.4, "127"),
            (1234.5, "1,234"),
            (-9_876_543.0, "-9,876,543"),
        ] {
            assert_eq!(three_digits(value), shown);
        }
        assert_eq!(count(1_000_000), "1,000,000");
        assert_eq!(count(999), "999");
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!((counted(0, "request"), counted(1, "request")), ("0 requests".into(), "1 request".into()));
        assert_eq!(counted(1_200, "answer"), "1,200 answers");
        assert_eq!((percent(0.125), seconds(125.0)), ("12.5 %".into(), "2 min 5 s".into()));
        assert_eq!([1.0, 0.0, 0.05, 0.1001].map(percent), ["100 %", "0 %", "5 %", "10 %"]);
        assert_eq!(seconds(-1.0), "0 ms");
    }

    #[test]
    fn lengths_of_time_are_spoken() {
        for (seconds, said) in [
            (0.85, "850 ms"),
            (12.5, "12.5 s"),
            (60.0, "1 min"),
            (125.0, "2 min 5 s"),
            (4200.0, "1 h 10 min"),
            (59.97, "1 min"),
        ] {
            assert_eq!(spoken(Duration::from_secs_f64(seconds)), said);
        }
    }
}
