//! Reads a trace file or an access log line by line.

use std::io::BufReader;
use std::path::Path;

use super::columns::CsvTraceColumns;
use super::json_lines::{self, Heading, SCHEMA};
use super::logs::AccessLogFields;
use crate::generator::packed::Unpacked;
use crate::generator::rows::{FileLines, LineError, excerpt};
use crate::generator::traces::error::TraceError;
use crate::generator::traces::requests::{BadLine, TraceFacts, TracedRequest};
use crate::workload::{BadLines, Trace, TraceFormat};

/// Longest line, bytes. The hash ids of a prompt of a million tokens take a tenth of it.
const LONGEST_LINE: u64 = 16 << 20;
/// The columns that Azure's traces need.
const AZURE: &str = "TIMESTAMP, ContextTokens and GeneratedTokens";
/// The columns that `BurstGPT`'s files need.
const BURST_GPT: &str = "Timestamp, Request tokens and Response tokens";

/// The requests of a file in the order of its lines.
#[derive(Debug)]
pub(crate) struct TraceReader {
    pub(super) path: String,
    pub(super) lines: FileLines<BufReader<Unpacked>>,
    /// Whether the line was only read to recognise the format. It is then still to be used.
    unread: bool,
    layout: LineLayout,
    pub(in crate::generator::traces) facts: TraceFacts,
    bad_lines: BadLines,
}

#[derive(Debug)]
enum LineLayout {
    /// JSON with timestamps in units of `unit_ns` nanoseconds.
    Public {
        unit_ns: f64,
    },
    Own,
    Columns(CsvTraceColumns),
    Log(AccessLogFields),
}

/// Reads an access log in JSON lines. Returns its requests in order, with moments that count from the first, and how
/// many lines were left out. It keeps none of the log's text.
pub fn read_log(
    path: &str,
    fields: &AccessLogFields,
    bad_lines: BadLines,
) -> Result<(Vec<TracedRequest>, u64), TraceError> {
    let mut reader = TraceReader::new(path, LineLayout::Log(fields.clone()), bad_lines)?;
    let mut requests = Vec::new();
    while let Some(request) = reader.read()? {
        requests.push(request);
    }
    let skipped = reader.facts.skipped;
    requests.sort_by_key(|request| request.at_ns);
    let Some(zero) = requests.first().map(|request| request.at_ns) else {
        return Err(TraceError::NoRequest { path: path.to_owned(), skipped });
    };
    for request in &mut requests {
        request.at_ns = request.at_ns.saturating_sub(zero);
    }
    Ok((requests, skipped))
}

impl TraceReader {
    /// Opens the file of `trace`. It recognises the format if the spec does not name it.
    pub(crate) fn open(trace: &Trace) -> Result<Self, TraceError> {
        let mut reader = Self::new(&trace.path, LineLayout::Own, trace.bad_lines)?;
        reader.layout = reader.recognise(trace.format)?;
        reader.unread = matches!(reader.layout, LineLayout::Public { .. });
        Ok(reader)
    }

    fn new(path: &str, layout: LineLayout, bad_lines: BadLines) -> Result<Self, TraceError> {
        let path = path.to_owned();
        let file = match Unpacked::open(Path::new(&path)) {
            Ok(file) => BufReader::with_capacity(1 << 17, file),
            Err(cause) => return Err(TraceError::Io { path, cause }),
        };
        let lines = FileLines::new(file, LONGEST_LINE);
        let facts = TraceFacts::from_format(TraceFormat::Skyline);
        Ok(Self { path, lines, unread: false, layout, facts, bad_lines })
    }

    fn recognise(&mut self, named: Option<TraceFormat>) -> Result<LineLayout, TraceError> {
        if !self.advance()? {
            return Err(TraceError::NoLine { path: self.path.clone() });
        }
        let begins = String::from_utf8_lossy(&self.lines.line).into_owned();
        let format = named.or_else(|| guess(&begins)).ok_or_else(|| self.unknown(&begins))?;
        self.facts = TraceFacts::from_format(format);
        let (columns, wanted) = match format {
            TraceFormat::Mooncake | TraceFormat::Bailian => {
                let epoch_ns = json_lines::unit_of_date(begins.as_bytes());
                self.facts.dated = epoch_ns.is_some();
                let own_ns = if format == TraceFormat::Mooncake { 1e6 } else { 1e9 };
                return Ok(LineLayout::Public { unit_ns: epoch_ns.unwrap_or(own_ns) });
            }
            // A pool is a folder; its files do not list requests.
            TraceFormat::ServeGen | TraceFormat::Sessions => return Err(self.unknown(&begins)),
            TraceFormat::Skyline => {
                let heading: Heading = json_lines::json(begins.as_bytes()).map_err(|bad| {
                    self.heading(format!("not the first line of a trace of Skyline's: {}", bad.cause))
                })?;
                if heading.skyline_trace > SCHEMA {
                    let schema = heading.skyline_trace;
                    return Err(self.heading(format!(
                        "the trace has schema {schema}, and this skyline reads up to {SCHEMA}; use a newer one"
                    )));
                }
                self.facts.block_tokens = heading.block_tokens.filter(|tokens| *tokens > 0);
                self.facts.window = heading.window.filter(|window| window.from_ns < window.to_ns);
                return Ok(LineLayout::Own);
            }
            TraceFormat::Azure => (CsvTraceColumns::azure(&begins), AZURE),
            TraceFormat::BurstGpt => (CsvTraceColumns::burst_gpt(&begins), BURST_GPT),
        };
        let missing = || self.heading(format!("{:?} does not name the columns {wanted}", excerpt(&begins)));
        let columns = columns.ok_or_else(missing)?;
        self.facts.block_tokens = columns.block_tokens();
        Ok(LineLayout::Columns(columns))
    }

    fn unknown(&self, begins: &str) -> TraceError {
        let (path, begins) = (self.path.clone(), excerpt(begins));
        let cure = if begins.starts_with('{') {
            format!(
                "name its format (--trace-format), which may be a layout of sessions, or convert it: \
                 `skyline trace from {path}` reads JSON lines with fields of any name"
            )
        } else {
            format!("of CSV files the first line names the columns: {AZURE} (azure), or {BURST_GPT} (burst_gpt)")
        };
        TraceError::Unknown { path, begins, cure }
    }

    fn heading(&self, cause: String) -> TraceError {
        TraceError::Heading { path: self.path.clone(), line: self.lines.number, cause }
    }

    /// Reads the next line that is not blank; false at the end.
    fn advance(&mut self) -> Result<bool, TraceError> {
        self.lines.advance().map_err(|error| match error {
            LineError::Io(cause) => TraceError::Io { path: self.path.clone(), cause },
            LineError::TooLong => self.heading(format!("the line is longer than {LONGEST_LINE} bytes")),
        })
    }

    /// Reads the next line that is a request; `None` at the end.
    pub(in crate::generator::traces) fn read(&mut self) -> Result<Option<TracedRequest>, TraceError> {
        while std::mem::take(&mut self.unread) || self.advance()? {
            match self.request() {
                Ok(request) => return Ok(Some(request)),
                Err(_) if self.bad_lines == BadLines::Skip => self.facts.skipped += 1,
                Err(bad) => {
                    let (path, line) = (self.path.clone(), self.lines.number);
                    let cure = match self.layout {
                        LineLayout::Log(_) => TraceError::LOG_CURE,
                        _ => TraceError::LINE_CURE,
                    };
                    return Err(TraceError::Line { path, line, bad, cure });
                }
            }
        }
        Ok(None)
    }

    fn request(&self) -> Result<TracedRequest, BadLine> {
        let line = &self.lines.line;
        match &self.layout {
            LineLayout::Public { unit_ns } => json_lines::public(line, *unit_ns),
            LineLayout::Own => json_lines::own(line),
            LineLayout::Columns(columns) => columns.request(line),
            LineLayout::Log(fields) => fields.request(line.trim_ascii_start()),
        }
    }
}

/// The only format that a first line fits.
fn guess(begins: &str) -> Option<TraceFormat> {
    let has = |field: &str| begins.contains(&format!("\"{field}\""));
    if begins.starts_with('{') {
        return if has("skyline_trace") {
            Some(TraceFormat::Skyline)
        } else if !(has("timestamp") && has("input_length") && has("output_length")) {
            None
        } else if has("chat_id") {
            Some(TraceFormat::Bailian)
        } else {
            Some(TraceFormat::Mooncake).filter(|_| has("hash_ids"))
        };
    }
    let azure = CsvTraceColumns::azure(begins).map(|_| TraceFormat::Azure);
    azure.or_else(|| CsvTraceColumns::burst_gpt(begins).map(|_| TraceFormat::BurstGpt))
}
