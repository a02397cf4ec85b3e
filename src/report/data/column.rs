//! A column of a table: its name, its unit, what it means, and how it is read from a row.

use std::borrow::Cow;

/// A column of a table whose rows are `R`. Every format of the table has the same columns under the same names.
pub(super) struct DataColumn<R> {
    /// Its name, which ends in its unit where it has one.
    pub(super) name: &'static str,
    /// Its unit.
    pub(super) unit: Unit,
    /// What it tells.
    pub(super) meaning: &'static str,
    /// How it is read, and so its type.
    pub(super) read: ReadAs<R>,
}

/// How a column is read from a row. What is not known is `None`, never 0.
pub(super) enum ReadAs<R> {
    /// A text.
    Text(ReadText<R>),
    /// A count or a place.
    Whole(fn(&R) -> Option<u64>),
    /// A measure.
    Number(fn(&R) -> Option<f64>),
    /// Yes or no.
    Flag(fn(&R) -> Option<bool>),
}

/// Reads a text.
pub(super) type ReadText<R> = for<'r> fn(&'r R) -> Option<Cow<'r, str>>;

/// What the numbers of a column count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// They count nothing that has a unit, or are no numbers.
    None,
    /// Seconds since the run's zero.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Tokens.
    Tokens,
}

impl Unit {
    /// Its sign; empty where there is none.
    pub(super) const fn sign(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Tokens => "tokens",
        }
    }
}

impl<R> DataColumn<R> {
    pub(super) const fn text(name: &'static str, meaning: &'static str, read: ReadText<R>) -> Self {
        Self { name, unit: Unit::None, meaning, read: ReadAs::Text(read) }
    }

    /// A place or a count.
    pub(super) const fn whole(
        name: &'static str,
        meaning: &'static str,
        read: fn(&R) -> Option<u64>,
    ) -> Self {
        Self { name, unit: Unit::None, meaning, read: ReadAs::Whole(read) }
    }

    pub(super) const fn tokens(
        name: &'static str,
        meaning: &'static str,
        read: fn(&R) -> Option<u64>,
    ) -> Self {
        Self { name, unit: Unit::Tokens, meaning, read: ReadAs::Whole(read) }
    }

    /// A moment.
    pub(super) const fn at(name: &'static str, meaning: &'static str, read: fn(&R) -> Option<f64>) -> Self {
        Self { name, unit: Unit::Seconds, meaning, read: ReadAs::Number(read) }
    }

    /// A length of time.
    pub(super) const fn ms(name: &'static str, meaning: &'static str, read: fn(&R) -> Option<f64>) -> Self {
        Self { name, unit: Unit::Milliseconds, meaning, read: ReadAs::Number(read) }
    }

    pub(super) const fn flag(
        name: &'static str,
        meaning: &'static str,
        read: fn(&R) -> Option<bool>,
    ) -> Self {
        Self { name, unit: Unit::None, meaning, read: ReadAs::Flag(read) }
    }
}

#[cfg(test)]
impl<R> ReadAs<R> {
    /// The name of its type, in the README.
    pub(super) const fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Whole(_) => "integer",
            Self::Number(_) => "number",
            Self::Flag(_) => "true or false",
        }
    }
}
