//! The columns of a table: the name of each, its unit, what it means, and how it is read from a row.

use std::borrow::Cow;
use std::ops::Deref;

use crate::analysis::Unit;
use crate::clock::Timestamp;

/// A column of a table whose rows are `R`. Every format of the table has the same columns under the same names.
pub(super) struct DataColumn<R> {
    /// Name of the column, which ends in its unit where it has one.
    pub(super) name: Words,
    pub(super) unit: Unit,
    pub(super) meaning: Words,
    /// Way in which it is read, and so its type.
    pub(super) read: ReadAs<R>,
}

/// Way in which a column is read from a row. What is not known is `None`, never 0.
pub(super) enum ReadAs<R> {
    Text(ReadText<R>),
    /// A count or a place.
    Whole(fn(&R) -> Option<u64>),
    Number(ReadNumber<R>),
    Flag(fn(&R) -> Option<bool>),
}

type Words = Cow<'static, str>;
type ReadNumber<R> = Box<dyn Fn(&R) -> Option<f64>>;
type ReadText<R> = Box<dyn for<'r> Fn(&'r R) -> Option<Cow<'r, str>>>;

/// The columns of a table, in their order.
pub(super) struct DataColumns<R>(Vec<DataColumn<R>>);

impl<R> Deref for DataColumns<R> {
    type Target = [DataColumn<R>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<R> DataColumns<R> {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    fn with(mut self, name: impl Into<Words>, unit: Unit, meaning: impl Into<Words>, read: ReadAs<R>) -> Self {
        self.0.push(DataColumn { name: name.into(), unit, meaning: meaning.into(), read });
        self
    }

    pub(super) fn text(
        self,
        name: impl Into<Words>,
        meaning: impl Into<Words>,
        read: impl for<'r> Fn(&'r R) -> Option<Cow<'r, str>> + 'static,
    ) -> Self {
        self.with(name, Unit::NONE, meaning, ReadAs::Text(Box::new(read)))
    }

    pub(super) fn whole(self, name: &'static str, meaning: &'static str, read: fn(&R) -> Option<u64>) -> Self {
        self.with(name, Unit::NONE, meaning, ReadAs::Whole(read))
    }

    pub(super) fn tokens(self, name: &'static str, meaning: &'static str, read: fn(&R) -> Option<u64>) -> Self {
        self.with(name, Unit::TOKENS, meaning, ReadAs::Whole(read))
    }

    pub(super) fn flag(self, name: &'static str, meaning: &'static str, read: fn(&R) -> Option<bool>) -> Self {
        self.with(name, Unit::NONE, meaning, ReadAs::Flag(read))
    }

    /// A moment.
    pub(super) fn at(
        self,
        name: &'static str,
        meaning: &'static str,
        read: impl Fn(&R) -> Option<Timestamp> + 'static,
    ) -> Self {
        self.number(name, Unit::SECONDS, meaning, move |row| read(row).map(Timestamp::as_secs_f64))
    }

    /// A number in this unit; of none, or where another column names it.
    pub(super) fn number(
        self,
        name: impl Into<Words>,
        unit: Unit,
        meaning: impl Into<Words>,
        read: impl Fn(&R) -> Option<f64> + 'static,
    ) -> Self {
        self.with(name, unit, meaning, ReadAs::Number(Box::new(read)))
    }
}

/// The name of a variant.
pub(super) fn name<'r>(of: impl Into<&'static str>) -> Option<Cow<'r, str>> {
    Some(Cow::Borrowed(of.into()))
}
