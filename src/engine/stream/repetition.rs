//! Finds a last chunk that says the whole answer once more.

/// Fewest chunks of an answer before one that repeats them all.
const FEWEST: u64 = 2;
/// Bytes of the first chunk that are remembered.
const OPENING: usize = 64;

/// Detector of a last chunk that repeats the whole answer. Those of `trtllm-serve` did. Such a chunk begins with the
/// first one, and is as long as all before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Repetition {
    /// The beginning of the first chunk.
    opening: Vec<u8>,
    chunks: u64,
    /// Bytes of all chunks.
    pub(super) bytes: u64,
    /// Whether it is so.
    pub(super) is_last: bool,
}

impl Repetition {
    /// Adds the text of a chunk.
    #[inline]
    pub(super) fn add(&mut self, text: &[u8]) {
        let length = text.len() as u64;
        self.is_last = length == self.bytes && length > 0 && self.chunks >= FEWEST && text.starts_with(&self.opening);
        if self.bytes == 0 {
            self.opening = text.iter().take(OPENING).copied().collect();
        }
        self.chunks += 1;
        self.bytes += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_once_more_is_a_repetition_until_more_comes() {
        let mut said = Repetition::default();
        let mut repeats = |text: &str| {
            said.add(text.as_bytes());
            said.is_last
        };
        assert!(!repeats(" the") && !repeats(" end") && !repeats(" of it"));
        assert!(repeats(" the end of it") && !repeats("."));
        // As long by accident.
        let mut said = Repetition::default();
        for text in [" a", " b", " cde"] {
            said.add(text.as_bytes());
        }
        assert!(!said.is_last);
        said.add(b" other te");
        assert!(!said.is_last);
        // A second token like the first is none.
        let mut said = Repetition::default();
        for _ in 0..2 {
            said.add(b" w");
        }
        assert!(!said.is_last);
    }
}
