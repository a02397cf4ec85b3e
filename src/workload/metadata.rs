//! How tags of requests are written in a spec: `metadata` of a class and of a dataset.

use std::collections::BTreeMap;

use super::reading::value::SpecValue;

/// Most characters of a tag's value. It names a group of requests and has a line in reports.
const LONGEST: usize = 100;

/// The value of a tag, its white space as single blanks and none around it.
///
/// # Errors
///
/// Why the text cannot be one.
pub(crate) fn tag_value(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.contains(char::is_control) {
        return Err("has a line break or another control character".to_owned());
    }
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let characters = text.chars().count();
    if characters > LONGEST {
        return Err(format!("has {characters} characters; a tag has at most {LONGEST}"));
    }
    Ok(text)
}

/// Reads the tags of a class: names and texts.
pub(super) fn read_tags(value: SpecValue<'_>) -> Option<BTreeMap<String, String>> {
    value.entries("a table of tags, such as { team = \"search\" }", |value| {
        let found = tag_value(&value.nonblank()?);
        // An objective could not name it.
        let compares = |text: &String| text.contains(['<', '>']);
        let mistake = match found {
            Ok(text) if compares(&text) => "has `<` or `>`, which compare in an objective; leave it out".to_owned(),
            Ok(text) => return Some(text),
            Err(mistake) => mistake,
        };
        value.reject(&mistake)
    })
}

/// Reads which columns of a dataset are tags. They are a list of names, or a table of tags with the names of their
/// columns.
pub(super) fn read_tag_columns(value: SpecValue<'_>) -> Option<BTreeMap<String, String>> {
    if !value.is_list() {
        let wanted = "a list of columns, or a table of tags with their columns";
        return value.entries(wanted, |value| value.nonblank());
    }
    let mut columns = BTreeMap::new();
    value.list(|value| {
        let name = value.name()?;
        if columns.insert(name.clone(), name.clone()).is_some() {
            return value.reject(&format!("names \"{name}\" a second time; leave one of them out"));
        }
        Some(name)
    })?;
    Some(columns)
}
