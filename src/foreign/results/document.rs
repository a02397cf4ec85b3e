//! A result as JSON: values found by their paths, each validated when read.

use std::cell::RefCell;

use serde::Deserialize;
use serde_json::Value;

/// The first problem found in a file. Reading goes on after it; what is read then is discarded.
#[derive(Debug, Default)]
pub(super) struct FirstProblem(RefCell<Option<String>>);

impl FirstProblem {
    /// Reports a problem.
    pub(super) fn add(&self, problem: String) {
        self.0.borrow_mut().get_or_insert(problem);
    }

    /// Reads within a place, with which a problem found there begins.
    pub(super) fn within<T>(&self, place: &str, read: impl FnOnce() -> T) -> T {
        let found_before = self.0.borrow().is_some();
        let value = read();
        if let Some(problem) = self.0.borrow_mut().as_mut().filter(|_| !found_before) {
            problem.insert_str(0, place);
        }
        value
    }

    /// The value, unless there was a problem.
    pub(super) fn unless<T>(self, value: T) -> Result<T, String> {
        self.0.into_inner().map_or(Ok(value), Err)
    }
}

/// A value as text, short enough for one line.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        other => {
            let text = other.to_string();
            if text.chars().count() <= 40 { text } else { text.chars().take(39).chain(['…']).collect() }
        }
    }
}

/// Form that a value must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ValueForm {
    /// Anything but an empty text.
    Any,
    Text,
    Truth,
    /// A finite number of at least 0.
    Number,
    /// A whole number.
    Count,
    /// A moment in whole nanoseconds.
    Moment,
    /// A time in any unit.
    Time,
    /// A time in an object whose `unit` is `ms`.
    Ms,
    /// A list of such times.
    MsList,
    /// A number in an object whose `unit` is `sec`.
    Seconds,
    /// A number above 0, or a word in its place.
    Rate,
    /// A bound that is `none` where it is null or 0.
    Cap,
    /// The length of a list, or how many values an object has.
    Size,
    /// The sum of whole numbers at all places.
    Sum,
    /// The texts at all places.
    Texts,
    /// The number of places.
    Places,
}

pub(super) const TIME: &str = "a time from 0 to 1e9";
pub(super) const COUNT: &str = "a whole number";
/// The longest time accepted, in any unit.
const LONGEST: f64 = 1e9;
/// From here on not every whole number has its own float (2⁵³).
const LARGEST: u64 = 1 << 53;

impl ValueForm {
    /// The value in this form, and what is expected in its place.
    fn read(self, value: &Value) -> (Option<Value>, &'static str) {
        let kept = |holds: bool| holds.then(|| value.clone());
        match self {
            Self::Any => (kept(value != ""), ""),
            Self::Text | Self::Texts => (kept(value.is_string()), "a text"),
            Self::Truth => (kept(value.is_boolean()), "true or false"),
            Self::Number | Self::Seconds => (kept(number(value).is_some()), "a number of at least 0"),
            Self::Count | Self::Sum => (whole(value).map(Value::from), COUNT),
            Self::Moment => (kept(value.is_u64()), COUNT),
            Self::Time | Self::Ms => (kept(time(value).is_some()), TIME),
            Self::MsList => match value.as_array() {
                Some(items) => (kept(items.iter().all(|item| time(item).is_some())), TIME),
                None => (None, "a list"),
            },
            Self::Rate => {
                let rate = match value.as_str() {
                    Some("inf" | "Infinity") => Some("inf".into()),
                    Some("trace") => Some("trace".into()),
                    Some(_) => None,
                    None => kept(number(value).is_some_and(|number| number > 0.0)),
                };
                (rate, "a number above 0, or \"inf\",")
            }
            Self::Cap => match whole(value) {
                Some(0) => (Some("none".into()), COUNT),
                most => (most.map(Value::from), COUNT),
            },
            Self::Size => {
                let entries = value.as_object().map(|all| all.values().filter(|value| !value.is_null()).count());
                (entries.or(value.as_array().map(Vec::len)).map(Value::from), "")
            }
            Self::Places => (Some(Value::Null), ""),
        }
    }
}

/// A result, or a part of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResultDocument<'a> {
    /// The whole value of the file.
    pub(super) file: &'a Value,
    /// The part from which paths begin.
    pub(super) root: &'a Value,
    pub(super) problem: &'a FirstProblem,
}

impl<'a> ResultDocument<'a> {
    /// The values at these paths in this form, of the first path that has any. A path that ends in `!` must have one.
    pub(super) fn read(&self, form: ValueForm, paths: &str) -> Vec<Value> {
        let must = paths.ends_with('!');
        let paths = paths.trim_end_matches('!');
        for path in paths.split(' ') {
            let found = self.at(path);
            if form == ValueForm::Places {
                return vec![found.len().into()];
            }
            if !matches!(form, ValueForm::Sum | ValueForm::Texts) && found.len() != 1 {
                continue;
            }
            self.check_unit(form, path);
            let read = |value: &&Value| match form.read(value) {
                (None, wanted) if !wanted.is_empty() => self.wrong(&place(path), value, wanted),
                (read, _) => read,
            };
            let read: Vec<Value> = match form {
                ValueForm::Cap if found.iter().all(|value| value.is_null()) => vec!["none".into()],
                _ => found.iter().filter(|value| !value.is_null()).filter_map(read).collect(),
            };
            match form {
                ValueForm::Sum if read.len() == found.len() => {
                    return vec![read.iter().filter_map(Value::as_u64).sum::<u64>().into()];
                }
                ValueForm::Sum => {}
                _ if read.is_empty() => {}
                _ => return read,
            }
        }
        if must {
            self.problem.add(format!("`{}` is missing", self.missing(paths.split(' ').next().unwrap_or(paths))));
        }
        Vec::new()
    }

    /// Returns the values at a path. It is keys with slashes between, from the part or, behind `^`, from the whole
    /// file.
    ///
    /// `key[of=a|b]` are the objects in the list of this key, or the one that is no list, whose `of` is one of these,
    /// an empty one standing for none.
    fn at(&self, path: &str) -> Vec<&'a Value> {
        let (root, path) = path.strip_prefix('^').map_or((self.root, path), |path| (self.file, path));
        let mut found = vec![root];
        for (key, selector, before) in keys(path) {
            let inside = found.iter().filter(|value| !value.is_null()).filter_map(|value| {
                let inside = value.as_object().map(|object| object.get(key));
                inside.unwrap_or_else(|| match before {
                    "" => {
                        self.problem.add(format!("it is {}, and no object", shown(value)));
                        None
                    }
                    before => self.wrong(&place(before), value, "an object"),
                })
            });
            let inside: Vec<&Value> = inside.collect();
            found = match selector {
                None => inside,
                Some(selector) => {
                    let (of, words) = selector.split_once('=').unwrap_or((selector, ""));
                    let items = |value: &'a Value| value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
                    let is_one = |item: &&Value| {
                        let word = item.get(of).filter(|word| !word.is_null()).map_or(Some(""), Value::as_str);
                        item.is_object() && word.is_some_and(|word| words.split('|').any(|one| one == word))
                    };
                    inside.into_iter().flat_map(items).filter(is_one).collect()
                }
            };
        }
        found
    }

    /// The first part of a path that is not there.
    fn missing(&self, path: &str) -> String {
        let ends = path.match_indices('/').map(|(end, _)| &path[..end]);
        let absent = |path: &&str| self.at(path).iter().all(|value| value.is_null());
        place(ends.clone().find(absent).unwrap_or(path))
    }

    /// Checks the unit of the object that holds the value at `path`.
    fn check_unit(&self, form: ValueForm, path: &str) {
        let unit = match form {
            ValueForm::Ms | ValueForm::MsList => "ms",
            ValueForm::Seconds => "sec",
            _ => return,
        };
        let Some((figure, _)) = path.rsplit_once('/') else { return };
        let [object] = self.at(figure)[..] else { return };
        let found = object.get("unit").and_then(Value::as_str);
        if found != Some(unit) {
            let name = place(figure.rsplit('/').next().unwrap_or(figure));
            self.problem.add(format!("`{name}` is in {}, and {unit} is expected", found.unwrap_or("no unit")));
        }
    }

    fn wrong<T>(&self, place: &str, found: &Value, wanted: &str) -> Option<T> {
        self.problem.add(format!("`{place}` is {}, and {wanted} is expected", shown(found)));
        None
    }

    /// The items of a list, each read by `read`; `wanted` describes them.
    pub(super) fn list<T>(&self, path: &str, wanted: &str, read: impl Fn(&'a Value) -> Option<T>) -> Option<Vec<T>> {
        let value = self.at(path).pop().filter(|value| !value.is_null())?;
        let items = value.as_array().or_else(|| self.wrong(&place(path), value, "a list"))?;
        let item = |(i, value): (usize, &'a Value)| {
            read(value).or_else(|| self.wrong(&format!("{}[{i}]", place(path)), value, wanted))
        };
        items.iter().enumerate().map(item).collect()
    }
}

/// The keys of a path, each with its selector and the path before it.
fn keys(path: &str) -> impl Iterator<Item = (&str, Option<&str>, &str)> {
    let ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
    ends.scan(0, move |begin, end| {
        let (segment, before) = (&path[*begin..end], path[..*begin].trim_end_matches('/'));
        *begin = end + 1;
        let (key, selector) =
            segment.split_once('[').map_or((segment, None), |(key, rest)| (key, Some(rest.trim_end_matches(']'))));
        Some((key, selector, before))
    })
}

/// The last two keys of a path, as a message names the place.
fn place(path: &str) -> String {
    let all: Vec<&str> = keys(path.trim_start_matches('^')).map(|(key, ..)| key).collect();
    all[all.len().saturating_sub(2)..].join(".")
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| (0.0..LARGEST as f64).contains(number))
}

pub(super) fn time(value: &Value) -> Option<f64> {
    number(value).filter(|&time| time <= LONGEST)
}

/// A whole number, including Python's `24.0`.
pub(super) fn whole(value: &Value) -> Option<u64> {
    let rounded = || number(value).filter(|number| number.fract() == 0.0);
    value.as_u64().filter(|&whole| whole < LARGEST).or_else(|| rounded().map(|number| number as u64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns what is read at these paths, and the problem that was found.
    fn read(value: &Value, form: ValueForm, paths: &str) -> (Vec<Value>, Option<String>) {
        let problem = FirstProblem::default();
        let read = ResultDocument { file: value, root: value, problem: &problem }.read(form, paths);
        (read, problem.unless(()).err())
    }

    #[test]
    fn paths_select_values_of_objects_and_of_lists_of_them() {
        let file = json!({
            "p99.9_ms": 4.5,
            "phases": [{"kind": "warmup", "n": 2}, {"n": 3}, {"kind": "warmup", "n": 5}, 7],
            "cap": null,
            "names": [{"name": "a"}, {"name": "b"}],
        });
        for (form, paths, found) in [
            (ValueForm::Time, "p99.9_ms", vec![json!(4.5)]),
            (ValueForm::Count, "absent/n phases[kind=profiling|]/n", vec![json!(3)]),
            (ValueForm::Count, "phases[kind=warmup]/n", vec![]),
            (ValueForm::Sum, "phases[kind=warmup]/n", vec![json!(7)]),
            (ValueForm::Sum, "phases[kind=other]/n", vec![json!(0)]),
            (ValueForm::Places, "phases[kind=warmup|]", vec![json!(3)]),
            (ValueForm::Texts, "names[]/name", vec![json!("a"), json!("b")]),
            (ValueForm::Cap, "cap", vec![json!("none")]),
            (ValueForm::Cap, "no_cap", vec![]),
            (ValueForm::Size, "phases", vec![json!(4)]),
        ] {
            assert_eq!(read(&file, form, paths), (found, None), "{paths}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_by_its_place() {
        let file = json!({"a": {"b": {"n": -1, "value": 3.0, "unit": "sec"}}, "list": 7});
        for (form, paths, problem) in [
            (ValueForm::Count, "a/b/n", "`b.n` is -1, and a whole number is expected"),
            (ValueForm::Count, "list/n", "`list` is 7, and an object is expected"),
            (ValueForm::Count, "a/c/n!", "`a.c` is missing"),
            (ValueForm::Count, "n m!", "`n` is missing"),
            (ValueForm::Ms, "a/b/value", "`b` is in sec, and ms is expected"),
            (ValueForm::Rate, "a/b", "`a.b` is an object, and a number above 0, or \"inf\", is expected"),
        ] {
            assert_eq!(read(&file, form, paths).1.as_deref(), Some(problem), "{paths}");
        }
    }
}
