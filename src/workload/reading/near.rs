//! Suggests the name that was probably meant.

/// The candidate closest to what was typed, if it is close enough to suggest: one continues the other, or at most a
/// third of the letters differ (at least one), or the two begin alike.
pub(crate) fn nearest<'c>(typed: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    /// Letters that two names must share at the start to begin alike.
    const STEM: usize = 4;
    let typed = typed.to_lowercase().replace('-', "_");
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let goes_on = typed.len().min(candidate.len()) >= 3
                && (candidate.starts_with(&typed) || typed.starts_with(candidate));
            let edits = edits(&typed, candidate);
            let few = edits <= (candidate.len().max(typed.len()) / 3).max(1);
            let alike = common_prefix(&typed, candidate) >= STEM.max(typed.len().min(candidate.len()) / 2);
            (goes_on || few || alike).then_some((!goes_on, edits, candidate))
        })
        .min()
        .map(|(_, _, candidate)| candidate)
}

fn common_prefix(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// Letters to insert, delete, replace or swap with their neighbour to make `a` into `b` (optimal string alignment).
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let best = replaced.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                if swapped { best.min(table[i - 2][j - 2] + 1) } else { best }
            };
        }
    }
    table[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_single_letters_and_swaps() {
        for (a, b, distance) in [
            ("kitten", "sitting", 3),
            ("", "abc", 3),
            ("flaw", "lawn", 2),
            ("same", "same", 0),
            ("kidn", "kind", 1),
        ] {
            assert_eq!(edits(a, b), distance, "{a} {b}");
            assert_eq!(edits(b, a), distance, "{b} {a}");
        }
    }

    #[test]
    fn near_misses_find_their_name() {
        let fields = [
            "kind",
            "rate_per_s",
            "base_rate_per_s",
            "base_s",
            "ttft_ms",
            "output_tokens",
            "input_tokens",
            "std",
        ];
        for (typed, meant) in [
            ("rate", Some("rate_per_s")),
            ("rate-per-s", Some("rate_per_s")),
            ("base_rate", Some("base_rate_per_s")),
            ("ttft", Some("ttft_ms")),
            ("stddev", Some("std")),
            ("Kind", Some("kind")),
            ("output_len", Some("output_tokens")),
            ("input_token", Some("input_tokens")),
            ("sdt", Some("std")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, fields), meant, "{typed}");
        }
    }
}
