//! Values that several tools write alike: lengths, addresses, headers, fields.

use serde_json::{Map, Value};

/// Lengths around a mean, as options take them.
pub(super) fn lengths(mean: &str, std: Option<&str>) -> String {
    match std.filter(|std| std.parse() != Ok(0.0)) {
        Some(std) => format!("normal:{mean}:{std}"),
        None => mean.to_owned(),
    }
}

/// An address with its scheme.
pub(super) fn url(typed: &str) -> String {
    if typed.contains("://") { typed.to_owned() } else { format!("http://{typed}") }
}

/// Seconds as times are typed.
pub(super) fn time(seconds: &str) -> String {
    format!("{seconds}s")
}

/// The number, if it is one above 0.
pub(super) fn positive(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0)
}

/// A header as `Name: value`, however a tool divides the two.
pub(super) fn header(typed: &str, divider: char) -> String {
    match typed.split_once(divider) {
        Some((name, value)) => format!("{}: {}", name.trim(), value.trim()),
        None => typed.to_owned(),
    }
}

/// An object of JSON, or `key=value` pairs with commas between them; `None` where it is neither.
pub(super) fn fields(text: &str) -> Option<Map<String, Value>> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).ok();
    }
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=')?;
        Some((key.trim().to_owned(), json(value.trim())))
    };
    text.split(',').map(pair).collect()
}

/// An option of GuideLLM such as `kind=constant,rate=10`: JSON too, or only the kind; `a.b` is a field of a field, `a[0]` an
/// element of a list.
pub(super) fn kinded(text: &str) -> Map<String, Value> {
    let Some(flat) = fields(text) else { return Map::from_iter([("kind".to_owned(), text.into())]) };
    let mut whole = Map::new();
    for (key, value) in flat {
        if let Some((outer, inner)) = key.split_once('.') {
            let fields = whole.entry(outer).or_insert_with(|| Map::new().into()).as_object_mut();
            fields.and_then(|fields| fields.insert(inner.to_owned(), value));
        } else if let Some((list, _)) = key.split_once('[') {
            let values = whole.entry(list).or_insert_with(|| Vec::<Value>::new().into()).as_array_mut();
            if let Some(values) = values {
                values.push(value.clone());
            }
        } else {
            whole.insert(key, value);
        }
    }
    whole
}

/// A value that was typed: JSON if it is, else a text.
pub(super) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// A value of a field as it is typed.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The file in which the rows of a data set of Hugging Face are expected.
pub(super) fn rows_of(id: &str) -> String {
    let name = id.trim_end_matches('/').rsplit('/').next().unwrap_or(id);
    format!("{name}.jsonl")
}
