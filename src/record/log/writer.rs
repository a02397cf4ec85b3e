//! Appends to a run log while its run is on, and reads it back when the run is over.

use std::path::{Path, PathBuf};

use super::line::LogLine;
use super::lines::LineFile;
use super::pages::ROOM;
use super::plausibility::LineRules;
use super::runlog::{RunLog, RunLogError};
use super::seal::seal;
use crate::record::run::header::{RunFooter, RunHeader};

/// Appends to a run log, one line at a time. It writes no line that the reader would refuse.
#[derive(Debug)]
pub struct RunLogWriter {
    lines: LineFile,
    path: PathBuf,
    rules: LineRules,
    /// Lines appended.
    number: u64,
    /// The checksum from which those of its lines go on.
    run: u32,
    text: Vec<u8>,
}

impl RunLogWriter {
    /// Creates the log in `folder`, which must exist, and writes its header.
    ///
    /// # Errors
    ///
    /// When a log is already there, or the file cannot be written.
    pub fn create(folder: &Path, header: &RunHeader) -> Result<Self, RunLogError> {
        let path = folder.join(RunLog::FILE_NAME);
        let lines = LineFile::create(&path).map_err(|source| RunLogError::Io { path: path.clone(), source })?;
        let rules = LineRules::from_header(header.clone());
        let mut writer = Self { lines, path, rules, number: 0, run: 0, text: Vec::new() };
        writer.append(LogLine::Header(header))?;
        writer.flush()?;
        Ok(writer)
    }

    /// The folder of the run.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// Appends a line.
    ///
    /// # Errors
    ///
    /// The first time that the file cannot be written; from then on lines stay in memory. A line that no run
    /// can have is not written, and the log goes on without it: [`RunLogError::Impossible`].
    pub fn append(&mut self, line: LogLine<'_>) -> Result<(), RunLogError> {
        if let Err(message) = self.rules.check(line) {
            return Err(RunLogError::Impossible { path: self.path.clone(), message });
        }
        let Self { lines, number, run, text, .. } = self;
        text.clear();
        let written = serde_json::to_writer(&mut *text, &line).map_err(Into::into).and_then(|()| {
            *number += 1;
            let sum = seal(text, *number, *run);
            if let LogLine::Header(header) = line {
                *run = header.run_of_lines(sum);
            }
            lines.push(text)
        });
        written.map_err(|source| RunLogError::Io { path: self.path.clone(), source })
    }

    /// Flushes what was appended to the operating system.
    ///
    /// # Errors
    ///
    /// As [`RunLogWriter::append`].
    pub fn flush(&mut self) -> Result<(), RunLogError> {
        self.lines.flush().map_err(|source| RunLogError::Io { path: self.path.clone(), source })
    }

    /// Appends the footer and closes the log.
    ///
    /// # Errors
    ///
    /// As [`RunLogWriter::append`].
    pub fn finish(mut self, footer: &RunFooter) -> Result<(), RunLogError> {
        self.append(LogLine::Footer(footer))?;
        self.flush()
    }

    /// Reads the whole run back, with what could not be written.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn read_back(self) -> Result<RunLog, RunLogError> {
        let Self { lines, path, .. } = self;
        match lines.read_back() {
            Ok(lines) => RunLog::from_lines(lines, &path, ROOM),
            Err(source) => Err(RunLogError::Io { path, source }),
        }
    }
}

impl RunLog {
    /// Writes a whole run into `folder`, which must exist.
    ///
    /// # Errors
    ///
    /// When a log is already there, or the file cannot be written.
    pub fn store(&self, folder: &Path) -> Result<(), RunLogError> {
        let mut writer = RunLogWriter::create(folder, &self.header)?;
        if !self.unended.is_empty() {
            writer.append(LogLine::InFlight(&self.unended))?;
        }
        self.checks.iter().try_for_each(|check| writer.append(LogLine::Check(check)))?;
        self.records.iter().try_for_each(|record| writer.append(LogLine::Request(&record)))?;
        let readings = self.telemetry.readings.iter().map(LogLine::Reading);
        let mut lines = readings.chain(self.telemetry.client.iter().map(LogLine::Client));
        lines.try_for_each(|line| writer.append(line))?;
        match &self.footer {
            Some(footer) => writer.finish(footer),
            None => writer.flush(),
        }
    }
}
