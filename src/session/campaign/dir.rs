//! The folder of an experiment: its manifest, its lock, and the folders of its runs.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::engine::{AnswerForm, Header};
use crate::record::{ClientLimits, DeploymentFacts, EngineKind, Http2Facts, RequestParameters, Routing, RunLog};
use crate::session::console::Stop;
use crate::session::save;
use crate::session::settings::RunSettings;
use crate::session::stored_run::{BROKEN_OFF, completed};
use crate::session::{command_line, folder};
use crate::units::{from_json_value, json_value, listed};
use crate::workload::WorkloadSpec;

/// The manifest of the experiment, stored with its runs.
pub(crate) const MANIFEST: &str = "asked.json";
/// The file that is locked while the experiment runs.
const LOCK: &str = ".lock";

/// The folder of an experiment.
///
/// An experiment decides by what its runs found which run comes next. So one that begins again, and reads
/// each stored run in place of executing it, comes to where it was interrupted, and continues there.
#[derive(Debug)]
pub(crate) struct ExperimentDir {
    folder: PathBuf,
    /// Lock held while the experiment runs. Without it, a second process could resume the experiment and
    /// mistake the active run for an interrupted one.
    _lock: Option<File>,
}

impl ExperimentDir {
    /// Creates a new folder in `base`. Its manifest has all that decides which runs there are, so that it can be
    /// resumed.
    pub(crate) fn create(base: &Path, name: &str, engine: &str, manifest: &impl Serialize) -> Result<Self, Stop> {
        let folder = folder::create(base, name, engine, jiff::Timestamp::now())?;
        let text = serde_json::to_string_pretty(&stored(manifest)?).map_err(Stop::impossible)?;
        let dir = Self { _lock: Some(lock(&folder)?), folder };
        dir.write(MANIFEST, &text)?;
        Ok(dir)
    }

    /// Returns the folder of runs that are not resumed. It needs neither manifest nor lock.
    pub(crate) const fn unlocked(folder: PathBuf) -> Self {
        Self { folder, _lock: None }
    }

    /// The manifest of the experiment in `folder`, which was interrupted.
    pub(crate) fn manifest_in(folder: &Path) -> Result<Value, Stop> {
        let path = folder.join(MANIFEST);
        let text = std::fs::read_to_string(&path).map_err(|error| {
            Stop::usage(format!(
                "--resume: cannot read {}: {error}\nhint: name the folder of the interrupted experiment",
                path.display()
            ))
        })?;
        let mut manifest: Value = serde_json::from_str(&text)
            .map_err(|error| Stop::usage(format!("--resume: {} is no JSON: {error}", path.display())))?;
        // The word of matrices before matrix.json had schema 2.
        if let Some(stop_when) = manifest.pointer_mut("/experiments/accept/stop_when")
            && stop_when == "all_flown"
        {
            *stop_when = "all_run".into();
        }
        Ok(manifest)
    }

    /// Opens the folder of an experiment that was interrupted. Its manifest must be the same now.
    pub(crate) fn resume(folder: &Path, manifest: &impl Serialize) -> Result<Self, Stop> {
        Self::locked(folder)?.with_manifest(manifest)
    }

    /// Opens and locks the folder of an experiment that was interrupted. What follows cannot disturb another process
    /// that runs it.
    pub(crate) fn locked(folder: &Path) -> Result<Self, Stop> {
        // Nothing is written to a folder that is no experiment's.
        Self::manifest_in(folder)?;
        Ok(Self { folder: folder.to_path_buf(), _lock: Some(lock(folder)?) })
    }

    /// Returns the folder, if the experiment has this manifest.
    pub(crate) fn with_manifest(self, manifest: &impl Serialize) -> Result<Self, Stop> {
        let before = stored(&Self::manifest_in(&self.folder)?)?;
        let now = stored(manifest)?;
        let mut changes = Vec::new();
        list_changes("", &before, &now, &mut changes);
        if changes.is_empty() {
            // What only says when it ends may have changed.
            let text = serde_json::to_string_pretty(&now).map_err(Stop::impossible)?;
            return self.write(MANIFEST, &text).map(|()| self);
        }
        let cure = if has_unnamed_mock(&before) {
            "the embedded mock of an older skyline was always one A10G; begin again, without --resume"
        } else if changes.iter().any(|(name, before, _)| name.ends_with("async_scheduling") && *before == false) {
            "its embedded mock does not plan steps ahead; add --no-async-scheduling"
        } else {
            "give the same options, or leave --resume out"
        };
        let describe = |(name, before, now): &Change| format!("\n  {name} was {before}, and is {now} now");
        let changes: String = changes.iter().map(describe).collect();
        Err(Stop::usage(format!(
            "--resume: {} belongs to another experiment:{changes}\nhint: {cure}",
            self.folder.display()
        )))
    }

    /// The command line that resumes the experiment, without the options `left_out`.
    pub(crate) fn command_to_resume(&self, left_out: &[&str]) -> String {
        let folder = self.folder.to_string_lossy();
        command_line::again(command_line::arguments(), left_out, &[("--resume", &folder)])
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes `text` to the file `name`, whole or not at all.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), Stop> {
        save::text(&self.folder.join(name), text)
    }

    /// Returns the log of the run called `name`, if it came to its end. The run's plan has this hash.
    pub(crate) fn stored(&self, name: &str, plan_hash: &str) -> Result<Option<RunLog>, Stop> {
        let folder = self.folder.join(name);
        match completed(&folder)? {
            Some(log) if log.header.plan.hash != plan_hash => Err(Stop::usage(format!(
                "{} holds a run of another plan\nhint: was a file that the workload takes prompts from changed? begin \
                 again without --resume",
                folder.display()
            ))),
            found => Ok(found),
        }
    }

    /// Creates an empty folder for the run called `name`, which may be a path. What a run of that name left that was
    /// broken off is kept beside it.
    pub(crate) fn place(&self, name: &str) -> Result<PathBuf, Stop> {
        self.set_aside(name)?;
        folder::inside(&self.folder, name)
    }

    /// Moves what a run called `name` left, if anything, beside its place. It is thus kept and does not count.
    pub(crate) fn set_aside(&self, name: &str) -> Result<(), Stop> {
        let folder = self.folder.join(name);
        if folder.exists() {
            let beside = (1_u64..).map(|number| self.folder.join(format!("{name}.{BROKEN_OFF}-{number}")));
            let free = beside.into_iter().find(|beside| !beside.exists()).unwrap_or_else(|| folder.clone());
            std::fs::rename(&folder, &free)
                .map_err(|error| Stop::impossible(format!("cannot move {} aside: {error}", folder.display())))?;
        }
        Ok(())
    }
}

/// A manifest as it is stored: the texts of its workload as hashes.
fn stored(manifest: &impl Serialize) -> Result<Value, Stop> {
    let mut manifest = json_value(manifest).map_err(Stop::impossible)?;
    if let Some(workload) = manifest.get_mut("workload")
        && let Ok(spec) = from_json_value::<WorkloadSpec>(workload)
    {
        *workload = json_value(&spec.without_texts()).map_err(Stop::impossible)?;
    }
    Ok(manifest)
}

/// Locks the experiment in `folder` until the file is dropped, or this process ends.
fn lock(folder: &Path) -> Result<File, Stop> {
    let path = folder.join(LOCK);
    let cannot = |error: &io::Error| Stop::impossible(format!("cannot lock {}: {error}", path.display()));
    let file = File::create(&path).map_err(|error| cannot(&error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Stop::usage(format!(
            "{} is being run by another skyline\nhint: wait for its end, or end it there with Ctrl-C",
            folder.display()
        ))),
        // Some file systems have no locks.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
        Err(TryLockError::Error(error)) => Err(cannot(&error)),
    }
}

/// Returns whether a manifest has an embedded mock and does not say what it models.
fn has_unnamed_mock(manifest: &Value) -> bool {
    let is_mock = manifest["engine"] == EngineKind::Mock.name() && manifest["url"].is_null();
    is_mock && manifest["deployment"]["hardware"].is_null()
        || manifest.as_object().is_some_and(|fields| fields.values().any(has_unnamed_mock))
}

/// Place where two JSON values differ, by its dotted name, with both values.
type Change = (String, Value, Value);

/// Lists where two JSON values differ.
fn list_changes(name: &str, before: &Value, now: &Value, into: &mut Vec<Change>) {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            // A mock is recommended a deployment; older manifests hash headers, and pair runs; notes change nothing.
            let decides = |key: &&String| match key.as_str() {
                "mock_hardware" | "headers_sha256" | "notes" | "paired_open" => false,
                // When a search ends decides no run before.
                "precision" | "within_s" | "most_trials" | "most" => !matches!(name, "plan" | "runs"),
                "headers" => before.contains_key("headers"),
                _ => true,
            };
            // The embedded mock of an older skyline, of which nothing is said, did not plan steps ahead.
            let usual = |key: &String| if key == "async_scheduling" { false.into() } else { Value::Null };
            let missing = |map: &Map<String, Value>, key: &String| map.get(key).cloned().unwrap_or_else(|| usual(key));
            let added = now.keys().filter(|key| !before.contains_key(*key));
            for key in before.keys().chain(added).filter(decides) {
                let inner = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                list_changes(&inner, &missing(before, key), &missing(now, key), into);
            }
        }
        (Value::Array(before), Value::Array(now)) => {
            for at in 0..before.len().max(now.len()) {
                let item = |of: &[Value]| of.get(at).cloned().unwrap_or_default();
                list_changes(&format!("{name}[{at}]"), &item(before), &item(now), into);
            }
        }
        (before, now) if before != now => into.push((name.to_owned(), before.clone(), now.clone())),
        _ => {}
    }
}

/// The server that was named, and all that was typed and shapes its requests. Of headers it has their names, and of the
/// extra body its SHA-256.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ServerManifest {
    /// Its address, of several all; absent for the mock that lives with a command.
    url: Option<String>,
    engine: String,
    /// The model that was named, or found.
    pub(crate) model: Option<String>,
    pub(crate) deployment: DeploymentFacts,
    endpoint: String,
    /// HTTP/2, where it was asked for.
    http2: Option<Http2Facts>,
    streamed: bool,
    parameters: RequestParameters,
    /// Their names: of a short value even a hash would say what it is.
    headers: Vec<String>,
    /// Shares of several servers in the requests, and the names of the headers of each.
    routing: Option<Routing>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    own_headers: Vec<String>,
    tokenizer: Option<String>,
    /// The salt that varies the texts, where that was said.
    salt: Option<u64>,
    limits: ClientLimits,
    reset_cache: bool,
}

impl ServerManifest {
    pub(crate) fn from_settings(settings: &RunSettings) -> Self {
        let RunSettings { server, deployment, requests, .. } = settings;
        let names = |headers: &[Header]| headers.iter().map(|header| header.name().to_string()).collect();
        Self {
            url: listed(server.address.urls(), ", "),
            engine: server.common.dialect.to_string(),
            model: server.common.model.clone(),
            deployment: deployment.clone(),
            endpoint: server.common.endpoint.to_string(),
            http2: server.common.http2.facts(),
            streamed: server.common.form == AnswerForm::Streamed,
            parameters: server.common.parameters(),
            headers: names(&server.common.headers),
            routing: server.several().cloned(),
            own_headers: names(&server.own_headers),
            tokenizer: requests.tokenizer.clone(),
            salt: requests.salt,
            limits: requests.limits(None),
            reset_cache: requests.reset_cache,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::record::RunEnding;
    use crate::session::stored_run::is_aside;

    #[test]
    fn an_experiment_is_resumed_only_with_the_same_manifest() {
        let base = tempfile::tempdir().unwrap();
        let asked = json!({"rates": [1.0, 2.0], "workload": {"name": "chat", "seed": 1}});
        let dir = ExperimentDir::create(base.path(), "chat-sweep", "vllm", &asked).unwrap();
        let folder = dir.folder().to_path_buf();
        let live = ExperimentDir::resume(&folder, &asked).unwrap_err();
        assert!(live.message().contains("is being run by another skyline"), "{}", live.message());
        drop(dir);
        assert_eq!(ExperimentDir::resume(&folder, &asked).unwrap().folder(), folder);
        let other = json!({"rates": [1.0, 3.0], "workload": {"name": "chat", "seed": 2}, "sustain": 300});
        let refusal = ExperimentDir::resume(&folder, &other).unwrap_err();
        assert!(
            refusal.message().contains("\n  rates[1] was 2.0, and is 3.0 now\n  workload.seed was 1, and is 2 now")
                && refusal.message().contains("\n  sustain was null, and is 300 now"),
            "{}",
            refusal.message()
        );
        let recommends = json!({"rates": [1.0, 2.0], "workload": {"name": "chat", "seed": 1, "mock_hardware": "l40s"}});
        assert!(ExperimentDir::resume(&folder, &recommends).is_ok(), "older workloads recommend nothing");
        let nothing = ExperimentDir::resume(base.path(), &asked).unwrap_err();
        assert!(nothing.message().contains("cannot read"), "{}", nothing.message());
    }

    #[test]
    fn an_older_mock_is_not_taken_for_that_of_today() {
        let base = tempfile::tempdir().unwrap();
        let server = |hardware: Value| json!({"server": {"url": null, "engine": "mock", "deployment": hardware}});
        let dir = ExperimentDir::create(base.path(), "chat-sweep", "mock", &server(json!({}))).unwrap();
        let folder = dir.folder().to_path_buf();
        drop(dir);
        let refusal = ExperimentDir::resume(&folder, &server(json!({"hardware": "l40s"}))).unwrap_err();
        assert!(
            refusal
                .message()
                .contains("server.deployment.hardware was null, and is \"l40s\" now\nhint: the embedded mock"),
            "{}",
            refusal.message()
        );
    }

    /// The engine of an older mock schedules synchronously. It must do so for the runs that are still to come.
    #[test]
    fn an_older_mock_is_resumed_only_without_asynchronous_scheduling() {
        let base = tempfile::tempdir().unwrap();
        let asked = |facts: Value| json!({"rows": [{"url": null, "engine": "mock", "deployment": facts}]});
        let dir = ExperimentDir::create(base.path(), "m", "mock", &asked(json!({"hardware": "l40s"}))).unwrap();
        let folder = dir.folder().to_path_buf();
        drop(dir);
        let with = |on: bool| asked(json!({"hardware": "l40s", "async_scheduling": on}));
        let refusal = ExperimentDir::resume(&folder, &with(true)).unwrap_err();
        let said = "rows[0].deployment.async_scheduling was false, and is true now\nhint: its embedded mock does not \
            plan steps ahead; add --no-async-scheduling";
        assert!(refusal.message().contains(said), "{}", refusal.message());
        assert_eq!(ExperimentDir::resume(&folder, &with(false)).unwrap().folder(), folder);
    }

    #[test]
    fn a_run_is_read_where_it_is_whole_and_executed_again_where_it_is_not() {
        let base = tempfile::tempdir().unwrap();
        let dir = ExperimentDir::create(base.path(), "chat-sweep", "vllm", &json!({})).unwrap();
        assert!(dir.stored("run-1", "h").unwrap().is_none());
        let log = crate::analysis::test_runs::run(1_000, Vec::new());
        let hash = log.header.plan.hash.clone();
        log.store(&dir.place("run-1").unwrap()).unwrap();
        let stored = dir.stored("run-1", &hash).unwrap().unwrap();
        assert_eq!((&stored.header, &stored.footer), (&log.header, &log.footer));
        let other = dir.stored("run-1", "another").unwrap_err();
        assert!(other.message().contains("another plan"), "{}", other.message());

        let mut footer = log.footer.clone().unwrap();
        footer.ending = RunEnding::Interrupted;
        let broken = RunLog { footer: Some(footer), ..log };
        broken.store(&dir.place("run-2").unwrap()).unwrap();
        assert_eq!(dir.stored("run-2", &hash).unwrap(), None);
        let again = dir.place("run-2").unwrap();
        assert!(std::fs::read_dir(&again).unwrap().next().is_none());
        let aside = dir.folder().join("run-2.broken-off-1");
        assert!(aside.join(RunLog::FILE_NAME).exists());
        assert!(is_aside(&aside) && !is_aside(&again));
        std::fs::write(again.join(RunLog::FILE_NAME), "{\"half").unwrap();
        assert_eq!(dir.stored("run-2", &hash).unwrap(), None);
    }

    #[test]
    fn texts_are_stored_as_hashes_and_older_experiments_are_resumed() {
        let of = |text: &str| {
            let spec = format!(
                "name = \"w\"\narrival = {{ kind = \"poisson\", rate_per_s = 2 }}\n[[classes]]\nname = \"c\"\n\
                 input_tokens = {{ kind = \"constant\", value = 10 }}\n\
                 output_tokens = {{ kind = \"constant\", value = 5 }}\n\
                 prompt = {{ kind = \"templates\", templates = [\"{text}\"] }}"
            );
            json!({ "workload": WorkloadSpec::from_toml(&spec, "a test").unwrap(), "server": { "headers": ["x-key"] } })
        };
        let base = tempfile::tempdir().unwrap();
        let dir = ExperimentDir::create(base.path(), "w", "vllm", &of("canary")).unwrap();
        let (folder, file) = (dir.folder().to_path_buf(), dir.folder().join(MANIFEST));
        drop(dir);
        assert!(!std::fs::read_to_string(&file).unwrap().contains("canary"));
        assert!(ExperimentDir::resume(&folder, &of("canary")).is_ok());
        // One from before texts were hashed, and a hash of headers was stored.
        let mut older = of("canary");
        older["server"] = json!({ "headers_sha256": "ab12" });
        std::fs::write(&file, older.to_string()).unwrap();
        assert!(ExperimentDir::resume(&folder, &of("canary")).is_ok());
        let refused = ExperimentDir::resume(&folder, &of("other")).unwrap_err();
        assert!(refused.message().contains("templates[0] was \"sha256:"), "{}", refused.message());
    }
}
