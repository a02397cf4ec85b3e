//! Makes readable JSON of what is almost JSON.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::de::IgnoredAny;

/// Numbers of Python and JavaScript that JSON lacks.
const NO_NUMBERS: [&str; 4] = ["-Infinity", "Infinity", "-NaN", "NaN"];

/// Longest document that is repaired, in which each byte may become six.
const LONGEST: usize = 4 << 20;

/// Returns the document, where it is JSON or very long, else a repaired copy. The copy has each broken character
/// replaced, each control character in a string escaped, and `null` for each number that is none.
pub(crate) fn readable(json: &[u8]) -> Cow<'_, [u8]> {
    let is_json = || str::from_utf8(json).is_ok() && serde_json::from_slice::<IgnoredAny>(json).is_ok();
    if json.len() > LONGEST || is_json() {
        return Cow::Borrowed(json);
    }
    let text = String::from_utf8_lossy(json);
    let mut repaired = String::with_capacity(text.len());
    let (mut inside, mut escaped) = (false, false);
    let mut rest = &*text;
    while let Some(character) = rest.chars().next() {
        let none = NO_NUMBERS.iter().find(|word| !inside && rest.starts_with(**word));
        rest = &rest[none.map_or(character.len_utf8(), |word| word.len())..];
        match character {
            _ if none.is_some() => repaired.push_str("null"),
            '\0'..' ' if inside => {
                let _ = write!(repaired, "\\u{:04x}", u32::from(character));
            }
            _ => repaired.push(character),
        }
        inside ^= character == '"' && !escaped;
        escaped = inside && character == '\\' && !escaped;
    }
    Cow::Owned(repaired.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_almost_json_is_read() {
        for (json, expected) in [
            (&br#"{"a":"b"}"#[..], r#"{"a":"b"}"#),
            (b"{\"a\":\"\xf0\x9f\"}", "{\"a\":\"\u{fffd}\"}"),
            (b"{\"a\":\"\tb\\\"\x00\",\t\"c\":1}", "{\"a\":\"\\u0009b\\\"\\u0000\",\t\"c\":1}"),
            (br#"{"a":NaN,"b":[-Infinity,Infinity],"c":"NaN"}"#, r#"{"a":null,"b":[null,null],"c":"NaN"}"#),
        ] {
            let found = readable(json);
            assert_eq!(String::from_utf8_lossy(&found), expected);
            assert!(serde_json::from_slice::<IgnoredAny>(&found).is_ok(), "{expected}");
        }
        assert!(matches!(readable(br#"{"a":"\ud83d"}"#), Cow::Borrowed(_)));
        let long = [&b"{\"a\":\""[..], &b"\t".repeat(LONGEST), b"\"}"].concat();
        assert!(matches!(readable(&long), Cow::Borrowed(_)), "what is long is not repaired");
    }
}
