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

/// The header with the value of the variable in place of its name, which may follow a word such as `Bearer`.
fn with_variable(typed: &str) -> Result<String, String> {
    let Some((header, value)) = typed.split_once(':') else { return Ok(typed.to_owned()) };
    let (scheme, last) = value.trim().rsplit_once(' ').unwrap_or(("", value.trim()));
    let Some(variable) = last.strip_prefix(VARIABLE) else { return Ok(typed.to_owned()) };
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
