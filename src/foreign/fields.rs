//! The fields of a result, each validated when read.

use std::cell::RefCell;

use serde_json::{Map, Value};

/// The first problem found in a file. Reading goes on after it; what is read then is discarded.
#[derive(Debug, Default)]
pub(super) struct FirstProblem(RefCell<Option<String>>);

impl FirstProblem {
    fn add(&self, problem: String) {
        self.0.borrow_mut().get_or_insert(problem);
    }

    /// What `read` returns; a problem found by it begins with `place`.
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

const NUMBER: &str = "a number of at least 0";
const TIME: &str = "a time from 0 to 1e9";
/// The longest time accepted, in any unit.
const LONGEST: f64 = 1e9;
/// From here on not every whole number has its own float (2⁵³).
const LARGEST: u64 = 1 << 53;

/// A number above 0, or a word in its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum StatedRate {
    Finite(f64),
    Infinite,
    /// As in a trace.
    Trace,
}

impl StatedRate {
    /// The number, if it is one.
    pub(super) const fn finite(self) -> Option<f64> {
        match self {
            Self::Finite(number) => Some(number),
            Self::Infinite | Self::Trace => None,
        }
    }
}

/// An object and its place in the file; one that is absent has no fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResultFields<'a> {
    object: Option<&'a Map<String, Value>>,
    /// The key of the object; empty for the whole result.
    place: &'a str,
    first_problem: &'a FirstProblem,
}

impl<'a> ResultFields<'a> {
    pub(super) fn new(value: &'a Value, first_problem: &'a FirstProblem) -> Self {
        if !value.is_object() {
            first_problem.add(format!("it is {}, and no object", shown(value)));
        }
        Self { object: value.as_object(), place: "", first_problem }
    }

    /// Another object, whose first problem is the same.
    pub(super) fn beside(&self, value: &'a Value) -> Self {
        Self::new(value, self.first_problem)
    }

    fn place(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    /// Reports a problem.
    pub(super) fn complain(&self, problem: String) {
        self.first_problem.add(problem);
    }

    /// What `read` returns; a problem found by it begins with `place`.
    pub(super) fn within<T>(&self, place: &str, read: impl FnOnce() -> T) -> T {
        self.first_problem.within(place, read)
    }

    /// The value of any type under `key`, unless it is null.
    pub(super) fn any(&self, key: &str) -> Option<&'a Value> {
        self.object?.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &'a str> {
        let entries = self.object.into_iter().flatten();
        entries.filter(|(_, value)| !value.is_null()).map(|(key, _)| key.as_str())
    }

    fn wrong<T>(&self, place: &str, found: &Value, wanted: &str) -> Option<T> {
        self.complain(format!("`{place}` is {}, and {wanted} is expected", shown(found)));
        None
    }

    fn read<T>(&self, key: &str, wanted: &str, read: impl Fn(&'a Value) -> Option<T>) -> Option<T> {
        let value = self.any(key)?;
        read(value).or_else(|| self.wrong(&self.place(key), value, wanted))
    }

    /// Requires a value.
    pub(super) fn must<T: Default>(&self, key: &str, found: Option<T>) -> T {
        found.unwrap_or_else(|| {
            self.complain(format!("`{}` is missing", self.place(key)));
            T::default()
        })
    }

    /// A finite number of at least 0.
    pub(super) fn number(&self, key: &str) -> Option<f64> {
        self.read(key, NUMBER, number)
    }

    /// A whole number.
    pub(super) fn count(&self, key: &str) -> Option<u64> {
        self.read(key, "a whole number", whole)
    }

    /// A moment in whole nanoseconds.
    pub(super) fn nanoseconds(&self, key: &str) -> Option<u64> {
        self.read(key, "a whole number", Value::as_u64)
    }

    /// A time.
    pub(super) fn time(&self, key: &str) -> Option<f64> {
        self.read(key, TIME, time)
    }

    /// A rate, or another value above 0 that may be infinite.
    pub(super) fn pace(&self, key: &str) -> Option<StatedRate> {
        self.read(key, "a number above 0, or \"inf\",", |value| match value.as_str() {
            Some("inf" | "Infinity") => Some(StatedRate::Infinite),
            Some("trace") => Some(StatedRate::Trace),
            Some(_) => None,
            None => number(value).filter(|&number| number > 0.0).map(StatedRate::Finite),
        })
    }

    /// Whether `key` is present, even with null.
    pub(super) fn has(&self, key: &str) -> bool {
        self.object.is_some_and(|object| object.contains_key(key))
    }

    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.read(key, "a text", Value::as_str)
    }

    /// A text of its own.
    pub(super) fn string(&self, key: &str) -> Option<String> {
        self.text(key).map(str::to_owned)
    }

    pub(super) fn truth(&self, key: &str) -> Option<bool> {
        self.read(key, "true or false", Value::as_bool)
    }

    /// The object under `key`.
    pub(super) fn object(&self, key: &'a str) -> Self {
        Self { object: self.read(key, "an object", Value::as_object), place: key, ..*self }
    }

    /// An object that must be present.
    pub(super) fn inner(&self, key: &'a str) -> Self {
        let inner = self.object(key);
        if !inner.is_there() {
            self.complain(format!("`{}` is missing", self.place(key)));
        }
        inner
    }

    pub(super) const fn is_there(&self) -> bool {
        self.object.is_some()
    }

    /// The items of a list, each read by `read`; `wanted` describes them.
    pub(super) fn list<T>(
        &self,
        key: &str,
        wanted: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Option<Vec<T>> {
        let items = self.read(key, "a list", Value::as_array)?;
        let item = |(i, value): (usize, &'a Value)| {
            read(value).or_else(|| self.wrong(&format!("{}[{i}]", self.place(key)), value, wanted))
        };
        items.iter().enumerate().map(item).collect()
    }

    /// A list of times.
    pub(super) fn times(&self, key: &str) -> Option<Vec<f64>> {
        self.list(key, TIME, time)
    }

    /// A list of lists of times.
    pub(super) fn lists_of_times(&self, key: &str) -> Option<Vec<Vec<f64>>> {
        self.list(key, "a list of times from 0 to 1e9", |value| value.as_array()?.iter().map(time).collect())
    }

    /// A list of objects.
    pub(super) fn objects(&self, key: &'a str) -> Option<Vec<Self>> {
        self.list(key, "an object", |value| {
            Some(Self { object: Some(value.as_object()?), place: key, ..*self })
        })
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| (0.0..LARGEST as f64).contains(number))
}

fn time(value: &Value) -> Option<f64> {
    number(value).filter(|&time| time <= LONGEST)
}

/// A whole number, including Python's `24.0`.
pub(super) fn whole(value: &Value) -> Option<u64> {
    let rounded = || number(value).filter(|number| number.fract() == 0.0);
    value.as_u64().filter(|&whole| whole < LARGEST).or_else(|| rounded().map(|number| number as u64))
}
