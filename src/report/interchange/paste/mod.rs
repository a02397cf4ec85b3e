//! Short texts to paste: the percentile block of a report, and the fields by which a change is decided on.

mod decision;
mod percentiles;
mod risk;

pub(crate) use decision::decision_fields;
pub(crate) use percentiles::percentile_block;

#[cfg(test)]
mod tests;
