//! Holds the records of a run to its plan, drawn again from the header.

mod comparison;
mod graphs;

use std::path::Path;
use std::sync::Arc;

use self::comparison::{Shift, compare};
use super::datasets::bytes_here;
use super::datasets::sources::Datasets;
use super::request::PlannedRequest;
use super::schedule::plan_hash::PlanHash;
use super::sessions::SessionPlanner;
use super::tokens::tokenizer::TokenCounter;
use super::traces::survey::survey;
use crate::record::{Phase, PlanCheck, PromptMethod, RequestRecord, RunHeader, RunLog};
use crate::workload::WorkloadSpec;

/// Largest file of prompts that is read once more for this, bytes …
const LARGEST: u64 = 32 << 20;
/// … and the largest where a tokenizer has to count all of it again.
const LARGEST_COUNTED: u64 = 4 << 20;

/// Holds the records of a run to its plan.
///
/// A plan is decided before its run, and the header has all that decides it, so it can be drawn again at any time. Its
/// hash, its window and its counts must be those in the header. Of each record the scheduled moment, the part of the
/// run, the class, the lengths, the priority, prefix, tenant and model, and the place in a session must be
/// the plan's. A later turn of a session follows from the record of the turn before: it was due a think time
/// after that one's end. Each comparison is exact: nothing that happens in a run changes what was planned.
///
/// A run that was interrupted and one shard of a run have fewer records, each of which is compared. In a merged run the
/// moments of a shard lie as much later as the shard began.
///
/// What a plan takes from files can be compared only while they are there and as they were. Without the file of a
/// dataset the lengths that it gives are not compared. Without a trace, the hash of the plan is computed from
/// the records instead, where they have all that is in it. What was not compared is said, and is no
/// difference.
pub fn check_plan(log: &RunLog) -> PlanCheck {
    let workload = &log.header.workload;
    if let Some(trace) = workload.arrival.trace() {
        let why = match survey(trace, workload.seed) {
            Ok(found) if trace.found.as_ref() == Some(&found) => None,
            Ok(_) => Some(format!("{} has changed since the run", trace.path)),
            Err(_) if !Path::new(&trace.path).exists() => Some(format!("{} is missing", trace.path)),
            Err(error) => Some(error.to_string()),
        };
        if let Some(why) = why {
            return by_hash(log, why);
        }
    }
    compare(log, rows(&log.header))
}

/// Makes the part of the check that needs no file. It compares the hash of the records with the one in the header.
fn by_hash(log: &RunLog, why: String) -> PlanCheck {
    let RunHeader { workload, plan, shard, .. } = &log.header;
    let found = workload.arrival.trace().and_then(|trace| trace.found.as_ref());
    let blocks = found.is_none_or(|found| found.reusable_share.is_some() || found.too_many_blocks);
    let files = workload.classes.iter().any(|class| class.images.is_some() || class.prompt.dataset().is_some());
    let Some(shift) = Shift::from_header(&log.header) else { return PlanCheck::NotChecked(why) };
    if blocks || files || shard.is_some() || SessionPlanner::are_in(workload) {
        return PlanCheck::NotChecked(why);
    }
    let in_run = |record: &RequestRecord| (record.phase != Phase::Cooldown).then_some(record.index);
    let places = log.records.places_by(in_run);
    let records = log.records.in_places(&places);
    if records.len() as u64 != plan.warmup_requests + plan.measured_requests {
        // Their number is against the run already, or the run was broken off.
        return PlanCheck::NotChecked(why);
    }
    let mut hash = PlanHash::from_workload(workload);
    for record in records.clone() {
        hash.add(&PlannedRequest {
            scheduled: shift.back(&record, record.scheduled),
            ..PlannedRequest::from_record(&record)
        });
    }
    let unchecked = vec![format!("each request by itself ({why})")];
    match hash.in_digits() {
        hash if hash == plan.hash => PlanCheck::Held { records: records.len() as u64, unchecked },
        hash => {
            let first =
                vec![format!("the records are those of a plan {hash:.12}, and the header says {:.12}", plan.hash)];
            PlanCheck::Differs { number: 1, first }
        }
    }
}

/// The rows of the run's datasets, or why they are not there.
fn rows(header: &RunHeader) -> Result<Arc<Datasets>, String> {
    let files: Vec<_> = header.workload.classes.iter().filter_map(|class| class.prompt.dataset()).collect();
    if files.is_empty() {
        return Ok(Arc::default());
    }
    let tokenizer = match &header.prompts.method {
        PromptMethod::Tokenizer { source } => Some(source.as_str()),
        _ => None,
    };
    if let Some(source) = tokenizer.filter(|source| !Path::new(source).exists()) {
        return Err(format!("the tokenizer {source} is no file here"));
    }
    let largest = if tokenizer.is_some() { LARGEST_COUNTED } else { LARGEST };
    for file in files {
        match bytes_here(file) {
            None => return Err(format!("{} is missing", file.path)),
            Some(bytes) if bytes > largest => return Err(format!("{} is large", file.path)),
            Some(_) => {}
        }
    }
    let mut workload: WorkloadSpec = header.workload.clone();
    // Their number is drawn without them.
    workload.classes.iter_mut().for_each(|class| class.images = None);
    let asked = workload.classes.clone();
    let counter = TokenCounter::open(tokenizer).map_err(|error| error.to_string())?;
    let (found, datasets) = Datasets::open(workload, &counter).map_err(|error| error.to_string())?;
    if found.classes == asked {
        Ok(Arc::new(datasets))
    } else {
        Err("a file has changed since the run, or its tokens are counted in another way".to_owned())
    }
}
