//! The whole recipe of a run.

use serde::{Deserialize, Serialize};

use super::arrival::SECONDS;
use super::reading::{self, Allowed, Fields, Mistakes, Node, Place, SpecError};
use super::window::{LONGEST_S, MOST_REQUESTS, Window};
use super::{ArrivalPattern, RequestClass, weights};

/// Counts of requests.
pub(super) const REQUESTS: Allowed = Allowed::from(1.0, MOST_REQUESTS);
/// Waits, which may be none.
pub(super) const WAIT: Allowed = Allowed::from(0.0, LONGEST_S);

/// A workload: which requests arrive, when, for how long.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadSpec {
    /// Name, used in reports and in the names of result folders: letters, digits, `_` and `-`.
    pub name: String,
    /// One or two sentences for `skyline workloads`; empty when the file gives none.
    pub description: String,
    /// Seed of every random stream of the schedule; 0 when the file gives none.
    pub seed: u64,
    /// Requests scheduled before this many seconds belong to the run; later ones only keep the load up while
    /// the last of them finish. 60 when the file gives none.
    pub horizon_s: f64,
    /// When given, the run has this many requests, warm-up included, in place of ending at `horizon_s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Requests scheduled in the first `warmup_s` seconds are flown but not counted. When the file gives
    /// none: a tenth of the run and at most 30 s, which lets connections, caches and the number of requests in
    /// flight settle.
    pub warmup_s: f64,
    /// How long after the horizon to wait for requests still running before they are censored, seconds; 60
    /// when the file gives none.
    pub drain_s: f64,
    /// When requests arrive: one process that the classes share by weight, or one for each class.
    pub arrival: ArrivalPattern,
    /// The kinds of request; at least one.
    pub classes: Vec<RequestClass>,
}

impl WorkloadSpec {
    /// Reads TOML. `origin` names the text in the error: a path, say.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, SpecError> {
        Self::from_node(reading::parse_toml(text), origin)
    }

    /// Reads JSON. `origin` names the text in the error: a path, say.
    pub fn from_json(text: &str, origin: &str) -> Result<Self, SpecError> {
        Self::from_node(reading::parse_json(text), origin)
    }

    /// Reads what [`Serialize`] wrote.
    pub(super) fn from_value(value: serde_json::Value, origin: &str) -> Result<Self, SpecError> {
        Self::from_node(Ok(Node::from(value)), origin)
    }

    fn from_node(node: Result<Node, Mistakes>, origin: &str) -> Result<Self, SpecError> {
        let node = node.map_err(|mistakes| mistakes.into_error(origin))?;
        let mistakes = Mistakes::default();
        match Self::read(Place::root(&node, &mistakes)) {
            Some(spec) if mistakes.is_empty() => Ok(spec),
            _ => Err(mistakes.into_error(origin)),
        }
    }

    fn read(place: Place<'_>) -> Option<Self> {
        place.table("a workload", |fields| {
            let name = fields.required("name", |place| place.name());
            let description = fields.optional("description", String::new(), |place| place.text());
            let seed = fields.optional("seed", 0, |place| place.bits());
            let horizon_s = fields.optional("horizon_s", 60.0, |place| place.number(SECONDS));
            let requests = fields.optional("requests", None, |place| place.whole(REQUESTS).map(Some));
            let warmup_s = fields.optional("warmup_s", None, |place| place.number(WAIT).map(Some));
            let drain_s = fields.optional("drain_s", 60.0, |place| place.number(WAIT));
            let (classes, own): (Option<Vec<RequestClass>>, Option<Vec<_>>) =
                fields.required("classes", read_classes).map(|read| read.into_iter().unzip()).unzip();
            let arrival =
                read_arrival(fields, classes.as_deref().unwrap_or_default(), own.unwrap_or_default());
            let classes = classes.and_then(|classes| {
                let shares: Vec<f64> = classes.iter().map(|class| class.weight).collect();
                weights::positive_total(fields, "classes", &shares).map(|()| classes)
            });
            let (horizon_s, requests, arrival, warmup_s) = (horizon_s?, requests?, arrival?, warmup_s?);
            let window = Window { horizon_s, requests, arrival: &arrival };
            let warmup_s = warmup_s.unwrap_or_else(|| window.usual_warmup_s());
            if let Some(mistaken) = window.mistake(warmup_s) {
                fields.complain_of(mistaken.field, &mistaken.sentence);
            }
            Some(Self {
                name: name?,
                description: description?,
                seed: seed?,
                horizon_s,
                requests,
                warmup_s,
                drain_s: drain_s?,
                arrival,
                classes: classes?,
            })
        })
    }

    pub(super) fn window(&self) -> Window<'_> {
        Window { horizon_s: self.horizon_s, requests: self.requests, arrival: &self.arrival }
    }
}

/// The process shared by all classes, or those that each class has of its own.
///
/// All or none: a weight shares out one process, and beside a class with its own rate it would be a share of
/// something else.
fn read_arrival(
    fields: &mut Fields<'_>,
    classes: &[RequestClass],
    own: Vec<Option<ArrivalPattern>>,
) -> Option<ArrivalPattern> {
    let arrival = if own.iter().all(Option::is_none) {
        fields.required("arrival", ArrivalPattern::read)?
    } else {
        if fields.optional("arrival", None, |place| ArrivalPattern::read(place).map(Some))?.is_some() {
            let sentence =
                "is given, and classes have arrivals of their own; keep one, or one for each class";
            fields.complain_of("arrival", sentence);
            return None;
        }
        ArrivalPattern::ByClass { classes: own.into_iter().collect::<Option<_>>().or_else(|| {
            let sentence = "have arrivals of their own or share the workload's, all of them; give one to each or none";
            fields.complain_of("classes", sentence);
            None
        })? }
    };
    let ArrivalPattern::ByClass { classes: processes } = &arrival else { return Some(arrival) };
    if !classes.is_empty() && processes.len() != classes.len() {
        let (processes, classes) = (processes.len(), classes.len());
        let sentence = format!("has {processes} processes for {classes} classes; give one for each");
        fields.complain_of("arrival", &sentence);
        return None;
    }
    if let Some(class) = classes.iter().find(|class| class.weight.to_bits() != 1.0_f64.to_bits()) {
        let sentence = format!(
            "have arrivals of their own, whose rates say how many requests each has; leave out the weight of \"{}\"",
            class.name
        );
        fields.complain_of("classes", &sentence);
        return None;
    }
    Some(arrival)
}

/// A class and the arrival process that it has of its own.
type ReadClass = (RequestClass, Option<ArrivalPattern>);

fn read_classes(place: Place<'_>) -> Option<Vec<ReadClass>> {
    let mut seen = Vec::new();
    place.list(|place| {
        let (class, arrival) = RequestClass::read(place)?;
        if seen.contains(&class.name) {
            place.complain(&format!("has the name \"{}\" of a class before it; give it its own", class.name));
        }
        seen.push(class.name.clone());
        Some((class, arrival))
    })
}

/// By the one reader that files go through too, so a stored spec is held to the same rules.
impl<'de> Deserialize<'de> for WorkloadSpec {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Self::from_value(value, "the stored workload").map_err(serde::de::Error::custom)
    }
}
