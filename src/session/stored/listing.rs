//! The results in a folder: which there are, which is the latest, and what their files say of them.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;

use crate::experiment::matrix::Matrix;
use crate::experiment::tune::Tune;
use crate::experiment::{Repeats, Sweep};
use crate::record::RunLog;
use crate::report::documents::ListedResult;
use crate::session::campaign::dir::MANIFEST;
use crate::session::campaign::reported::Reported as _;
use crate::session::campaign::tune::TuneManifest;
use crate::session::console::Stop;
use crate::session::folder;
use crate::session::run::RunContext;
use crate::session::save::SUMMARY;
use crate::session::stored_run::{LONGEST_HEADER, is_aside, repeats_in};

/// The results inside `folder`, the newest first; none where it is no folder.
pub(super) fn results_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(inside) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = inside.flatten().map(|entry| entry.path());
    let mut results: Vec<_> =
        paths.filter(|path| is_result(path) && !is_aside(path)).map(|path| (begun(&path), path)).collect();
    results.sort_by(|a, b| b.cmp(a));
    results.into_iter().map(|(_, path)| path).collect()
}

/// The newest result inside `folder`.
pub(crate) fn latest(folder: &Path) -> Result<PathBuf, Stop> {
    results_in(folder).into_iter().next().ok_or_else(|| {
        Stop::usage(format!(
            "no result is stored in {}\nhint: name the folder of a run, or make one: skyline bench short_chat 60",
            folder.display()
        ))
    })
}

/// Whether a run or an experiment is stored in this folder, ended or not.
pub(super) fn is_result(folder: &Path) -> bool {
    let files = [RunLog::FILE_NAME, MANIFEST, Sweep::FILE_NAME, Matrix::FORM.file, Tune::FILE_NAME];
    files.iter().any(|file| folder.join(file).is_file()) || !repeats_in(folder).is_empty()
}

/// Returns when a result began. That is by the name of its folder, else when the folder was last changed.
fn begun(path: &Path) -> SystemTime {
    let by_name = path.file_name().and_then(|name| folder::stamp(&name.to_string_lossy()));
    let changed = || path.metadata().and_then(|facts| facts.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    by_name.map_or_else(changed, SystemTime::from)
}

/// Lists what is stored in these folders, by their own files.
pub(crate) fn listed(folders: &[PathBuf]) -> Vec<ListedResult> {
    folders.iter().map(|folder| result(folder)).collect()
}

fn result(path: &Path) -> ListedResult {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let started_at = folder::stamp(&name);
    let found = if path.join(RunLog::FILE_NAME).is_file() {
        run(path)
    } else if let Some(sweep) = json(&path.join(Sweep::FILE_NAME)) {
        let of = Fields(&sweep);
        ListedResult {
            kind: "sweep",
            verdict: of.verdict(""),
            workload: of.text("/workload/name"),
            requests_per_s: of
                .text("/answer/passed/kind")
                .filter(|kind| kind == "rate_per_s")
                .and_then(|_| of.number("/answer/passed/value")),
            ..of.common("")
        }
    } else if let Some(matrix) = json(&path.join(Matrix::FORM.file)) {
        let of = Fields(&matrix);
        let engine = of.text("/variants/0/server/engine");
        ListedResult { kind: "matrix", workload: of.text("/name"), engine, ..of.common("") }
    } else if let Some(tune) = json(&path.join(Tune::FILE_NAME)) {
        let of = Fields(&tune);
        let requests_per_s = of.number("/decision/per_gpu");
        ListedResult { kind: "tune", workload: of.text("/name"), requests_per_s, ..of.common("") }
    } else if let Some(repeats) = json(&path.join(Repeats::FORM.file)) {
        let of = Fields(&repeats);
        ListedResult {
            kind: "repeats",
            verdict: of.verdict("/verdict"),
            workload: of.text("/workload"),
            ..of.common("/runs/0")
        }
    } else {
        // An experiment that goes on, was broken off, or keeps no result of its own.
        match json(&path.join(MANIFEST)) {
            Some(manifest) => manifested(&Fields(&manifest)),
            None => ListedResult { kind: "repeats", ..ListedResult::default() },
        }
    };
    ListedResult { name, started_at: found.started_at.or(started_at), ..found }
}

/// Lists a run by its summary. Where it has none, it goes by the first line of its log.
fn run(path: &Path) -> ListedResult {
    if let Some(summary) = json(&path.join(SUMMARY)) {
        let of = Fields(&summary);
        return ListedResult {
            kind: "run",
            verdict: of.verdict("/verdict"),
            workload: of.text("/run/workload"),
            requests_per_s: of.number("/rates/completed_requests_per_s"),
            ttft_p95_ms: of.number("/latency/ttft/p95/value_ms"),
            output_tokens_per_s: of.number("/rates/output_tokens_per_s"),
            ..of.common("/run")
        };
    }
    let header = header(path);
    let of = Fields(&header);
    ListedResult { kind: "run", workload: of.text("/header/workload/name"), ..of.common("/header") }
}

/// Returns the first line of a run's log. Its first server is as the one before schema 8. Null where there is none.
fn header(path: &Path) -> Value {
    let mut line = String::new();
    let read = File::open(path.join(RunLog::FILE_NAME))
        .and_then(|log| BufReader::new(log.take(LONGEST_HEADER)).read_line(&mut line));
    let mut header: Value = read.ok().and_then(|_| serde_json::from_str(&line).ok()).unwrap_or_default();
    if let Some(first) = header.pointer_mut("/header/engines/0").map(Value::take) {
        header["header"]["engine"] = first;
    }
    header
}

/// Warns of a typed salt that an earlier run sent to the same server. The run is inside `folder`.
pub(crate) fn warn_of_salt(folder: &Path, salt: Option<u64>, context: &RunContext) {
    let Some(salt) = salt else { return };
    if let Some(earlier) = context.engines().find_map(|engine| with_salt(folder, salt, &engine.url)) {
        context.printer.words(&format!(
            "warning: {} sent the same prompts (--salt {salt}): a prefix cache may still hold them; leave --salt out \
             for new ones",
            earlier.display()
        ));
    }
}

/// Newest run inside `folder` that sent prompts of this salt to the server at `url`.
fn with_salt(folder: &Path, salt: u64, url: &str) -> Option<PathBuf> {
    results_in(folder).into_iter().find(|path| {
        let header = header(path);
        let listed = header.pointer("/header/engines").and_then(Value::as_array);
        let mut servers = listed.into_iter().flatten().chain(header.pointer("/header/engine"));
        header.pointer("/header/prompts/salt") == Some(&salt.into()) && servers.any(|server| server["url"] == url)
    })
}

/// An experiment by its manifest.
fn manifested(of: &Fields<'_>) -> ListedResult {
    let is_matrix = of.0.pointer("/experiments").is_some();
    let kind = match of.text("/kind").as_deref() {
        Some("ab") => "ab",
        Some(TuneManifest::KIND) => TuneManifest::KIND,
        _ if is_matrix => "matrix",
        _ => "sweep",
    };
    let workload = ["/tune/name", "/workload/name", "/experiments/name"].into_iter().find_map(|path| of.text(path));
    let engine = of.text("/engine").or_else(|| of.text("/server/engine"));
    ListedResult { kind, workload, engine, ..ListedResult::default() }
}

/// The fields of a stored file, by their paths.
struct Fields<'a>(&'a Value);

impl Fields<'_> {
    fn text(&self, path: &str) -> Option<String> {
        self.0.pointer(path)?.as_str().map(str::to_owned)
    }

    fn number(&self, path: &str) -> Option<f64> {
        self.0.pointer(path)?.as_f64()
    }

    /// Returns what the object at `path` says of validity. That is its outcome in words, else whether it is valid.
    fn verdict(&self, path: &str) -> Option<String> {
        let outcome = self.text(&format!("{path}/outcome")).map(|outcome| outcome.to_uppercase());
        let valid = || self.0.pointer(&format!("{path}/valid"))?.as_bool();
        outcome.or_else(|| valid().map(|valid| if valid { "VALID" } else { "INVALID" }.to_owned()))
    }

    /// Returns a result with the beginning and the engine of what is at `path`. The engine is the one that is named
    /// there or at the top.
    fn common(&self, path: &str) -> ListedResult {
        let engine = self.text(&format!("{path}/engine/engine")).or_else(|| self.text("/engine/engine"));
        let started_at = self.text(&format!("{path}/started_at")).and_then(|at| at.parse().ok());
        ListedResult { started_at, engine, ..ListedResult::default() }
    }
}

/// The JSON in a file, if there is any.
fn json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::stored::{Stored, open};

    #[test]
    fn an_earlier_run_of_the_same_salt_is_found_by_its_log() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("chat-vllm-20260101T000000Z");
        std::fs::create_dir(&folder).unwrap();
        // Before schema 8 the one server, from then on a list of them.
        for servers in [r#""engine": {"url": "http://a"}"#, r#""engines": [{"url": "http://a"}]"#] {
            let header = format!(r#"{{"header": {{"prompts": {{"salt": 7}}, {servers}}}}}"#);
            std::fs::write(folder.join(RunLog::FILE_NAME), format!("{header}\n{{}}\n")).unwrap();
            assert_eq!(with_salt(base.path(), 7, "http://a"), Some(folder.clone()));
        }
        assert_eq!((with_salt(base.path(), 8, "http://a"), with_salt(base.path(), 7, "http://b")), (None, None));
    }

    #[test]
    fn a_folder_of_results_is_listed_from_the_newest() {
        let base = tempfile::tempdir().unwrap();
        let store = |name: &str, file: &str, text: &str| {
            let folder = base.path().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(file), text).unwrap();
        };
        let summary = r#"{"verdict": {"valid": true, "outcome": "overloaded"}, "rates":
            {"completed_requests_per_s": 9.5, "output_tokens_per_s": 100},
            "latency": {"ttft": {"p95": {"value_ms": 67.5}}},
            "run": {"workload": "chat", "engine": {"engine": "vllm"}, "started_at": "2026-11-21T04:05:07Z"}}"#;
        let old = "chat-vllm-20261121T040507Z";
        store(old, "run.jsonl", "{}\n");
        store(old, "summary.json", summary);
        let header = r#"{"header": {"workload": {"name": "long"}, "engines": [{"engine": "mock"}]}}"#;
        let new = "long-mock-20261122T000000Z-2";
        store(new, "run.jsonl", &format!("{header}\n"));
        store("chat-vllm-20261121T040508Z", "asked.json", r#"{"kind": "ab", "workload": {"name": "chat"}}"#);
        store("notes", "todo.txt", "nothing of ours");
        let Stored::Results(folders) = open(base.path(), None).unwrap() else { panic!("no folder of results") };
        assert_eq!(latest(base.path()).ok().as_ref(), folders.first());
        let listed = listed(&folders);
        let names: Vec<_> = listed.iter().map(|result| result.name.as_str()).collect();
        assert_eq!(names, [new, "chat-vllm-20261121T040508Z", old]);
        let run = &listed[2];
        assert_eq!((run.kind, run.verdict.as_deref(), run.ttft_p95_ms), ("run", Some("OVERLOADED"), Some(67.5)));
        assert_eq!((run.requests_per_s, run.engine.as_deref()), (Some(9.5), Some("vllm")));
        assert_eq!((listed[1].kind, listed[1].workload.as_deref()), ("ab", Some("chat")));
        assert_eq!((listed[0].workload.as_deref(), &listed[0].verdict), (Some("long"), &None));
        assert_eq!(listed[0].engine.as_deref(), Some("mock"));
        assert_eq!(listed[0].started_at, "2026-11-22T00:00:00Z".parse().ok());
    }
}
