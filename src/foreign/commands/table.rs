//! The tables of the tools, embedded as TOML: how command lines begin, what flags mean here, and rules for the rest.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::foreign::rules::TableRule;

/// Sentences of several tools.
const COMMON: &str = include_str!("tables/common.toml");
const TABLES: [&str; 5] = [
    include_str!("tables/vllm-0.33.toml"),
    include_str!("tables/sglang-0.5.23.toml"),
    include_str!("tables/guidellm-0.8.1.toml"),
    include_str!("tables/aiperf-0.13.toml"),
    include_str!("tables/llmperf-0.1.toml"),
];

/// Table by which the command lines of a tool are read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolTable {
    /// Its name in its makers' spelling.
    tool: String,
    /// The version whose flags are all here.
    version: String,
    /// Beginnings of its command lines, the usual one first.
    pub(super) begins: Vec<String>,
    /// Other programs whose flags are here: beginning, name and version.
    #[serde(default)]
    also: Vec<[String; 3]>,
    /// A command line behind our verb.
    pub(super) example: String,
    /// Sentences that several flags or rules share, by one word.
    #[serde(default)]
    pub(super) sentences: BTreeMap<String, String>,
    pub(super) flags: Vec<FlagGroup>,
    pub(super) rules: Vec<TableRule>,
}

/// Flags with one meaning: an option, a sentence, or what the rules make of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FlagGroup {
    /// Names with spaces between them. A `|` is between those of one flag, which is known by the first. A field of a
    /// value is `flag.field`.
    names: String,
    #[serde(default)]
    pub(super) takes: Takes,
    /// The option that means the same, with the same value if there is one.
    pub(super) option: Option<String>,
    /// Whether a sweep has no such option.
    #[serde(default)]
    pub(super) of_runs: bool,
    pub(super) says: Option<String>,
}

/// Values that a flag takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Takes {
    Nothing,
    #[default]
    One,
    /// All words up to the next flag.
    Many,
    /// All words up to the next flag, which blanks and commas divide too.
    Words,
    /// A value with the fields that the table has.
    Fields,
    /// A value with such fields; of several the first counts, and `flag.again` is given.
    FirstFields,
    /// Values with fields, each known by its kind: `flag.kind.field`.
    Kinds,
    /// Values with any fields, as the body of a request has them.
    AnyFields,
}

/// The tables, or what is wrong with one.
static ALL: LazyLock<Result<Vec<ToolTable>, toml::de::Error>> = LazyLock::new(|| {
    let common: BTreeMap<String, String> = toml::from_str(COMMON)?;
    let read = |text| {
        let mut table: ToolTable = toml::from_str(text)?;
        for (word, sentence) in &common {
            table.sentences.entry(word.clone()).or_insert_with(|| sentence.clone());
        }
        Ok(table)
    };
    TABLES.into_iter().map(read).collect()
});

impl ToolTable {
    /// The table of each tool.
    ///
    /// # Errors
    ///
    /// What is wrong with one of them, which a test rules out.
    pub(super) fn all() -> Result<&'static [Self], String> {
        ALL.as_deref().map_err(ToString::to_string)
    }

    /// Returns the flag of this name. It is the name by which the flag is known, and what it means.
    pub(super) fn flag(&self, typed: &str) -> Option<(&str, &FlagGroup)> {
        self.flags.iter().find_map(|group| {
            let mut names = group.names.split_whitespace();
            let same = names.find(|names| names.split('|').any(|name| name == typed))?;
            Some((same.split('|').next()?, group))
        })
    }

    /// The sentence that a word stands for; any other text is one itself.
    pub(super) fn sentence<'t>(&'t self, text: &'t str) -> &'t str {
        self.sentences.get(text).map_or(text, String::as_str)
    }

    /// Name and version of the program whose command lines begin so.
    pub(super) fn program(&self, beginning: &str) -> (&str, &str) {
        let other = self.also.iter().find(|[begins, ..]| begins == beginning);
        other.map_or((&self.tool, &self.version), |[_, name, version]| (name, version))
    }

    /// Returns where a command line of this tool begins, and with what. The words after it come with them.
    ///
    /// What stands before it, such as variables, `uv run` or the path of a program, is passed over.
    pub(super) fn behind<'w>(&self, words: &'w [String]) -> Option<(usize, &str, &'w [String])> {
        let same = |(word, expected): (&String, &str)| {
            word.strip_suffix(expected).is_some_and(|path| path.is_empty() || path.ends_with('/'))
        };
        let length = |beginning: &&String| beginning.split(' ').count();
        (0..words.len()).find_map(|first| {
            let rest = &words[first..];
            let begun = self
                .begins
                .iter()
                .filter(|beginning| rest.len() >= length(beginning) && rest.iter().zip(beginning.split(' ')).all(same));
            let beginning = begun.max_by_key(length)?;
            Some((first, beginning.as_str(), &rest[length(&beginning)..]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foreign::commands::{Translation, translate};

    fn typed(line: &str) -> Translation {
        translate(&shlex::split(line).unwrap()).unwrap()
    }

    /// Options of released tools. Each has how its command lines begin, and the text of its table.
    const RELEASED: [(&str, &str, &str, &str); 8] = [
        (
            "vLLM",
            "vllm bench serve",
            include_str!("../../../tests/data/flags/vllm-0.33.txt"),
            include_str!("tables/vllm-0.33.toml"),
        ),
        (
            "vLLM",
            "vllm-rs bench serve",
            include_str!("../../../tests/data/flags/vllm-rs-0.33.txt"),
            include_str!("tables/vllm-0.33.toml"),
        ),
        (
            "SGLang",
            "python -m sglang.bench_serving",
            include_str!("../../../tests/data/flags/sglang-0.5.23.txt"),
            include_str!("tables/sglang-0.5.23.toml"),
        ),
        (
            "GuideLLM",
            "guidellm run",
            include_str!("../../../tests/data/flags/guidellm-0.8.1.txt"),
            include_str!("tables/guidellm-0.8.1.toml"),
        ),
        (
            "AIPerf",
            "aiperf profile",
            include_str!("../../../tests/data/flags/aiperf-0.13.txt"),
            include_str!("tables/aiperf-0.13.toml"),
        ),
        (
            "vLLM",
            "python benchmarks/benchmark_serving.py",
            include_str!("../../../tests/data/flags/vllm-benchmark-serving-0.10.txt"),
            include_str!("tables/vllm-0.33.toml"),
        ),
        (
            "AIPerf",
            "genai-perf profile",
            include_str!("../../../tests/data/flags/genai-perf-0.0.16.txt"),
            include_str!("tables/aiperf-0.13.toml"),
        ),
        (
            "llmperf",
            "python token_benchmark_ray.py",
            include_str!("../../../tests/data/flags/llmperf-0.1.txt"),
            include_str!("tables/llmperf-0.1.toml"),
        ),
    ];

    /// Whether a flag's fields are those of a body.
    fn is_body(tool: &str, flag: &str) -> bool {
        table(tool).flag(flag).is_some_and(|(_, group)| group.takes == Takes::AnyFields)
    }

    fn table(tool: &str) -> &'static ToolTable {
        ToolTable::all().unwrap().iter().find(|table| table.tool == tool).unwrap()
    }

    /// Whether a text has a name, and not only one that begins with it.
    fn has_name(text: &str, name: &str) -> bool {
        text.match_indices(name).any(|(at, _)| {
            let after = text[at + name.len()..].chars().next().unwrap_or(' ');
            !(after.is_ascii_alphanumeric() || "-_.".contains(after))
        })
    }

    /// Says why a name of a table is no answer. It has no option, no sentence, and no rule speaks of it.
    fn unanswered(tool: &str, name: &str, rules: &str) -> Option<String> {
        let table = table(tool);
        let Some((first, FlagGroup { option, says, .. })) = table.flag(name) else {
            let mut above = name.match_indices('.').filter_map(|(end, _)| table.flag(&name[..end]));
            let is_said = above.any(|(_, group)| group.says.is_some());
            return (!is_said).then(|| format!("{name} is unknown"));
        };
        // A kind is the value of its flag, of which the rules speak.
        let flag = first.split('.').next().unwrap_or(first);
        let is_kind =
            first.matches('.').count() == 1 && table.flag(flag).is_some_and(|(_, group)| group.takes == Takes::Kinds);
        match (option, says.as_deref().map(|says| table.sentence(says))) {
            (Some(option), _) => (!option.starts_with("--")).then(|| format!("{name}: {option}")),
            (None, Some("")) => (!SILENT.contains(&first)).then(|| format!("{name} is passed over")),
            (None, Some(says)) => (says.split(' ').count() < 4).then(|| format!("{name}: {says}")),
            (None, None) if is_kind || rules.contains(&format!("{first}.")) => None,
            (None, None) => (!has_name(rules, first)).then(|| format!("{name} is read by no rule")),
        }
    }

    /// Names of which there is nothing to say. There is one kind of it, or it is a part of what is said of another.
    const SILENT: [&str; 10] = [
        "--metrics.kind",
        "--data-loader.kind",
        "--tokenizer.kind",
        "--seed.kind",
        "--data.source.kind",
        "--data.load_kwargs",
        "--data.source.load_kwargs",
        "--constraint.max_duration.stopping_scope",
        "--constraint.max_requests.stopping_scope",
        "--service-kind",
    ];

    #[test]
    fn every_option_of_the_released_tools_is_mapped_or_answered_by_name() {
        for (tool, begins, all, text) in RELEASED {
            let rules = text.split_once("[[rules]]").unwrap().1;
            let (mut plain, mut kinds) = (begins.to_owned(), BTreeMap::<_, Vec<_>>::new());
            let mut missing = Vec::new();
            for line in all.lines().filter(|line| !line.starts_with('#')) {
                let mut words = line.split(' ');
                let (flags, kind, field) = (words.next().unwrap(), words.next(), words.next());
                for flag in flags.split('|') {
                    if let Some(kind) = kind {
                        kinds.entry((flag, kind)).or_default().extend(field.map(|field| format!(",{field}=1")));
                    } else {
                        plain +=
                            if is_body(tool, flag) { format!(" {flag} a:1") } else { format!(" {flag} 1") }.as_str();
                    }
                    let on = flag.strip_prefix("--no-").map(|rest| format!("--{rest}"));
                    let on = on.filter(|_| table(tool).flag(flag).is_none());
                    let (first, group) =
                        table(tool).flag(on.as_deref().unwrap_or(flag)).unwrap_or_else(|| panic!("{flag}"));
                    let kind = kind.and_then(|kind| kind.strip_prefix("kind=")).filter(|_| group.takes == Takes::Kinds);
                    let field = field.filter(|_| group.says.is_none());
                    let name = [Some(first), kind, field].into_iter().flatten().collect::<Vec<_>>().join(".");
                    missing.extend(unanswered(tool, &name, rules));
                }
            }
            let lines =
                kinds.into_iter().map(|((flag, kind), fields)| format!("{begins} {flag} {kind}{}", fields.concat()));
            let lines: Vec<_> = lines.chain([plain]).collect();
            for translation in lines.iter().map(|line| typed(line)) {
                missing.extend(translation.unknown.into_iter().filter(|unknown| unknown.starts_with('-')));
                let is_odd = |sentence: &str| sentence.starts_with("unknown: ") || sentence.starts_with("left out");
                let odd = translation.differences.into_iter().filter(|gap| is_odd(&gap.sentence));
                missing.extend(odd.map(|gap| gap.about).filter(|about| !about.ends_with(" 1")));
            }
            assert!(all.lines().count() > 10 && missing.is_empty(), "{begins}: {missing:#?}");
        }
    }

    #[test]
    fn tables_have_no_name_that_nobody_reads() {
        let common = include_str!("tables/common.toml");
        let texts = RELEASED.map(|(.., text)| text);
        for (tool, _, _, text) in RELEASED {
            let (head, rules) = text.split_once("[[rules]]").unwrap();
            let own: toml::Table = toml::from_str(text).unwrap();
            for flags in own["flags"].as_array().unwrap() {
                for name in flags["names"].as_str().unwrap().split_whitespace().flat_map(|names| names.split('|')) {
                    assert_eq!(unanswered(tool, name, rules), None);
                }
            }
            let defined = own.get("sentences").and_then(toml::Value::as_table).into_iter().flatten();
            for (word, _) in defined {
                assert!(text.matches(&format!("\"{word}\"")).count() > 0, "{tool}: {word} is said by nobody");
            }
            let says = head.lines().filter_map(|line| line.strip_prefix("says = \"")?.strip_suffix('"'));
            for word in says.filter(|says| !says.contains(' ') && !says.is_empty()) {
                assert_ne!(table(tool).sentence(word), word, "{tool}: {word} is no sentence");
            }
        }
        for (word, _) in toml::from_str::<toml::Table>(common).unwrap() {
            let is_said = ["no_such_field", "of_runs"].contains(&word.as_str())
                || texts.iter().any(|text| text.contains(&format!("\"{word}\"")));
            assert!(is_said, "{word}");
        }
    }
}
