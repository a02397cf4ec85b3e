//! Pages of metrics: their text, the names of exporters, and the figures found by those names.

pub(crate) mod exporters;
pub(crate) mod exposition;
pub(crate) mod series;
pub(crate) mod url;
