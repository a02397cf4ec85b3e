//! When requests arrive.

use serde::Serialize;

use super::clients::{Client, RateSpread};
use super::gaps::GapFamily;
use super::think_time::ThinkTime;
use crate::workload::trace::findings::TraceFindings;
use crate::workload::trace::source::Trace;

/// The process by which requests arrive. Rates are requests per second.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ArrivalPattern {
    /// Independent users: exponential gaps with mean 1/rate.
    Poisson {
        /// Requests per second.
        rate_per_s: f64,
    },
    /// A metronome: every gap is 1/rate; the first request leaves after one gap.
    Constant {
        /// Requests per second.
        rate_per_s: f64,
    },
    /// Gamma gaps with mean 1/rate; `burstiness` is the gamma shape as in vLLM's `--burstiness`: 1 is Poisson,
    /// below 1 is burstier, above 1 more regular. The gaps' coefficient of variation is 1/√burstiness; a file may
    /// give it, as `cv`, in place of burstiness.
    Gamma {
        /// Requests per second.
        rate_per_s: f64,
        /// Gamma shape.
        burstiness: f64,
    },
    /// Weibull gaps with mean 1/rate: the other family that measured gaps follow (`ServeGen`, arXiv 2505.09999).
    Weibull {
        /// Requests per second.
        rate_per_s: f64,
        /// Weibull shape: 1 is Poisson, below 1 is burstier, above 1 more regular. The gaps' coefficient of variation
        /// is √(Γ(1 + 2/shape) ÷ Γ(1 + 1/shape)² − 1).
        shape: f64,
    },
    /// A Poisson process whose rate steps between two values: each period begins with `base_s` seconds at the
    /// base rate and goes on with `burst_s` seconds at the burst rate.
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
    /// A Poisson process whose rate follows stages in time, one after the other; when the last has ended, its
    /// final rate goes on.
    Stages {
        /// The stages, in order; at least one.
        stages: Vec<RateStage>,
    },
    /// The very moments of a recorded trace, which brings the lengths of its requests along. In a file it may also
    /// stand by itself, as the table `trace`.
    Trace(Box<Trace>),
    /// A Markov-modulated Poisson process: it stays in each state for an exponential time, at the state's rate, and
    /// goes on to the next in the list, from the last to the first. The state it begins in is drawn by how much time
    /// each takes in the long run, so the mean rate holds from the first second.
    Markov {
        /// The states, in order; at least two.
        states: Vec<RateState>,
    },
    /// A Poisson process whose rate swings as the day does:
    /// rate(t) = `rate_per_s` · (1 + `amplitude` · sin(2π(t + `phase_s`) / `period_s`)).
    Diurnal {
        /// Mean requests per second.
        rate_per_s: f64,
        /// The swing as a share of the mean, up to 1: then the rate rests at 0 for a moment.
        amplitude: f64,
        /// Length of a period in seconds.
        period_s: f64,
        /// How far into the period the run begins, seconds: at 0 the rate is the mean and rising, at a quarter of
        /// the period it is highest. 0 when the file gives none.
        phase_s: f64,
    },
    /// A Poisson process at a base rate with spikes at given moments.
    Spikes {
        /// Requests per second before, between and after the spikes.
        base_rate_per_s: f64,
        /// The spikes, in order, none beginning before the one before has ended; at least one.
        spikes: Vec<Spike>,
    },
    /// Clients with rates and gaps of their own, superposed. Each is under way when the run begins: its first gap is
    /// what is left of one, so no common start shows.
    Clients {
        /// The clients; at least one.
        clients: Vec<Client>,
    },
    /// As [`ArrivalPattern::Clients`], with a total rate shared out among many of them.
    Population {
        /// Requests per second of all clients together.
        rate_per_s: f64,
        /// How many clients.
        clients: u64,
        /// How the rate is shared out; a Zipf law with exponent 1 when the file gives none.
        rates: RateSpread,
        /// Coefficient of variation of every client's gaps; 1 when the file gives none.
        cv: f64,
        /// Family of the gaps; gamma when the file gives none.
        gaps: GapFamily,
    },
    /// Closed loop: so many users, each of whom sends a request, waits for its answer, thinks and sends the next, from
    /// the run's start to its end. How many requests come of it is the server's doing: a slow one is asked less. After a
    /// failure a user waits at least [`ArrivalPattern::AFTER_FAILURE_S`]. Of a class with a conversation a user holds
    /// one after another.
    Users {
        /// How many.
        users: u64,
        /// From the end of an answer to the user's next request, or the next conversation; none when the file gives none.
        think_time_s: ThinkTime,
        /// Users begin evenly spread over this many seconds, the first at once. When the file gives none: a twentieth
        /// of a second for each, 5 s at most, so that they do not begin in one instant.
        ramp_s: f64,
    },
    /// A process for each class, superposed. In a file each class has its own `arrival`.
    ByClass {
        /// One for each class of the workload, in the same order; none is itself of this kind.
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
    /// When the rate leaves the base rate, seconds since the run began.
    pub at_s: f64,
    /// Requests per second at the top.
    pub rate_per_s: f64,
    /// Seconds of the straight way up; 0, a jump, when the file gives none.
    pub rise_s: f64,
    /// Seconds at the top.
    pub hold_s: f64,
    /// Seconds of the straight way down; 0, a jump, when the file gives none.
    pub fall_s: f64,
}

/// One stage of [`ArrivalPattern::Stages`]: the rate goes linearly from `from_rate_per_s` to `to_rate_per_s`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RateStage {
    /// Length in seconds.
    pub duration_s: f64,
    /// Requests per second when the stage begins.
    pub from_rate_per_s: f64,
    /// Requests per second when the stage ends; as when it begins, if the file does not say.
    pub to_rate_per_s: f64,
}

impl Spike {
    /// When the rate is back at the base rate, seconds since the run began.
    #[must_use]
    pub fn end_s(&self) -> f64 {
        self.at_s + self.rise_s + self.hold_s + self.fall_s
    }

    /// The rate with these spikes over this base as stages, the last of which never ends.
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
    /// The shortest wait of a closed-loop user after a request that failed, seconds: a server that refuses at once would
    /// be asked without end.
    pub const AFTER_FAILURE_S: f64 = 1.0;

    /// So many closed-loop users, who begin as in a file that does not say how.
    #[must_use]
    pub fn of_users(users: u64, think_time_s: ThinkTime) -> Self {
        Self::Users { users, think_time_s, ramp_s: Self::usual_ramp_s(users) }
    }

    pub(super) fn usual_ramp_s(users: u64) -> f64 {
        (users as f64 / 20.0).min(5.0)
    }

    /// How many users take turns with the server, where the loop is closed.
    #[must_use]
    pub const fn users(&self) -> Option<u64> {
        match self {
            Self::Users { users, .. } => Some(*users),
            _ => None,
        }
    }

    /// The trace that is replayed, if one is.
    #[must_use]
    pub fn trace(&self) -> Option<&Trace> {
        match self {
            Self::Trace(trace) => Some(trace),
            _ => None,
        }
    }

    /// Whether both say the same of when requests arrive, whatever was found in a trace under the seed of each.
    #[must_use]
    pub fn declares(&self, other: &Self) -> bool {
        let unread = |trace: &Trace| Trace { found: None, ..trace.clone() };
        match (self.trace(), other.trace()) {
            (Some(own), Some(others)) => unread(own) == unread(others),
            _ => self == other,
        }
    }

    /// What was found in that trace; none where no trace is replayed.
    #[must_use]
    pub fn found(&self) -> Option<&TraceFindings> {
        self.trace()?.found.as_ref()
    }
}
