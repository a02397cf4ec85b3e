//! The mix of models that requests ask for: several adapters of one base model, for example.

use serde::Serialize;

use crate::workload::lengths::weights::{self, SKEW, zipf};
use crate::workload::reading::value::SpecValue;

/// Most models; each has its own line in reports.
const MOST: usize = 1_000;

/// The `model` of each request, drawn by weight.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelMix {
    /// Names as the server knows them; at least one, none twice.
    pub names: Vec<String>,
    /// One weight per name. With `zipf` in a file they follow [`zipf`] in the order of the names; without either they
    /// are equal.
    pub weights: Vec<f64>,
}

impl ModelMix {
    pub(crate) fn read(value: SpecValue<'_>) -> Option<Self> {
        value.table("a mix of models", |fields| {
            let mut seen = Vec::new();
            let names = fields.required("names", |value| {
                value.list(|value| {
                    let name = value.nonblank()?;
                    if seen.contains(&name) {
                        value.complain(&format!("names \"{name}\" a second time; add the two weights"));
                    }
                    seen.push(name.clone());
                    Some(name)
                })
            });
            let weights = fields.option("weights", |value| value.list(weights::read));
            let skew = fields.option("zipf", |value| value.number(SKEW));
            let (names, weights, skew) = (names?, weights?, skew?);
            if names.len() > MOST {
                fields.complain_of("names", &format!("has {} names; {MOST} at most", names.len()));
                return None;
            }
            let weights = match (weights, skew) {
                (Some(_), Some(_)) => {
                    fields.complain_of("zipf", "is given beside `weights`; give one of them");
                    return None;
                }
                (Some(weights), None) => weights,
                (None, skew) => zipf(names.len() as u64, skew.unwrap_or(0.0)).collect(),
            };
            if weights.len() != names.len() {
                let sentence = format!(
                    "has length {} and `names` {}; give one weight for each, or none",
                    weights.len(),
                    names.len()
                );
                fields.complain_of("weights", &sentence);
                return None;
            }
            weights::positive_total(fields, "weights", &weights)?;
            Some(Self { names, weights })
        })
    }
}
