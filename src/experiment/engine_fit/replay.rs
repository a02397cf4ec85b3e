//! Sends what a run sent, when it sent it, to a simulated server.

use std::collections::HashMap;

use crate::clock::Timestamp;
use crate::experiment::virtual_time::log::{answered, declared, with_turns};
use crate::record::{Outcome, RequestRecord, RunLog};
use crate::simulator::{BadFleet, Driver, Fleet, Job, JobHistory, JobId, PrefixHashes, urgency};

/// The log as it would be if `fleet` had answered: the same requests at the same moments, with as many tokens as they
/// had. A request that failed in the run is left out: its cost is unknown.
///
/// # Errors
///
/// When the fleet is impossible.
pub(super) fn replay(log: &RunLog, fleet: &Fleet) -> Result<RunLog, BadFleet> {
    let mut asked: Vec<&RequestRecord> = log
        .records
        .iter()
        .filter(|record| record.sent.is_some() && !matches!(record.outcome, Outcome::Failed(_)))
        .collect();
    asked.sort_unstable_by_key(|record| (record.sent, record.index));
    let by_id: HashMap<u64, &RequestRecord> = asked.iter().map(|record| (record.index, *record)).collect();
    let end = log.footer.as_ref().map_or(Timestamp::from_nanos(u64::MAX), |footer| footer.ended);
    let mut server = fleet.server()?;
    let mut driver = Driver::new(&mut *server);
    let mut records = Vec::new();
    let mut keep = |history: JobHistory| {
        if let Some(record) = by_id.get(&history.job.0) {
            records.push(answered(unanswered(record), history, end));
        }
    };
    let mut coming = asked.iter().peekable();
    loop {
        let next = coming.peek().and_then(|record| record.sent);
        let Some(now) = [next, driver.next_event()].into_iter().flatten().min() else { break };
        if now > end {
            break;
        }
        let mut refused = Vec::new();
        while let Some(record) = coming.next_if(|record| record.sent.is_some_and(|sent| sent <= now)) {
            refused.extend(driver.submit(now, job(record)));
        }
        refused.into_iter().for_each(&mut keep);
        driver.advance(now, &mut keep);
    }
    driver.stop().into_iter().for_each(keep);
    Ok(RunLog { records, ..log.clone() })
}

fn job(record: &RequestRecord) -> Job {
    let input = record.prompt_tokens();
    let output = match record.outcome {
        Outcome::Completed => record.output_tokens,
        // Further turns are known to the plan alone.
        _ => u64::from(record.output_tokens_asked),
    };
    Job {
        priority: urgency(record.priority),
        prefix: prefix(record),
        ..Job::new(
            JobId(record.index),
            u32::try_from(input.max(1)).unwrap_or(u32::MAX),
            u32::try_from(output.max(1)).unwrap_or(u32::MAX),
        )
    }
}

/// What its prompt has in common with others: a shared prefix, the turns before it.
fn prefix(record: &RequestRecord) -> PrefixHashes {
    let begins = record.prefix.map(|prefix| declared(record.model, record.class, prefix)).unwrap_or_default();
    let tokens = record.input_tokens_asked.saturating_add(record.output_tokens_asked);
    record.turn.map_or_else(|| begins.clone(), |turn| with_turns(&begins, turn, tokens))
}

/// The request as it was before anything answered it.
fn unanswered(record: &RequestRecord) -> RequestRecord {
    RequestRecord {
        headers: None,
        first_answer: None,
        whole_answer: None,
        merged_reads: 0,
        validity: None,
        ..record.clone()
    }
}
