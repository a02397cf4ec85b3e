//! What each request draws beside its class: its tenant and its model.

use super::request_class::RequestClass;
use super::slo::Slo;
use crate::workload::reading::weights::{SKEW, one_each, read_weight, zipf};
use crate::workload::reading::{Fields, SpecValue, spec_table};
use crate::workload::trace::source::Trace;

/// Most tenants, and most models; each has its own line in reports.
const MOST: usize = 1_000;

spec_table! {
    /// A sender of requests. The tenant of each request is drawn by the weights of the tenants that send its class.
    pub struct Tenant = "a tenant" with(known: Option<&[RequestClass]>) {
        /// Name shown in reports, unique in its workload.
        name: String = required(|value| value.name()),
        /// Share of each class's requests, relative to the other tenants' weights. It is 1 when the file gives none.
        weight: f64 = optional(1.0, read_weight),
        /// SLO of its requests, in place of their class's and priority's. It replaces that one as a whole; absent: that
        /// one applies.
        slo: Option<Slo> = option(Slo::read),
        /// Names of the classes that it sends; empty: all. A class that only one tenant sends has its own rate, lengths
        /// and prompts.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        classes: Vec<String> = optional(Vec::new(), |value| value.list(|value| class_name(value, known))),
    }
}

/// Reads the name of one of the classes, if they are known.
fn class_name(value: SpecValue<'_>, known: Option<&[RequestClass]>) -> Option<String> {
    let name = value.text()?;
    match known {
        Some(known) if known.iter().all(|class| class.name != name) => {
            let names: Vec<_> = known.iter().map(|class| class.name.as_str()).collect();
            value.refuse(&format!("the name of a class: one of {}", names.join(", ")))
        }
        _ => Some(name),
    }
}

impl Tenant {
    /// Whether it can send requests of this class.
    pub fn sends(&self, class: &str) -> bool {
        self.classes.is_empty() || self.classes.iter().any(|name| name == class)
    }
}

spec_table! {
    /// The `model` of each request, drawn by weight.
    pub struct ModelMix = "a mix of models" {
        /// Names as the server knows them; at least one, none twice.
        names: Vec<String> = required(distinct_names),
        /// One weight per name. With `zipf` in a file they follow [`zipf`] in the order of the names; without either
        /// they are equal.
        weights: Vec<f64> = weights_or_zipf(names.as_ref().map(Vec::len)),
    }
    check(fields) {
        let named = names.as_ref()?.len();
        if named > MOST {
            return fields.reject_of("names", &format!("has {named} names; {MOST} at most"));
        }
    }
}

fn distinct_names(value: SpecValue<'_>) -> Option<Vec<String>> {
    let mut seen = Vec::new();
    value.list(|value| {
        let name = value.nonblank()?;
        if seen.contains(&name) {
            value.complain(&format!("names \"{name}\" a second time; add the two weights"));
        }
        seen.push(name.clone());
        Some(name)
    })
}

impl Fields<'_> {
    /// Reads a workload's tenants. Their classes must be among `classes`; a trace may name any of them, whatever its
    /// weight.
    pub(in crate::workload) fn tenants(
        &mut self,
        name: &'static str,
        classes: Option<&[RequestClass]>,
        trace: Option<&Trace>,
    ) -> Option<Vec<Tenant>> {
        let read = |value: SpecValue<'_>| value.named_list("tenant", |value| Tenant::read(value, classes));
        let tenants = self.optional(name, Vec::new(), read)?;
        if tenants.len() > MOST {
            return self.reject_of(name, &format!("has {} tenants; {MOST} at most", tenants.len()));
        }
        let unsent = classes?.iter().find(|class| {
            (class.weight > 0.0 || trace.is_some())
                && !tenants.iter().any(|tenant| tenant.weight > 0.0 && tenant.sends(&class.name))
        });
        match unsent.filter(|_| !tenants.is_empty()) {
            Some(class) => {
                let sentence = format!(
                    "has none with a weight above 0 that sends the class \"{}\"; name it in the `classes` of one",
                    class.name
                );
                self.reject_of(name, &sentence)
            }
            None => Some(tenants),
        }
    }

    /// Reads one weight for each of so many `names`. They are given as such or by the exponent of [`zipf`].
    fn weights_or_zipf(&mut self, name: &'static str, names: Option<usize>) -> Option<Vec<f64>> {
        let weights = self.option(name, |value| value.list(read_weight));
        let skew = self.option("zipf", |value| value.number(SKEW));
        let (weights, skew, names) = (weights?, skew?, names?);
        if weights.is_some() && skew.is_some() {
            return self.reject_of("zipf", "is given with `weights`; give one of them");
        }
        one_each(self, weights.or(skew.map(|skew| zipf(names as u64, skew).collect())), "names", names)
    }
}
