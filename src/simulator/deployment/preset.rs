//! Finds presets by name, and suggests names for a wrong one.

/// A name without a preset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {kind} is called `{asked}`{}; known: {}", nearest(.asked, .known), .known.join(", "))]
pub struct UnknownName {
    /// The kind of preset.
    pub kind: &'static str,
    /// The name as it was given.
    pub asked: String,
    /// Every known name.
    pub known: Vec<&'static str>,
}

/// The preset called `asked`, ignoring case.
pub(crate) fn find<T: Copy>(
    kind: &'static str,
    presets: &[T],
    name: fn(&T) -> &'static str,
    asked: &str,
) -> Result<T, UnknownName> {
    presets.iter().find(|preset| name(preset).eq_ignore_ascii_case(asked.trim())).copied().ok_or_else(|| UnknownName {
        kind,
        asked: asked.to_owned(),
        known: presets.iter().map(name).collect(),
    })
}

/// Returns `, did you mean …?` when a known name is near. At most half of its letters differ.
fn nearest(asked: &str, known: &[&'static str]) -> String {
    let asked = asked.trim().to_ascii_lowercase();
    known
        .iter()
        .map(|name| (strsim::levenshtein(&asked, name), name))
        .min()
        .filter(|(edits, name)| 2 * edits <= name.len())
        .map_or_else(String::new, |(_, name)| format!(", did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_name_is_answered_with_the_nearest_and_with_all() {
        let find = |asked| find("GPU", &["a10g", "h100", "mi300x"], |name| name, asked);
        assert_eq!(find(" H100 "), Ok("h100"));
        let error = find("a10").unwrap_err().to_string();
        assert_eq!(error, "no GPU is called `a10`, did you mean `a10g`?; known: a10g, h100, mi300x");
        let error = find("tpu-v5e").unwrap_err().to_string();
        assert_eq!(error, "no GPU is called `tpu-v5e`; known: a10g, h100, mi300x");
    }
}
