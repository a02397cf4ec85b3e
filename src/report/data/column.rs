//! A column of a table: its name, its unit, what it means, and how it is read from a row.

use std::borrow::Cow;

use crate::analysis::Unit;
use crate::clock::Timestamp;

/// A column of a table whose rows are `R`. Every format of the table has the same columns under the same names.
pub(super) struct DataColumn<R> {
    /// Its name, which ends in its unit where it has one.
    pub(super) name: Cow<'static, str>,
    pub(super) unit: Unit,
    pub(super) meaning: Cow<'static, str>,
    /// How it is read, and so its type.
    pub(super) read: ReadAs<R>,
}

/// How a column is read from a row. What is not known is `None`, never 0.
pub(super) enum ReadAs<R> {
    Text(ReadText<R>),
    /// A count or a place.
    Whole(fn(&R) -> Option<u64>),
    Number(ReadNumber<R>),
    Flag(fn(&R) -> Option<bool>),
}

type ReadNumber<R> = Box<dyn Fn(&R) -> Option<f64>>;
type ReadText<R> = Box<dyn for<'r> Fn(&'r R) -> Option<Cow<'r, str>>>;

fn new<R>(
    name: impl Into<Cow<'static, str>>,
    unit: Unit,
    meaning: impl Into<Cow<'static, str>>,
    read: ReadAs<R>,
) -> DataColumn<R> {
    DataColumn { name: name.into(), unit, meaning: meaning.into(), read }
}

pub(super) fn text<R>(
    name: impl Into<Cow<'static, str>>,
    meaning: impl Into<Cow<'static, str>>,
    read: impl for<'r> Fn(&'r R) -> Option<Cow<'r, str>> + 'static,
) -> DataColumn<R> {
    new(name, Unit::NONE, meaning, ReadAs::Text(Box::new(read)))
}

pub(super) fn whole<R>(name: &'static str, meaning: &'static str, read: fn(&R) -> Option<u64>) -> DataColumn<R> {
    new(name, Unit::NONE, meaning, ReadAs::Whole(read))
}

pub(super) fn tokens<R>(name: &'static str, meaning: &'static str, read: fn(&R) -> Option<u64>) -> DataColumn<R> {
    new(name, Unit::TOKENS, meaning, ReadAs::Whole(read))
}

/// A moment.
pub(super) fn at<R>(
    name: &'static str,
    meaning: &'static str,
    read: impl Fn(&R) -> Option<Timestamp> + 'static,
) -> DataColumn<R> {
    let seconds = move |row: &R| read(row).map(Timestamp::as_secs_f64);
    new(name, Unit::SECONDS, meaning, ReadAs::Number(Box::new(seconds)))
}

/// A number without a unit, or with one that another column names.
pub(super) fn number<R>(
    name: &'static str,
    meaning: &'static str,
    read: impl Fn(&R) -> Option<f64> + 'static,
) -> DataColumn<R> {
    new(name, Unit::NONE, meaning, ReadAs::Number(Box::new(read)))
}

/// A length of time.
pub(super) fn ms<R>(
    name: impl Into<Cow<'static, str>>,
    meaning: impl Into<Cow<'static, str>>,
    read: impl Fn(&R) -> Option<f64> + 'static,
) -> DataColumn<R> {
    new(name, Unit::MILLISECONDS, meaning, ReadAs::Number(Box::new(read)))
}

/// Tokens per second.
pub(super) fn per_second<R>(
    name: &'static str,
    meaning: &'static str,
    read: impl Fn(&R) -> Option<f64> + 'static,
) -> DataColumn<R> {
    new(name, Unit::TOKENS_PER_SECOND, meaning, ReadAs::Number(Box::new(read)))
}

pub(super) fn flag<R>(name: &'static str, meaning: &'static str, read: fn(&R) -> Option<bool>) -> DataColumn<R> {
    new(name, Unit::NONE, meaning, ReadAs::Flag(read))
}

/// The name of a variant.
pub(super) fn name<'r>(of: impl Into<&'static str>) -> Option<Cow<'r, str>> {
    Some(Cow::Borrowed(of.into()))
}
