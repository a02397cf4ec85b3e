//! When requests arrive.

use serde::Serialize;

use super::clients::{Client, RateSpread};
use super::gaps::GapFamily;
use super::think_time::ThinkTime;
use crate::workload::trace::findings::TraceFindings;
use crate::workload::trace::source::Trace;

/// The arrival process of requests. Rates are requests per second.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
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

/// One state of [`ArrivalPattern::Markov`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RateState {
    /// Requests per second in this state; may be 0.
    pub rate_per_s: f64,
    /// Mean time until the next state, seconds.
    pub mean_s: f64,
}

/// One spike of [`ArrivalPattern::Spikes`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Spike {
    /// When the rate leaves the base rate, seconds since the start of the run.
    pub at_s: f64,
    /// Requests per second at the top.
    pub rate_per_s: f64,
    /// Seconds of the linear rise; 0, a jump, when the file gives none.
    pub rise_s: f64,
    /// Seconds at the top.
    pub hold_s: f64,
    /// Seconds of the linear fall; 0, a jump, when the file gives none.
    pub fall_s: f64,
}

/// One stage of [`ArrivalPattern::Stages`]: the rate changes linearly from `from_rate_per_s` to `to_rate_per_s`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RateStage {
    /// Length, seconds.
    pub duration_s: f64,
    /// Requests per second at its start.
    pub from_rate_per_s: f64,
    /// Requests per second at its end; as at its start, if the file does not say.
    pub to_rate_per_s: f64,
}

impl Spike {
    /// When the rate is back at the base rate, seconds since the start of the run.
    #[must_use]
    pub fn end_s(&self) -> f64 {
        self.at_s + self.rise_s + self.hold_s + self.fall_s
    }

    /// These spikes over a base rate as stages, the last of which never ends.
    #[must_use]
    pub fn stages(base_rate_per_s: f64, spikes: &[Self]) -> Vec<RateStage> {
        let base = base_rate_per_s;
        let mut stages = Vec::new();
        let mut add = |duration_s: f64, from_rate_per_s, to_rate_per_s| {
            if duration_s > 0.0 {
                stages.push(RateStage { duration_s, from_rate_per_s, to_rate_per_s });
            }
        };
        let mut now = 0.0;
        for spike in spikes {
            add(spike.at_s - now, base, base);
            add(spike.rise_s, base, spike.rate_per_s);
            add(spike.hold_s, spike.rate_per_s, spike.rate_per_s);
            add(spike.fall_s, spike.rate_per_s, base);
            now = spike.end_s();
        }
        add(f64::INFINITY, base, base);
        stages
    }
}

impl ArrivalPattern {
    /// Shortest wait of a closed-loop user after a failed request, seconds: without it a server that refuses at once
    /// would get requests without end.
    pub const AFTER_FAILURE_S: f64 = 1.0;

    /// Closed-loop users with the default ramp.
    #[must_use]
    pub fn of_users(users: u64, think_time_s: ThinkTime) -> Self {
        Self::Users { users, think_time_s, ramp_s: Self::usual_ramp_s(users) }
    }

    pub(super) fn usual_ramp_s(users: u64) -> f64 {
        (users as f64 / 20.0).min(5.0)
    }

    /// Number of closed-loop users; `None` in an open loop.
    #[must_use]
    pub const fn users(&self) -> Option<u64> {
        match self {
            Self::Users { users, .. } => Some(*users),
            _ => None,
        }
    }

    /// The replayed trace, if any.
    #[must_use]
    pub fn trace(&self) -> Option<&Trace> {
        match self {
            Self::Trace(trace) => Some(trace),
            _ => None,
        }
    }

    /// Whether both declare the same arrivals, ignoring what was found in a trace under each seed.
    #[must_use]
    pub fn declares(&self, other: &Self) -> bool {
        let unread = |trace: &Trace| Trace { found: None, ..trace.clone() };
        match (self.trace(), other.trace()) {
            (Some(own), Some(others)) => unread(own) == unread(others),
            _ => self == other,
        }
    }

    /// What was found in the replayed trace, if any.
    #[must_use]
    pub fn found(&self) -> Option<&TraceFindings> {
        self.trace()?.found.as_ref()
    }
}
