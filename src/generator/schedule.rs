//! Everything that a run will send, decided before it begins.

pub(super) mod plan_hash;

use std::sync::Arc;

use self::plan_hash::PlanHash;
use super::plan::Plan;
use super::request::{PlannedRequest, RequestSpec};
use super::sessions::SessionPlanner;
use crate::clock::Timestamp;
use crate::generator::datasets::sources::Datasets;
use crate::generator::prompts::builder::PromptBuilder;
use crate::generator::traces::requests::Blocks;
use crate::record::{Phase, PlanFacts, Turn};
use crate::workload::{LeavingPolicy, RequestClass, RetryPolicy, SaltScope, WorkloadSpec};

/// A workload drawn into requests: when each leaves, how long it is, what it says.
///
/// Drawing is deterministic: the same workload, seed included, gives the same schedule on every machine. Nothing is
/// kept in memory; every iterator draws the plan anew, which costs far less than sending it.
#[derive(Clone, Debug)]
pub struct Schedule {
    workload: Arc<WorkloadSpec>,
    datasets: Arc<Datasets>,
    /// The first index of this share of the plan.
    first: u64,
    /// The distance from one index of this share to the next.
    step: u64,
}

/// A shard that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no shard {shard} of {shards}; shards are numbered from 0 to one less than their number")]
pub struct ShardError {
    shard: u64,
    shards: u64,
}

impl Schedule {
    /// The whole schedule of `workload`, which must be valid. A class with a dataset has no requests here; it needs
    /// [`Schedule::draw_from`].
    pub fn draw(workload: &WorkloadSpec) -> Self {
        Self::draw_from(workload, Arc::default())
    }

    /// The whole schedule of `workload` with these datasets.
    pub fn draw_from(workload: &WorkloadSpec, datasets: Arc<Datasets>) -> Self {
        Self { workload: Arc::new(workload.clone()), datasets, first: 0, step: 1 }
    }

    /// The whole schedule of another valid `workload` with this one's datasets.
    #[must_use]
    pub fn of(&self, workload: &WorkloadSpec) -> Self {
        Self::draw_from(workload, Arc::clone(&self.datasets))
    }

    /// Every `shards`-th request of this schedule, beginning with number `shard`; of sessions, every `shards`-th
    /// session.
    ///
    /// The shards are a partition: each request is in exactly one of them, with its index and moment in the whole
    /// schedule.
    pub fn shard(&self, shard: u64, shards: u64) -> Result<Self, ShardError> {
        if shard >= shards {
            return Err(ShardError { shard, shards });
        }
        let first = self.first.saturating_add(self.step.saturating_mul(shard));
        let step = self.step.saturating_mul(shards);
        Ok(Self { first, step, ..self.clone() })
    }

    /// Whether a number of requests ends the run.
    pub fn is_counted(&self) -> bool {
        self.workload.requests.is_some()
    }

    /// Whether the sessions of a class come from a file.
    pub(crate) fn is_of_file(&self, class: u16) -> bool {
        self.workload.classes.get(usize::from(class)).is_some_and(RequestClass::has_session_file)
    }

    /// Whether the sessions of a class have texts of other sessions.
    pub(crate) fn shares_texts(&self, class: u16) -> bool {
        let rules = self.workload.classes.get(usize::from(class)).and_then(RequestClass::session_rules);
        rules.is_some_and(|rules| rules.salt != SaltScope::Session)
    }

    /// Returns when clients give up an attempt and try again. It is `None` where they send each request once, and wait.
    pub fn retry_policy(&self) -> Option<RetryPolicy> {
        let WorkloadSpec { clients, seed, .. } = &*self.workload;
        clients.as_ref().map(|clients| RetryPolicy::new(clients.clone(), *seed))
    }

    /// The clients who leave before their answer is complete. It is `None` where all stay.
    pub fn leaving_policy(&self) -> Option<LeavingPolicy> {
        self.workload.leaving_policy()
    }

    /// The requests in order, without prompts. Of a session only the first request: [`Schedule::sessions`] draws what
    /// follows.
    pub fn plan(&self) -> impl Iterator<Item = PlannedRequest> + Send + use<> {
        self.requests().map(|(request, _)| request)
    }

    /// Returns what users of a closed loop send, as if each request opened a conversation. One request of each comes
    /// first, then the next of each; `None` in an open loop.
    pub fn of_users(&self) -> Option<impl Iterator<Item = PlannedRequest> + use<>> {
        let (users, sessions, share) = (self.workload.arrival.users()?, self.all_sessions()?, self.clone());
        let own = move |_: &u32| (0..users).any(|user| share.has(user));
        let share = self.clone();
        Some((0..Turn::MOST).take_while(own).flat_map(move |number| {
            let users: Vec<_> = (0..users).filter(|&user| share.has(user)).collect();
            users.into_iter().filter_map(|user| sessions.opener_of(user, number)).collect::<Vec<_>>()
        }))
    }

    /// Returns the planner of later turns of sessions, in the window of this plan. It is `None` where every request
    /// stands alone.
    pub fn sessions(&self, plan: &PlanFacts) -> Option<SessionPlanner> {
        self.all_sessions().map(|sessions| sessions.within(plan))
    }

    fn all_sessions(&self) -> Option<SessionPlanner> {
        SessionPlanner::are_in(&self.workload).then(|| SessionPlanner::new(Arc::clone(&self.workload), &self.datasets))
    }

    fn source(&self) -> Plan {
        Plan::new(Arc::clone(&self.workload), &self.datasets)
    }

    /// The requests of this share in order, without prompts. Each has the trace blocks that its prompt begins with.
    pub fn requests(&self) -> impl Iterator<Item = (PlannedRequest, Blocks)> + Send + use<> {
        let share = self.clone();
        self.source().filter(move |(request, _)| share.has(request.session()))
    }

    /// Whether this share contains the request, or session, of this number.
    fn has(&self, number: u64) -> bool {
        number >= self.first && (number - self.first).is_multiple_of(self.step)
    }

    /// Draws the whole schedule with prompts.
    pub fn generate(&self, prompts: &PromptBuilder) -> Vec<RequestSpec> {
        self.requests().map(|planned| Self::with_prompt(planned, prompts)).collect()
    }

    /// Draws the same requests lazily, building each prompt on demand. So a long run does not hold all of its prompts.
    pub fn generate_stream(&self, prompts: Arc<PromptBuilder>) -> impl Iterator<Item = RequestSpec> + Send + use<> {
        self.requests().map(move |planned| Self::with_prompt(planned, &prompts))
    }

    /// Returns a planned request with its prompt, which begins with its trace blocks.
    pub fn with_prompt((request, blocks): (PlannedRequest, Blocks), prompts: &PromptBuilder) -> RequestSpec {
        request.into_spec(prompts.prompt_after(&blocks, &request))
    }

    /// Returns the facts of the plan. Of a shard too, hash and window are those of the *whole*, by which shards of one
    /// plan know each other; only the counts are the shard's own.
    ///
    /// `hash` is the SHA-256 of `skyline plan 1`, a zero byte, and then, for every warm-up and measured request
    /// in order, 19 bytes, little-endian: moment in nanoseconds (8), class (2), input tokens (4), output tokens
    /// (4), priority (1: 0 high, 1 medium, 2 low). A workload with shared prefixes, tenants or models has
    /// `skyline plan 2` there, and 12 bytes more a request: number (4) and tokens (4) of the prefix, tenant
    /// (2), model (2), all bits set where there is none. Where prompts or images come from files, the hash of
    /// what they hold stands before the requests: for each class that has a dataset or images, in their
    /// order, its number (2) and the SHA-256 as 64 hexadecimal digits, of the dataset first. After those of a
    /// request that says a row of a dataset come the row's number from 0 (8), and after those of one with
    /// images how many they are (2). Where a trace says which blocks a prompt begins with, the tokens of a
    /// block (4) and the ids of the blocks (8 each) follow. Of a class with audio, its number (2) and the seconds of
    /// audio (8, a double of IEEE 754) stand before the requests too.
    ///
    /// A workload with sessions has `skyline plan 3` there. After every request (31 bytes, and row and images
    /// where there are any) come those that follow it in its session, in the same form, as they would be if
    /// answers took no time and were as long as asked: all turns of a conversation, the first 15 of a
    /// closed-loop user.
    ///
    /// A workload with sessions that are graphs has `skyline plan 4` there. Before the requests stand, for each class
    /// that has them, its number (2) and the most tokens of a prompt with its answer (4). After an opener come the
    /// requests of its session, in the order of their places. After each of them and the opener stand its agent (2),
    /// the place of the request that it carries on (4, all bits set: none), 1 where any of those that it waits for
    /// releases it and 0 where all do (1), the number of these (4), and of each the place (4) and the delay in
    /// nanoseconds (8). Of a user it is so many sessions that they have 15 requests or more. Where a session begins in
    /// its middle, the place in the recording (4) stands before the number of those.
    ///
    /// The window begins at the warm-up's end. It ends at the horizon or, where the run is so many requests
    /// long, at the moment of the first request beyond them (just after the last, when none follows); a
    /// closed loop of so many requests has [`PlanFacts::OPEN_END`] there. `measured_requests` is 0 when
    /// nothing would be measured: such a run is not worth sending.
    pub fn facts(&self) -> PlanFacts {
        let sessions = self.all_sessions();
        let mut hash = PlanHash::from_workload(&self.workload);
        let (mut warmup_requests, mut measured_requests) = (0, 0);
        let window_start = Timestamp::from_secs_f64(self.workload.warmup_s);
        let mut window_end = match self.workload.requests {
            Some(_) if self.workload.ends_by_count() => PlanFacts::OPEN_END,
            Some(_) => Timestamp::ZERO,
            None => Timestamp::from_secs_f64(self.workload.horizon_s),
        };
        let mut source = self.source();
        for (request, blocks) in source.by_ref() {
            let own = u64::from(self.has(request.session()));
            match request.phase {
                Phase::Warmup => warmup_requests += own,
                Phase::Measured => measured_requests += own,
                Phase::Cooldown => break,
            }
            hash.add(&request);
            let graphs = sessions.as_ref().map(|sessions| sessions.sketch_graphs(request)).unwrap_or_default();
            for (number, (opener, graph)) in graphs.iter().enumerate() {
                if number > 0 {
                    hash.add(opener);
                }
                hash.add_graph(graph, opener);
            }
            if graphs.is_empty() {
                let later = sessions.as_ref().map(|sessions| sessions.sketch(request));
                later.into_iter().flatten().for_each(|turn| hash.add(&turn));
            }
            hash.add_blocks(&blocks);
        }
        if self.workload.requests.is_some() {
            window_end = source.latest_arrival().max(window_end);
        }
        PlanFacts {
            hash: hash.in_digits(),
            warmup_requests,
            measured_requests,
            window_start,
            window_end: window_end.max(window_start),
        }
    }
}

#[cfg(test)]
mod tests;
