//! How tags of requests are written in a spec: `metadata` of a class and of a dataset.

use std::collections::BTreeMap;

use super::reading::value::SpecValue;

/// Most characters of a tag's value: it names a group of requests and has a line in reports.
const LONGEST: usize = 100;

/// Why a text cannot be the value of a tag; `None` where it can.
pub(crate) fn tag_mistake(text: &str) -> Option<String> {
    let characters = text.chars().count();
    if characters > LONGEST {
        return Some(format!("has {characters} characters; a tag has at most {LONGEST}"));
    }
    text.contains(char::is_control).then(|| "has a line break or another control character".to_owned())
}

/// Reads the tags of a class: names and texts.
pub(super) fn read_tags(value: SpecValue<'_>) -> Option<BTreeMap<String, String>> {
    value.entries("a table of tags, such as { team = \"search\" }", |value| {
        let text = value.nonblank()?;
        match tag_mistake(&text) {
            Some(mistake) => {
                value.complain(&mistake);
                None
            }
            None => Some(text),
        }
    })
}

/// Reads which columns of a dataset are tags: a list of names, or a table of tags with the names of their columns.
pub(super) fn read_tag_columns(value: SpecValue<'_>) -> Option<BTreeMap<String, String>> {
    if !value.is_list() {
        let wanted = "a list of columns, or a table of tags with their columns";
        return value.entries(wanted, |value| value.nonblank());
    }
    let mut columns = BTreeMap::new();
    value.list(|value| {
        let name = value.name()?;
        if columns.insert(name.clone(), name.clone()).is_some() {
            value.complain(&format!("names \"{name}\" a second time; leave one of them out"));
            return None;
        }
        Some(name)
    })?;
    Some(columns)
}
