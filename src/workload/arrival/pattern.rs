//! When requests arrive: the declared processes, and how they are read from a spec.

use serde::Serialize;
use strum::IntoStaticStr;

use super::clients::{CV, Client, GapFamily, GapForm, RateSpread};
use super::stages::{RATE_OR_NONE, RateStage, RateState, SECONDS_OR_NONE, Spike};
use super::think_time::ThinkTime;
use crate::workload::reading::fields::Fields;
use crate::workload::reading::value::{Allowed, RATE, SECONDS, SpecValue, USERS};
use crate::workload::trace::findings::TraceFindings;
use crate::workload::trace::source::Trace;

/// Below 0.01 nearly all requests come in one clump; above 1000 the gaps are constant to 3 %.
pub(in crate::workload) const BURSTINESS: Allowed = Allowed::from(0.01, 1000.0);
/// Coefficients of variation from 8.3 down to 0.013.
const WEIBULL_SHAPE: Allowed = Allowed::from(0.25, 100.0);
/// Above 0: without a swing it is a Poisson process.
const AMPLITUDE: Allowed = Allowed::above(0.0, 1.0);
/// Most clients: each holds a random stream in memory.
const MOST_CLIENTS: u32 = 10_000;
const CLIENTS: Allowed = Allowed::from(1.0, MOST_CLIENTS as f64);

/// Reads the fields of one kind.
type KindReader = fn(&mut Fields<'_>) -> Option<ArrivalPattern>;

/// Processes that a class may have; then one that only a workload may have; then two that only run logs contain,
/// where files have `[trace]` or arrivals of their classes.
const KINDS: [(&str, KindReader); 14] = [
    ("poisson", |fields| Some(ArrivalPattern::Poisson { rate_per_s: rate(fields) })),
    ("constant", |fields| Some(ArrivalPattern::Constant { rate_per_s: rate(fields) })),
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

/// The arrival process of requests. Rates are requests per second.
#[derive(Clone, Debug, PartialEq, Serialize, IntoStaticStr)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ArrivalPattern {
    /// Independent users: exponential gaps with mean 1/rate.
    Poisson {
        /// Requests per second.
        rate_per_s: f64,
    },
    /// Equal gaps of 1/rate; the first request leaves after one gap.
    Constant {
        /// Requests per second.
        rate_per_s: f64,
    },
    /// Gamma gaps with mean 1/rate; `burstiness` is the gamma shape as in vLLM's `--burstiness`: 1 is Poisson, below
    /// 1 is burstier, above 1 more regular. The gaps' coefficient of variation is 1/√burstiness; a file may give it
    /// as `cv` instead of `burstiness`.
    Gamma {
        /// Requests per second.
        rate_per_s: f64,
        /// Gamma shape.
        burstiness: f64,
    },
    /// Weibull gaps with mean 1/rate, the other family that fits measured gaps (`ServeGen`, arXiv 2505.09999).
    Weibull {
        /// Requests per second.
        rate_per_s: f64,
        /// Weibull shape: 1 is Poisson, below 1 is burstier, above 1 more regular. The gaps' coefficient of variation
        /// is √(Γ(1 + 2/shape) ÷ Γ(1 + 1/shape)² − 1).
        shape: f64,
    },
    /// A Poisson process whose rate alternates between two values: each period has `base_s` seconds at the base rate,
    /// then `burst_s` seconds at the burst rate.
    Bursts {
        /// Requests per second between bursts; may be 0.
        base_rate_per_s: f64,
        /// Requests per second inside a burst.
        burst_rate_per_s: f64,
        /// Seconds at the base rate in each period.
        base_s: f64,
        /// Seconds at the burst rate in each period.
        burst_s: f64,
    },
    /// A Poisson process whose rate follows stages in time; after the last stage its final rate continues.
    Stages {
        /// The stages, in order; at least one.
        stages: Vec<RateStage>,
    },
    /// The exact moments of a recorded trace, which also gives the lengths of its requests. In a file it may also be
    /// given as the table `trace`.
    Trace(Box<Trace>),
    /// A Markov-modulated Poisson process. It stays in each state for an exponential time, at the state's rate, then
    /// moves to the next state in the list, and from the last to the first. The initial state is drawn by the
    /// long-run share of time in each state, so the mean rate holds from the first second.
    Markov {
        /// The states, in order; at least two.
        states: Vec<RateState>,
    },
    /// A Poisson process whose rate follows a sine, as over a day: rate(t) = `rate_per_s` · (1 + `amplitude` ·
    /// sin(2π(t + `phase_s`) / `period_s`)).
    Diurnal {
        /// Mean requests per second.
        rate_per_s: f64,
        /// The amplitude as a share of the mean, up to 1, where the rate touches 0.
        amplitude: f64,
        /// Length of a period in seconds.
        period_s: f64,
        /// Offset into the period at the start of the run, seconds: at 0 the rate is at its mean and rising, at a
        /// quarter of the period it is at its maximum. 0 when the file gives none.
        phase_s: f64,
    },
    /// A Poisson process at a base rate with spikes at given moments.
    Spikes {
        /// Requests per second before, between and after the spikes.
        base_rate_per_s: f64,
        /// The spikes, in order and without overlap; at least one.
        spikes: Vec<Spike>,
    },
    /// Superposed clients with their own rates and gaps. Each client is already active when the run begins: its first
    /// gap is the rest of one, so they do not start together.
    Clients {
        /// The clients; at least one.
        clients: Vec<Client>,
    },
    /// As [`ArrivalPattern::Clients`], with a total rate divided among many clients.
    Population {
        /// Requests per second of all clients together.
        rate_per_s: f64,
        /// How many clients.
        clients: u64,
        /// How the rate is divided; a Zipf law with exponent 1 when the file gives none.
        rates: RateSpread,
        /// Coefficient of variation of every client's gaps; 1 when the file gives none.
        cv: f64,
        /// Family of the gaps; gamma when the file gives none.
        gaps: GapFamily,
    },
    /// Closed loop: each user sends a request, waits for the answer, thinks and sends the next, from the start of the
    /// run to its end. The server decides how many requests that makes: a slower server receives fewer. After a
    /// failure a user waits at least [`ArrivalPattern::AFTER_FAILURE_S`]. In a class with conversations a user holds
    /// one after another.
    Users {
        /// How many.
        users: u64,
        /// Time from the end of an answer to the user's next request or conversation; 0 when the file gives none.
        think_time_s: ThinkTime,
        /// Users start evenly spread over this many seconds, the first at once. When the file gives none: a twentieth
        /// of a second per user, at most 5 s, so that they do not start together.
        ramp_s: f64,
    },
    /// One process per class, superposed. In a file each class has its own `arrival`.
    ByClass {
        /// One process for each class of the workload, in the same order, never of this kind itself.
        classes: Vec<ArrivalPattern>,
    },
}

impl ArrivalPattern {
    /// Shortest wait of a closed-loop user after a failed request, seconds: without it a server that refuses at once
    /// would get requests without end.
    pub const AFTER_FAILURE_S: f64 = 1.0;

    /// Its kind in specs.
    pub fn kind(&self) -> &'static str {
        self.into()
    }

    /// Closed-loop users with the default ramp.
    pub fn of_users(users: u64, think_time_s: ThinkTime) -> Self {
        Self::Users { users, think_time_s, ramp_s: Self::default_ramp_s(users) }
    }

    fn default_ramp_s(users: u64) -> f64 {
        (users as f64 / 20.0).min(5.0)
    }

    /// Number of closed-loop users; `None` in an open loop.
    pub const fn users(&self) -> Option<u64> {
        match self {
            Self::Users { users, .. } => Some(*users),
            _ => None,
        }
    }

    /// Whether the rate is the same at every moment, and no request brings others.
    pub fn is_even(&self) -> bool {
        match self {
            Self::Poisson { .. }
            | Self::Constant { .. }
            | Self::Gamma { .. }
            | Self::Weibull { .. }
            | Self::Clients { .. }
            | Self::Population { .. } => true,
            Self::ByClass { classes } => classes.iter().all(Self::is_even),
            _ => false,
        }
    }

    /// The replayed trace, if any.
    pub fn trace(&self) -> Option<&Trace> {
        match self {
            Self::Trace(trace) => Some(trace),
            _ => None,
        }
    }

    /// Whether both declare the same arrivals, ignoring what was found in a trace under each seed.
    pub fn declares(&self, other: &Self) -> bool {
        let unread = |trace: &Trace| Trace { found: None, ..trace.clone() };
        match (self.trace(), other.trace()) {
            (Some(own), Some(others)) => unread(own) == unread(others),
            _ => self == other,
        }
    }

    /// What was found in the replayed trace, if any.
    pub fn found(&self) -> Option<&TraceFindings> {
        self.trace()?.found.as_ref()
    }

    /// Reads the process of a workload.
    pub(in crate::workload) fn read(value: SpecValue<'_>) -> Option<Self> {
        if let Some("trace" | "by_class") = value.field("kind") {
            return value.tagged("arrival", &KINDS);
        }
        let [of_a_workload @ .., _trace, _by_class] = &KINDS;
        value.tagged("arrival", of_a_workload)
    }

    /// Reads the process of one class.
    pub(in crate::workload) fn read_of_class(value: SpecValue<'_>) -> Option<Self> {
        let [of_a_class @ .., _users, _trace, _by_class] = &KINDS;
        value.tagged("arrival", of_a_class)
    }
}

fn rate(fields: &mut Fields<'_>) -> f64 {
    fields.need("rate_per_s", |value| value.number(RATE))
}

fn gamma(fields: &mut Fields<'_>) -> Option<ArrivalPattern> {
    let rate_per_s = rate(fields);
    let burstiness = either_or_cv(fields, "burstiness", BURSTINESS, GapFamily::Gamma);
    Some(ArrivalPattern::Gamma { rate_per_s, burstiness: burstiness? })
}

fn weibull(fields: &mut Fields<'_>) -> Option<ArrivalPattern> {
    let rate_per_s = rate(fields);
    let shape = either_or_cv(fields, "shape", WEIBULL_SHAPE, GapFamily::Weibull);
    Some(ArrivalPattern::Weibull { rate_per_s, shape: shape? })
}

/// The shape of gaps, given as such or by their coefficient of variation.
fn either_or_cv(
    fields: &mut Fields<'_>,
    name: &'static str,
    allowed: Allowed,
    family: GapFamily,
) -> Option<f64> {
    let shape = fields.option(name, |value| value.number(allowed));
    let cv = fields.option("cv", |value| value.number(CV));
    match (shape?, cv?) {
        (Some(shape), None) => Some(shape),
        (None, Some(cv)) => Some(match family.with_cv(cv) {
            GapForm::Gamma(shape) | GapForm::Weibull(shape) => shape,
        }),
        (None, None) => {
            let cure = "give it, or `cv`, the coefficient of variation of the gaps";
            fields.reject_of(name, &format!("is missing; {cure}"))
        }
        (Some(_), Some(_)) => fields.reject_of("cv", &format!("repeats `{name}`; keep one of them")),
    }
}

fn bursts(fields: &mut Fields<'_>) -> Option<ArrivalPattern> {
    Some(ArrivalPattern::Bursts {
        base_rate_per_s: fields.need("base_rate_per_s", |value| value.number(RATE_OR_NONE)),
        burst_rate_per_s: fields.need("burst_rate_per_s", |value| value.number(RATE)),
        base_s: fields.need("base_s", |value| value.number(SECONDS)),
        burst_s: fields.need("burst_s", |value| value.number(SECONDS)),
    })
}

fn stages(fields: &mut Fields<'_>) -> Option<ArrivalPattern> {
    let stages = fields.required("stages", |value| value.list(RateStage::read))?;
    some_rate(fields, "stages", "stage", ArrivalPattern::Stages { stages })
}

fn markov(fields: &mut Fields<'_>) -> Option<ArrivalPattern> {
    let states = fields.required("states", |value| value.list(RateState::read))?;
    if states.len() < 2 {
        return fields.reject_of("states", "has one state, between which nothing changes; give two or more");
    }
    some_rate(fields, "states", "state", ArrivalPattern::Markov { states })
}

/// The pattern, unless its rate is always zero.
fn some_rate(fields: &Fields<'_>, name: &str, item: &str, pattern: ArrivalPattern) -> Option<ArrivalPattern> {
    if pattern.mean_rate_per_s() > 0.0 {
        return Some(pattern);
    }
    let sentence = format!("has a rate of 0 throughout; give at least one {item} a rate above 0");
    fields.reject_of(name, &sentence)
}

fn diurnal(fields: &mut Fields<'_>) -> Option<ArrivalPattern> {
    Some(ArrivalPattern::Diurnal {
        rate_per_s: rate(fields),
        amplitude: fields.need("amplitude", |value| value.number(AMPLITUDE)),
        period_s: fields.need("period_s", |value| value.number(SECONDS)),
        phase_s: fields.or("phase_s", 0.0, |value| value.number(SECONDS_OR_NONE)),
    })
}

fn spikes(fields: &mut Fields<'_>) -> Option<ArrivalPattern> {
    let base_rate_per_s = fields.required("base_rate_per_s", |value| value.number(RATE));
    let mut free_from = 0.0;
    let spikes = fields.required("spikes", |value| {
        value.list(|value| {
            let spike = Spike::read(value)?;
            if spike.at_s < free_from {
                value.complain(&format!(
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
    let clients = fields.required("clients", |value| value.list(Client::read))?;
    let total = clients.iter().map(|client| client.rate_per_s).sum();
    if clients.len() as f64 > f64::from(MOST_CLIENTS) || !RATE.has(total) {
        let sentence = format!(
            "has {} clients that send {total} requests/s together; the most is {MOST_CLIENTS} clients and a rate {RATE}",
            clients.len()
        );
        return fields.reject_of("clients", &sentence);
    }
    Some(ArrivalPattern::Clients { clients })
}

fn population(fields: &mut Fields<'_>) -> Option<ArrivalPattern> {
    Some(ArrivalPattern::Population {
        rate_per_s: rate(fields),
        clients: fields.need("clients", |value| value.whole(CLIENTS)),
        rates: fields.or("rates", RateSpread::default(), RateSpread::read),
        cv: fields.or("cv", 1.0, |value| value.number(CV)),
        gaps: fields.or("gaps", GapFamily::default(), |value| value.variant()),
    })
}

fn users(fields: &mut Fields<'_>) -> Option<ArrivalPattern> {
    let users = fields.required("users", |value| value.whole(USERS));
    let think_time_s = fields.optional("think_time_s", ThinkTime::default(), ThinkTime::read);
    let ramp_s = fields.option("ramp_s", |value| value.number(SECONDS_OR_NONE));
    let (users, think_time_s) = (users?, think_time_s?);
    let ramp_s = ramp_s?.unwrap_or_else(|| ArrivalPattern::default_ramp_s(users));
    Some(ArrivalPattern::Users { users, think_time_s, ramp_s })
}

fn by_class(fields: &mut Fields<'_>) -> Option<ArrivalPattern> {
    let classes = fields.required("classes", |value| value.list(ArrivalPattern::read_of_class))?;
    Some(ArrivalPattern::ByClass { classes })
}
