//! Reads a trace file line by line.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use super::columns::CsvTraceColumns;
use super::json_lines::{self, Heading, SCHEMA};
use crate::generator::traces::error::TraceError;
use crate::generator::traces::requests::{BadLine, TracedRequest, TracedWindow, excerpt};
use crate::workload::{BadLines, Trace, TraceFormat};

/// Longest line, bytes: the hash ids of a prompt of a million tokens take a tenth of it.
pub(crate) const LONGEST_LINE: u64 = 16 << 20;
/// Some editors write it at the beginning.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The requests of a trace file in the order of its lines.
#[derive(Debug)]
pub(crate) struct TraceReader {
    path: String,
    lines: BufReader<File>,
    /// The last line read, without its end.
    line: Vec<u8>,
    /// Its number, from 1.
    number: u64,
    /// Whether the line was only read to recognise the format and is still to be used.
    unread: bool,
    format: TraceFormat,
    layout: LineLayout,
    block_tokens: Option<u32>,
    window: Option<TracedWindow>,
    bad_lines: BadLines,
    skipped: u64,
    /// Whether a bad line has stopped the reader.
    stopped: bool,
}

#[derive(Debug)]
enum LineLayout {
    /// JSON with timestamps in units of `unit_ns` nanoseconds.
    Public {
        unit_ns: f64,
    },
    Own,
    Columns(CsvTraceColumns),
}

impl TraceReader {
    /// Opens the file of `trace` and recognises its format if the spec does not name it.
    pub(crate) fn open(trace: &Trace) -> Result<Self, TraceError> {
        let path = trace.path.clone();
        let file = File::open(&path).map_err(|cause| TraceError::Io { path: path.clone(), cause })?;
        let mut reader = Self {
            path,
            lines: BufReader::with_capacity(1 << 17, file),
            line: Vec::new(),
            number: 0,
            unread: false,
            format: TraceFormat::Skyline,
            layout: LineLayout::Own,
            block_tokens: None,
            window: None,
            bad_lines: trace.bad_lines,
            skipped: 0,
            stopped: false,
        };
        reader.recognise(trace.format)?;
        Ok(reader)
    }

    pub(crate) fn format(&self) -> TraceFormat {
        self.format
    }

    /// Tokens of its requests' blocks; `None` where they have none.
    pub(crate) fn block_tokens(&self) -> Option<u32> {
        self.block_tokens
    }

    /// The window that a run measured, if the trace was made from one.
    pub(crate) fn window(&self) -> Option<TracedWindow> {
        self.window
    }

    /// Lines left out so far.
    pub(crate) fn skipped(&self) -> u64 {
        self.skipped
    }

    pub(crate) fn line_number(&self) -> u64 {
        self.number
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    fn recognise(&mut self, named: Option<TraceFormat>) -> Result<(), TraceError> {
        if !self.next_line()? {
            return Err(TraceError::NoLine { path: self.path.clone() });
        }
        if self.line.starts_with(&[0x1f, 0x8b]) {
            return Err(TraceError::Compressed { path: self.path.clone() });
        }
        let begins = String::from_utf8_lossy(&self.line).into_owned();
        let format = named.or_else(|| guess(&begins)).ok_or_else(|| self.unknown())?;
        self.format = format;
        self.block_tokens = format.block_tokens();
        let columns = |found: Option<CsvTraceColumns>, wanted: &str| {
            found
                .map(LineLayout::Columns)
                .ok_or_else(|| self.heading(format!("{:?} does not name {wanted}", excerpt(&begins))))
        };
        self.layout = match format {
            TraceFormat::Mooncake => LineLayout::Public { unit_ns: 1e6 },
            TraceFormat::Bailian => LineLayout::Public { unit_ns: 1e9 },
            TraceFormat::Azure => columns(
                CsvTraceColumns::azure(&begins),
                "the columns TIMESTAMP, ContextTokens and GeneratedTokens",
            )?,
            TraceFormat::BurstGpt => columns(
                CsvTraceColumns::burst_gpt(&begins),
                "the columns Timestamp, Request tokens and Response tokens",
            )?,
            // A pool is a folder; its files do not list requests.
            TraceFormat::ServeGen => return Err(self.unknown()),
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
                self.block_tokens = heading.block_tokens.filter(|tokens| *tokens > 0);
                self.window = heading.window.filter(|window| window.from_ns < window.to_ns);
                LineLayout::Own
            }
        };
        if let LineLayout::Columns(columns) = &self.layout {
            self.block_tokens = columns.block_tokens();
        }
        self.unread = matches!(self.layout, LineLayout::Public { .. });
        Ok(())
    }

    fn unknown(&self) -> TraceError {
        let path = self.path.clone();
        let begins = excerpt(&String::from_utf8_lossy(&self.line));
        let cure = if begins.starts_with('{') {
            format!(
                "name its format (--trace-format), or convert it: `skyline trace from {path}` reads JSON lines with fields \
                 of any name"
            )
        } else {
            "of CSV files the first line names the columns: TIMESTAMP, ContextTokens and GeneratedTokens (azure), or \
             Timestamp, Request tokens and Response tokens (burst_gpt)"
                .to_owned()
        };
        TraceError::Unknown { path, begins, cure }
    }

    fn heading(&self, cause: String) -> TraceError {
        TraceError::Heading { path: self.path.clone(), line: self.number, cause }
    }

    /// Reads the next line that is not blank; false at the end.
    fn next_line(&mut self) -> Result<bool, TraceError> {
        loop {
            if std::mem::take(&mut self.unread) {
                return Ok(true);
            }
            self.line.clear();
            let read = self.lines.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut self.line);
            let read = read.map_err(|cause| TraceError::Io { path: self.path.clone(), cause })?;
            if read == 0 {
                return Ok(false);
            }
            self.number += 1;
            if read as u64 == LONGEST_LINE {
                return Err(self.heading(format!("the line is longer than {LONGEST_LINE} bytes")));
            }
            if self.number == 1 && self.line.starts_with(BYTE_ORDER_MARK) {
                self.line.drain(..BYTE_ORDER_MARK.len());
            }
            self.line.truncate(self.line.trim_ascii_end().len());
            if !self.line.is_empty() {
                return Ok(true);
            }
        }
    }

    fn request(&self) -> Result<TracedRequest, BadLine> {
        match &self.layout {
            LineLayout::Public { unit_ns } => json_lines::public(&self.line, *unit_ns),
            LineLayout::Own => json_lines::own(&self.line),
            LineLayout::Columns(columns) => columns.request(&self.line),
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

impl Iterator for TraceReader {
    type Item = Result<TracedRequest, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.stopped {
            match self.next_line() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.stopped = true;
                    return Some(Err(error));
                }
            }
            match (self.request(), self.bad_lines) {
                (Ok(request), _) => return Some(Ok(request)),
                (Err(_), BadLines::Skip) => self.skipped += 1,
                (Err(BadLine { place, cause }), BadLines::Refuse) => {
                    self.stopped = true;
                    let (path, line) = (self.path.clone(), self.number);
                    return Some(Err(TraceError::Line { path, line, place, cause }));
                }
            }
        }
        None
    }
}
