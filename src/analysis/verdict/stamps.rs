//! The rules on stamps: nothing came before its cause, nothing lay in the client for as long as no client takes, and no
//! first token waited for the last.

use std::time::Duration;

use super::client::CURE;
use super::table::{CheckedRun, NOT_ASKED, RuleResult, ValidityRow, at_most, not_tested, row};
use crate::analysis::client::load::ClientLoad;
use crate::analysis::judgements::Rule;
use crate::analysis::requests::{Measured, StreamDelivery, UNGATHERED, WHOLE_BAR};
use crate::analysis::rules::facts;
use crate::clock::Timestamp;
use crate::record::{Outcome, RecordRef, RequestRecord};
use crate::units::{counted, percent, spoken};
use crate::workload::RequestClass;

/// Largest distance of the two clocks that stamp a request. They are the kernel's and the program's, and agree far
/// better than this.
const APART: Duration = Duration::from_millis(1);
/// Largest share of requests with impossible stamps.
const IMPOSSIBLE: f64 = 0.001;
/// Longest time from dispatch to sending on a connection that stands. Nothing in this program takes so long.
const HELD: Duration = Duration::from_secs(1);
/// Time for each token of the prompt by which [`HELD`] is longer. A slow network takes its time for a long prompt.
const HELD_PER_TOKEN: Duration = Duration::from_micros(10);
/// Largest share of requests that lay in the client for longer.
const HELD_BACK: f64 = 0.01;

pub(super) const RULES: &[ValidityRow] = &[
    // The part of the schedule lag between dispatch and sending.
    row(
        Rule::ScheduleLag,
        "share of requests that lay for over a second between dispatch and sending",
        NOT_ASKED,
        handed_over,
    )
    .says("{#} of {request} lay for over a second between dispatch and sending, {} at most; limit: {%}")
    .cure(
        "do not use these figures: requests left later than they say; free up CPU on this machine, or split the load \
         (--shard)",
    ),
    row(Rule::Stamps, "share of requests with impossible stamps", NOT_ASKED, possible)
        .cure("do not use these figures: the clock was changed during the run, or the log after it; run again"),
    row(Rule::StreamsWhole, "share of long answers that came whole", NOT_ASKED, held_back)
        .says("{#} of {long answer} came whole, so that TTFT is the time of all of it; limit: {%}"),
];

fn possible(of: &CheckedRun<'_>) -> Option<RuleResult> {
    let records = of.observed.requests.iter().map(Measured::record);
    let (mut number, mut worst) = (0_u64, None::<(Duration, String)>);
    for record in records {
        let Some((by, what)) = impossible(&record) else { continue };
        number += 1;
        if worst.as_ref().is_none_or(|(most, _)| by > *most) {
            worst = Some((by, format!("request {} {what} by {}", record.index, spoken(by))));
        }
    }
    let share = number as f64 / of.observed.requests.len().max(1) as f64;
    let sentence = match worst {
        None => "no request has a stamp before its cause".to_owned(),
        Some((_, worst)) => format!(
            "{} ({}) with stamps before their causes by over 1 ms, such as {worst}; limit: {}",
            counted(number, "request"),
            percent(share),
            percent(IMPOSSIBLE)
        ),
    };
    at_most(share, IMPOSSIBLE, facts![sentence])
}

fn handed_over(of: &CheckedRun<'_>) -> Option<RuleResult> {
    let classes = &of.observed.log.header.workload.classes;
    // Their files are large, and their tokens are not known.
    let has_files = |class: &RequestClass| class.images.is_some() || class.audio.is_some();
    let has_files = |record: &RequestRecord| classes.get(usize::from(record.class)).is_some_and(has_files);
    let sent = || {
        let records = of.observed.requests.iter().map(Measured::record);
        records.filter(|record| record.sent.is_some() && !has_files(record))
    };
    let late = |record: &RecordRef<'_>| record.handed_over_in() > HELD + HELD_PER_TOKEN * record.input_tokens_asked;
    let (number, all) = (sent().filter(late).count() as u64, sent().count() as u64);
    let longest = sent().map(|record| record.handed_over_in()).max()?;
    at_most(number as f64 / all as f64, HELD_BACK, facts![number, all, spoken(longest), HELD_BACK])
}

fn held_back(of: &CheckedRun<'_>) -> Option<RuleResult> {
    let StreamDelivery { long_answers, whole_answers, .. } = of.observed.delivery;
    if !of.observed.delivery.has_long_answers() {
        return not_tested("too few streamed answers of eight chunks or more");
    }
    let client = ClientLoad::from_log(of.observed.log);
    let cure = match of.observed.delivery.gathered_by(client.as_ref()) {
        (true, false) => CURE.to_owned(),
        (true, true) => format!("{CURE}; or {UNGATHERED}"),
        _ => UNGATHERED.to_owned(),
    };
    let share = whole_answers as f64 / long_answers as f64;
    at_most(share, WHOLE_BAR, facts![whole_answers, long_answers, WHOLE_BAR, cure])
}

/// Returns what came before its cause, and by how much. `None` unless something did by over a millisecond.
fn impossible(record: &RequestRecord) -> Option<(Duration, &'static str)> {
    let answered = [record.headers, record.chunks.first_at(), record.whole_answer].into_iter().flatten().min();
    // An error may come before the whole request is written.
    let answered = answered.filter(|_| record.outcome == Outcome::Completed);
    let pairs = [
        (Some(record.scheduled), Some(record.dispatched), "was dispatched before its moment"),
        (Some(record.dispatched), record.sent, "was sent before its dispatch"),
        (record.sent, answered, "was answered before it was sent"),
        (record.chunks.last_at(), Some(record.ended), "ended before its last chunk"),
    ];
    let early = |(cause, effect, what): (Option<Timestamp>, Option<Timestamp>, &'static str)| {
        let by = cause?.since(effect?);
        (by > APART).then_some((by, what))
    };
    pairs.into_iter().filter_map(early).max_by_key(|(by, _)| *by)
}
