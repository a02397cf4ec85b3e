//! The end of each line of a run log: its number and a checksum, by which a line that was altered, lost or
//! doubled shows.
//!
//! ```text
//! {"request":{…},"line":12,"crc32":"9ae0daaf"}
//! ```
//!
//! The checksum is the CRC-32 of zlib over all that comes before it, from `{` to the number. That of every
//! line but the header goes on from the header's, so that a line of another run shows. It finds accidents,
//! not people who compute it anew: those are found by the plan, which no record may leave.

use std::io::Write as _;

const NUMBER: &[u8] = b",\"line\":";
const CHECKSUM: &[u8] = b",\"crc32\":\"";
const END: &[u8] = b"\"}";
/// Digits of a checksum.
const DIGITS: usize = 8;

/// Ends `line`, an object, with its number and its checksum, which it returns. It goes on from `run`: the
/// header's, or 0.
pub(super) fn seal(line: &mut Vec<u8>, number: u64, run: u32) -> u32 {
    line.pop();
    line.extend_from_slice(NUMBER);
    // Writing to memory does not fail.
    let _ = write!(line, "{number}");
    let sum = checksum(line, run);
    line.extend_from_slice(CHECKSUM);
    let _ = write!(line, "{sum:08x}");
    line.extend_from_slice(END);
    line.push(b'\n');
    sum
}

fn checksum(text: &[u8], run: u32) -> u32 {
    let mut sum = crc32fast::Hasher::new_with_initial(run);
    sum.update(text);
    sum.finalize()
}

/// The state of the seal at the end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seal {
    /// Nothing: the line has no number and no checksum, as before schema 6.
    Absent,
    /// The checksum is not that of the line.
    Broken,
    /// The line is as it was written, with this number.
    Whole(u64),
}

/// Takes the end of `line` off and says what it was. The line's checksum may go on from any of `runs`. It also returns
/// the checksum that the line has and the one that it should have.
pub(super) fn unseal(line: &mut Vec<u8>, runs: &[u32]) -> (Seal, [u32; 2]) {
    line.truncate(line.trim_ascii_end().len());
    let sealed = || {
        let digits = line.strip_suffix(END)?;
        let (rest, digits) = digits.split_at_checked(digits.len().checked_sub(DIGITS)?)?;
        let rest = rest.strip_suffix(CHECKSUM)?;
        let place = memchr::memmem::rfind(rest, NUMBER)?;
        let number = std::str::from_utf8(&rest[place + NUMBER.len()..]).ok()?;
        let digits = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|c| c.is_ascii_hexdigit()))?;
        let sum = u32::from_str_radix(digits, 16).ok()?;
        let mut right = runs.iter().map(|run| checksum(rest, *run));
        let found = right.clone().find(|right| *right == sum).or(right.next()).unwrap_or_default();
        Some((place, number.parse().ok()?, [sum, found]))
    };
    let Some((place, number, sums)) = sealed() else { return (Seal::Absent, [0; 2]) };
    line.truncate(place);
    line.push(b'}');
    (if sums[0] == sums[1] { Seal::Whole(number) } else { Seal::Broken }, sums)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_sealed_line_is_json_and_python_computes_the_same_checksum() {
        let mut line = br#"{"client":{"at_ns":5}}"#.to_vec();
        assert_eq!(seal(&mut line, 7, 0), 0x2201_143d);
        // zlib.crc32(b'{"client":{"at_ns":5},"line":7')
        assert_eq!(
            String::from_utf8(line.clone()).unwrap(),
            "{\"client\":{\"at_ns\":5},\"line\":7,\"crc32\":\"2201143d\"}\n"
        );
        let mut elsewhere = line.clone();
        assert_eq!(
            (unseal(&mut line, &[0]), line.as_slice()),
            ((Seal::Whole(7), [0x2201_143d; 2]), br#"{"client":{"at_ns":5}}"#.as_slice())
        );
        assert_eq!(unseal(&mut line, &[0]), (Seal::Absent, [0; 2]));
        assert_eq!(unseal(&mut elsewhere.clone(), &[1]).0, Seal::Broken, "of another run");
        assert_eq!(unseal(&mut elsewhere, &[1, 0]).0, Seal::Whole(7), "of either");
    }

    #[test]
    fn the_checksum_of_a_line_goes_on_from_that_of_the_header() {
        let mut line = br#"{"client":{"at_ns":5}}"#.to_vec();
        // zlib.crc32(b'{"client":{"at_ns":5},"line":7', 0x01234567)
        assert_eq!(seal(&mut line, 7, 0x0123_4567), 0x760f_09ac);
        assert_eq!(unseal(&mut line, &[0x0123_4567]), (Seal::Whole(7), [0x760f_09ac; 2]));
    }

    proptest! {
        #[test]
        fn no_changed_byte_is_overlooked(
            text in "[a-z\",:}]{0,60}", number in any::<u64>(), place in any::<usize>(), to in any::<u8>(),
            run in any::<u32>()
        ) {
            let object = format!("{{\"a\":{text:?}}}").into_bytes();
            let mut line = object.clone();
            let sum = seal(&mut line, number, run);
            let mut changed = line.clone();
            prop_assert_eq!((unseal(&mut line, &[run]), line), ((Seal::Whole(number), [sum; 2]), object));
            let place = place % (changed.len() - 1);
            prop_assume!(!changed[place].eq_ignore_ascii_case(&to));
            changed[place] = to;
            prop_assert!(!matches!(unseal(&mut changed, &[run]).0, Seal::Whole(_)));
        }
    }
}
