//! Sets of golden prompts, which any workload can take in addition to its own.

use std::path::Path;

use super::golden::GoldenCheck;
use crate::workload::reading::{parse_toml, read_file, read_whole, spec_table};

/// Names and texts of the sets in the binary.
const SETS: [(&str, &str); 1] = [("basics", include_str!("../../../workloads/golden/basics.toml"))];

spec_table! {
    /// A set of golden prompts, of a file or in the binary.
    pub struct GoldenSet = "a golden set" {
        /// One or two sentences about it; empty when the file gives none.
        description: String = optional(String::new(), |value| value.text()),
        /// The prompts, with what is expected of their answers.
        checks: Vec<GoldenCheck> = checks(),
    }
    check(fields) {
        if checks.as_ref()?.is_empty() {
            return fields.reject("has no golden prompts; give it `[[checks]]` (`skyline workloads show basics`)");
        }
    }
}

impl GoldenSet {
    /// Returns the TOML text of a set in the binary. It is a starting point for users' own files.
    pub fn source(name: &str) -> Option<&'static str> {
        SETS.iter().find(|(known, _)| *known == name).map(|(_, source)| *source)
    }

    /// Reads a set by its name, or a file by its path.
    ///
    /// # Errors
    ///
    /// The mistakes in it, in sentences.
    pub fn typed(name_or_path: &str) -> Result<Self, String> {
        let path = Path::new(name_or_path);
        let node = match Self::source(name_or_path) {
            Some(source) => parse_toml(source),
            None if path.extension().is_none() && !path.exists() => {
                return Err(format!("there is no golden set `{name_or_path}`; give `basics`, or the path of a file"));
            }
            None => read_file(path, "skyline workloads show basics").map_err(|error| error.to_string())?,
        };
        read_whole(node, name_or_path, path.parent(), Self::read).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_set_in_the_binary_is_sound_and_a_wrong_answer_is_none() {
        for (name, _) in SETS {
            let set = GoldenSet::typed(name).unwrap();
            assert!(set.checks.len() >= 20 && !set.description.is_empty());
            for check in &set.checks {
                assert!(check.slice.is_some() && check.expect.unmet("I do not know.", true).is_some(), "{check:?}");
            }
        }
        let set = GoldenSet::typed("basics").unwrap();
        let met = |name: &str, answer: &str| {
            let check = set.checks.iter().find(|check| check.name == name).unwrap();
            check.expect.unmet(answer, true).is_none()
        };
        for (name, right, wrong) in [
            ("product", "56", "156"),
            ("boxes", "4 × 6 = 24, 24 − 5 = **19**", "20 pens"),
            ("total", "417.50 EUR", "41750"),
            ("colour", "Red.", "Green"),
            ("capital", "B: Paris", "Lyon"),
            ("object", "```json\n{\"name\": \"Ada\", \"age\": 36}\n```", "{\"age\": 3}"),
            ("repeat", "Skyline", "skyline is a word"),
        ] {
            assert!(met(name, right) && !met(name, wrong), "{name}");
        }
    }

    #[test]
    fn what_is_no_set_is_refused_with_the_cure() {
        assert!(GoldenSet::typed("basic").unwrap_err().contains("give `basics`"));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("golden.toml");
        std::fs::write(&file, "description = \"none\"").unwrap();
        let refused = GoldenSet::typed(file.to_str().unwrap()).unwrap_err();
        assert!(refused.contains("[[checks]]") && refused.contains("golden.toml"), "{refused}");
        std::fs::write(&file, "[[checks]]\nname = \"a\"\nprompt = \"?\"\nexpect = { exact = \"b\" }").unwrap();
        assert_eq!(GoldenSet::typed(file.to_str().unwrap()).unwrap().checks.len(), 1);
        assert!(GoldenSet::typed("nowhere.toml").unwrap_err().contains("nowhere.toml"));
    }
}
