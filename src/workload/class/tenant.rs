//! Those who send requests: tenants that share a server.

use serde::Serialize;

use super::request_class::RequestClass;
use super::slo::Slo;
use crate::workload::lengths::weights;
use crate::workload::reading::fields::Fields;
use crate::workload::reading::place::SpecValue;
use crate::workload::trace::source::Trace;

/// Most tenants; each has a line of its own in reports.
const MOST: usize = 1_000;

/// One who sends requests. Which of a class's requests are whose is drawn by the weights of those who send the class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tenant {
    /// Name shown in reports, unique in its workload.
    pub name: String,
    /// Share of the requests of each class that it sends, relative to the other senders' weights; 1 when the file gives
    /// none.
    pub weight: f64,
    /// What its requests are promised, as a whole in place of what their class and priority promise; absent: nothing
    /// else than that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slo: Option<Slo>,
    /// Names of the classes that it sends; empty: all of them. A class that one tenant alone sends is its own: so it has
    /// its own rate, lengths and prompts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
}

impl Tenant {
    /// Reads a workload's tenants; the classes are looked for among `classes`, any of which a trace may name whatever it
    /// weighs.
    pub(crate) fn read_all(
        fields: &mut Fields<'_>,
        classes: Option<&[RequestClass]>,
        trace: Option<&Trace>,
    ) -> Option<Vec<Self>> {
        let mut seen = Vec::new();
        let tenants = fields.optional("tenants", Vec::new(), |place| {
            place.list(|place| {
                place.own_name("tenant", &mut seen);
                Self::read(place, classes)
            })
        })?;
        if tenants.len() > MOST {
            fields.complain_of("tenants", &format!("has {} tenants; {MOST} at most", tenants.len()));
            return None;
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
                fields.complain_of("tenants", &sentence);
                None
            }
            None => Some(tenants),
        }
    }

    fn read(place: SpecValue<'_>, known: Option<&[RequestClass]>) -> Option<Self> {
        place.table("a tenant", |fields| {
            let name = fields.required("name", |place| place.name());
            let weight = fields.optional("weight", 1.0, weights::read);
            let slo = fields.optional("slo", None, |place| Slo::read(place).map(Some));
            let classes = fields.optional("classes", Vec::new(), |place| {
                place.list(|place| {
                    let name = place.text()?;
                    match known {
                        Some(known) if known.iter().all(|class| class.name != name) => {
                            let names: Vec<_> = known.iter().map(|class| class.name.as_str()).collect();
                            place.refuse(&format!("the name of a class: one of {}", names.join(", ")))
                        }
                        _ => Some(name),
                    }
                })
            });
            Some(Self { name: name?, weight: weight?, slo: slo?, classes: classes? })
        })
    }

    /// Whether requests of this class can be its own.
    #[must_use]
    pub fn sends(&self, class: &str) -> bool {
        self.classes.is_empty() || self.classes.iter().any(|name| name == class)
    }
}
