//! Whole files of specs: parsed by their endings, and read with every mistake in them.

use std::fs;
use std::path::Path;

use super::mistakes::{Mistakes, SpecError};
use super::node::Node;
use super::text::{parse_json, parse_toml};
use super::value::SpecValue;

/// Returns what parses a file of this ending: TOML or JSON.
pub(in crate::workload) fn parser(path: &Path) -> Option<fn(&str) -> Result<Node, Mistakes>> {
    let ending = path.extension()?.to_str()?;
    let known: [(_, fn(&str) -> _); 2] = [("toml", parse_toml), ("json", parse_json)];
    known.into_iter().find(|(known, _)| ending.eq_ignore_ascii_case(known)).map(|(_, parse)| parse)
}

/// Reads what is in a file that ends in `.toml` or `.json`. `example` is the command that prints one.
///
/// # Errors
///
/// When it has another ending, or cannot be read.
pub(crate) fn read_file(path: &Path, example: &'static str) -> Result<Result<Node, Mistakes>, SpecError> {
    let parse = parser(path).ok_or_else(|| SpecError::Format { path: path.to_owned() })?;
    let text = fs::read_to_string(path);
    let text = text.map_err(|cause| SpecError::Unreadable { path: path.to_owned(), cause, example })?;
    Ok(parse(text.trim_start_matches('\u{feff}')))
}

/// Returns what `read` makes of a whole file, or every mistake in it.
///
/// `origin` names the file in the error. Relative paths begin at `folder`, if there is one.
///
/// # Errors
///
/// Every mistake in it.
pub(crate) fn read_whole<T>(
    node: Result<Node, Mistakes>,
    origin: &str,
    folder: Option<&Path>,
    read: impl FnOnce(SpecValue<'_>) -> Option<T>,
) -> Result<T, SpecError> {
    let node = node.map_err(|mistakes| mistakes.into_error(origin))?;
    let mistakes = Mistakes::in_folder(folder);
    match read(SpecValue::root(&node, &mistakes)) {
        Some(read) if mistakes.is_empty() => Ok(read),
        _ => Err(mistakes.into_error(origin)),
    }
}
