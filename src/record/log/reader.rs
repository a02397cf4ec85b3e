//! Reads a run log, and all that can be read of a damaged one.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use super::line::{LogLine, StoredLine};
use super::pages::{ROOM, ROOM_OF_SHARDS, Room};
use super::plausibility::LineRules;
use super::records::Records;
use super::runlog::{RunLog, RunLogError};
use super::seal::{Seal, unseal};
use crate::record::request::amendment::Amendment;
use crate::record::request::outcome::Outcome;
use crate::record::request::record::UnendedRequest;
use crate::record::run::header::RunHeader;
use crate::units::count;
use crate::workload::{RequestClass, ScoringRule};

impl RunLog {
    /// Reads a run from its log, or from the folder that holds one.
    ///
    /// Ignores a last line that was cut off (a crash, a full disk). A line that cannot be read, that was
    /// altered since it was written or that no run can have is not believed: [`RunLog::damage`] says so, and
    /// everything else is read.
    ///
    /// # Errors
    ///
    /// [`RunLogError`] names the file and the cause: it is no run log, or its header cannot be used.
    pub fn read(path: &Path) -> Result<Self, RunLogError> {
        Self::read_with(path, ROOM)
    }

    /// Reads the log of a shard as [`Self::read`]. It leaves memory for the run that the shards are joined to.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn read_shard(path: &Path) -> Result<Self, RunLogError> {
        Self::read_with(path, ROOM_OF_SHARDS)
    }

    /// Reads a log as [`Self::read`], with `room` for the records of all logs in use.
    pub(crate) fn read_with(path: &Path, room: u64) -> Result<Self, RunLogError> {
        let path = if path.is_dir() { path.join(Self::FILE_NAME) } else { path.to_owned() };
        let file = File::open(&path).map_err(|source| RunLogError::Io { path: path.clone(), source })?;
        Self::from_lines(BufReader::new(file), &path, room)
    }

    /// The run that these lines of the file at `path` hold.
    pub(super) fn from_lines(mut lines: impl BufRead, path: &Path, room: u64) -> Result<Self, RunLogError> {
        let mut text = Vec::new();
        let mut line = |text: &mut Vec<u8>| {
            let read = (&mut lines).take(LONGEST_LINE + 1).read_until(b'\n', text);
            let fits = |read: usize| {
                let too_long = || io::Error::other("a line is longer than 64 MiB: this is no run log");
                if read as u64 > LONGEST_LINE { Err(too_long()) } else { Ok(read) }
            };
            read.and_then(fits).map_err(|source| RunLogError::Io { path: path.to_owned(), source })
        };
        line(&mut text)?;
        let mut reader = LogReader::begin(path, &mut text, Room::from_limit(room))?;
        loop {
            text.clear();
            if line(&mut text)? == 0 {
                return Ok(reader.end());
            }
            reader.take(&mut text);
        }
    }
}

/// Longest line, bytes: the record of a request with millions of chunks.
const LONGEST_LINE: u64 = 64 << 20;

/// The schema of a header line, if it is newer than this program.
fn newer_schema(text: &[u8]) -> Option<u32> {
    let line: serde_json::Value = serde_json::from_slice(text).ok()?;
    let schema = u32::try_from(line.get("header")?.get("schema")?.as_u64()?).ok()?;
    (schema > RunHeader::SCHEMA).then_some(schema)
}

/// First schema whose lines end with a number and a checksum.
const SEALED: u32 = 6;

/// A log that is being read.
struct LogReader {
    log: RunLog,
    rules: LineRules,
    /// The line of the file that is read, from 1.
    place: u64,
    /// The number of the last line that was believed.
    number: u64,
    /// Lines since then that were not.
    unread: u64,
    /// Checksum from which those of its lines go on. It is what the header has, and what it should have.
    run: [u32; 2],
    dispatched: BTreeMap<u64, UnendedRequest>,
    /// Places of the records whose answers are to be counted, by their indices.
    uncounted: HashMap<u64, usize>,
    /// Places of the records whose answers a program is to score, by their indices.
    unscored: HashMap<u64, usize>,
    /// Whether an answer has a finish reason, and which answers have none. Those are the places of answers that ended
    /// without one.
    reasons: (bool, Vec<u32>),
}

impl LogReader {
    /// Begins with the first line.
    fn begin(path: &Path, text: &mut Vec<u8>, room: Room) -> Result<Self, RunLogError> {
        let line = |message: String| RunLogError::Line { path: path.to_owned(), line: 1, message };
        if text.is_empty() {
            return Err(line("the file is empty; a run log begins with a header".to_owned()));
        }
        if let Some(found) = newer_schema(text) {
            return Err(RunLogError::Schema { path: path.to_owned(), found, known: RunHeader::SCHEMA });
        }
        let (seal, sums) = unseal(text, &[0]);
        let header = match serde_json::from_slice(text) {
            Ok(StoredLine::Header(header)) => *header,
            other => {
                let why = other.err().map_or_else(|| "no header".to_owned(), |error| error.to_string());
                return Err(line(format!(
                    "this is not a run log ({why})\nhint: give a run's folder, or its run.jsonl"
                )));
            }
        };
        let mut rules = LineRules::from_header(header.clone());
        rules
            .check(LogLine::Header(&header))
            .map_err(|message| RunLogError::Header { path: path.to_owned(), message })?;
        let (sealed, run) = (header.schema >= SEALED, sums.map(|sum| header.run_of_lines(sum)));
        let mut log = RunLog::begun(header);
        // Without its header nothing of a run can be shown, so an altered one is used, and the run is not believed.
        if seal == Seal::Broken || sealed && seal == Seal::Absent {
            log.damage.note(|| "line 1, the header, was altered".to_owned());
        }
        log.records = Records::within(room, path.parent().unwrap_or(path));
        let (dispatched, uncounted, unscored, reasons) = Default::default();
        Ok(Self { log, rules, place: 1, number: 1, unread: 0, run, dispatched, uncounted, unscored, reasons })
    }

    /// Takes the next line.
    fn take(&mut self, text: &mut Vec<u8>) {
        self.place += 1;
        let cut_off = !text.ends_with(b"\n");
        // A power cut leaves zeros where the file system had no data yet.
        let zeros = text.iter().take_while(|byte| **byte == 0).count();
        text.drain(..zeros);
        let sealed = self.log.header.schema >= SEALED;
        let (seal, _) = unseal(text, &self.run);
        let is_torn = || sealed || serde_json::from_slice::<StoredLine>(text).is_err();
        if seal == Seal::Absent && cut_off && is_torn() {
            return;
        }
        let fault = if self.log.footer.is_some() {
            "comes after the end of the run".to_owned()
        } else {
            match seal {
                Seal::Whole(number) if number <= self.number => "is repeated or out of its place".to_owned(),
                Seal::Broken if self.run != [0; 2] => self.unread("was altered, or is another run's"),
                Seal::Broken => self.unread("was altered"),
                Seal::Absent if sealed => self.unread("cannot be read"),
                Seal::Whole(_) | Seal::Absent => {
                    if let Seal::Whole(number) = seal {
                        self.count_missing(number);
                    }
                    let Err(why) = self.believe(text) else {
                        return;
                    };
                    self.log.damage.lost_lines += 1;
                    why
                }
            }
        };
        let place = self.place;
        self.log.damage.note(|| format!("line {place} {fault}"));
    }

    fn unread(&mut self, why: &str) -> String {
        self.unread += 1;
        why.to_owned()
    }

    /// Counts the lines that are missing before the one of this number.
    fn count_missing(&mut self, number: u64) {
        let lost = number - self.number - 1;
        let missing = lost.saturating_sub(self.unread);
        if missing > 0 {
            let place = self.place;
            self.log.damage.note(|| match missing {
                1 => format!("1 line is missing before line {place}"),
                missing => format!("{} lines are missing before line {place}", count(missing)),
            });
        }
        self.log.damage.lost_lines += lost;
        (self.number, self.unread) = (number, 0);
    }

    /// Takes what a line says, or says why not.
    fn believe(&mut self, text: &[u8]) -> Result<(), String> {
        let line: StoredLine = serde_json::from_slice(text).map_err(|error| format!("cannot be read ({error})"))?;
        self.rules.check(line.as_line()).map_err(|what| format!("is not believed: {what}"))?;
        match line {
            StoredLine::Header(_) => return Err("is a second header".to_owned()),
            StoredLine::InFlight(requests) => {
                self.dispatched.extend(requests.into_iter().map(|request| (request.index, request)));
            }
            StoredLine::Request(record) => {
                self.dispatched.remove(&record.index);
                if record.is_uncounted() {
                    self.uncounted.insert(record.index, self.log.records.len());
                }
                let ended = record.outcome == Outcome::Completed;
                let class = self.log.header.workload.classes.get(usize::from(record.class));
                let scoring = class.and_then(RequestClass::scoring);
                if ended && scoring.is_some_and(|scoring| scoring.rule == ScoringRule::Command) {
                    self.unscored.insert(record.index, self.log.records.len());
                }
                self.reasons.0 |= ended && record.finish_reason.is_some();
                self.reasons.1.extend(record.lacks_reason().then_some(self.log.records.len() as u32));
                self.log.records.keep(*record);
            }
            StoredLine::Check(check) => self.log.checks.push(check),
            StoredLine::Counted(answer) => match self.uncounted.remove(&answer.index) {
                Some(place) => self.log.records.amend(place, Amendment::Counted(answer.tokens)),
                // Its record may be among the lost ones.
                None if self.log.damage.is_none() => {
                    return Err(format!("is not believed: request {} has no answer to count", answer.index));
                }
                None => {}
            },
            StoredLine::Scored(answer) => match self.unscored.remove(&answer.index) {
                Some(place) => self.log.records.amend(place, Amendment::Scored(answer.score)),
                None if self.log.damage.is_none() => {
                    return Err(format!("is not believed: request {} has no answer to score", answer.index));
                }
                None => {}
            },
            StoredLine::Reading(reading) => self.log.telemetry.readings.push(reading),
            StoredLine::Client(sample) => self.log.telemetry.client.push(sample),
            StoredLine::Footer(footer) => self.log.footer = Some(*footer),
        }
        Ok(())
    }

    fn end(mut self) -> RunLog {
        // Those before the first answer with a reason too must end as well as the others.
        let (others_have, without) = std::mem::take(&mut self.reasons);
        for place in without.into_iter().filter(|_| others_have) {
            self.log.records.amend(place as usize, Amendment::OthersHaveReasons);
        }
        self.log.damage.lost_lines += self.unread;
        self.log.unended = self.dispatched.into_values().collect();
        self.log
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::log::writer::RunLogWriter;
    use crate::record::request::kinds::FinishReason;
    use crate::record::request::outcome::FailureKind;
    use crate::record::request::record::RequestRecord;

    /// A stored run, its header first, its footer last, between them its requests.
    fn stored() -> (RunLog, Vec<String>) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs/schema-1");
        let mut log = RunLog::read(&folder).unwrap();
        log.header.schema = RunHeader::SCHEMA;
        let folder = tempfile::tempdir().unwrap();
        log.store(folder.path()).unwrap();
        let text = std::fs::read_to_string(folder.path().join(RunLog::FILE_NAME)).unwrap();
        (log, text.split_inclusive('\n').map(str::to_owned).collect())
    }

    fn read(lines: &[String]) -> RunLog {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(RunLog::FILE_NAME), lines.concat()).unwrap();
        RunLog::read(folder.path()).unwrap()
    }

    #[test]
    fn a_log_that_is_whole_is_read_as_it_was_written() {
        let (log, lines) = stored();
        assert_eq!(lines.len(), log.records.len() + 2);
        assert_eq!(read(&lines), log);
        let again = RunLog::of_requests(log.header.clone(), log.records.to_vec(), log.footer.clone().unwrap());
        assert_eq!(again, log);
    }

    #[test]
    fn lines_that_are_missing_or_altered_are_counted_once() {
        let (log, lines) = stored();
        let damage = |change: fn(&mut Vec<String>)| {
            let mut lines = lines.clone();
            change(&mut lines);
            read(&lines).damage.in_words()
        };
        assert_eq!(damage(|lines| drop(lines.remove(1))), "1 line is missing before line 2; 1 line is lost");
        assert_eq!(damage(|lines| drop(lines.drain(1..3))), "2 lines are missing before line 2; 2 lines are lost");
        let altered = |lines: &mut Vec<String>| lines[2] = lines[2].replacen("\"index\":", "\"Index\":", 1);
        assert_eq!(damage(altered), "line 3 was altered, or is another run's; 1 line is lost");
        assert_eq!(damage(|lines| lines[2] = "{}\n".to_owned()), "line 3 cannot be read; 1 line is lost");
        assert_eq!(
            damage(|lines| lines.swap(1, 2)),
            "1 line is missing before line 2, line 3 is repeated or out of its place; 1 line is lost"
        );
        let mut torn = lines.clone();
        let last = torn.last_mut().unwrap();
        last.truncate(last.len() / 2);
        let torn = read(&torn);
        assert_eq!((torn.damage.is_none(), torn.footer, torn.records), (true, None, log.records));
    }

    #[test]
    fn what_was_flushed_is_in_the_file() {
        let (log, lines) = stored();
        let folder = tempfile::tempdir().unwrap();
        let mut writer = RunLogWriter::create(folder.path(), &log.header).unwrap();
        writer.append(LogLine::Request(&log.records[0])).unwrap();
        writer.flush().unwrap();
        let text = std::fs::read_to_string(folder.path().join(RunLog::FILE_NAME)).unwrap();
        assert_eq!(text, lines[..2].concat());
    }

    #[test]
    fn an_answer_without_a_reason_fails_where_another_has_one() {
        let (mut log, _) = stored();
        for record in &mut log.records {
            (record.outcome, record.finish_reason) = (Outcome::Completed, None);
            record.output_tokens_asked = record.output_tokens as u32 + 1;
        }
        let failed = |log: &RunLog, room| {
            let folder = tempfile::tempdir().unwrap();
            log.store(folder.path()).unwrap();
            let log = RunLog::read_with(folder.path(), room).unwrap();
            let failed = |record: &RequestRecord| match &record.outcome {
                Outcome::Failed(failure) => failure.reason == FailureKind::Truncated,
                _ => false,
            };
            log.records.iter().map(|record| failed(&record)).collect::<Vec<_>>()
        };
        for room in [ROOM, 0] {
            assert!(!failed(&log, room).contains(&true), "a server that gives no reasons");
        }
        // One ends with a reason, another has all of its tokens.
        let last = log.records.len() - 1;
        log.records[last].finish_reason = Some(FinishReason::Stop);
        log.records[1].output_tokens_asked -= 1;
        for room in [ROOM, 0] {
            let failed = failed(&log, room);
            assert_eq!((failed[0], failed[1], failed[last]), (true, false, false));
            assert_eq!(failed.iter().filter(|failed| **failed).count(), last - 1);
        }
    }

    #[test]
    fn chunks_that_the_server_did_not_count_are_counted_by_their_number() {
        let (log, _) = stored();
        let mut record = log.records[0].clone();
        (record.output_tokens, record.chunks_counted) = (u64::MAX, false);
        let number = record.chunks.len() as u64;
        assert!(record.chunks.tokens() <= crate::record::Usage::MOST);
        let possible = record.possible();
        assert_eq!((possible.chunks_counted, possible.output_tokens), (false, number));
    }

    #[test]
    fn a_file_without_line_ends_is_no_run_log() {
        let endless = BufReader::new(io::repeat(b'{'));
        let error = RunLog::from_lines(endless, Path::new("x"), 1 << 20).unwrap_err().to_string();
        assert!(error.contains("longer than 64 MiB"), "{error}");
    }
}
