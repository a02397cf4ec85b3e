//! The command line as it is stored with a run: as typed, with what may be secret masked.

use std::ffi::OsString;

/// Options whose value may hold a secret.
const SECRET: [&str; 2] = ["--header", "--extra-body"];

/// The arguments with the values of `--header` and `--extra-body`, and credentials inside URLs, replaced by
/// `***`. Names stay: `--header 'x-api-key: ***'`.
pub(super) fn masked(arguments: impl IntoIterator<Item = OsString>) -> Vec<String> {
    let mut masked = Vec::new();
    let mut secret_follows = false;
    for argument in arguments {
        let argument = argument.to_string_lossy();
        masked.push(if std::mem::take(&mut secret_follows) {
            mask(&argument)
        } else if let Some((name, value)) = argument.split_once('=').filter(|(name, _)| SECRET.contains(name))
        {
            format!("{name}={}", mask(value))
        } else {
            secret_follows = SECRET.contains(&&*argument);
            without_credentials(&argument)
        });
    }
    masked
}

/// The command line to type for the same with these options instead and without those `left_out`, each of which takes
/// a value; quoted for a shell, secrets masked.
pub(super) fn again(
    arguments: impl IntoIterator<Item = OsString>,
    left_out: &[&str],
    options: &[(&str, &str)],
) -> String {
    let mut words = vec!["skyline".to_owned()];
    let mut value_follows = false;
    for word in masked(arguments).into_iter().skip(1) {
        let name = word.split('=').next().unwrap_or_default();
        let gone = left_out.contains(&name) || options.iter().any(|(replaced, _)| *replaced == name);
        let kept = !gone && !std::mem::take(&mut value_follows);
        if gone {
            value_follows = !word.contains('=');
        }
        if kept {
            words.push(word);
        }
    }
    words.extend(options.iter().flat_map(|(name, value)| [(*name).to_owned(), (*value).to_owned()]));
    // What no shell could hold is shown as it is.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

fn mask(value: &str) -> String {
    match value.split_once(':') {
        Some((name, _)) if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') => {
            format!("{name}: ***")
        }
        _ => "***".to_owned(),
    }
}

/// `http://user:password@host/?key=value` becomes `http://***@host/?***`.
fn without_credentials(argument: &str) -> String {
    let Some((before, rest)) = argument.split_once("://") else { return argument.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority.to_owned(), |(_, host)| format!("***@{host}"));
    let path = path.split_once('?').map_or(path.to_owned(), |(path, _)| format!("{path}?***"));
    format!("{before}://{host}{path}")
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
        let again = again(typed.map(OsString::from), &["--repeats"], &options);
        assert_eq!(
            again,
            "skyline bench 'my chat.toml' --objective 'p95 ttft < 500ms' --header 'x-key: ***' --shard 2/6 \
             --start-at soon"
        );
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
            "--extra-body",
            r#"{"token":"sk-3"}"#,
            "--url",
            "https://me:sk-4@host:8000/v1?key=sk-5",
            "--url=http://me@host",
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
                "--extra-body",
                "***",
                "--url",
                "https://***@host:8000/v1?***",
                "--url=http://***@host",
                "--objective",
                "p95 ttft < 500ms",
            ]
        );
    }
}
