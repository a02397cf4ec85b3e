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
            let continues = typed.len().min(candidate.len()) >= 3
                && (candidate.starts_with(&typed) || typed.starts_with(candidate));
            let edits = strsim::osa_distance(&typed, candidate);
            let few = edits <= (candidate.len().max(typed.len()) / 3).max(1);
            let alike = common_prefix(&typed, candidate) >= STEM.max(typed.len().min(candidate.len()) / 2);
            (continues || few || alike).then_some((!continues, edits, candidate))
        })
        .min()
        .map(|(_, _, candidate)| candidate)
}

fn common_prefix(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

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
