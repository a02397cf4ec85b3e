//! `skyline translate`: a command line of another tool, said with the options of this one.

use clap::Args;

use crate::engine::{Secrets, names_a_credential};
use crate::foreign::commands::{Translation, TranslationGap, translate};
use crate::session::{Exit, Printer, Stop};

/// Print the command that does the same, and what differs.
#[derive(Debug, Args)]
pub(super) struct TranslateArgs {
    /// The command line of the tool, word by word or as one text
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

pub(super) fn run(args: &TranslateArgs, printer: Printer) -> Result<Exit, Stop> {
    let whole = || shlex::split(args.command.first()?).filter(|_| args.command.len() == 1);
    let words = whole().unwrap_or_else(|| args.command.clone());
    let secrets = Secrets::typed(secrets_in(&words));
    let Translation { tool, version, words, differences, unknown } = translate(&words).map_err(Stop::usage)?;
    let shown = without_secrets(&words, &secrets);
    printer.data(&shlex::try_join(shown.iter().map(String::as_str)).map_err(Stop::usage)?)?;
    printer.words(&format!("\nWhat differs from {tool}:"));
    for TranslationGap { about, sentence } in differences {
        printer.words(&secrets.hide(format!("  {about}: {sentence}")));
    }
    if shown != words {
        printer.words(&format!("  typed secrets: {NOT_REPEATED}"));
    }
    if unknown.is_empty() {
        return Ok(Exit::Fine);
    }
    Err(Stop::usage(format!(
        "the command above leaves out what {tool} {version} does not take, and what is not known here: {}\n\
         hint: correct them, or say the same by hand (skyline bench --help)",
        secrets.hide(unknown.join("; "))
    )))
}

const NOT_REPEATED: &str = "they are not repeated here; put them into the environment variables that `env:` names \
    above (export NAME=…), and in place of ***";

/// Returns the secrets in a command line. They are what follows the name of a credential, and logins of addresses.
fn secrets_in(words: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut take = |name: &str, value: &str| {
        let name = name.trim_end_matches(|c: char| !c.is_alphanumeric());
        let name = name.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let value = value.trim_matches(|c: char| c.is_whitespace() || "\"'{}[]".contains(c));
        let is_plain = value.starts_with(['$', '-']) || ["true", "false", "null", ""].contains(&value);
        let is_scheme = ["bearer", "basic"].contains(&name.to_ascii_lowercase().as_str());
        if !is_plain && (is_scheme || names_a_credential(name)) {
            // Of `Bearer abc` the second word alone too.
            let word = value.split_once(' ').map(|(_, word)| word);
            found.extend(word.into_iter().chain([value]).map(str::to_owned));
        }
    };
    for (before, word) in [String::new()].iter().chain(words).zip(words) {
        if before.starts_with('-') && !before.contains('=') {
            take(before, word);
        }
        for (at, _) in word.match_indices(['=', ':', ' ']) {
            take(&word[..at], word[at + 1..].split([',', '&', '#']).next().unwrap_or_default());
        }
        if let Some((login, _)) =
            word.split_once("://").and_then(|(_, rest)| rest.split(['/', '?']).next()?.rsplit_once('@'))
        {
            take("password", login);
            take("password", login.split_once(':').map_or("", |(_, password)| password));
        }
    }
    found
}

/// A command without secrets: headers take them from the environment.
fn without_secrets(words: &[String], secrets: &Secrets) -> Vec<String> {
    let before = std::iter::once("").chain(words.iter().map(String::as_str));
    let shown = before.zip(words).map(|(before, word)| {
        let hidden = secrets.hide(word.clone());
        match word.split_once(": ").filter(|_| before == "--header" && hidden != *word) {
            Some((name, value)) => {
                let scheme = if value.starts_with("Bearer ") { "Bearer " } else { "" };
                let variable = name.to_ascii_uppercase().replace('-', "_");
                let key = variable == "AUTHORIZATION" && !scheme.is_empty();
                format!("{name}: {scheme}env:{}", if key { "OPENAI_API_KEY" } else { &variable })
            }
            None => hidden,
        }
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_typed_secret_is_repeated_wherever_it_stands() {
        for (command, shown) in [
            (
                "OPENAI_API_KEY=sk-secret1 vllm bench serve --model m --header 'Authorization=Bearer sk-secret1'",
                "--header 'Authorization: Bearer env:OPENAI_API_KEY'",
            ),
            ("vllm bench serve --model m --header x-api-key=sk-secret1", "--header 'x-api-key: env:X_API_KEY'"),
            (
                "vllm bench serve --model m --header x-env=prod --base-url http://me:secret1@h:8000",
                "--header 'x-env: prod'",
            ),
            ("vllm bench serve --model m --base-url http://h:8000/?api_key=sk-secret1", "api_key=***"),
            ("vllm bench serve --model m --extra-body '{\"api_key\": \"sk-secret1\"}'", "***"),
            (
                "aiperf profile -m M --url h:8000 --api-key sk-secret1 --header 'Authorization: Basic c2VjcmV0MQ'",
                "--url",
            ),
            ("guidellm run --backend kind=openai_http,target=http://h:8000,api_key=sk-secret1", "--url http://h:8000"),
            ("vllm bench serve --model m --frob-token sk-secret1 --seed 7", "--seed 7"),
            ("vllm bench serve --model m --header 'x-any=Bearer sk-secret1'", "--header 'x-any: Bearer env:X_ANY'"),
        ] {
            let words = shlex::split(command).unwrap();
            let (secrets, translation) = (Secrets::typed(secrets_in(&words)), translate(&words).unwrap());
            let line = without_secrets(&translation.words, &secrets);
            let line = shlex::try_join(line.iter().map(String::as_str)).unwrap();
            let rest = secrets.hide(format!("{:?} {:?}", translation.differences, translation.unknown));
            let said = (line.clone() + &rest).to_lowercase();
            assert!(
                !rest.contains("***'s") && line.contains(shown) && !said.contains("secret1") && !said.contains("c2vj"),
                "{line} {rest}"
            );
        }
        assert_eq!(
            secrets_in(&shlex::split("vllm bench serve --api-key $KEY --token-ids-logprob 7").unwrap()),
            [""; 0]
        );
    }
}
