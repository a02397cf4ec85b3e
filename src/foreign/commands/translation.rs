//! The interpreter of the tables: what a command line of another tool becomes, and what differs.

use serde_json::{Map, Value};

use super::flags::read_flags;
use super::table::{FlagGroup, Takes, ToolTable};
use crate::foreign::rules::{FollowsRules, NamedValues, TableRule};
use crate::foreign::values::{json, plain};

/// A command line of another tool, said with the options of this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Translation {
    /// The name of the tool.
    pub(crate) tool: &'static str,
    /// The version whose flags are known.
    pub(crate) version: &'static str,
    /// The command, word by word; the first is `skyline`.
    pub(crate) words: Vec<String>,
    /// Differences, flag by flag, then of the whole.
    pub(crate) differences: Vec<TranslationGap>,
    /// Flags that the tool's table does not have, with their values.
    pub(crate) unknown: Vec<String>,
}

/// A difference, and what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TranslationGap {
    /// Flags, perhaps with their values, or a subject.
    pub(crate) about: String,
    /// The difference, or why there is no equal.
    pub(crate) sentence: String,
}

/// Translates a command line, whose tool shows by how it begins.
///
/// # Errors
///
/// What is expected, where this is no such command line.
pub(crate) fn translate(words: &[String]) -> Result<Translation, String> {
    let tables = ToolTable::all()?;
    let begun = tables.iter().filter_map(|table| Some((table.behind(words)?, table)));
    let Some(((first, program, flags), table)) = begun.min_by_key(|((first, ..), _)| *first) else {
        let known: Vec<_> = tables.iter().map(|table| format!("`{}`", table.begins[0])).collect();
        return Err(format!(
            "this is no command line that is translated: it has none of {}\n\
             hint: write all of it behind two hyphens: skyline translate -- {}",
            known.join(", "),
            tables[0].example
        ));
    };
    let (known, unknown) = read_flags(table, flags);
    let mut translator = Translator::new(table);
    translator.values.set("program", program);
    translator.values.set("tool", table.program(program).0);
    for (variable, value) in words[..first].iter().filter_map(|word| word.split_once('=')) {
        translator.values.set(&format!("env.{variable}"), value);
    }
    for (name, value) in known {
        translator.take(&name, value);
    }
    translator.follow(&table.rules);
    Ok(translator.finish(program, unknown))
}

/// The meaning of another tool's flag here; `None` where no tool has it.
pub(crate) fn flag_here(name: &str) -> Option<String> {
    ToolTable::all().ok()?.iter().find_map(|table| {
        let FlagGroup { option, says, .. } = table.flag(name)?.1;
        Some(match (option, says) {
            (Some(option), _) => format!("here it is {option}"),
            (None, Some(why)) => table.sentence(why).to_owned(),
            (None, None) => {
                format!("a whole command line is translated: skyline translate -- {}", table.example)
            }
        })
    })
}

/// A translation in the making.
struct Translator {
    table: &'static ToolTable,
    /// Values that were typed, and those that rules set.
    values: NamedValues,
    options: Vec<String>,
    /// Options of the same meaning, as which flag, and their values, if they have one. They stand last.
    same: Vec<(&'static str, &'static FlagGroup, Option<String>)>,
    differences: Vec<TranslationGap>,
}

impl Translator {
    fn new(table: &'static ToolTable) -> Self {
        let mut values = NamedValues::default();
        values.set("origin", "the scheduled moment");
        Self { table, values, options: Vec::new(), same: Vec::new(), differences: Vec::new() }
    }

    /// Takes what was typed. It is an option of the same meaning, a sentence, or a value for the rules.
    fn take(&mut self, name: &str, value: Value) {
        let table = self.table;
        let (flag, field) = name.split_once('.').map_or((name, None), |(flag, field)| (flag, Some(field)));
        let about = match field {
            None => flag.to_owned(),
            Some(kind) if value.is_null() => format!("{flag} {kind}"),
            Some(field) => format!("{flag} {field}={}", plain(&value)),
        };
        let known = table.flag(name);
        match known.map(|(first, group)| (first, group, group.option.as_deref(), group.says.as_deref())) {
            Some((first, group, Some(option), _)) => {
                // Of a flag that is repeated, the last counts.
                self.same.retain(|(_, before, _)| before.option.as_deref() != Some(option));
                self.same.push((first, group, (value != Value::Bool(true)).then(|| plain(&value))));
            }
            Some((_, _, None, Some(why))) => self.differs(about, table.sentence(why)),
            Some((_, _, None, None)) => {}
            None => {
                let group = table.flag(flag).map(|(_, group)| group);
                let mut above = name
                    .match_indices('.')
                    .filter_map(|(end, _)| Some((&name[..end], table.flag(&name[..end])?.1.says.as_deref()?)));
                match above.next_back() {
                    Some((above, why)) => self.differs(above.replacen('.', " ", 1), table.sentence(why)),
                    None if group.is_some_and(|group| group.takes != Takes::AnyFields) => {
                        self.differs(about, table.sentence("no_such_field"));
                    }
                    None => {}
                }
            }
        }
        self.values.set(known.map_or(name, |(first, _)| first), value);
    }

    fn option(&mut self, name: &str, value: Option<String>) {
        if name == "--users" || (name == "--rate" && value.as_deref() == Some("inf")) {
            self.values.set("origin", "sending");
        }
        match value {
            Some(value) if value.starts_with('-') => self.options.push(format!("{name}={value}")),
            value => self.options.extend([name.to_owned()].into_iter().chain(value)),
        }
    }

    /// Adds the fields of every body. They are flags by their own names, and fields that have no name in the table.
    fn body(&mut self, flags: &str) {
        let mut body = Map::new();
        for flag in flags.split_whitespace() {
            if let Some(value) = self.values.value(flag) {
                body.insert(flag.trim_start_matches('-').replace('-', "_"), json(&value));
            }
            for (name, values) in &self.values.0 {
                let field = name.strip_prefix(flag).and_then(|field| field.strip_prefix('.'));
                if let (Some(field), None, Some(value)) = (field, self.table.flag(name), values.last()) {
                    body.insert(field.to_owned(), value.clone());
                }
            }
        }
        if !body.is_empty() {
            self.option("--extra-body", Some(Value::Object(body).to_string()));
        }
    }

    /// Adds a difference; things of which the same is said stand together.
    fn differs(&mut self, about: String, sentence: impl Into<String>) {
        let sentence = sentence.into();
        match self.differences.iter_mut().find(|gap| gap.sentence == sentence) {
            _ if sentence.is_empty() => {}
            Some(gap) if gap.about.split(", ").any(|known| known == about) => {}
            Some(gap) => gap.about = format!("{}, {about}", gap.about),
            None => self.differences.push(TranslationGap { about, sentence }),
        }
    }

    fn finish(mut self, program: &str, unknown: Vec<String>) -> Translation {
        for (flag, FlagGroup { option, of_runs, .. }, value) in std::mem::take(&mut self.same) {
            match option {
                Some(option) if !of_runs || self.values.value("verb").is_none() => self.option(option, value),
                _ => self.differs(flag.to_owned(), self.table.sentence("of_runs")),
            }
        }
        let behind = ["verb:bench", "workload", "seconds"].into_iter().filter_map(|name| self.values.value(name));
        let words = std::iter::once("skyline".to_owned()).chain(behind);
        let (tool, version) = self.table.program(program);
        Translation {
            tool,
            version,
            words: words.chain(self.options).collect(),
            differences: self.differences,
            unknown,
        }
    }
}

impl FollowsRules for Translator {
    fn values(&mut self) -> &mut NamedValues {
        &mut self.values
    }

    fn obey(&mut self, rule: &'static TableRule) {
        for option in &rule.options {
            let (name, template) = option.split_once(' ').unwrap_or((option, ""));
            if let Some(value) = self.values.fill(template) {
                self.option(name, Some(value).filter(|value| !value.is_empty()));
            }
        }
        self.body(&rule.body);
        for [about, sentence] in &rule.says {
            let sentence = self.values.fill(self.table.sentence(sentence));
            if let (Some(about), Some(sentence)) = (self.values.fill(about), sentence) {
                self.differs(about, sentence);
            }
        }
    }
}
