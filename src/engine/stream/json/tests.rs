//! Strings and numbers against `serde_json`.

use proptest::prelude::*;

use super::*;

/// Whether `serde_json` reads `"inside"` as one whole string.
fn is_string(inside: &[u8]) -> bool {
    let quoted = [b"\"", inside, b"\""].concat();
    serde_json::from_slice::<String>(&quoted).is_ok()
}

/// Whether this reader accepts it.
fn is_taken(inside: &[u8]) -> bool {
    string_length(&[inside, b"\"}"].concat()) == Some(inside.len())
}

#[test]
fn every_string_is_taken_but_those_with_surrogates() {
    for (inside, taken) in [
        (&b""[..], true),
        (b"plain", true),
        (br#"\"\\\/\b\f\n\r\t"#, true),
        (br"\u00e9\u0000\ud7ff\uE000", true),
        ("é漢😀".as_bytes(), true),
        (br"\ud83d\ude00", false),
        (br"\x", false),
        (br"\u12g4", false),
        (br"\u123", false),
        (b"\\", false),
        (b"a\x1fb", false),
        (b"\xff", false),
        (b"\xc3", false),
        (b"\xed\xa0\x80", false),
        (b"a\"b", false),
    ] {
        for pad in 0..20 {
            let padded = [&vec![b'x'; pad], inside].concat();
            assert_eq!(is_taken(&padded), taken, "{inside:?} after {pad}");
            assert!(!taken || is_string(&padded), "{inside:?} after {pad}");
        }
    }
}

#[test]
fn every_byte_at_every_place_of_a_word_is_as_plain_as_it_is() {
    for byte in 0..=255 {
        for place in 0..17 {
            let mut bytes = [b'a'; 17];
            bytes[place] = byte;
            let stops = matches!(byte, b'"' | b'\\' | 0..b' ');
            let run = plain_run(&bytes);
            assert_eq!(run.length, if stops { place } else { 17 }, "{byte} at {place}");
            assert_eq!(run.ascii, byte < 0x80, "{byte} at {place}");
            // Behind another that stops, so that a borrow may cross.
            bytes[0] = b'"';
            let run = plain_run(&bytes);
            assert!(run.length == 0 && run.ascii, "{byte} at {place}");
        }
    }
}

/// JSON, and almost JSON.
fn nearly_json() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"b\":", "null", "true", "false", "0", "1", "12", "-",
        ".5", "e9", "E+1", "01", " ", "\n", "\\", "\\u0041", "\\ud800", "é", "\"\"",
    ]);
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn what_is_taken_for_a_string_is_one(inside in prop::collection::vec(any::<u8>(), 0..24)) {
        prop_assert!(!is_taken(&inside) || is_string(&inside));
    }

    #[test]
    fn what_is_walked_over_is_json(json in nearly_json()) {
        let mut walk = JsonCursor::new(json.as_bytes());
        if walk.any().and_then(|()| walk.end()).is_some() {
            prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(&json).is_ok(), "{}", json);
        }
    }

    #[test]
    fn all_json_that_a_server_may_write_is_walked_over(number in any::<f64>(), count in any::<i64>(), text in ".{0,12}") {
        let json = serde_json::json!({"a": [number, count, {"b": text, "c": [], "d": {}}], "e": null, "f": true, "g": false});
        for json in [serde_json::to_string(&json).unwrap(), serde_json::to_string_pretty(&json).unwrap()] {
            let mut walk = JsonCursor::new(json.as_bytes());
            prop_assert!(walk.any().and_then(|()| walk.end()).is_some(), "{}", json);
        }
    }

    #[test]
    fn a_count_is_the_number_that_it_says(json in "[0-9]{1,20}|-?[0-9]{1,3}([.][0-9])?(e[0-9])?") {
        let mut walk = JsonCursor::new(json.as_bytes());
        let count = walk.count().filter(|_| walk.rest.is_empty());
        let number: Option<u64> = serde_json::from_str(&json).ok();
        prop_assert!(count.is_none() || count == number);
        prop_assert!(count.is_some() || number.is_none_or(|number| number >= 10_u64.pow(18)), "{}", json);
    }
}
