//! Programs of users that score answers. They run after the load, of which they would take processors.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::record::unnamed;
use crate::units::{cut, spoken};

/// Answers that are scored before progress is shown again.
pub(super) const AT_ONCE: usize = 16;
/// Time that a program has for one answer.
const LIMIT: Duration = Duration::from_secs(60);
/// Time between two looks at whether it has ended.
const PAUSE: Duration = Duration::from_millis(2);
/// Characters of what a program says that are repeated.
const SAID: usize = 200;

/// An answer that a program is to score.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct UnscoredAnswer {
    /// Index of its request.
    pub(super) index: u64,
    /// Class of its request.
    pub(super) class: u16,
    /// Row of its dataset.
    pub(super) row: u32,
    /// The value that the row expects.
    pub(super) expected: Value,
    /// The answer's text.
    pub(super) answer: String,
}

/// Returns why a program cannot be started, if that is known beforehand.
pub fn missing_program(words: &[String]) -> Option<String> {
    let name = words.first()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = if name.contains('/') {
        Path::new(name).is_file()
    } else {
        std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
    };
    (!found).then(|| format!("the program `{name}`, which is to score answers, does not exist"))
}

/// Whether each of these answers is right, by the program of its class. They are scored on all cores.
pub(super) fn scored_by(
    programs: &[Option<Vec<String>>],
    answers: &[UnscoredAnswer],
    folder: &Path,
) -> Vec<Result<bool, String>> {
    let workers = thread::available_parallelism().map_or(1, usize::from).min(answers.len()).max(1);
    let each = answers.len().div_ceil(workers).max(1);
    let score = |answer: &UnscoredAnswer| match programs.get(usize::from(answer.class)) {
        Some(Some(words)) => verdict(words, answer, folder),
        _ => Err("its class has no program".to_owned()),
    };
    thread::scope(|scope| {
        let running: Vec<_> =
            answers.chunks(each).map(|part| scope.spawn(move || part.iter().map(score).collect::<Vec<_>>())).collect();
        running.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    })
}

/// Runs a program with an answer at its standard input. Its exit code says whether the answer is right: 0 is right, 1
/// is wrong, and any other says nothing about the answer.
fn verdict(words: &[String], answer: &UnscoredAnswer, folder: &Path) -> Result<bool, String> {
    let line = words.join(" ");
    let failed = |error: io::Error| format!("`{line}` cannot be run: {error}");
    let (name, arguments) = words.split_first().ok_or_else(|| "there is no program".to_owned())?;
    let UnscoredAnswer { row, expected, answer, .. } = answer;
    // Files, which a program that does not read or that writes much cannot block.
    let open = || -> io::Result<(File, File)> {
        let mut question = unnamed(folder)?;
        writeln!(question, "{}", json!({ "answer": answer, "expected": expected, "row": row }))?;
        question.rewind()?;
        Ok((question, unnamed(folder)?))
    };
    let (question, mut said) = open().map_err(failed)?;
    let errors = said.try_clone().map_err(failed)?;
    let mut command = Command::new(name);
    command.args(arguments).stdin(question).stdout(Stdio::null()).stderr(errors);
    let mut child = command.spawn().map_err(failed)?;
    let end = Instant::now() + LIMIT;
    let status: ExitStatus = loop {
        match child.try_wait().map_err(failed)? {
            Some(status) => break status,
            None if Instant::now() >= end => {
                // It may have ended meanwhile.
                let _ = child.kill().and_then(|()| child.wait());
                return Err(format!("`{line}` took longer than {} for one answer", spoken(LIMIT)));
            }
            None => thread::sleep(PAUSE),
        }
    };
    match status.code() {
        Some(0) => Ok(true),
        code => {
            let mut text = String::new();
            let _ = said.rewind().and_then(|()| said.read_to_string(&mut text));
            // An interpreter that a mistake ends has the same code, and says why.
            if code == Some(1) && text.trim().is_empty() {
                return Ok(false);
            }
            let last = text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned);
            let last = last.map(|last| format!(": {}", cut(last, SAID))).unwrap_or_default();
            let but = if code == Some(1) { " and words at standard error" } else { "" };
            Err(format!("`{line}` ended with {status}{but}, where 0 is right and 1 is wrong{last}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_of_a_program_decides_and_anything_else_is_no_score() {
        let folder = tempfile::tempdir().unwrap();
        let words = |script: &str| Some(["sh", "-c", script].map(str::to_owned).to_vec());
        let programs = [
            words("grep -q '\"answer\":\"42\"'"),
            words("exit 0"),
            words("echo broken >&2; exit 3"),
            None,
            words("echo no key >&2; exit 1"),
        ];
        let answer = |class, text: &str| UnscoredAnswer {
            index: 0,
            class,
            row: 7,
            expected: json!({ "a": 1 }),
            answer: text.to_owned(),
        };
        let answers = [
            answer(0, "42"),
            answer(0, "41"),
            answer(1, &"long ".repeat(50_000)),
            answer(2, ""),
            answer(3, ""),
            answer(4, ""),
        ];
        let found = scored_by(&programs, &answers, folder.path());
        assert_eq!(found[..3], [Ok(true), Ok(false), Ok(true)]);
        let why = found[3].as_ref().unwrap_err();
        assert!(why.contains("exit status: 3, where 0 is right and 1 is wrong: broken"), "{why}");
        assert!(found[4].is_err());
        let why = found[5].as_ref().unwrap_err();
        assert!(
            why.contains("exit status: 1 and words at standard error"),
            "an interpreter that ended by a mistake: {why}"
        );
        let missing = missing_program(&["no-such-program".to_owned()]).unwrap();
        assert!(missing.contains("`no-such-program`, which is to score answers, does not exist"), "{missing}");
        assert_eq!(missing_program(&["sh".to_owned()]), None);
        assert!(missing_program(&["./no.py".to_owned()]).is_some());
    }
}
