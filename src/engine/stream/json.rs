//! Walks over plain JSON without building anything.

/// Deepest nesting of skipped values; log probabilities take six levels.
const DEPTH_LIMIT: u32 = 32;

/// A position in a JSON text.
///
/// Every step is `None` where the text is not JSON, and also where it is JSON of a rare kind, which is left
/// to `serde_json`. What a step accepts, `serde_json` accepts too and reads alike.
pub(crate) struct JsonCursor<'a> {
    rest: &'a [u8],
}

/// Members of an object that were seen, one bit each. A name may come only once.
#[derive(Debug, Default)]
pub(crate) struct SeenFields(u8);

impl SeenFields {
    /// Reads the value of the member with this number unless it is `null`. It is `None` if the member had come before.
    #[inline]
    pub(crate) fn once<'a>(
        &mut self,
        member: u8,
        walk: &mut JsonCursor<'a>,
        read: impl FnOnce(&mut JsonCursor<'a>) -> Option<()>,
    ) -> Option<()> {
        let bit = 1 << member;
        let first = self.0 & bit == 0;
        self.0 |= bit;
        match (first, walk.null()) {
            (false, _) => None,
            (true, true) => Some(()),
            (true, false) => read(walk),
        }
    }
}

impl<'a> JsonCursor<'a> {
    pub(crate) fn new(json: &'a [u8]) -> Self {
        Self { rest: json }
    }

    /// Bytes left in the text.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    /// Only white space may be left.
    pub(crate) fn end(mut self) -> Option<()> {
        self.white_space();
        self.rest.is_empty().then_some(())
    }

    /// An object; `member` reads the value of each name.
    #[inline]
    pub(crate) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &[u8], &mut SeenFields) -> Option<()>,
    ) -> Option<()> {
        let mut seen = SeenFields::default();
        self.expect(b'{')?;
        if self.skip(b'}') {
            return Some(());
        }
        loop {
            let name = self.name()?;
            self.expect(b':')?;
            member(self, name, &mut seen)?;
            if !self.skip(b',') {
                return self.expect(b'}');
            }
        }
    }

    /// An array; `item` reads each of its items. Returns their number.
    #[inline]
    pub(crate) fn array(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<u32> {
        self.expect(b'[')?;
        if self.skip(b']') {
            return Some(0);
        }
        let mut items = 0;
        loop {
            item(self)?;
            items += 1;
            if !self.skip(b',') {
                self.expect(b']')?;
                return Some(items);
            }
        }
    }

    /// The name of a member without escapes: only then its bytes are the name.
    #[inline]
    fn name(&mut self) -> Option<&'a [u8]> {
        self.expect(b'"')?;
        let run = plain_run(self.rest);
        let (name, [b'"', after @ ..]) = self.rest.split_at(run.length) else { return None };
        self.rest = after;
        run.ascii.then_some(name)
    }

    /// The bytes between the quotes of a string, with escapes.
    #[inline]
    pub(crate) fn string(&mut self) -> Option<&'a [u8]> {
        self.expect(b'"')?;
        let length = string_length(self.rest)?;
        let (inside, after) = self.rest.split_at(length);
        self.rest = &after[1..];
        Some(inside)
    }

    /// A whole number without sign, below 10¹⁸.
    pub(crate) fn count(&mut self) -> Option<u64> {
        self.white_space();
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, after) = self.rest.split_at(digits);
        if digits == 0 || digits > 18 || (digits > 1 && number[0] == b'0') {
            return None;
        }
        // A fraction or an exponent is left over, and no caller accepts it.
        self.rest = after;
        Some(number.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')))
    }

    /// `null`, if it is next.
    pub(crate) fn null(&mut self) -> bool {
        self.white_space();
        let after = self.rest.strip_prefix(b"null");
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// Any value.
    pub(crate) fn any(&mut self) -> Option<()> {
        self.any_within(DEPTH_LIMIT)
    }

    fn any_within(&mut self, depth: u32) -> Option<()> {
        let deeper = depth.checked_sub(1)?;
        self.white_space();
        match self.rest.first()? {
            b'"' => self.string().map(drop),
            b'{' => self.object(|walk, _, _| walk.any_within(deeper)),
            b'[' => self.array(|walk| walk.any_within(deeper)).map(drop),
            b'n' => self.word(b"null"),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            _ => self.number(),
        }
    }

    /// A number of any kind: sign, whole part, fraction, exponent.
    fn number(&mut self) -> Option<()> {
        let digits = |walk: &mut Self| {
            let digits = walk.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            walk.rest = &walk.rest[digits..];
            (digits > 0).then_some(digits)
        };
        self.rest = self.rest.strip_prefix(b"-").unwrap_or(self.rest);
        let zero_first = self.rest.first() == Some(&b'0');
        if digits(self)? > 1 && zero_first {
            return None;
        }
        if let Some(fraction) = self.rest.strip_prefix(b".") {
            self.rest = fraction;
            digits(self)?;
        }
        if let [b'e' | b'E', exponent @ ..] = self.rest {
            let ([b'+' | b'-', unsigned @ ..] | unsigned) = exponent;
            self.rest = unsigned;
            digits(self)?;
        }
        Some(())
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(word)?;
        Some(())
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.skip(byte).then_some(())
    }

    #[inline]
    fn skip(&mut self, byte: u8) -> bool {
        self.white_space();
        match self.rest {
            [first, after @ ..] if *first == byte => {
                self.rest = after;
                true
            }
            _ => false,
        }
    }

    #[inline]
    fn white_space(&mut self) {
        while let [b' ' | b'\t' | b'\n' | b'\r', after @ ..] = self.rest {
            self.rest = after;
        }
    }
}

/// Length of the string that `bytes` begins inside of, up to its closing quote. `None` if there is none, if
/// it holds what a string may not (a control character, an unknown escape, invalid UTF-8), or a surrogate
/// escape, which must be one of a pair.
#[inline]
pub(crate) fn string_length(bytes: &[u8]) -> Option<usize> {
    let mut length = 0;
    let mut ascii = true;
    loop {
        let run = plain_run(&bytes[length..]);
        length += run.length;
        ascii &= run.ascii;
        match bytes.get(length)? {
            b'"' => break,
            b'\\' => length += escape_length(&bytes[length..])?,
            _ => return None,
        }
    }
    (ascii || str::from_utf8(&bytes[..length]).is_ok()).then_some(length)
}

/// Bytes of a string without escapes.
struct Run {
    length: usize,
    /// Whether all of them are ASCII.
    ascii: bool,
}

/// The bytes before the next quote, backslash or control character, eight at a time.
#[inline]
fn plain_run(bytes: &[u8]) -> Run {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = EACH << 7;
    // The high bit of each byte below `limit`, and perhaps of bytes after the first such one; the first is
    // exact.
    let below = |word: u64, limit: u8| word.wrapping_sub(EACH * u64::from(limit)) & !word & HIGH;
    let mut seen = 0;
    let (words, last) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let quote = word ^ (EACH * u64::from(b'"'));
        let backslash = word ^ (EACH * u64::from(b'\\'));
        let stops = below(word, b' ') | below(quote, 1) | below(backslash, 1);
        if stops != 0 {
            let first = stops.trailing_zeros();
            seen |= word & !(u64::MAX << (first & !7));
            return Run { length: index * 8 + first as usize / 8, ascii: seen & HIGH == 0 };
        }
        seen |= word;
    }
    let plain = last.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..b' ')).count();
    let ascii = seen & HIGH == 0 && last[..plain].is_ascii();
    Run { length: words.len() * 8 + plain, ascii }
}

/// Length of the escape that `bytes` begins with.
fn escape_length(bytes: &[u8]) -> Option<usize> {
    match bytes.get(1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => {
            let digits = bytes.get(2..6)?;
            let surrogate = matches!(digits, [b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F', ..]);
            (digits.iter().all(u8::is_ascii_hexdigit) && !surrogate).then_some(6)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
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
            "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"b\":", "null", "true", "false", "0", "1", "12", "-", ".5",
            "e9", "E+1", "01", " ", "\n", "\\", "\\u0041", "\\ud800", "é", "\"\"",
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
        fn all_json_that_a_server_may_write_is_walked_over(
            number in any::<f64>(), count in any::<i64>(), text in ".{0,12}"
        ) {
            let inner = serde_json::json!({"b": text, "c": [], "d": {}});
            let json = serde_json::json!({"a": [number, count, inner], "e": null, "f": true, "g": false});
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
}
