//! The trace of a stored run.

use super::requests::{RequestTrace, TracedRequest, TracedWindow};
use crate::record::{RequestRecord, RunLog, SharedPrefix};
use crate::workload::TraceFindings;

/// Tokens of a block where a run's prefixes have no large common divisor. It is vLLM's block size.
const BLOCK_TOKENS: u32 = 16;

impl RequestTrace {
    /// Returns what a run planned to send, and the window itself. It has moments, lengths, classes, priorities,
    /// tenants, models and shared prefixes, including warm-up and load after the window. Requests that were never due
    /// have no record and are not in it.
    ///
    /// A prefix becomes blocks whose size divides the length of every prefix of the run; if that is less than 16
    /// tokens, blocks of 16, and the rest is no longer shared. Blocks of a trace that the run itself replayed are not
    /// recorded.
    pub fn of_run(log: &RunLog) -> Self {
        let places = log.records.places_by(|record| Some((record.scheduled, record.index)));
        let lengths = log.records.iter().filter_map(|record| record.prefix).map(|prefix| prefix.tokens);
        let block_tokens = lengths.reduce(common_measure).map(|measure| match measure {
            0..BLOCK_TOKENS => BLOCK_TOKENS,
            measure => measure,
        });
        let requests = log.records.in_places(&places).map(|record| request(log, &record, block_tokens.unwrap_or(1)));
        let plan = &log.header.plan;
        let window = TracedWindow { from_ns: plan.window_start.as_nanos(), to_ns: plan.window_end.as_nanos() };
        Self { requests: requests.collect(), block_tokens, window: Some(window) }
    }

    /// Says in sentences what the trace of a run cannot contain. These are other shards' requests, that turns follow
    /// answers, and the blocks of a trace.
    pub fn given_up_of(log: &RunLog) -> Vec<String> {
        let shard = log.header.shard.map(|shard| {
            format!(
                "the run is shard {shard}, and what the other shards sent is not in its trace; join all {} with \
                 skyline merge first",
                shard.of
            )
        });
        let turns = log.records.iter().any(|record| !record.is_opener()).then(|| {
            "turns of conversations, and the requests of a user, become single requests at the moments at which they \
             arrived, each with a new prompt of its whole length; run the workload again if they should follow answers \
             and repeat the history"
                .to_owned()
        });
        [log.damage.warning(), shard, turns, Self::unstored_blocks(log)].into_iter().flatten().collect()
    }

    /// Says that a run does not record the blocks of the trace it replayed. `None` if there were none.
    fn unstored_blocks(log: &RunLog) -> Option<String> {
        let replayed = log.header.workload.arrival.trace();
        let trace = replayed.filter(|trace| trace.found.as_ref().is_some_and(TraceFindings::names_blocks))?;
        Some(format!(
            "the run replayed {}, and a run does not keep the blocks of a trace; replay that to share them again",
            trace.path
        ))
    }
}

fn request(log: &RunLog, record: &RequestRecord, block_tokens: u32) -> TracedRequest {
    let workload = &log.header.workload;
    let name = |name: &String| name.as_str().into();
    let class = workload.classes.get(usize::from(record.class));
    let tenant = record.tenant.and_then(|place| workload.tenants.get(usize::from(place)));
    let model = record.model.and_then(|place| workload.models.as_ref()?.names.get(usize::from(place)));
    TracedRequest {
        at_ns: i64::try_from(record.scheduled.as_nanos()).unwrap_or(i64::MAX),
        input_tokens: record.input_tokens_asked,
        output_tokens: record.output_tokens_asked,
        kind: class.map(|class| name(&class.name)),
        priority: Some(record.priority),
        tenant: tenant.map(|tenant| name(&tenant.name)),
        model: model.map(name),
        blocks: record.prefix.map(|prefix| blocks(record.class, prefix, block_tokens)).unwrap_or_default(),
        session: None,
    }
}

/// Returns a prefix as blocks. Each id combines the class, the prefix number and the position in the prefix.
fn blocks(class: u16, prefix: SharedPrefix, block_tokens: u32) -> Box<[u64]> {
    let id = u64::from(class) << 36 | u64::from(prefix.number) << 16;
    (0..u64::from(prefix.tokens / block_tokens)).map(|place| id | place).collect()
}

/// The greatest common divisor (Euclid).
fn common_measure(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { common_measure(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_become_blocks_of_their_common_measure() {
        assert_eq!([(96, 64), (64, 96), (7, 5), (40, 40)].map(|(a, b)| common_measure(a, b)), [32, 32, 1, 40]);
        let prefix = |number, tokens| SharedPrefix { number, tokens };
        assert_eq!(blocks(0, prefix(1, 96), 32).to_vec(), [65_536, 65_537, 65_538]);
        assert_eq!(blocks(1, prefix(0, 40), 16).to_vec(), [1 << 36, (1 << 36) | 1], "8 tokens are over");
        assert!(blocks(0, prefix(3, 10), 16).is_empty());
    }
}
