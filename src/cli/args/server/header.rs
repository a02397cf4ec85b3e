//! Headers as they are typed, from a file, and from the environment, since the arguments of a process are public.

use std::path::Path;

use crate::engine::Header;

/// Stands before the name of a variable, in place of a value.
const VARIABLE: &str = "env:";

/// The headers of one `--header`: `Name: value`, `Name: env:VARIABLE`, or `@FILE` with a header a line. No
/// mistake repeats a value.
pub(super) fn read(typed: &str) -> Result<Vec<Header>, String> {
    match typed.strip_prefix('@') {
        Some(path) => of_file(Path::new(path)),
        None => Ok(vec![with_variable(typed)?.parse()?]),
    }
}

fn of_file(path: &Path) -> Result<Vec<Header>, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
        format!("the file `{shown}` cannot be read: {error}\nhint: it has one `Name: value` a line")
    })?;
    let lines = (1..).zip(text.trim_start_matches('\u{feff}').lines().map(str::trim));
    let headers = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).map(|(number, line)| {
        let header = with_variable(line).and_then(|header| header.parse::<Header>());
        header.map_err(|error| format!("line {number} of `{shown}`: {error}"))
    });
    match headers.collect::<Result<Vec<_>, _>>()? {
        none if none.is_empty() => {
            Err(format!("the file `{shown}` has no header\nhint: write one `Name: value` a line"))
        }
        headers => Ok(headers),
    }
}

/// The variables of these headers and of a key, which other machines send. No value is repeated.
pub(in crate::cli) fn variables(headers: &[String], key: Option<String>) -> Result<Vec<String>, &'static str> {
    let in_headers = headers.iter().map(|typed| variable(typed).map(|(_, _, name)| name.to_owned()));
    let mut names: Vec<String> = in_headers.collect::<Option<_>>().ok_or(
        "--header: a value would stand in what is printed\n\
         hint: --header 'Name: env:VARIABLE' takes it from the environment of the workers",
    )?;
    names.extend(key);
    names.sort_unstable();
    names.dedup();
    let is_capital = |sign: u8| sign.is_ascii_uppercase() || sign.is_ascii_digit() || sign == b'_';
    // Else it may be the key itself.
    let is_name = |name: &String| std::env::var_os(name).is_some() || !name.is_empty() && name.bytes().all(is_capital);
    names.iter().all(is_name).then_some(names).ok_or(
        "--api-key-env, or `env:` in a --header, names no variable that is set here\n\
         hint: it wants the variable's name, not the key; one that only workers have is written in capitals",
    )
}

/// A header's name, a word before its value such as `Bearer`, and its variable.
fn variable(typed: &str) -> Option<(&str, &str, &str)> {
    let (header, value) = typed.split_once(':')?;
    let (scheme, last) = value.trim().rsplit_once(' ').unwrap_or(("", value.trim()));
    Some((header, scheme, last.strip_prefix(VARIABLE)?))
}

/// The header with the value of the variable in place of its name.
fn with_variable(typed: &str) -> Result<String, String> {
    let Some((header, scheme, variable)) = variable(typed) else { return Ok(typed.to_owned()) };
    // A variable's name is not repeated: it may be the value itself.
    let found = std::env::var(variable).ok().filter(|value| !value.trim().is_empty());
    let found = found.ok_or_else(|| {
        format!(
            "header `{}`: what follows `{VARIABLE}` is no environment variable that is set\n\
             hint: export it; it wants the variable's name, not the value",
            header.trim()
        )
    })?;
    Ok(format!("{header}: {scheme} {}", found.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(typed: &str) -> String {
        read(typed).unwrap_err()
    }

    #[test]
    fn values_come_from_files_and_from_the_environment() {
        let folder = tempfile::tempdir().unwrap();
        let file = |text: &str| {
            let path = folder.path().join("headers.txt");
            std::fs::write(&path, text).unwrap();
            format!("@{}", path.display())
        };
        let names = |headers: Vec<Header>| headers.iter().map(|header| header.name().to_string()).collect::<Vec<_>>();
        let two = file("\u{feff}# for the gate\r\nX-Key: a\r\n\r\nx-route: env:PATH\r\n");
        assert_eq!(names(read(&two).unwrap()), ["x-key", "x-route"]);
        assert!(error(&file("X-Key: a\nhunter2")).contains("line 2") && !error(&file("hunter2")).contains("hunter2"));
        let unset = error(&file("X-Key: a\nX-Route: env:hunter2"));
        assert!(unset.contains("line 2") && !unset.contains("hunter2"), "{unset}");
        assert!(error(&file("\n")).contains("has no header"));
        assert!(error("@/nowhere").contains("`/nowhere` cannot be read"));
        let home = std::env::var("PATH").unwrap();
        assert_eq!(with_variable("X-Key:env:PATH").unwrap(), format!("X-Key:  {}", home.trim()));
        assert_eq!(
            with_variable("Authorization: Bearer env:PATH").unwrap(),
            format!("Authorization: Bearer {}", home.trim())
        );
        assert_eq!(with_variable("X-Key: plain env").unwrap(), "X-Key: plain env");
        let unset = error("X-Key: env:hunter2");
        assert!(unset.contains("`X-Key`") && !unset.contains("hunter2"), "{unset}");
    }
}
