//! Short texts to paste: the percentile block of a report, and the fields by which a change is decided on.

mod decision;
mod percentiles;
mod risk;

pub use decision::decision_fields;
pub use percentiles::percentile_block;

#[cfg(test)]
mod tests;
