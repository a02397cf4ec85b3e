//! The end of each line of a run log: its number and a checksum, by which a line that was altered, lost or doubled shows.
//!
//! ```text
//! {"request":{…},"line":12,"crc32":"9ae0daaf"}
//! ```
//!
//! The checksum is the CRC-32 of zlib over all that comes before it, from `{` to the number. It finds accidents, not people
//! who compute it anew: those are found by the plan, which no record may leave.

use std::io::Write as _;

const NUMBER: &[u8] = b",\"line\":";
const CHECKSUM: &[u8] = b",\"crc32\":\"";
const END: &[u8] = b"\"}";
/// Digits of a checksum.
const DIGITS: usize = 8;

/// Ends `line`, an object, with its number and its checksum.
pub(super) fn seal(line: &mut Vec<u8>, number: u64) {
    line.pop();
    line.extend_from_slice(NUMBER);
    // Writing to memory does not fail.
    let _ = write!(line, "{number}");
    let sum = crc32fast::hash(line);
    line.extend_from_slice(CHECKSUM);
    let _ = write!(line, "{sum:08x}");
    line.extend_from_slice(END);
    line.push(b'\n');
}

/// What the end of a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seal {
    /// Nothing: the line has no number and no checksum, as before schema 6.
    Absent,
    /// The checksum is not that of the line.
    Broken,
    /// The line is as it was written, with this number.
    Whole(u64),
}

/// Takes the end of `line` off and says what it was.
pub(super) fn unseal(line: &mut Vec<u8>) -> Seal {
    line.truncate(line.trim_ascii_end().len());
    let sealed = || {
        let digits = line.strip_suffix(END)?;
        let (rest, digits) = digits.split_at_checked(digits.len().checked_sub(DIGITS)?)?;
        let rest = rest.strip_suffix(CHECKSUM)?;
        let place = memchr::memmem::rfind(rest, NUMBER)?;
        let number = std::str::from_utf8(&rest[place + NUMBER.len()..]).ok()?;
        let digits =
            std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|c| c.is_ascii_hexdigit()))?;
        let sum = u32::from_str_radix(digits, 16).ok()?;
        Some((place, number.parse().ok()?, crc32fast::hash(rest) == sum))
    };
    let Some((place, number, whole)) = sealed() else { return Seal::Absent };
    line.truncate(place);
    line.push(b'}');
    if whole { Seal::Whole(number) } else { Seal::Broken }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_sealed_line_is_json_and_python_computes_the_same_checksum() {
        let mut line = br#"{"client":{"at_ns":5}}"#.to_vec();
        seal(&mut line, 7);
        // zlib.crc32(b'{"client":{"at_ns":5},"line":7')
        assert_eq!(
            String::from_utf8(line.clone()).unwrap(),
            "{\"client\":{\"at_ns\":5},\"line\":7,\"crc32\":\"2201143d\"}\n"
        );
        assert_eq!(
            (unseal(&mut line), line.as_slice()),
            (Seal::Whole(7), br#"{"client":{"at_ns":5}}"#.as_slice())
        );
        assert_eq!(unseal(&mut line), Seal::Absent);
    }

    proptest! {
        #[test]
        fn no_changed_byte_is_overlooked(text in "[a-z\",:}]{0,60}", number in any::<u64>(), place in any::<usize>(), to in any::<u8>()) {
            let object = format!("{{\"a\":{text:?}}}").into_bytes();
            let mut line = object.clone();
            seal(&mut line, number);
            let mut changed = line.clone();
            prop_assert_eq!((unseal(&mut line), line), (Seal::Whole(number), object));
            let place = place % (changed.len() - 1);
            prop_assume!(!changed[place].eq_ignore_ascii_case(&to));
            changed[place] = to;
            prop_assert!(!matches!(unseal(&mut changed), Seal::Whole(_)));
        }
    }
}
