//! Draws where in the middle of their sessions agents begin.

use crate::clock::Timestamp;
use crate::generator::graph::resumed::Middle;
use crate::generator::graph::session::SessionGraph;
use crate::random::RandomStream;
use crate::record::Turn;
use crate::workload::{ArrivalPattern, CacheState, RequestClass, SessionRules, WorkloadSpec};

/// Moments in the middle of sessions at which lanes begin.
///
/// Draws come from the stream `starts/CLASS`, each from the branch of its opener's index.
#[derive(Debug)]
pub(super) struct SessionStarts {
    rules: SessionRules,
    window: [f64; 2],
    stream: RandomStream,
    /// Lanes, the time in which they begin, and the end of the priming.
    primed: Option<(u64, f64, Timestamp)>,
}

impl SessionStarts {
    /// `None` where sessions of the class begin at their beginning.
    pub(super) fn new(workload: &WorkloadSpec, class: &RequestClass) -> Option<Self> {
        let rules = class.session_rules()?;
        let window = rules.start?;
        let stream = RandomStream::named(workload.seed, &format!("starts/{}", class.name));
        let primed = match workload.arrival {
            ArrivalPattern::Users { users, ramp_s, .. } if workload.cache == Some(CacheState::Primed) => {
                Some((users, ramp_s, Timestamp::from_secs_f64(workload.warmup_s)))
            }
            _ => None,
        };
        Some(Self { rules, window, stream, primed })
    }

    /// The graph of the session that request `opener` begins, from where that begins. It is `None` of a session that
    /// begins at its beginning, as does one of which nothing has room.
    pub(super) fn resumed(&self, opener: u64, graph: &SessionGraph) -> Option<SessionGraph> {
        let from = || graph.resumed(self.middle(opener, graph), |at| self.rules.delay(at));
        Self::is_first(opener).then(from).filter(|graph| graph.len() > 0)
    }

    /// Whether request `opener` begins the first session of its lane.
    pub(super) const fn is_first(opener: u64) -> bool {
        Turn::number_of(opener) == 0
    }

    fn middle(&self, opener: u64, graph: &SessionGraph) -> Middle {
        let [from, to] = self.window;
        let share = from + (to - from) * self.stream.branch(opener).unit();
        let begins = |(lanes, ramp_s, middle): (u64, f64, Timestamp)| {
            middle.since(Timestamp::from_secs_f64(ramp_s * opener as f64 / lanes as f64))
        };
        let most_tokens = self.rules.max_context_tokens.map_or(u64::MAX, u64::from);
        let at = graph.recorded_length(most_tokens).mul_f64(share);
        Middle { at, most_tokens, priming: self.primed.map(begins) }
    }
}
