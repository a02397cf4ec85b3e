//! How the command lines of each tool are read.

use super::flags::{Flags, Meaning, TypedFlags};
use super::translation::{Builder, Translation};
use super::{aiperf, guidellm, vllm, vllm_flags};
use crate::foreign::tool::ForeignTool;

/// The tools whose command lines are read, each with its grammar.
const GRAMMARS: [(ForeignTool, Grammar); 3] = [
    (
        ForeignTool::Vllm,
        Grammar {
            beginnings: vllm::BEGINNINGS,
            example: "skyline from-vllm -- vllm bench serve --model …",
            flags: vllm_flags::FLAGS,
            read: vllm::read,
        },
    ),
    (
        ForeignTool::GuideLlm,
        Grammar {
            beginnings: guidellm::BEGINNINGS,
            example: "skyline from-guidellm -- guidellm run --backend …",
            flags: guidellm::FLAGS,
            read: guidellm::read_flags,
        },
    ),
    (
        ForeignTool::AiPerf,
        Grammar {
            beginnings: aiperf::BEGINNINGS,
            example: "skyline from-aiperf -- aiperf profile --model …",
            flags: aiperf::FLAGS,
            read: aiperf::read_flags,
        },
    ),
];

/// Translates the command line of a tool.
///
/// # Errors
///
/// What is expected, where this is no such command line.
pub(crate) fn translate(tool: ForeignTool, words: &[String]) -> Result<Translation, String> {
    let grammar = GRAMMARS.into_iter().find(|(known, _)| *known == tool).map(|(_, grammar)| grammar);
    grammar.ok_or_else(|| format!("command lines of {tool} are not translated"))?.translate(words)
}

/// What a flag of one of the tools is here; `None` where none of them has it.
pub(crate) fn flag_here(name: &str) -> Option<String> {
    GRAMMARS.into_iter().find_map(|(_, Grammar { example, flags, .. })| {
        Some(match flags.iter().find(|flags| flags.first_name(name).is_some())?.means {
            Meaning::Same(option) => format!("here it is {option}"),
            Meaning::Differs(why) => why.to_owned(),
            Meaning::Read => format!("a whole command line is translated: {example}"),
        })
    })
}

/// How the command lines of a tool are read.
#[derive(Clone, Copy, Debug)]
struct Grammar {
    /// How they begin, the usual way first.
    beginnings: &'static [&'static [&'static str]],
    /// One behind our verb.
    example: &'static str,
    flags: &'static [Flags],
    /// Reads the flags that mean something only together.
    read: fn(&TypedFlags, &mut Builder),
}

impl Grammar {
    fn translate(self, words: &[String]) -> Result<Translation, String> {
        let flags = self.flags_of(words).ok_or_else(|| {
            let name = self.beginnings[0].join(" ");
            let example = self.example;
            format!("this is no `{name}` command line\nhint: write all of it behind two hyphens: {example}")
        })?;
        let typed = TypedFlags::read(self.flags, flags);
        let mut to = Builder::new(&typed);
        (self.read)(&typed, &mut to);
        Ok(to.finish(typed))
    }

    /// The flags behind the beginning of a command line. What stands before it, such as variables, `uv run` or the path of
    /// a program, is passed over.
    fn flags_of(self, words: &[String]) -> Option<&[String]> {
        let same = |(word, expected): (&String, &&str)| {
            word.strip_suffix(expected).is_some_and(|path| path.is_empty() || path.ends_with('/'))
        };
        (0..words.len()).find_map(|first| {
            let words = &words[first..];
            let begins = |beginning: &&&[&str]| {
                words.len() >= beginning.len() && words.iter().zip(beginning.iter()).all(same)
            };
            let longest = self.beginnings.iter().filter(begins).map(|beginning| beginning.len()).max()?;
            Some(&words[longest..])
        })
    }
}
