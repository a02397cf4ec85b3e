//! A command line as its tool's table reads it.

use std::iter::Peekable;
use std::slice::Iter;

use serde_json::{Map, Value};

use super::table::{Takes, ToolTable};
use crate::foreign::values::{json, plain};

/// Reads the flags with their values, in their order. Fields of their values are read as `flag.field`. Then come flags
/// that the table does not have, with what follows them.
pub(super) fn read_flags(table: &ToolTable, words: &[String]) -> (Vec<(String, Value)>, Vec<String>) {
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) if is_flag(name) => (name, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        // Python's tools take underscores for hyphens.
        let name = if name.starts_with("--") { name.replace('_', "-") } else { name.to_owned() };
        let mut values: Vec<String> = value.into_iter().collect();
        let switch = name.strip_prefix("--no-").and_then(|rest| table.flag(&format!("--{rest}")));
        if let Some((flag, group)) = table.flag(&name) {
            match group.takes {
                Takes::One if values.is_empty() => values.extend(words.next().cloned()),
                Takes::Nothing | Takes::One => {}
                _ => values.extend(up_to_the_next_flag(&mut words)),
            }
            if group.takes == Takes::Nothing {
                let is_off = values.iter().any(|value| value.eq_ignore_ascii_case("false"));
                known.extend((!is_off).then(|| (flag.to_owned(), Value::Bool(true))));
            }
            for text in values.iter().filter(|_| group.takes != Takes::Nothing) {
                if !add(&mut known, flag, group.takes, text) {
                    unknown.push(format!("{flag} {text}"));
                }
            }
        } else if switch.is_none_or(|(_, group)| group.takes != Takes::Nothing) {
            if is_flag(&name) {
                values.extend(up_to_the_next_flag(&mut words));
            }
            unknown.push([vec![name], values].concat().join(" "));
        }
    }
    (known, unknown)
}

/// Adds a value, or its fields; whether it could be read.
fn add(known: &mut Vec<(String, Value)>, flag: &str, takes: Takes, text: &str) -> bool {
    let inside = |field: &str| format!("{flag}.{field}");
    let mut all = match takes {
        Takes::Words => {
            let words = text.split([' ', ',']).filter(|word| !word.is_empty());
            known.extend(words.map(|word| (flag.to_owned(), word.into())));
            return true;
        }
        Takes::FirstFields if known.iter().any(|(name, _)| name.split('.').next() == Some(flag)) => {
            known.push((inside("again"), Value::Bool(true)));
            return true;
        }
        Takes::Nothing | Takes::One | Takes::Many => None,
        Takes::Fields | Takes::FirstFields | Takes::Kinds | Takes::AnyFields => fields(takes, text),
    };
    // A kind begins a value of its own, in place of the one before; fields alone are added to it.
    if takes == Takes::Fields && all.as_ref().is_some_and(|all| all.contains_key("kind")) {
        known.retain(|(name, _)| name.split('.').next() != Some(flag));
    }
    let kind = all.as_mut().filter(|_| takes == Takes::Kinds).and_then(|all| all.shift_remove("kind"));
    match (all, kind) {
        (None, _) if takes == Takes::AnyFields => return false,
        (None, _) if takes == Takes::Kinds => {
            known.extend(text.split(',').map(|kind| (flag.to_owned(), kind.into())));
        }
        (None, _) => known.push((flag.to_owned(), text.into())),
        (Some(all), _) if takes == Takes::AnyFields => {
            known.extend(all.into_iter().map(|(field, value)| (inside(&field), value)));
        }
        (Some(all), None) => flat(known, flag, all),
        (Some(all), Some(kind)) => {
            let name = inside(&plain(&kind));
            known.extend([(flag.to_owned(), kind), (name.clone(), Value::Null)]);
            flat(known, &name, all);
        }
    }
    true
}

/// Adds fields: those of an object by their own names, each item of a list.
fn flat(known: &mut Vec<(String, Value)>, above: &str, all: Map<String, Value>) {
    for (field, value) in all {
        let name = format!("{above}.{field}");
        match value {
            Value::Object(inner) => flat(known, &name, inner),
            Value::Array(items) => known.extend(items.into_iter().map(|item| (name.clone(), item))),
            value => known.push((name, value)),
        }
    }
}

/// Reads an object of JSON, or `key=value` pairs with commas between them. There `a[0]=` is an item of a list. Of any
/// fields it may also be one `key:value`. It is `None` where it is none of them.
fn fields(takes: Takes, text: &str) -> Option<Map<String, Value>> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).ok();
    }
    if let Some((key, value)) = text.split_once(':').filter(|_| takes == Takes::AnyFields) {
        return Some(Map::from_iter([(key.to_owned(), json(value))]));
    }
    let mut all = Map::new();
    for pair in text.split(',') {
        let (key, value) = pair.split_once('=')?;
        let value = json(value.trim());
        match key.trim().split_once('[') {
            None => drop(all.insert(key.trim().to_owned(), value)),
            Some((list, _)) => match all.entry(list).or_insert_with(|| Value::Array(Vec::new())) {
                Value::Array(items) => items.push(value),
                other => *other = value,
            },
        }
    }
    Some(all)
}

fn up_to_the_next_flag(words: &mut Peekable<Iter<'_, String>>) -> Vec<String> {
    std::iter::from_fn(|| words.next_if(|word| !is_flag(word)).cloned()).collect()
}

/// Whether a word begins a flag; a negative number does not.
fn is_flag(word: &str) -> bool {
    let Some(name) = word.strip_prefix('-') else { return false };
    word.starts_with("--") || name.starts_with(|letter: char| letter.is_ascii_alphabetic())
}
