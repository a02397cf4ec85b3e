//! Everything that a run will send, decided before it begins.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::plan::Plan;
use super::request::{PlannedRequest, RequestSpec};
use super::sessions::SessionPlanner;
use crate::clock::Timestamp;
use crate::generator::datasets::sources::Datasets;
use crate::generator::prompts::builder::PromptBuilder;
use crate::generator::traces::requests::Blocks;
use crate::record::{Phase, PlanFacts, SharedPrefix, Turn};
use crate::units::hexadecimal;
use crate::workload::{Priority, RetryPolicy, WorkloadSpec};

/// Prefix of the hashed bytes; the number rises when their layout changes.
const HASH_DOMAIN: &[u8] = b"skyline plan 1\0";
/// Prefix of the hashed bytes for workloads whose requests have prefixes, tenants or models.
const MARKED_HASH_DOMAIN: &[u8] = b"skyline plan 2\0";
/// Prefix of the hashed bytes for workloads with sessions.
const SESSIONS_HASH_DOMAIN: &[u8] = b"skyline plan 3\0";

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

    /// Returns when clients give up an attempt and try again. It is `None` where they send each request once, and wait.
    pub fn retry_policy(&self) -> Option<RetryPolicy> {
        let WorkloadSpec { clients, seed, .. } = &*self.workload;
        clients.as_ref().map(|clients| RetryPolicy::new(clients.clone(), *seed))
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
    /// block (4) and the ids of the blocks (8 each) follow.
    ///
    /// A workload with sessions has `skyline plan 3` there. After every request (31 bytes, and row and images
    /// where there are any) come those that follow it in its session, in the same form, as they would be if
    /// answers took no time and were as long as asked: all turns of a conversation, the first 15 of a
    /// closed-loop user.
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
            let later = sessions.as_ref().map(|sessions| sessions.sketch(request));
            for turn in later.into_iter().flatten() {
                hash.add(&turn);
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

/// The hash of a plan, request by request; see [`Schedule::facts`].
pub(super) struct PlanHash {
    hash: Sha256,
    /// Whether requests have prefixes, tenants, models or places in a session.
    marked: bool,
}

impl PlanHash {
    /// The hash of a plan of `workload` before its first request.
    pub(super) fn from_workload(workload: &WorkloadSpec) -> Self {
        let marked = !workload.tenants.is_empty()
            || workload.models.is_some()
            || workload.classes.iter().any(|class| class.shared_prefix.is_some());
        let sessions = SessionPlanner::are_in(workload);
        let mut hash = Sha256::new_with_prefix(match (sessions, marked) {
            (true, _) => SESSIONS_HASH_DOMAIN,
            (false, true) => MARKED_HASH_DOMAIN,
            (false, false) => HASH_DOMAIN,
        });
        for (class, number) in workload.classes.iter().zip(0_u16..) {
            for sha256 in class.files() {
                hash.update(number.to_le_bytes());
                hash.update(sha256);
            }
        }
        Self { hash, marked: marked || sessions }
    }

    /// Adds a request without its blocks.
    pub(super) fn add(&mut self, request: &PlannedRequest) {
        let Self { hash, marked } = self;
        hash.update(request.scheduled.as_nanos().to_le_bytes());
        hash.update(request.class.to_le_bytes());
        hash.update(request.input_tokens.to_le_bytes());
        hash.update(request.output_tokens.to_le_bytes());
        hash.update(match request.priority {
            Priority::High => [0],
            Priority::Medium => [1],
            Priority::Low => [2],
        });
        if *marked {
            let prefix = request.prefix.unwrap_or(SharedPrefix { number: u32::MAX, tokens: u32::MAX });
            hash.update(prefix.number.to_le_bytes());
            hash.update(prefix.tokens.to_le_bytes());
            hash.update(request.tenant.unwrap_or(u16::MAX).to_le_bytes());
            hash.update(request.model.unwrap_or(u16::MAX).to_le_bytes());
        }
        if let Some(row) = request.row {
            hash.update(row.to_le_bytes());
        }
        if request.images > 0 {
            hash.update(request.images.to_le_bytes());
        }
    }

    /// Adds the blocks of the request before.
    fn add_blocks(&mut self, blocks: &Blocks) {
        if !blocks.ids.is_empty() {
            self.hash.update(blocks.tokens.to_le_bytes());
            blocks.ids.iter().for_each(|id| self.hash.update(id.to_le_bytes()));
        }
    }

    /// The hash as hexadecimal digits.
    pub(super) fn in_digits(self) -> String {
        hexadecimal(&self.hash.finalize())
    }
}

#[cfg(test)]
mod tests;
