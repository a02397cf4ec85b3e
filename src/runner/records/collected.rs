//! Everything that ended in a run, and what is found out about its answers once it is over.

use std::io::{self, BufRead as _};
use std::ops::ControlFlow;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::programs::{AT_ONCE, UnscoredAnswer, scored_by};
use crate::engine::AnswerText;
use crate::generator::TokenCounter;
use crate::record::{
    CountedAnswer, LineFile, LogLine, RunFooter, RunHeader, RunLog, RunLogError, RunLogWriter, Score, ScoredAnswer,
};

/// Answers counted together, on all cores, between two progress reports.
pub(super) const BATCH: usize = 256;

/// Everything that ended in a run. Its log lacks only the counts of answers and the footer.
#[derive(Debug)]
pub struct CollectedRun {
    log: RunLogWriter,
    /// The first error in writing it.
    error: Option<RunLogError>,
    /// Answers whose tokens the server did not count.
    uncounted: SetAside,
    /// Answers that a program is to score.
    unscored: SetAside,
}

/// Answers in a file, and their number. It is absent without any.
type SetAside = Option<(LineFile, usize)>;

/// The index of a request, and all texts of its answer. A model generates each in one go, so they are counted
/// one by one.
type UncountedAnswer = (u64, Vec<String>);

impl CollectedRun {
    /// A run of which nothing has ended yet.
    pub(super) const fn new(log: RunLogWriter) -> Self {
        Self { log, error: None, uncounted: None, unscored: None }
    }

    /// Hands what was appended to the operating system.
    pub(super) fn flush(&mut self) {
        let flushed = self.log.flush();
        self.note(flushed);
    }

    /// Appends a line; false where no run can have what it says. That is a fault of this program, and the
    /// verdict finds that the record is missing.
    pub(super) fn append(&mut self, line: LogLine<'_>) -> bool {
        match self.log.append(line) {
            Err(error @ RunLogError::Impossible { .. }) => {
                tracing::error!("{error}");
                false
            }
            written => {
                self.note(written);
                true
            }
        }
    }

    /// Keeps the first error in writing the log.
    fn note(&mut self, written: Result<(), RunLogError>) {
        if let Err(error) = written {
            tracing::error!("{error}; from now on records are kept in memory only");
            self.error.get_or_insert(error);
        }
    }

    /// Keeps what was `said` in an answer until its tokens can be counted. It is kept for each choice (`n`) of the
    /// request's answer.
    pub(super) fn set_aside(&mut self, index: u64, said: impl IntoIterator<Item = AnswerText>) {
        let texts = said.into_iter().flat_map(|said| {
            let calls = said.tool_calls.into_iter().flat_map(|call| [call.name, call.arguments]);
            [said.reasoning, said.content].into_iter().chain(calls)
        });
        let answer: UncountedAnswer = (index, texts.filter(|text| !text.is_empty()).collect());
        keep(&mut self.uncounted, self.log.folder(), &answer);
    }

    /// Keeps an answer until a program can score it.
    pub(super) fn set_aside_unscored(&mut self, answer: &UnscoredAnswer) {
        keep(&mut self.unscored, self.log.folder(), answer);
    }

    /// Answers that programs are still to score.
    pub fn unscored(&self) -> usize {
        self.unscored.as_ref().map_or(0, |(_, number)| *number)
    }

    /// Lets the programs of classes score the answers that are set aside, several at once. `go_on` gets the number
    /// scored so far and may stop it. Returns how many programs could not score, and why the first could not.
    pub fn score(
        &mut self,
        programs: &[Option<Vec<String>>],
        mut go_on: impl FnMut(usize) -> ControlFlow<()>,
    ) -> Option<(usize, String)> {
        let mut answers = read_back(self.unscored.take(), "unscored")?;
        let folder = self.log.folder().to_owned();
        let (mut done, mut failed) = (0, None);
        loop {
            let batch: Vec<UnscoredAnswer> = answers.by_ref().take(AT_ONCE).collect();
            if batch.is_empty() {
                return failed;
            }
            for (answer, right) in batch.iter().zip(scored_by(programs, &batch, &folder)) {
                match right {
                    Ok(right) => {
                        let score = Score { row: answer.row, right };
                        self.append(LogLine::Scored(&ScoredAnswer { index: answer.index, score }));
                    }
                    Err(why) => failed.get_or_insert((0, why)).0 += 1,
                }
            }
            done += batch.len();
            if go_on(done).is_break() {
                return failed;
            }
        }
    }

    /// Answers that are still to be counted.
    pub fn uncounted(&self) -> usize {
        self.uncounted.as_ref().map_or(0, |(_, number)| *number)
    }

    /// Counts their tokens on all cores, without special tokens. An answer's count is the sum over its texts
    /// (reasoning, content, names and arguments of tool calls). `go_on` gets the number counted so far and may stop the
    /// count; what is left stays as it was.
    pub fn count(&mut self, counter: &TokenCounter, mut go_on: impl FnMut(usize) -> ControlFlow<()>) {
        let Some(mut answers) = read_back::<UncountedAnswer>(self.uncounted.take(), "uncounted") else { return };
        let mut done = 0;
        loop {
            let batch: Vec<UncountedAnswer> = answers.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                return;
            }
            let texts: Vec<&str> = batch.iter().flat_map(|(_, texts)| texts).map(String::as_str).collect();
            let mut counts = counter.count_all(&texts).into_iter().map(u64::from);
            for (index, texts) in &batch {
                let tokens = counts.by_ref().take(texts.len()).sum();
                self.append(LogLine::Counted(&CountedAnswer { index: *index, tokens }));
            }
            done += batch.len();
            if go_on(done).is_break() {
                return;
            }
        }
    }

    /// Writes the footer, and reads the whole run back. Returns it, and the first error in writing the log;
    /// what could not be written is in the run all the same.
    ///
    /// # Errors
    ///
    /// When the log cannot be read back.
    pub fn finish(
        mut self,
        header: RunHeader,
        footer: &RunFooter,
    ) -> Result<(RunLog, Result<(), RunLogError>), RunLogError> {
        self.append(LogLine::Footer(footer));
        self.flush();
        let log = self.log.read_back()?;
        Ok((RunLog { header, ..log }, self.error.map_or(Ok(()), Err)))
    }
}

/// Adds an answer to those that are set aside, in a file of `folder`.
fn keep(aside: &mut SetAside, folder: &Path, answer: &impl Serialize) {
    let kept = aside.take().map_or_else(|| Ok((LineFile::unnamed(folder)?, 0)), Ok);
    match kept {
        Ok((mut answers, number)) => {
            if let Err(error) = answers.append(answer) {
                tracing::error!("answers are kept in memory from now on: {error}");
            }
            *aside = Some((answers, number + 1));
        }
        Err::<_, io::Error>(error) => tracing::error!("an answer cannot be set aside: {error}"),
    }
}

/// Reads what was set aside. There is nothing without any, or where it cannot be read.
fn read_back<T: DeserializeOwned>(aside: SetAside, left: &str) -> Option<impl Iterator<Item = T>> {
    match aside?.0.read_back() {
        Ok(lines) => Some(lines.lines().map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok())),
        Err(error) => {
            tracing::error!("answers stay {left}: {error}");
            None
        }
    }
}
