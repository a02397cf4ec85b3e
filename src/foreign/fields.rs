//! The fields of a result, each looked at before it is believed.

use serde_json::{Map, Value};

/// What is wrong with a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem(pub(super) String);

impl Problem {
    fn wrong(place: &str, found: &Value, wanted: &str) -> Self {
        Self(format!("`{place}` is {}, and {wanted} is wanted", shown(found)))
    }
}

/// A value as it stands there, no longer than a line has room for.
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

/// An object, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    object: &'a Map<String, Value>,
    place: Place<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Place<'a> {
    Top,
    Under(&'a str),
}

impl<'a> Fields<'a> {
    pub(super) fn of(value: &'a Value) -> Result<Self, Problem> {
        let object =
            value.as_object().ok_or_else(|| Problem(format!("it is {}, and no object", shown(value))))?;
        Ok(Self { object, place: Place::Top })
    }

    fn place(&self, key: &str) -> String {
        match self.place {
            Place::Top => key.to_owned(),
            Place::Under(above) => format!("{above}.{key}"),
        }
    }

    /// What stands under `key`, unless it is null.
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
    ) -> Result<Option<T>, Problem> {
        self.at(key)
            .map(|value| read(value).ok_or_else(|| Problem::wrong(&self.place(key), value, wanted)))
            .transpose()
    }

    /// What must be there.
    pub(super) fn must<T>(&self, key: &str, found: Option<T>) -> Result<T, Problem> {
        found.ok_or_else(|| Problem(format!("`{}` is missing", self.place(key))))
    }

    /// A finite number of at least 0.
    pub(super) fn number(&self, key: &str) -> Result<Option<f64>, Problem> {
        self.read(key, NUMBER, number)
    }

    /// A whole number.
    pub(super) fn count(&self, key: &str) -> Result<Option<u64>, Problem> {
        self.read(key, "a whole number", whole)
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, Problem> {
        self.read(key, "a text", Value::as_str)
    }

    pub(super) fn truth(&self, key: &str) -> Result<Option<bool>, Problem> {
        self.read(key, "true or false", Value::as_bool)
    }

    /// What stands there, of whatever kind.
    pub(super) fn any(&self, key: &str) -> Option<&'a Value> {
        self.at(key)
    }

    pub(super) fn object(&self, key: &'a str) -> Result<Option<Self>, Problem> {
        let object = self.read(key, "an object", Value::as_object)?;
        Ok(object.map(|object| Self { object, place: Place::Under(key) }))
    }

    /// The same of an object that must be there.
    pub(super) fn inner(&self, key: &'a str) -> Result<Self, Problem> {
        self.must(key, self.object(key)?)
    }

    /// The items of a list, each read by `read`, which wants what `wanted` says.
    pub(super) fn list<T>(
        &self,
        key: &str,
        wanted: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<Vec<T>>, Problem> {
        let Some(items) = self.read(key, "a list", Value::as_array)? else { return Ok(None) };
        let item = |(i, value): (usize, &'a Value)| {
            read(value).ok_or_else(|| Problem::wrong(&format!("{}[{i}]", self.place(key)), value, wanted))
        };
        items.iter().enumerate().map(item).collect::<Result<_, _>>().map(Some)
    }

    /// A list of numbers of at least 0.
    pub(super) fn numbers(&self, key: &str) -> Result<Option<Vec<f64>>, Problem> {
        self.list(key, NUMBER, number)
    }

    /// A list of lists of such numbers.
    pub(super) fn lists_of_numbers(&self, key: &str) -> Result<Option<Vec<Vec<f64>>>, Problem> {
        self.list(key, "a list of numbers of at least 0", |value| {
            value.as_array()?.iter().map(number).collect()
        })
    }

    /// A list of objects.
    pub(super) fn objects(&self, key: &'a str) -> Result<Option<Vec<Self>>, Problem> {
        self.list(key, "an object", |value| {
            Some(Self { object: value.as_object()?, place: Place::Under(key) })
        })
    }
}

pub(super) fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite() && *number >= 0.0)
}

/// A whole number, also one that Python wrote as `24.0`.
pub(super) fn whole(value: &Value) -> Option<u64> {
    let rounded = || number(value).filter(|number| number.fract() == 0.0 && *number < 2f64.powi(53));
    value.as_u64().or_else(|| rounded().map(|number| number as u64))
}
