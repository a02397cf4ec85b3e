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
            if weights.is_some() && skew.is_some() {
                fields.complain_of("zipf", "is given beside `weights`; give one of them");
                return None;
            }
            let weights = weights.or(skew.map(|skew| zipf(names.len() as u64, skew).collect()));
            let weights = weights::one_each(fields, weights, "names", names.len())?;
            Some(Self { names, weights })
        })
    }
}
