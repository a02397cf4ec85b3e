//! Reads an arrival pattern, with every mistake that can be made in one.

use super::clients::{Client, RateSpread};
use super::gaps::{GapFamily, GapForm};
use super::pattern::{ArrivalPattern, RateStage, RateState, Spike};
use super::think_time::ThinkTime;
use crate::workload::lengths::weights::SKEW;
use crate::workload::limits::LONGEST_S;
use crate::workload::limits::{RATE, SECONDS, USERS};
use crate::workload::reading::allowed::Allowed;
use crate::workload::reading::fields::{Fields, KindReader};
use crate::workload::reading::place::SpecValue;
use crate::workload::trace::source::Trace;

/// Rates that may rest at zero.
const RATE_OR_NONE: Allowed = Allowed::from(0.0, 1_000_000.0);
/// The same, or none at all.
const SECONDS_OR_NONE: Allowed = Allowed::from(0.0, LONGEST_S);
/// Below 0.01 nearly all requests come in one clump; above 1000 the gaps are constant to 3 %.
const BURSTINESS: Allowed = Allowed::from(0.01, 1000.0);
/// Coefficients of variation from 8.3 down to 0.013.
const WEIBULL_SHAPE: Allowed = Allowed::from(0.25, 100.0);
/// Coefficients of variation that both families of gaps can have.
const CV: Allowed = Allowed::from(0.04, 8.0);
/// A state that is left sooner is no state of any traffic.
const STATE_S: Allowed = Allowed::from(0.01, LONGEST_S);
/// Above 0: a rate that does not swing is a Poisson process.
const AMPLITUDE: Allowed = Allowed::above(0.0, 1.0);
/// Most clients: each has a random stream of its own in memory.
const MOST_CLIENTS: u32 = 10_000;
const CLIENTS: Allowed = Allowed::from(1.0, MOST_CLIENTS as f64);
/// At 5 the largest of 100 clients sends nearly everything too.
const SIGMA: Allowed = Allowed::above(0.0, 5.0);

/// The processes that a class may have, then one that only a workload may, and two that stand only in run logs, where
/// files have `[trace]` and arrivals of the classes.
const KINDS: [(&str, KindReader<ArrivalPattern>); 14] = [
    ("poisson", |fields| Some(ArrivalPattern::Poisson { rate_per_s: rate(fields)? })),
    ("constant", |fields| Some(ArrivalPattern::Constant { rate_per_s: rate(fields)? })),
    ("gamma", gamma),
    ("weibull", weibull),
    ("bursts", bursts),
    ("stages", stages),
    ("markov", markov),
    ("diurnal", diurnal),
    ("spikes", spikes),
    ("clients", clients),
    ("population", population),
    ("users", users),
    ("trace", |fields| Trace::read_fields(fields).map(|trace| ArrivalPattern::Trace(Box::new(trace)))),
    ("by_class", by_class),
];

impl ArrivalPattern {
    /// The process of a workload.
    pub(in crate::workload) fn read(place: SpecValue<'_>) -> Option<Self> {
        if let Some("trace" | "by_class") = place.field("kind") {
            return place.tagged("arrival", &KINDS);
        }
        let [of_a_workload @ .., _trace, _by_class] = &KINDS;
        place.tagged("arrival", of_a_workload)
    }

    /// The process of one class.
    pub(in crate::workload) fn read_of_class(place: SpecValue<'_>) -> Option<Self> {
        let [of_a_class @ .., _users, _trace, _by_class] = &KINDS;
        place.tagged("arrival", of_a_class)
    }
}

fn rate(fields: &mut Fields<'_>) -> Option<f64> {
    fields.required("rate_per_s", |place| place.number(RATE))
}

fn gamma(fields: &mut Fields<'_>) -> Option<ArrivalPattern> {
    let rate_per_s = rate(fields);
    let burstiness = either_or_cv(fields, "burstiness", BURSTINESS, GapFamily::Gamma);
    Some(ArrivalPattern::Gamma { rate_per_s: rate_per_s?, burstiness: burstiness? })
}

fn weibull(fields: &mut Fields<'_>) -> Option<ArrivalPattern> {
    let rate_per_s = rate(fields);
    let shape = either_or_cv(fields, "shape", WEIBULL_SHAPE, GapFamily::Weibull);
    Some(ArrivalPattern::Weibull { rate_per_s: rate_per_s?, shape: shape? })
}

/// The shape of gaps, by itself or by their coefficient of variation.
fn either_or_cv(
    fields: &mut Fields<'_>,
    name: &'static str,
    allowed: Allowed,
    family: GapFamily,
) -> Option<f64> {
    let shape = fields.optional(name, None, |place| place.number(allowed).map(Some));
    let cv = fields.optional("cv", None, |place| place.number(CV).map(Some));
    match (shape?, cv?) {
        (Some(shape), None) => Some(shape),
        (None, Some(cv)) => Some(match family.with_cv(cv) {
            GapForm::Gamma(shape) | GapForm::Weibull(shape) => shape,
        }),
        (None, None) => {
            let cure = "give it, or `cv`, the coefficient of variation of the gaps";
            fields.complain_of(name, &format!("is missing; {cure}"));
            None
        }
        (Some(_), Some(_)) => {
            fields.complain_of("cv", &format!("says again what `{name}` says; keep one of them"));
            None
        }
    }
}

fn bursts(fields: &mut Fields<'_>) -> Option<ArrivalPattern> {
    let base_rate_per_s = fields.required("base_rate_per_s", |place| place.number(RATE_OR_NONE));
    let burst_rate_per_s = fields.required("burst_rate_per_s", |place| place.number(RATE));
    let base_s = fields.required("base_s", |place| place.number(SECONDS));
    let burst_s = fields.required("burst_s", |place| place.number(SECONDS));
    Some(ArrivalPattern::Bursts {
        base_rate_per_s: base_rate_per_s?,
        burst_rate_per_s: burst_rate_per_s?,
        base_s: base_s?,
        burst_s: burst_s?,
    })
}

fn stages(fields: &mut Fields<'_>) -> Option<ArrivalPattern> {
    let stages = fields.required("stages", |place| place.list(RateStage::read))?;
    some_rate(fields, "stages", "stage", ArrivalPattern::Stages { stages })
}

fn markov(fields: &mut Fields<'_>) -> Option<ArrivalPattern> {
    let states = fields.required("states", |place| place.list(RateState::read))?;
    if states.len() < 2 {
        fields.complain_of("states", "has one state, between which nothing changes; give two or more");
        return None;
    }
    some_rate(fields, "states", "state", ArrivalPattern::Markov { states })
}

/// The pattern, unless it never brings a request.
fn some_rate(fields: &Fields<'_>, name: &str, item: &str, pattern: ArrivalPattern) -> Option<ArrivalPattern> {
    if pattern.mean_rate_per_s() > 0.0 {
        return Some(pattern);
    }
    let sentence = format!("has a rate of 0 throughout; give at least one {item} a rate above 0");
    fields.complain_of(name, &sentence);
    None
}

fn diurnal(fields: &mut Fields<'_>) -> Option<ArrivalPattern> {
    let rate_per_s = rate(fields);
    let amplitude = fields.required("amplitude", |place| place.number(AMPLITUDE));
    let period_s = fields.required("period_s", |place| place.number(SECONDS));
    let phase_s = fields.optional("phase_s", 0.0, |place| place.number(SECONDS_OR_NONE));
    Some(ArrivalPattern::Diurnal {
        rate_per_s: rate_per_s?,
        amplitude: amplitude?,
        period_s: period_s?,
        phase_s: phase_s?,
    })
}

fn spikes(fields: &mut Fields<'_>) -> Option<ArrivalPattern> {
    let base_rate_per_s = fields.required("base_rate_per_s", |place| place.number(RATE));
    let mut free_from = 0.0;
    let spikes = fields.required("spikes", |place| {
        place.list(|place| {
            let spike = Spike::read(place)?;
            if spike.at_s < free_from {
                place.complain(&format!(
                    "begins at {} s, and the spike before it ends at {free_from} s; put spikes in order, each after \
                     the end of the last",
                    spike.at_s
                ));
            }
            free_from = spike.end_s();
            Some(spike)
        })
    });
    Some(ArrivalPattern::Spikes { base_rate_per_s: base_rate_per_s?, spikes: spikes? })
}

fn clients(fields: &mut Fields<'_>) -> Option<ArrivalPattern> {
    let clients = fields.required("clients", |place| place.list(Client::read))?;
    let total = clients.iter().map(|client| client.rate_per_s).sum();
    if clients.len() as f64 > f64::from(MOST_CLIENTS) || !RATE.has(total) {
        let sentence = format!(
            "has {} clients that send {total} requests/s together; the most is {MOST_CLIENTS} clients and a rate {RATE}",
            clients.len()
        );
        fields.complain_of("clients", &sentence);
        return None;
    }
    Some(ArrivalPattern::Clients { clients })
}

fn population(fields: &mut Fields<'_>) -> Option<ArrivalPattern> {
    let rate_per_s = rate(fields);
    let clients = fields.required("clients", |place| place.whole(CLIENTS));
    let rates = fields.optional("rates", RateSpread::Zipf { exponent: 1.0 }, RateSpread::read);
    let cv = fields.optional("cv", 1.0, |place| place.number(CV));
    let gaps = fields.optional("gaps", GapFamily::default(), GapFamily::read);
    Some(ArrivalPattern::Population {
        rate_per_s: rate_per_s?,
        clients: clients?,
        rates: rates?,
        cv: cv?,
        gaps: gaps?,
    })
}

fn users(fields: &mut Fields<'_>) -> Option<ArrivalPattern> {
    let users = fields.required("users", |place| place.whole(USERS));
    let think_time_s = fields.optional("think_time_s", ThinkTime::default(), ThinkTime::read);
    let ramp_s = fields.optional("ramp_s", None, |place| place.number(SECONDS_OR_NONE).map(Some));
    let (users, think_time_s) = (users?, think_time_s?);
    let ramp_s = ramp_s?.unwrap_or_else(|| ArrivalPattern::usual_ramp_s(users));
    Some(ArrivalPattern::Users { users, think_time_s, ramp_s })
}

fn by_class(fields: &mut Fields<'_>) -> Option<ArrivalPattern> {
    let classes = fields.required("classes", |place| place.list(ArrivalPattern::read_of_class))?;
    Some(ArrivalPattern::ByClass { classes })
}

impl RateStage {
    fn read(place: SpecValue<'_>) -> Option<Self> {
        place.table("a stage", |fields| {
            let duration_s = fields.required("duration_s", |place| place.number(SECONDS));
            let from_rate_per_s = fields.required("from_rate_per_s", |place| place.number(RATE_OR_NONE));
            let flat = from_rate_per_s.unwrap_or_default();
            let to_rate_per_s = fields.optional("to_rate_per_s", flat, |place| place.number(RATE_OR_NONE));
            Some(Self {
                duration_s: duration_s?,
                from_rate_per_s: from_rate_per_s?,
                to_rate_per_s: to_rate_per_s?,
            })
        })
    }
}

impl RateState {
    fn read(place: SpecValue<'_>) -> Option<Self> {
        place.table("a state", |fields| {
            let rate_per_s = fields.required("rate_per_s", |place| place.number(RATE_OR_NONE));
            let mean_s = fields.required("mean_s", |place| place.number(STATE_S));
            Some(Self { rate_per_s: rate_per_s?, mean_s: mean_s? })
        })
    }
}

impl Spike {
    fn read(place: SpecValue<'_>) -> Option<Self> {
        place.table("a spike", |fields| {
            let at_s = fields.required("at_s", |place| place.number(SECONDS_OR_NONE));
            let rate_per_s = fields.required("rate_per_s", |place| place.number(RATE_OR_NONE));
            let rise_s = fields.optional("rise_s", 0.0, |place| place.number(SECONDS_OR_NONE));
            let hold_s = fields.required("hold_s", |place| place.number(SECONDS_OR_NONE));
            let fall_s = fields.optional("fall_s", 0.0, |place| place.number(SECONDS_OR_NONE));
            let spike = Self {
                at_s: at_s?,
                rate_per_s: rate_per_s?,
                rise_s: rise_s?,
                hold_s: hold_s?,
                fall_s: fall_s?,
            };
            if spike.end_s() > spike.at_s {
                return Some(spike);
            }
            fields.complain("lasts no time; give it a rise, a hold or a fall");
            None
        })
    }
}

impl Client {
    fn read(place: SpecValue<'_>) -> Option<Self> {
        place.table("a client", |fields| {
            let rate_per_s = rate(fields);
            let cv = fields.optional("cv", 1.0, |place| place.number(CV));
            let gaps = fields.optional("gaps", GapFamily::default(), GapFamily::read);
            Some(Self { rate_per_s: rate_per_s?, cv: cv?, gaps: gaps? })
        })
    }
}

impl GapFamily {
    fn read(place: SpecValue<'_>) -> Option<Self> {
        place.choice(&[("gamma", Self::Gamma), ("weibull", Self::Weibull)])
    }
}

impl RateSpread {
    fn read(place: SpecValue<'_>) -> Option<Self> {
        place.tagged(
            "spread",
            &[
                ("equal", |_| Some(Self::Equal)),
                ("zipf", |fields| {
                    let exponent = fields.required("exponent", |place| place.number(SKEW))?;
                    Some(Self::Zipf { exponent })
                }),
                ("log_normal", |fields| {
                    let sigma = fields.required("sigma", |place| place.number(SIGMA))?;
                    Some(Self::LogNormal { sigma })
                }),
            ],
        )
    }
}
