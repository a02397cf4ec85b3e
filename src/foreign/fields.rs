//! The fields of a result, each validated when read.

use serde_json::{Map, Value};

/// What is wrong with a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldProblem(pub(super) String);

impl FieldProblem {
    fn wrong(place: &str, found: &Value, wanted: &str) -> Self {
        Self(format!("`{place}` is {}, and {wanted} is wanted", shown(found)))
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

/// An object and its place in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResultFields<'a> {
    object: &'a Map<String, Value>,
    place: Parent<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Parent<'a> {
    Top,
    Under(&'a str),
}

impl<'a> ResultFields<'a> {
    pub(super) fn of(value: &'a Value) -> Result<Self, FieldProblem> {
        let object = value
            .as_object()
            .ok_or_else(|| FieldProblem(format!("it is {}, and no object", shown(value))))?;
        Ok(Self { object, place: Parent::Top })
    }

    fn place(&self, key: &str) -> String {
        match self.place {
            Parent::Top => key.to_owned(),
            Parent::Under(above) => format!("{above}.{key}"),
        }
    }

    /// The value under `key`, unless it is null.
    fn at(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.object.iter().filter(|(_, value)| !value.is_null()).map(|(key, _)| key.as_str())
    }

    fn read<T>(
        &self,
        key: &str,
        wanted: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, FieldProblem> {
        self.at(key)
            .map(|value| read(value).ok_or_else(|| FieldProblem::wrong(&self.place(key), value, wanted)))
            .transpose()
    }

    /// Requires a value.
    pub(super) fn must<T>(&self, key: &str, found: Option<T>) -> Result<T, FieldProblem> {
        found.ok_or_else(|| FieldProblem(format!("`{}` is missing", self.place(key))))
    }

    /// A finite number of at least 0.
    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, FieldProblem> {
        self.read(key, NUMBER, number)
    }

    /// A whole number.
    pub(super) fn count(&self, key: &str) -> Result<Option<u64>, FieldProblem> {
        self.read(key, "a whole number", whole)
    }

    /// A moment in whole nanoseconds.
    pub(super) fn nanoseconds(&self, key: &str) -> Result<Option<u64>, FieldProblem> {
        self.read(key, "a whole number", Value::as_u64)
    }

    /// A time.
    pub(super) fn time(&self, key: &str) -> Result<Option<f64>, FieldProblem> {
        self.read(key, TIME, time)
    }

    /// A rate, or another value above 0 that may be infinite.
    pub(super) fn pace(&self, key: &str) -> Result<Option<StatedRate>, FieldProblem> {
        self.read(key, "a number above 0, or \"inf\",", |value| match value.as_str() {
            Some("inf" | "Infinity") => Some(StatedRate::Infinite),
            Some("trace") => Some(StatedRate::Trace),
            Some(_) => None,
            None => number(value).filter(|&number| number > 0.0).map(StatedRate::Finite),
        })
    }

    /// The same where only a number is possible.
    pub(super) fn rate(&self, key: &str) -> Result<Option<f64>, FieldProblem> {
        Ok(self
            .pace(key)?
            .and_then(|pace| if let StatedRate::Finite(rate) = pace { Some(rate) } else { None }))
    }

    /// Whether `key` is present, even with null.
    pub(super) fn has(&self, key: &str) -> bool {
        self.object.contains_key(key)
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, FieldProblem> {
        self.read(key, "a text", Value::as_str)
    }

    pub(super) fn truth(&self, key: &str) -> Result<Option<bool>, FieldProblem> {
        self.read(key, "true or false", Value::as_bool)
    }

    /// The value of any type.
    pub(super) fn any(&self, key: &str) -> Option<&'a Value> {
        self.at(key)
    }

    pub(super) fn object(&self, key: &'a str) -> Result<Option<Self>, FieldProblem> {
        let object = self.read(key, "an object", Value::as_object)?;
        Ok(object.map(|object| Self { object, place: Parent::Under(key) }))
    }

    /// An object that must be present.
    pub(super) fn inner(&self, key: &'a str) -> Result<Self, FieldProblem> {
        self.must(key, self.object(key)?)
    }

    /// The items of a list, each read by `read`; `wanted` describes them.
    pub(super) fn list<T>(
        &self,
        key: &str,
        wanted: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<Vec<T>>, FieldProblem> {
        let Some(items) = self.read(key, "a list", Value::as_array)? else { return Ok(None) };
        let item = |(i, value): (usize, &'a Value)| {
            read(value)
                .ok_or_else(|| FieldProblem::wrong(&format!("{}[{i}]", self.place(key)), value, wanted))
        };
        items.iter().enumerate().map(item).collect::<Result<_, _>>().map(Some)
    }

    /// A list of times.
    pub(super) fn times(&self, key: &str) -> Result<Option<Vec<f64>>, FieldProblem> {
        self.list(key, TIME, time)
    }

    /// A list of lists of times.
    pub(super) fn lists_of_times(&self, key: &str) -> Result<Option<Vec<Vec<f64>>>, FieldProblem> {
        self.list(key, "a list of times from 0 to 1e9", |value| value.as_array()?.iter().map(time).collect())
    }

    /// A list of objects.
    pub(super) fn objects(&self, key: &'a str) -> Result<Option<Vec<Self>>, FieldProblem> {
        self.list(key, "an object", |value| {
            Some(Self { object: value.as_object()?, place: Parent::Under(key) })
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
