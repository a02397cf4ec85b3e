//! The commands in blocks of shell: the program understands all of them.

use std::collections::BTreeSet;

use super::pages::{blocks, pages, root};

/// Programs that are not here, and why their commands are not run.
const OTHERS: [(&str, &str); 11] = [
    ("cargo", "builds and tests this very program"),
    ("vllm", "a server that needs its own installation"),
    ("check-jsonschema", "a tool from elsewhere; assert_schema does the same"),
    ("jq", "a tool from elsewhere"),
    ("mkdir", "a tool of the system"),
    ("kubectl", "it needs a cluster; tests/interop/cluster/kubernetes.sh runs what is printed"),
    ("sbatch", "it needs a cluster; tests/interop/cluster/slurm.sh has one"),
    ("sh", "it runs what is printed for Slurm; tests/interop/cluster/slurm.sh does"),
    ("less", "a pager"),
    ("man", "a pager"),
    ("head", "a tool of the system"),
];

/// A command of the pages: the file that has it, and its words behind `skyline`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Named {
    pub(super) words: Vec<String>,
    pub(super) file: String,
}

impl Named {
    pub(super) fn verb(&self) -> &str {
        &self.words[0]
    }

    pub(super) fn has(&self, option: &str) -> bool {
        self.words.iter().any(|word| word == option)
    }
}

/// The commands in blocks of shell, each once.
pub(super) fn commands() -> Vec<Named> {
    let mut commands: Vec<Named> = Vec::new();
    for (path, text) in pages() {
        let file = path.strip_prefix(root()).unwrap().display().to_string();
        for block in blocks(&text, "sh") {
            for line in block.replace("\\\n", " ").lines().filter(|line| !line.trim().is_empty()) {
                let words = shlex::split(line).unwrap_or_else(|| panic!("{file}: {line}"));
                for part in words.split(|word| ["&&", "|"].contains(&word.as_str())) {
                    let part: Vec<_> = part.iter().skip_while(|word| word.contains('=')).cloned().collect();
                    let Some((program, words)) = part.split_first() else { continue };
                    if program == "skyline" {
                        let words = words.iter().take_while(|word| !word.starts_with('>')).cloned().collect();
                        commands.push(Named { words, file: file.clone() });
                    } else {
                        assert!(OTHERS.iter().any(|(other, _)| other == program), "{file}: {program}");
                    }
                }
            }
        }
    }
    let mut seen = BTreeSet::new();
    commands.retain(|command| seen.insert(command.words.clone()));
    commands
}

#[test]
fn the_program_understands_every_command_of_its_pages() {
    let commands = commands();
    assert!(commands.len() > 100, "{}", commands.len());
    for Named { words, file } in commands {
        let all = [&["skyline".to_owned()], words.as_slice()].concat();
        if let Err(error) = skyline::cli::understands(&all) {
            panic!("{file}: {}\n{error}", all.join(" "));
        }
    }
}
