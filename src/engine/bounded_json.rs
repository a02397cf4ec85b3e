//! Reads JSON that others send into values of bounded memory.

use serde::de::Error as _;
use serde_json::Value;

/// Most memory of a value. It is more than any list of models or page of settings takes.
const MOST: usize = 32 << 20;
/// Memory of an object with a member, or of a list with an item. Each more of them takes as much.
const OBJECT: usize = 512;
const LIST: usize = 288;
const NEXT: usize = 144;

/// Reads `json` into a value. A value that would take more memory than any answer needs is an error.
pub(crate) fn bounded_value(json: &[u8]) -> Result<Value, serde_json::Error> {
    let (mut inside, mut escaped, mut memory) = (false, false, json.len());
    for byte in json {
        inside ^= *byte == b'"' && !escaped;
        escaped = inside && *byte == b'\\' && !escaped;
        memory += match byte {
            b'{' if !inside => OBJECT,
            b'[' if !inside => LIST,
            b',' if !inside => NEXT,
            _ => 0,
        };
    }
    if memory > MOST {
        let size = MOST >> 20;
        return Err(serde_json::Error::custom(format!("its JSON takes more than {size} MiB of memory")));
    }
    serde_json::from_slice(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_take_much_memory_is_refused_before_it_is_read() {
        for (item, times, is_read) in [
            ("{\"id\":\"a model\",\"meta\":[1,2]}", 10_000, true),
            ("{\"\":0}", 100_000, false),
            ("[]", 100_000, false),
            ("0", 200_000, true),
            ("0", 300_000, false),
            ("\"{[\\\",[{\"", 100_000, true),
        ] {
            let json = format!("{{\"data\":[{}]}}", vec![item; times].join(","));
            let value = bounded_value(json.as_bytes());
            assert_eq!(value.is_ok(), is_read, "{item}");
            assert_eq!(value.map_or(times, |value| value["data"].as_array().unwrap().len()), times);
        }
        let said = bounded_value("[".repeat(200_000).as_bytes()).unwrap_err().to_string();
        assert_eq!(said, "its JSON takes more than 32 MiB of memory");
        assert!(bounded_value(b"{\"a\":").is_err());
    }
}
