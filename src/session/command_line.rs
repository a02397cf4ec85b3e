//! The command line in effect, and as it is stored with a run: with what may be secret masked.

use std::ffi::OsString;
use std::sync::OnceLock;

use crate::engine::{shown_path, without_secrets};

/// The options whose value is a name and what may be secret.
const HEADERS: [&str; 2] = ["--header", "--header-per-url"];

/// The option whose value may end with a query.
const PATH: &str = "--path";

/// The rule by which answers are scored: a command of the user, or a word.
const SCORE: &str = "--score";
/// Options whose value may hold a secret.
const SECRET: [&str; 9] =
    [HEADERS[0], HEADERS[1], PATH, "--extra-body", "--switch-cmd", "--reset-cmd", "--before", "--after", SCORE];

/// End of a command line that is typed again, where something is masked. It is a comment for the shell.
const MASKED: &str = "  # replace *** by the original values";

/// The arguments of this process with the options that were not typed.
#[derive(Debug, Default)]
pub(crate) struct InEffect {
    /// The arguments, all of them, the program first.
    pub(crate) arguments: Vec<OsString>,
    /// Arguments among them that were not typed, each with where it comes from.
    pub(crate) settings: Vec<(String, String)>,
    /// Warnings of the environment, to be given before anything is done.
    pub(crate) warnings: Vec<String>,
}

/// The arguments in effect, once for all of the process.
static IN_EFFECT: OnceLock<InEffect> = OnceLock::new();

/// Makes these the arguments of this process.
pub(crate) fn take_effect(effect: InEffect) {
    // The first stays: a process has one command line.
    let _ = IN_EFFECT.set(effect);
}

/// The arguments in effect: as typed, and with options from the environment and from files.
pub(crate) fn arguments() -> Vec<OsString> {
    IN_EFFECT.get().map_or_else(|| std::env::args_os().collect(), |effect| effect.arguments.clone())
}

/// Returns the options in effect that were not typed, each with its source. Secrets are masked.
pub(crate) fn settings() -> Vec<(String, &'static str)> {
    let settings = IN_EFFECT.get().map_or(&[][..], |effect| &effect.settings);
    let masked = masked(settings.iter().map(|(argument, _)| argument.into()));
    masked.into_iter().zip(settings.iter().map(|(_, source)| source.as_str())).collect()
}

/// Returns the arguments with what may be secret replaced by `***`. Secret may be headers but for their names
/// (`--header 'x-api-key: ***'`), what is merged into bodies, commands, and credentials inside URLs and paths.
pub(crate) fn masked(arguments: impl IntoIterator<Item = OsString>) -> Vec<String> {
    let mut masked = Vec::new();
    let mut secret_of = None;
    for argument in arguments {
        let argument = argument.to_string_lossy();
        masked.push(if let Some(option) = secret_of.take() {
            mask(option, &argument)
        } else if let Some((name, value)) = argument.split_once('=').filter(|(name, _)| SECRET.contains(name)) {
            format!("{name}={}", mask(name, value))
        } else {
            secret_of = SECRET.into_iter().find(|option| *option == argument);
            without_secrets(&argument)
        });
    }
    masked
}

/// Returns the command line to type for the same with these options instead. Those `left_out`, each of which takes a
/// value, are not in it. It is quoted for a shell, with a comment at its end where secrets are masked.
pub(crate) fn again(
    arguments: impl IntoIterator<Item = OsString>,
    left_out: &[&str],
    options: &[(&str, &str)],
) -> String {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let mut words = vec!["skyline".to_owned()];
    let (mut value_follows, mut some_masked) = (false, false);
    for (word, typed) in masked(arguments.iter().cloned()).into_iter().zip(&arguments).skip(1) {
        let name = word.split('=').next().unwrap_or_default();
        let gone = left_out.contains(&name) || options.iter().any(|(replaced, _)| *replaced == name);
        let kept = !gone && !std::mem::take(&mut value_follows);
        if gone {
            value_follows = !word.contains('=');
        }
        if kept {
            some_masked |= *word != typed.to_string_lossy();
            words.push(word);
        }
    }
    words.extend(options.iter().flat_map(|(name, value)| [(*name).to_owned(), (*value).to_owned()]));
    // What no shell could hold is shown as it is.
    let line = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "));
    if some_masked { line + MASKED } else { line }
}

fn mask(option: &str, value: &str) -> String {
    let is_header = HEADERS.contains(&option);
    match value.split_once(':') {
        _ if is_header && value.starts_with('@') => value.to_owned(),
        Some((_, named)) if is_header && names_a_variable(named) => value.to_owned(),
        Some((name, _)) if is_header && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') => {
            format!("{name}: ***")
        }
        // Rules but that of a program have nothing to hide.
        _ if option == SCORE && !value.starts_with("command") => value.to_owned(),
        Some((rule, _)) if option == SCORE => format!("{rule}:***"),
        _ if option == PATH => shown_path(value),
        _ => "***".to_owned(),
    }
}

/// Returns whether a header's value is that of a variable. The variable is named in place of it.
fn names_a_variable(value: &str) -> bool {
    let value = value.trim();
    let named = value.strip_prefix("Bearer ").unwrap_or(value).strip_prefix("env:");
    named.is_some_and(|name| std::env::var_os(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_typed_again_with_other_options() {
        let typed = [
            "/opt/bin/skyline",
            "bench",
            "my chat.toml",
            "--shard",
            "1/2",
            "--start-at=2026-01-01T00:00:00Z",
            "--repeats",
            "5",
            "--objective",
            "p95 ttft < 500ms",
            "--header",
            "x-key: secret",
        ];
        let options = [("--shard", "2/6"), ("--start-at", "soon")];
        let line = again(typed.map(OsString::from), &["--repeats"], &options);
        assert_eq!(
            line,
            "skyline bench 'my chat.toml' --objective 'p95 ttft < 500ms' --header 'x-key: ***' --shard 2/6 --start-at \
             soon  # replace *** by the original values"
        );
        let nothing_masked = again(["skyline", "bench", "x"].map(OsString::from), &[], &[]);
        assert_eq!(nothing_masked, "skyline bench x");
        // What is left out need not be typed again.
        let left_out = again(["skyline", "ab", "--reset-cmd=sk-1"].map(OsString::from), &["--reset-cmd"], &[]);
        assert_eq!(left_out, "skyline ab");
    }

    #[test]
    fn secrets_are_masked_and_the_rest_is_kept() {
        let typed = [
            "skyline",
            "bench",
            "short_chat",
            "--header",
            "Authorization: Bearer sk-1",
            "--header=x-api-key:sk-2",
            "--header",
            "x-token: Bearer env:PATH",
            "--header=x-token: env:sk-2",
            "--header=@gate.txt",
            "--extra-body",
            r#"{"token":"sk-3"}"#,
            "--switch-cmd",
            "token: sk-6; serve",
            "--reset-cmd=KEY=sk-7 reset",
            "--url",
            "https://me:sk-4@host:8000/v1?api-version=1&key=sk-5&sk-6",
            "--url=http://me@host",
            "--path",
            "/v1/generate?key=sk-8",
            "--path=/x?sk-9",
            "--objective",
            "p95 ttft < 500ms",
        ];
        let kept = masked(typed.map(OsString::from));
        assert_eq!(
            kept,
            [
                "skyline",
                "bench",
                "short_chat",
                "--header",
                "Authorization: ***",
                "--header=x-api-key: ***",
                "--header",
                "x-token: Bearer env:PATH",
                "--header=x-token: ***",
                "--header=@gate.txt",
                "--extra-body",
                "***",
                "--switch-cmd",
                "***",
                "--reset-cmd=***",
                "--url",
                "https://***@host:8000/v1?api-version=1&key=***&***",
                "--url=http://***@host",
                "--path",
                "/v1/generate?key=***",
                "--path=/x?***",
                "--objective",
                "p95 ttft < 500ms",
            ]
        );
    }
}
