//! When requests arrive: the declared processes, and how they are read from a spec.

use super::clients::{CV, Client, GapFamily, GapForm, RateSpread};
use super::stages::{RATE_OR_NONE, RateStage, RateState, SECONDS_OR_NONE, Spike};
use super::think_time::ThinkTime;
use crate::workload::reading::fields::Fields;
use crate::workload::reading::spec_kinds;
use crate::workload::reading::value::{Allowed, RATE, SECONDS, SpecValue, USERS};
use crate::workload::trace::findings::TraceFindings;
use crate::workload::trace::source::Trace;

/// Range of the burstiness. Below 0.01 nearly all requests come in one clump; above 1000 the gaps are constant to 3 %.
pub(in crate::workload) const BURSTINESS: Allowed = Allowed::from(0.01, 1000.0);
/// Coefficients of variation from 8.3 down to 0.013.
const WEIBULL_SHAPE: Allowed = Allowed::from(0.25, 100.0);
/// Above 0: without a swing it is a Poisson process.
const AMPLITUDE: Allowed = Allowed::above(0.0, 1.0);
/// Most clients: each holds a random stream in memory.
const MOST_CLIENTS: u32 = 10_000;
const CLIENTS: Allowed = Allowed::from(1.0, MOST_CLIENTS as f64);

/// Number of processes at the end of the kinds that no class may have. Of those, the second number says how many only
/// run logs contain, where files have `[trace]` or arrivals of their classes.
const OF_A_WORKLOAD: (usize, usize) = (3, 2);

spec_kinds! {
    /// The arrival process of requests. Rates are requests per second.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum ArrivalPattern = "arrival" {
        /// Independent users: exponential gaps with mean 1/rate.
        "poisson" Poisson {
            /// Requests per second.
            rate_per_s: f64 = required(|value| value.number(RATE)),
        },
        /// Equal gaps of 1/rate; the first request leaves after one gap.
        "constant" Constant {
            /// Requests per second.
            rate_per_s: f64 = required(|value| value.number(RATE)),
        },
        /// Gamma gaps with mean 1/rate. `burstiness` is the gamma shape as in vLLM's `--burstiness`: 1 is Poisson,
        /// below 1 is burstier, above 1 more regular. The gaps' coefficient of variation is 1/√burstiness; a file may
        /// give it as `cv` instead of `burstiness`.
        "gamma" Gamma {
            /// Requests per second.
            rate_per_s: f64 = required(|value| value.number(RATE)),
            /// Gamma shape.
            burstiness: f64 = shape_or_cv(BURSTINESS, GapFamily::Gamma),
        },
        /// Weibull gaps with mean 1/rate, the other family that fits measured gaps (`ServeGen`, arXiv 2505.09999).
        "weibull" Weibull {
            /// Requests per second.
            rate_per_s: f64 = required(|value| value.number(RATE)),
            /// Weibull shape: 1 is Poisson, below 1 is burstier, above 1 more regular. The gaps' coefficient of
            /// variation is √(Γ(1 + 2/shape) ÷ Γ(1 + 1/shape)² − 1).
            shape: f64 = shape_or_cv(WEIBULL_SHAPE, GapFamily::Weibull),
        },
        /// A Poisson process whose rate alternates between two values. Each period has `base_s` seconds at the base
        /// rate, then `burst_s` seconds at the burst rate.
        "bursts" Bursts {
            /// Requests per second between bursts; may be 0.
            base_rate_per_s: f64 = required(|value| value.number(RATE_OR_NONE)),
            /// Requests per second inside a burst.
            burst_rate_per_s: f64 = required(|value| value.number(RATE)),
            /// Seconds at the base rate in each period.
            base_s: f64 = required(|value| value.number(SECONDS)),
            /// Seconds at the burst rate in each period.
            burst_s: f64 = required(|value| value.number(SECONDS)),
        },
        /// A Poisson process whose rate follows stages in time. After the last stage its final rate continues.
        "stages" Stages {
            /// The stages, in order; at least one.
            stages: Vec<RateStage> = required(|value| value.list(RateStage::read)),
        } then(some_rate),
        /// A Markov-modulated Poisson process. It stays in each state for an exponential time, at the state's rate,
        /// then moves to the next state in the list, and from the last to the first. The initial state is drawn by the
        /// long-run share of time in each state, so the mean rate holds from the first second.
        "markov" Markov {
            /// The states, in order; at least two.
            states: Vec<RateState> = required(|value| value.list(RateState::read)),
        } check(fields) {
            if states.as_ref()?.len() < 2 {
                return fields.reject_of("states", "has one state, between which nothing changes; give two or more");
            }
        } then(some_rate),
        /// A Poisson process whose rate follows a sine, as over a day. Its rate is rate(t) = `rate_per_s` · (1 +
        /// `amplitude` · sin(2π(t + `phase_s`) / `period_s`)).
        "diurnal" Diurnal {
            /// Mean requests per second.
            rate_per_s: f64 = required(|value| value.number(RATE)),
            /// Amplitude as a share of the mean, up to 1. At 1 the rate touches 0.
            amplitude: f64 = required(|value| value.number(AMPLITUDE)),
            /// Length of a period in seconds.
            period_s: f64 = required(|value| value.number(SECONDS)),
            /// Offset into the period at the start of the run, seconds. At 0 the rate is at its mean and rising, at a
            /// quarter of the period it is at its maximum. 0 when the file gives none.
            phase_s: f64 = optional(0.0, |value| value.number(SECONDS_OR_NONE)),
        },
        /// A Poisson process at a base rate with spikes at given moments.
        "spikes" Spikes {
            /// Requests per second before, between and after the spikes.
            base_rate_per_s: f64 = required(|value| value.number(RATE)),
            /// The spikes, in order and without overlap; at least one.
            spikes: Vec<Spike> = required(spikes_in_order),
        },
        /// Superposed clients with their own rates and gaps. Each client is already active when the run begins: its
        /// first gap is the rest of one, so they do not start together.
        "clients" Clients {
            /// The clients; at least one.
            clients: Vec<Client> = required(|value| value.list(Client::read)),
        } then(few_clients),
        /// Arrivals as [`ArrivalPattern::Clients`], with a total rate divided among many clients.
        "population" Population {
            /// Requests per second of all clients together.
            rate_per_s: f64 = required(|value| value.number(RATE)),
            /// How many clients.
            clients: u64 = required(|value| value.whole(CLIENTS)),
            /// Division of the rate. It is a Zipf law with exponent 1 when the file gives none.
            rates: RateSpread = optional(RateSpread::default(), RateSpread::read),
            /// Coefficient of variation of every client's gaps; 1 when the file gives none.
            cv: f64 = optional(1.0, |value| value.number(CV)),
            /// Family of the gaps; gamma when the file gives none.
            gaps: GapFamily = optional(GapFamily::Gamma, |value| value.variant()),
        },
        /// Closed loop. Each user sends a request, waits for the answer, thinks and sends the next, from the start of
        /// the run to its end. The server decides how many requests that makes: a slower server receives fewer. After a
        /// failure a user waits at least [`ArrivalPattern::AFTER_FAILURE_S`]. In a class with conversations a user
        /// holds one after another.
        "users" Users {
            /// How many.
            users: u64 = required(|value| value.whole(USERS)),
            /// Time from an answer's end to the user's next request or conversation. It is 0 when the file gives none.
            think_time_s: ThinkTime = optional(ThinkTime::default(), ThinkTime::read_or_constant),
            /// Users start evenly spread over this many seconds, the first at once. When the file gives none: a
            /// twentieth of a second per user, at most 5 s, so that they do not start together.
            ramp_s: f64 = optional(Self::default_ramp_s(users.unwrap_or(1)), |value| value.number(SECONDS_OR_NONE)),
        },
        /// The exact moments of a recorded trace, which also gives the lengths of its requests. In a file it may also
        /// be given as the table `trace`.
        "trace" Trace(Box<Trace> = boxed_trace),
        /// One process per class, superposed. In a file each class has its own `arrival`.
        "by_class" ByClass {
            /// One process for each class of the workload. They are in the same order, never of this kind itself.
            classes: Vec<ArrivalPattern> = required(|value| value.list(ArrivalPattern::read_of_class)),
        },
    }
}

impl ArrivalPattern {
    /// Shortest wait of a closed-loop user after a failed request, seconds. Without it a server that refuses at once
    /// would get requests without end.
    pub const AFTER_FAILURE_S: f64 = 1.0;

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

    /// Returns whether both declare the same arrivals. It ignores what was found in a trace under each seed.
    pub fn declares(&self, other: &Self) -> bool {
        let unread = |trace: &Trace| Trace { found: None, ..trace.clone() };
        match (self.trace(), other.trace()) {
            (Some(own), Some(others)) => unread(own) == unread(others),
            _ => self == other,
        }
    }

    /// Returns the findings of the replayed trace, if any.
    pub fn found(&self) -> Option<&TraceFindings> {
        self.trace()?.found.as_ref()
    }

    /// Reads the process of a workload.
    pub(in crate::workload) fn read_of_workload(value: SpecValue<'_>) -> Option<Self> {
        let hidden = if let Some("trace" | "by_class") = value.field("kind") { 0 } else { OF_A_WORKLOAD.1 };
        value.tagged(Self::NOUN, Self::KINDS.get(..Self::KINDS.len() - hidden)?)
    }

    /// Reads the process of one class.
    pub(in crate::workload) fn read_of_class(value: SpecValue<'_>) -> Option<Self> {
        value.tagged(Self::NOUN, Self::KINDS.get(..Self::KINDS.len() - OF_A_WORKLOAD.0)?)
    }
}

impl Fields<'_> {
    /// Reads the shape of gaps, given as such or by their coefficient of variation.
    fn shape_or_cv(&mut self, name: &'static str, allowed: Allowed, family: GapFamily) -> Option<f64> {
        let shape = self.option(name, |value| value.number(allowed));
        let cv = self.option("cv", |value| value.number(CV));
        match (shape?, cv?) {
            (Some(shape), None) => Some(shape),
            (None, Some(cv)) => Some(match family.with_cv(cv) {
                GapForm::Gamma(shape) | GapForm::Weibull(shape) => shape,
            }),
            (None, None) => {
                let cure = "give it, or `cv`, the coefficient of variation of the gaps";
                self.reject_of(name, &format!("is missing; {cure}"))
            }
            (Some(_), Some(_)) => self.reject_of("cv", &format!("repeats `{name}`; keep one of them")),
        }
    }
}

/// Refuses a pattern whose rate is always zero.
fn some_rate(fields: &Fields<'_>, pattern: &ArrivalPattern) -> Option<()> {
    if pattern.mean_rate_per_s() > 0.0 {
        return Some(());
    }
    let (name, item) = match pattern {
        ArrivalPattern::Markov { .. } => ("states", "state"),
        _ => ("stages", "stage"),
    };
    let sentence = format!("has a rate of 0 throughout; give at least one {item} a rate above 0");
    fields.reject_of(name, &sentence)
}

fn spikes_in_order(value: SpecValue<'_>) -> Option<Vec<Spike>> {
    let mut free_from = 0.0;
    value.list(|value| {
        let spike = Spike::read(value)?;
        if spike.at_s < free_from {
            value.complain(&format!(
                "begins at {} s, and the spike before it ends at {free_from} s; put spikes in order, each after the \
                 end of the last",
                spike.at_s
            ));
        }
        free_from = spike.end_s();
        Some(spike)
    })
}

/// Refuses more clients, or a higher total rate, than a run can have. The rate is that of all clients.
fn few_clients(fields: &Fields<'_>, pattern: &ArrivalPattern) -> Option<()> {
    let ArrivalPattern::Clients { clients } = pattern else { return Some(()) };
    let total = pattern.mean_rate_per_s();
    if clients.len() as f64 <= f64::from(MOST_CLIENTS) && RATE.has(total) {
        return Some(());
    }
    let sentence = format!(
        "has {} clients that send {total} requests/s together; the most is {MOST_CLIENTS} clients and a rate {RATE}",
        clients.len()
    );
    fields.reject_of("clients", &sentence)
}

fn boxed_trace(fields: &mut Fields<'_>) -> Option<Box<Trace>> {
    Trace::read_fields(fields).map(Box::new)
}
