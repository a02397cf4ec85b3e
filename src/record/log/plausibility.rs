//! Refuses log lines that no run can have: they would produce meaningless figures. What is written and what
//! is read keeps the same rules.

use std::time::Duration;

use super::line::LogLine;
use super::turns::{SessionChecker, of_a_session};
use crate::clock::Timestamp;
use crate::record::request::amendment::CountedAnswer;
use crate::record::request::check::CheckRecord;
use crate::record::request::outcome::Outcome;
use crate::record::request::record::RequestRecord;
use crate::record::request::turn::Phase;
use crate::record::request::usage::Usage;
use crate::record::run::client::Shard;
use crate::record::run::header::{Repeat, RunFooter, RunHeader};
use crate::record::telemetry::{Reading, TimeHistogram};

/// Tolerance for moments out of order. The moments of one answer come from two clocks, the kernel's and the
/// program's; those of merged shards are as far apart as their starts.
const SLACK: Duration = Duration::from_secs(1);
/// No run lasts longer than a year …
const LATEST: Timestamp = Timestamp::from_nanos(366 * 86_400 * 1_000_000_000);
/// … or counts further than this.
const MOST: u64 = Usage::MOST;

/// The rules of the lines of one log.
#[derive(Debug)]
pub(super) struct LineRules {
    header: RunHeader,
    sessions: SessionChecker,
}

impl LineRules {
    /// The rules of the log with this header.
    pub(super) fn from_header(header: RunHeader) -> Self {
        Self { header, sessions: SessionChecker::default() }
    }

    /// Checks the next line.
    pub(super) fn check(&mut self, line: LogLine<'_>) -> Result<(), String> {
        match line {
            LogLine::Header(header) => check_header(header),
            LogLine::Request(record) => check_record(&self.header, record).and_then(|()| self.sessions.check(record)),
            LogLine::Check(check) => check_check(&self.header, check),
            LogLine::Counted(answer) => check_counted(answer),
            LogLine::Scored(answer) => countable("the row of its answer", answer.score.row.into()),
            LogLine::Reading(reading) => check_reading(&self.header, reading),
            LogLine::Footer(footer) => check_footer(footer),
            LogLine::InFlight(_) | LogLine::Client(_) => Ok(()),
        }
    }
}

/// Checks a header.
fn check_header(header: &RunHeader) -> Result<(), String> {
    let plan = &header.plan;
    if plan.window_end < plan.window_start {
        let [end, start] = [plan.window_end, plan.window_start].map(Timestamp::as_secs_f64);
        return Err(format!("the window ends at {end} s, before it begins at {start} s"));
    }
    in_time("the window's end", plan.window_end)?;
    countable("warmup_requests", plan.warmup_requests)?;
    countable("measured_requests", plan.measured_requests)?;
    if let Some(shard) = header.shard {
        one_of("shard", shard.number, shard.of)?;
        if shard.of > Shard::MOST {
            return Err(format!("it is one of {} shards; there are {} at most", shard.of, Shard::MOST));
        }
    }
    if let Some(repeat) = header.repeat {
        // A spare run has a number after the last.
        let is_spare = repeat.number.checked_sub(repeat.of).is_some_and(|over| over <= Repeat::MOST_SPARE);
        if !(is_spare && repeat.of > 0) {
            one_of("repeat", repeat.number, repeat.of)?;
        }
    }
    Ok(())
}

/// Checks a record against its header.
fn check_record(header: &RunHeader, record: &RequestRecord) -> Result<(), String> {
    let check = || {
        match record.turn {
            Some(_) => of_a_session(header, record)?,
            None => countable("the index", record.index)?,
        }
        one_of("server", u64::from(record.target) + 1, header.engines.len() as u64)?;
        of_the_workload(header, record)?;
        of_the_plan(header, record)?;
        in_order(record)?;
        countable("output_tokens", record.output_tokens)?;
        record.usage.as_ref().map_or(Ok(()), counted)
    };
    check().map_err(|what: String| format!("request {}: {what}", record.index))
}

/// Checks the record of a golden prompt against its header.
fn check_check(header: &RunHeader, check: &CheckRecord) -> Result<(), String> {
    one_of("the check", u64::from(check.check) + 1, header.workload.checks.len() as u64)?;
    check.released.map_or(Ok(()), |released| in_time("the moment of a check", released))?;
    check.usage.as_ref().map_or(Ok(()), counted)
}

/// Checks a token count.
fn check_counted(answer: &CountedAnswer) -> Result<(), String> {
    let CountedAnswer { index, tokens } = *answer;
    countable("the number of its tokens", tokens).map_err(|what| format!("request {index}: {what}"))
}

/// Checks a metrics reading against its header.
fn check_reading(header: &RunHeader, reading: &Reading) -> Result<(), String> {
    one_of("the page of a reading", u64::from(reading.source) + 1, header.telemetry.len() as u64)?;
    in_time("the moment of a reading", reading.answered)?;
    let of_devices = reading.devices.values().flat_map(|device| device.gauges.values());
    let mut gauges = reading.gauges.values().chain(of_devices);
    if let Some(value) = gauges.find(|value| !Reading::is_gauge(**value)) {
        return Err(format!("a reading has a value of {value:e}, too large for a measurement"));
    }
    let of_devices = reading.devices.values().flat_map(|device| device.counters.values());
    let counters = reading.counters.values().chain(of_devices).all(|value| value.is_finite());
    holds(counters && reading.histograms.values().all(TimeHistogram::is_finite), || {
        "a reading has a total that is no number".to_owned()
    })
}

/// Checks a footer.
fn check_footer(footer: &RunFooter) -> Result<(), String> {
    in_time("the run's end", footer.ended)?;
    let mut stalls = footer.client.iter().flat_map(|client| &client.host_stalls);
    stalls.try_for_each(|stall| {
        stall.shard.map_or(Ok(()), |shard| one_of("the shard of a stall,", shard.number, shard.of))?;
        in_time("the end of a stall", stall.until())
    })
}

/// The workload must have the class and priority, since they decide the SLO.
fn of_the_workload(header: &RunHeader, record: &RequestRecord) -> Result<(), String> {
    let classes = &header.workload.classes;
    let Some(class) = classes.get(usize::from(record.class)) else {
        let (index, number) = (record.class, classes.len());
        return Err(format!("class {index} does not exist; the workload has {number}, numbered from 0"));
    };
    if class.priorities.iter().all(|share| share.priority != record.priority) {
        let priority = record.priority;
        return Err(format!("the class \"{}\" has no requests of {priority} priority", class.name));
    }
    known("tenant", record.tenant, header.workload.tenants.len())?;
    known("model", record.model, header.workload.models.as_ref().map_or(0, |mix| mix.names.len()))?;
    let found = class.prompt.dataset().and_then(|dataset| dataset.found.as_ref());
    known("the combination of tags", record.tags, found.map_or(0, |found| found.tags.len()))?;
    if let Some(score) = record.score {
        let rows = class.scoring().and(found).map_or(0, |found| found.rows);
        holds(record.outcome == Outcome::Completed, || "it has a score and no complete answer".to_owned())?;
        one_of("the row of its score,", u64::from(score.row) + 1, rows)?;
    }
    match (record.prefix, &class.shared_prefix) {
        (Some(prefix), Some(of_class)) if prefix.number < of_class.count => {
            let (own, asked) = (prefix.tokens, record.input_tokens_asked);
            if own > asked { Err(format!("its prefix has {own} of {asked} prompt tokens")) } else { Ok(()) }
        }
        (Some(prefix), _) => Err(format!("the class \"{}\" has no shared prefix {}", class.name, prefix.number)),
        (None, _) => Ok(()),
    }
}

fn known(what: &str, index: Option<u16>, number: usize) -> Result<(), String> {
    index.filter(|&index| usize::from(index) >= number).map_or(Ok(()), |index| {
        Err(format!("{what} {index} does not exist; the workload has {number}, numbered from 0"))
    })
}

/// The moment must lie in the stated part of the run.
fn of_the_plan(header: &RunHeader, record: &RequestRecord) -> Result<(), String> {
    let (start, end) = (header.plan.window_start, header.plan.window_end);
    let (begin, limit) = match record.phase {
        Phase::Warmup => (Timestamp::ZERO, start),
        // The turns of so many conversations count whenever they come.
        Phase::Measured if header.workload.requests.is_some() => (start, LATEST),
        Phase::Measured => (start, end),
        // The server decides when a closed loop has sent its requests.
        Phase::Cooldown if header.plan.is_open_ended() => (Timestamp::ZERO, LATEST),
        Phase::Cooldown => (end, LATEST),
    };
    let moment = record.scheduled;
    if begin <= moment.after(SLACK) && moment <= limit.after(SLACK) {
        return Ok(());
    }
    let [moment, start, end] = [moment, start, end].map(Timestamp::as_secs_f64);
    let part = match record.phase {
        Phase::Warmup => format!("the warm-up is over at {start} s"),
        Phase::Measured => format!("the window is from {start} s to {end} s"),
        Phase::Cooldown => format!("the cool-down begins at {end} s"),
    };
    Err(format!("it was scheduled at {moment} s, and {part}"))
}

/// Nothing may happen before dispatch or after the end. The send moment may lie after the end: during a host stall
/// the kernel stamps an answer before this program knows that it has sent the request.
pub(super) fn in_order(record: &RequestRecord) -> Result<(), String> {
    let (first, last) = (record.chunks.first_at(), record.chunks.last_at());
    let dispatched = ("it was dispatched", Some(record.dispatched));
    let ended = ("it ended", Some(record.ended));
    not_after(("it was scheduled", Some(record.scheduled)), dispatched)?;
    not_after(dispatched, ended)?;
    not_after(dispatched, ("it was sent", record.sent))?;
    not_after(dispatched, ("its first chunk came", first))?;
    not_after(("its last chunk came", last), ended)?;
    for (what, moment) in [
        ("it was admitted", record.admitted),
        ("its headers came", record.headers),
        ("its first answer came", record.first_answer),
        ("its whole answer came", record.whole_answer),
    ] {
        not_after(dispatched, (what, moment))?;
        not_after((what, moment), ended)?;
    }
    for attempt in record.attempts() {
        let (begun, over) = (("an attempt began", Some(attempt.begun)), ("an attempt ended", Some(attempt.ended)));
        not_after(dispatched, begun)?;
        not_after(begun, ("an attempt was sent", attempt.sent))?;
        not_after(begun, over)?;
        not_after(over, ended)?;
    }
    record.sent.map_or(Ok(()), |sent| in_time("the moment it was sent", sent))?;
    in_time("its end", record.ended)
}

type Moment<'a> = (&'a str, Option<Timestamp>);

fn not_after((earlier, before): Moment<'_>, (later, after): Moment<'_>) -> Result<(), String> {
    match (before, after) {
        (Some(before), Some(after)) if before > after.after(SLACK) => {
            Err(format!("{later} at {} s, before {earlier} at {} s", after.as_secs_f64(), before.as_secs_f64()))
        }
        _ => Ok(()),
    }
}

fn in_time(what: &str, moment: Timestamp) -> Result<(), String> {
    let seconds = moment.as_secs_f64();
    holds(moment <= LATEST, || format!("{what} is {seconds} s, over a year after the beginning"))
}

fn holds(condition: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if condition { Ok(()) } else { Err(otherwise()) }
}

fn counted(usage: &Usage) -> Result<(), String> {
    usage.impossible().map_or(Ok(()), |(what, tokens)| countable(what, tokens))
}

fn countable(what: &str, number: u64) -> Result<(), String> {
    holds(number <= MOST, || format!("{what} is {number}, more than can be counted in a run"))
}

fn one_of(what: &str, number: u64, of: u64) -> Result<(), String> {
    let exists = (1..=of).contains(&number) && of <= MOST;
    holds(exists, || format!("{what} {number} of {of} does not exist"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::record::log::runlog::RunLog;

    #[test]
    fn a_window_may_be_empty_and_ends_no_sooner_than_it_begins() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/schema-1");
        let check = |millis: u64| {
            let mut header = RunLog::read(&folder).unwrap().header;
            header.plan.window_start = Timestamp::from_nanos(500_000_000);
            header.plan.window_end = Timestamp::from_nanos(millis * 1_000_000);
            check_header(&header)
        };
        assert_eq!((check(500), check(501)), (Ok(()), Ok(())));
        assert_eq!(check(499), Err("the window ends at 0.499 s, before it begins at 0.5 s".to_owned()));
    }

    #[test]
    fn nothing_happens_more_than_a_second_before_what_comes_first() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/schema-1");
        let mut record = RunLog::read(&folder).unwrap().records[0].clone();
        record.dispatched = record.ended.after(SLACK);
        record.sent = None;
        record.headers = None;
        record.chunks = crate::record::ChunkTrain::default();
        assert_eq!(in_order(&record), Ok(()));
        record.dispatched = record.dispatched.after(Duration::from_nanos(1));
        let said = in_order(&record).unwrap_err();
        assert_eq!(said, "it ended at 0.432559461 s, before it was dispatched at 1.432559462 s");
    }

    #[test]
    fn a_cool_down_begins_after_the_window_unless_the_server_ends_that() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/schema-1");
        let log = RunLog::read(&folder).unwrap();
        let (mut header, mut record) = (log.header.clone(), log.records[0].clone());
        (record.phase, record.scheduled) = (Phase::Cooldown, Timestamp::ZERO);
        header.plan.window_end = Timestamp::from_nanos(9_000_000_000);
        let said = of_the_plan(&header, &record).unwrap_err();
        assert_eq!(said, "it was scheduled at 0 s, and the cool-down begins at 9 s");
        record.scheduled = header.plan.window_end;
        assert_eq!(of_the_plan(&header, &record), Ok(()));
    }

    #[test]
    fn totals_of_a_page_are_numbers_all_of_them() {
        use crate::record::telemetry::{Counter, ServerTime, TimeHistogram};
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs");
        let logs = std::fs::read_dir(folder).unwrap().map(|run| RunLog::read(&run.unwrap().path()).unwrap());
        let header = logs.map(|log| log.header).find(|header| !header.telemetry.is_empty()).unwrap();
        let check = |total, sum_s| {
            let times = TimeHistogram { count: 1.0, sum_s, buckets: Vec::new() };
            let reading = Reading {
                counters: [(Counter::PromptTokens, total)].into_iter().collect(),
                histograms: [(ServerTime::Queue, times)].into_iter().collect(),
                ..Reading::default()
            };
            check_reading(&header, &reading).is_ok()
        };
        assert!(check(2.0, 1.0));
        for (total, sum_s) in [(f64::NAN, 1.0), (2.0, f64::INFINITY), (f64::NAN, f64::NAN)] {
            assert!(!check(total, sum_s), "{total} and {sum_s}");
        }
    }

    #[test]
    fn a_line_that_is_not_believed_is_lost() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/schema-1");
        let text = std::fs::read_to_string(folder.join(RunLog::FILE_NAME)).unwrap();
        let copy = tempfile::tempdir().unwrap();
        let changed = text.replacen("\"ended_ns\":432559461", "\"ended_ns\":99432559461000000", 1);
        std::fs::write(copy.path().join(RunLog::FILE_NAME), changed).unwrap();
        assert_eq!(
            RunLog::read(copy.path()).unwrap().damage.in_words(),
            "line 2 is not believed: request 0: its end is 99432559.461 s, over a year after the beginning; 1 line is \
             lost"
        );
    }

    #[test]
    fn a_tenant_and_a_prefix_are_those_of_the_workload() {
        assert_eq!((known("tenant", Some(1), 2), known("tenant", None, 0)), (Ok(()), Ok(())));
        let said = known("tenant", Some(2), 2).unwrap_err();
        assert_eq!(said, "tenant 2 does not exist; the workload has 2, numbered from 0");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/schema-1");
        let mut log = RunLog::read(&folder).unwrap();
        let tokens = crate::workload::Distribution::Constant { value: 4 };
        log.header.workload.classes[0].shared_prefix =
            Some(crate::workload::SharedPrefixes { tokens, count: 2, zipf: 0.0, warm: 0.0 });
        let mut record = log.records.remove(0);
        (record.class, record.input_tokens_asked) = (0, 10);
        let mut check = |number, tokens| {
            record.prefix = Some(crate::record::SharedPrefix { number, tokens });
            of_the_workload(&log.header, &record)
        };
        assert_eq!([check(1, 10), check(1, 4)], [Ok(()), Ok(())]);
        assert_eq!(check(1, 11), Err("its prefix has 11 of 10 prompt tokens".to_owned()));
        assert!(check(2, 4).is_err());
    }

    #[test]
    fn counts_beyond_any_run_are_impossible() {
        let usage = Usage { prompt_tokens: Usage::MOST, completion_tokens: 3, ..Usage::default() };
        assert_eq!(usage.impossible(), None);
        let beyond = Usage { completion_tokens: Usage::MOST + 1, ..usage };
        assert_eq!(beyond.impossible(), Some(("completion_tokens", Usage::MOST + 1)));
        assert!(counted(&beyond).is_err() && counted(&usage).is_ok());
    }

    #[test]
    fn a_repeat_has_a_number_up_to_the_planned_ones_and_two_spare_ones() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/schema-1");
        let check = |number, of| {
            let mut header = RunLog::read(&folder).unwrap().header;
            header.repeat = Some(Repeat { number, of, first_seed: 1 });
            check_header(&header)
        };
        for (number, of) in [(1, 2), (5, 5), (6, 5), (7, 5), (3, 1)] {
            assert_eq!(check(number, of), Ok(()), "{number} of {of}");
        }
        for (number, of) in [(0, 5), (8, 5), (1, 0), (2, 0), (u64::MAX, 5), (3, u64::MAX)] {
            assert_eq!(check(number, of), Err(format!("repeat {number} of {of} does not exist")));
        }
    }
}
