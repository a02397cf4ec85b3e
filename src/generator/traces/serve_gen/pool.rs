//! Opens a folder of clients and merges their requests.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::client::{PoolClient, PoolStretch};
use super::tables::{LengthTables, PoolLengths};
use crate::arrivals::Superposition;
use crate::generator::traces::error::TraceError;
use crate::generator::traces::requests::{BadLine, TraceFacts, TracedRequest};
use crate::workload::{BadLines, Trace, TraceFormat};

/// The requests of all clients of a pool in order.
#[derive(Debug)]
pub(in crate::generator::traces) struct ClientPool {
    requests: Superposition<PoolClient>,
    /// End of the last stretch of any client, nanoseconds.
    ends_ns: u64,
    facts: TraceFacts,
}

impl ClientPool {
    /// Whether a trace is a pool: by its format, or because it is a folder.
    pub(in crate::generator::traces) fn is(trace: &Trace) -> bool {
        match trace.format {
            Some(format) => format == TraceFormat::ServeGen,
            None => Path::new(&trace.path).is_dir(),
        }
    }

    /// Opens the pool and holds all of its tables. They take about 50 MB for the largest pool, two weeks of 160
    /// clients.
    pub(in crate::generator::traces) fn open(trace: &Trace, seed: u64) -> Result<Self, TraceError> {
        let mut reading =
            PoolReader { bad_lines: trace.bad_lines, facts: TraceFacts::from_format(TraceFormat::ServeGen) };
        let (mut clients, mut ends_s) = (Vec::new(), 0);
        for (number, traced) in chunks(&trace.path)? {
            let stretches = reading.stretches(&traced)?;
            let dataset = traced.with_file_name(format!("chunk-{number}-dataset.json"));
            let tables = reading.tables(&dataset)?;
            reading.check_lengths(&stretches, &tables, &dataset)?;
            ends_s = ends_s.max(stretches.last().map_or(0, |stretch| stretch.at_s));
            let drawn = (seed, trace.from_s, trace.rate_scale);
            clients.push(PoolClient::new(&format!("chunk-{number}"), stretches, tables, drawn));
        }
        Ok(Self {
            requests: Superposition::new(clients),
            ends_ns: u64::from(ends_s) * 1_000_000_000,
            facts: reading.facts,
        })
    }

    pub(in crate::generator::traces) fn ends_ns(&self) -> u64 {
        self.ends_ns
    }

    pub(in crate::generator::traces) fn facts(&self) -> &TraceFacts {
        &self.facts
    }
}

impl Iterator for ClientPool {
    type Item = TracedRequest;

    fn next(&mut self) -> Option<TracedRequest> {
        let ((at_ns, input_tokens, output_tokens), _) = self.requests.next()?;
        let at_ns = i64::try_from(at_ns).unwrap_or(i64::MAX);
        Some(TracedRequest { at_ns, input_tokens, output_tokens, ..TracedRequest::default() })
    }
}

/// The clients of a folder: their numbers, in order, and their rate files.
fn chunks(folder: &str) -> Result<Vec<(u64, PathBuf)>, TraceError> {
    let io = |cause| TraceError::Io { path: folder.to_owned(), cause };
    let mut chunks = Vec::new();
    for entry in fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let number = name.strip_prefix("chunk-").and_then(|name| name.strip_suffix("-trace.csv"));
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            chunks.push((number, path));
        }
    }
    if chunks.is_empty() {
        return Err(TraceError::NoClients { path: folder.to_owned() });
    }
    chunks.sort();
    Ok(chunks)
}

/// State of reading the clients' files.
struct PoolReader {
    bad_lines: BadLines,
    facts: TraceFacts,
}

impl PoolReader {
    /// Skips and counts a bad line, or refuses it.
    fn refuse(&mut self, path: &Path, line: u64, bad: BadLine) -> Result<(), TraceError> {
        if self.bad_lines == BadLines::Skip {
            self.facts.skipped += 1;
            return Ok(());
        }
        Err(TraceError::Line { path: path.display().to_string(), line, bad, cure: TraceError::LINE_CURE })
    }

    /// Returns the stretches of a client, plus a silent one that marks the end. The last lasts as long as the one
    /// before. A skipped line is a silent stretch too.
    fn stretches(&mut self, path: &Path) -> Result<Vec<PoolStretch>, TraceError> {
        let text = read(path)?;
        let mut stretches: Vec<PoolStretch> = Vec::new();
        for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
            let after_s = stretches.last().map(|stretch| stretch.at_s);
            match PoolStretch::read(line, after_s) {
                Ok(stretch) => {
                    self.facts.nearest += u64::from(stretch.is_nearest);
                    stretches.push(stretch);
                }
                Err(bad) => {
                    self.refuse(path, number, bad)?;
                    stretches.extend(PoolStretch::silent_of(line, after_s));
                }
            }
        }
        let [.., before, last] = stretches.as_slice() else {
            let cause = "has fewer than two lines, and a stretch ends where the next begins; add the next".to_owned();
            return Err(TraceError::Heading { path: path.display().to_string(), line: 1, cause });
        };
        let at_s = last.at_s.saturating_add(last.at_s - before.at_s);
        stretches.push(PoolStretch::silent(at_s));
        Ok(stretches)
    }

    /// The tables of a client in the order of their moments.
    fn tables(&mut self, path: &Path) -> Result<Vec<LengthTables>, TraceError> {
        let text = read(path)?;
        let moments: Map<String, Value> = serde_json::from_str(&text).map_err(|error| {
            let cause = format!("is not a JSON object with a table of lengths for each moment: {error}");
            TraceError::Heading { path: path.display().to_string(), line: error.line() as u64, cause }
        })?;
        let mut tables = Vec::new();
        for (moment, fields) in &moments {
            let none = Map::new();
            match LengthTables::read(moment, fields.as_object().unwrap_or(&none)) {
                Ok(read) => {
                    let sends_nothing = |read: &LengthTables| read.lengths == PoolLengths::Nothing;
                    self.facts.nearest += u64::from(read.as_ref().is_some_and(sends_nothing));
                    tables.extend(read);
                }
                Err((field, cause)) => {
                    let line = line_of(&text, moment, &field);
                    let place = format!("moment \"{moment}\", field \"{field}\"");
                    self.refuse(path, line, BadLine { place, cause })?;
                    tables.extend(LengthTables::left_out(moment));
                }
            }
        }
        tables.sort_by_key(|tables| tables.at_s);
        Ok(tables)
    }

    /// Refuses stretches whose requests have no lengths. They are before the first table, or where a table was left
    /// out.
    fn check_lengths(
        &mut self,
        stretches: &[PoolStretch],
        tables: &[LengthTables],
        path: &Path,
    ) -> Result<(), TraceError> {
        let without_lengths = |stretch: &&PoolStretch| {
            let holds = tables.iter().rfind(|tables| tables.at_s <= stretch.at_s);
            stretch.sent.is_some() && holds.is_none_or(|tables| tables.lengths == PoolLengths::LeftOut)
        };
        for stretch in stretches.iter().filter(without_lengths) {
            let place = format!("moment \"{}\"", stretch.at_s);
            let cause = "the client sends requests then, and no table says how long they are".to_owned();
            self.refuse(path, 1, BadLine { place, cause })?;
        }
        Ok(())
    }
}

fn read(path: &Path) -> Result<String, TraceError> {
    fs::read_to_string(path).map_err(|cause| TraceError::Io { path: path.display().to_string(), cause })
}

/// The line of a field of a moment.
fn line_of(text: &str, moment: &str, field: &str) -> u64 {
    let at = text.find(&format!("\"{moment}\"")).unwrap_or(0);
    let at = text.get(at..).and_then(|rest| rest.find(&format!("\"{field}\""))).map_or(at, |inside| at + inside);
    text.get(..at).map_or(1, |before| before.matches('\n').count() as u64 + 1)
}
