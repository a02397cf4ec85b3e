//! The hash of a plan.

use sha2::{Digest, Sha256};

use crate::generator::graph::session::SessionGraph;
use crate::generator::request::PlannedRequest;
use crate::generator::sessions::SessionPlanner;
use crate::generator::traces::requests::Blocks;
use crate::record::SharedPrefix;
use crate::units::hexadecimal;
use crate::workload::{Priority, RequestClass, WorkloadSpec};

/// Prefix of the hashed bytes; the number rises when their layout changes.
const HASH_DOMAIN: &[u8] = b"skyline plan 1\0";
/// Prefix of the hashed bytes for workloads whose requests have prefixes, tenants or models.
const MARKED_HASH_DOMAIN: &[u8] = b"skyline plan 2\0";
/// Prefix of the hashed bytes for workloads with sessions.
const SESSIONS_HASH_DOMAIN: &[u8] = b"skyline plan 3\0";
/// Prefix of the hashed bytes for workloads with sessions that are graphs.
const GRAPHS_HASH_DOMAIN: &[u8] = b"skyline plan 4\0";

/// The hash of a plan, request by request; see [`Schedule::facts`](super::Schedule::facts).
pub(in crate::generator) struct PlanHash {
    hash: Sha256,
    /// Whether requests have prefixes, tenants, models or places in a session.
    marked: bool,
}

impl PlanHash {
    /// The hash of a plan of `workload` before its first request.
    pub(in crate::generator) fn from_workload(workload: &WorkloadSpec) -> Self {
        let marked = !workload.tenants.is_empty()
            || workload.models.is_some()
            || workload.classes.iter().any(|class| class.shared_prefix.is_some());
        let sessions = SessionPlanner::are_in(workload);
        let has_graphs = workload.classes.iter().any(RequestClass::has_graphs);
        let mut hash = Sha256::new_with_prefix(match (sessions, marked) {
            (true, _) if has_graphs => GRAPHS_HASH_DOMAIN,
            (true, _) => SESSIONS_HASH_DOMAIN,
            (false, true) => MARKED_HASH_DOMAIN,
            (false, false) => HASH_DOMAIN,
        });
        for (class, number) in workload.classes.iter().zip(0_u16..) {
            for sha256 in class.files() {
                hash.update(number.to_le_bytes());
                hash.update(sha256);
            }
            if let Some(audio) = class.audio {
                hash.update(number.to_le_bytes());
                hash.update(audio.seconds.to_le_bytes());
            }
            let of_steps = class.session.as_ref().map(|session| session.max_context_tokens);
            let of_file = || class.session_rules().map(|rules| rules.max_context_tokens);
            if let Some(most) = of_steps.or_else(of_file) {
                hash.update(number.to_le_bytes());
                hash.update(most.unwrap_or(u32::MAX).to_le_bytes());
            }
        }
        Self { hash, marked: marked || sessions }
    }

    /// Adds a request without its blocks.
    pub(in crate::generator) fn add(&mut self, request: &PlannedRequest) {
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

    /// Adds the graph that `opener`, just added, begins.
    pub(super) fn add_graph(&mut self, graph: &SessionGraph, opener: &PlannedRequest) {
        let later = graph.sketch(opener).into_iter().map(Some);
        for (node, request) in graph.nodes.iter().zip(std::iter::once(None).chain(later)) {
            if let Some(request) = request {
                self.add(&request);
            }
            self.hash.update(node.place.agent.to_le_bytes());
            self.hash.update(node.place.carries.unwrap_or(u32::MAX).to_le_bytes());
            self.hash.update([u8::from(node.any)]);
            if node.if_called {
                self.hash.update(b"if called");
            }
            if let Some(recorded) = node.place.recorded {
                self.hash.update(recorded.to_le_bytes());
            }
            if let Some(shared) = node.shared_tokens {
                self.hash.update(shared.to_le_bytes());
            }
            self.hash.update((node.waits.len() as u32).to_le_bytes());
            for (place, delay) in &node.waits {
                self.hash.update(place.to_le_bytes());
                self.hash.update((delay.as_nanos() as u64).to_le_bytes());
            }
        }
    }

    /// Adds the blocks of the request before.
    pub(super) fn add_blocks(&mut self, blocks: &Blocks) {
        if !blocks.ids.is_empty() {
            self.hash.update(blocks.tokens.to_le_bytes());
            blocks.ids.iter().for_each(|id| self.hash.update(id.to_le_bytes()));
        }
    }

    /// The hash as hexadecimal digits.
    pub(in crate::generator) fn in_digits(self) -> String {
        hexadecimal(&self.hash.finalize())
    }
}
