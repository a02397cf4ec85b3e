//! What the tests of the binary share: a quick workload, the command, a server that misbehaves.

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
#[cfg(unix)]
use std::time::Instant;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

use crate::mock_process::MockProcess;
use crate::quick::QUICK;

/// The most memory that the process of this number has had so far, KiB: nothing before its program has begun,
/// when the memory is still that of these tests, or after its end.
pub(crate) fn peak_kib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let has_begun = status.starts_with("Name:\tskyline\n");
    has_begun.then(|| line.trim().trim_end_matches(" kB").parse().unwrap())
}

/// A folder of its own with the quick workload in it.
pub(crate) struct Desk {
    folder: TempDir,
}

/// How long something is awaited that is bound to happen, on a machine however busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// Rules that a busy machine breaks.
pub(crate) const OF_MACHINE: [&str; 4] = ["schedule_lag", "client_starved", "host_stalls", "delivered_arrivals"];

/// What a run may be said to be, whatever this machine did to it meanwhile: `valid`, `overloaded` or
/// `invalid`. Where the client was late, so were the answers: that the server did not keep up may be laid to
/// either.
pub(crate) fn outcomes(summary: &Value) -> Vec<&'static str> {
    let rules = [&OF_MACHINE[..], &["steady_state"]].concat();
    let reasons = summary["verdict"]["reasons"].as_array().unwrap();
    let is_late = reasons.iter().any(|reason| OF_MACHINE.contains(&reason["rule"].as_str().unwrap()));
    let mut outcomes = vec![outcome_without(summary, &OF_MACHINE)];
    outcomes.extend(is_late.then(|| outcome_without(summary, &rules)));
    outcomes
}

/// What a run is without regard to these rules.
fn outcome_without(summary: &Value, rules: &[&str]) -> &'static str {
    let reasons = summary["verdict"]["reasons"].as_array().unwrap();
    let others: Vec<_> = reasons.iter().filter(|reason| !rules.contains(&reason["rule"].as_str().unwrap())).collect();
    let mut found = ["invalid", "overloaded"].into_iter();
    found.find(|outcome| others.iter().any(|reason| reason["outcome"] == *outcome)).unwrap_or("valid")
}

/// The verbs that show a result.
const WITHOUT_RESULT: [&str; 2] = ["--json-schema", "--example"];
const SHOWS: [&str; 11] =
    ["bench", "check", "report", "sweep", "ab", "matrix", "compare", "capacity", "simulate", "calibrate", "merge"];

impl Desk {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("quick.toml"), QUICK).unwrap();
        Self { folder }
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The binary, in this folder, without the settings of whoever runs the tests.
    pub(crate) fn skyline(&self, arguments: &[&str]) -> Command {
        let mut command = Command::cargo_bin("skyline").unwrap();
        command.current_dir(self.folder.path()).args(arguments.first());
        // Tests read all of a result.
        if arguments.first().is_some_and(|verb| SHOWS.contains(verb))
            && !WITHOUT_RESULT.iter().any(|flag| arguments.contains(flag))
        {
            command.arg("--full");
        }
        // A run that may be INVALID needs no look at what this machine can measure, which takes a second of two cores.
        if arguments.first() == Some(&"bench")
            && arguments.contains(&"--allow-invalid")
            && !["--no-calibration", "--force"].iter().any(|option| arguments.contains(option))
        {
            command.arg("--no-calibration");
        }
        command.args(arguments.iter().skip(1));
        command.env("XDG_CONFIG_HOME", self.folder.path().join("config"));
        command.env("XDG_CACHE_HOME", self.folder.path().join("cache"));
        for name in ["OPENAI_API_KEY", "HF_TOKEN", "NO_COLOR", "COLUMNS"] {
            command.env_remove(name);
        }
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("SKYLINE_")) {
            command.env_remove(name);
        }
        for proxy in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
            command.env_remove(proxy).env_remove(proxy.to_uppercase());
        }
        command
    }

    /// The same, begun and left to itself, without a word.
    #[cfg(unix)]
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("skyline"));
        command.current_dir(self.folder.path()).args(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Holds what was stored or printed against the JSON Schema that the binary has of it.
    pub(crate) fn assert_schema(&self, of: &str, report: &Value) {
        let schema = self.skyline(&["report", "--json-schema", of]).assert().code(0);
        let schema: Value = serde_json::from_slice(&schema.get_output().stdout).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<_> =
            validator.iter_errors(report).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{of}:\n{}", errors.join("\n"));
    }

    /// Writes `from` as `to` in the log of this name, and the checksums of its lines anew.
    pub(crate) fn rewrite(log: &Path, from: &str, to: &str) {
        let text = std::fs::read_to_string(log).unwrap();
        assert!(text.contains(from), "{from}");
        let mut run = 0;
        let lines = text.replacen(from, to, 1).lines().fold(String::new(), |mut lines, line| {
            let (body, _) = line.rsplit_once(",\"crc32\"").unwrap();
            let mut sum = crc32fast::Hasher::new_with_initial(run);
            sum.update(body.as_bytes());
            let sum = sum.finalize();
            run = if run == 0 { sum } else { run };
            let _ = writeln!(lines, "{body},\"crc32\":\"{sum:08x}\"}}");
            lines
        });
        std::fs::write(log, lines).unwrap();
    }

    /// Where commands are run.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Waits until the one run has kept its first answers.
    #[cfg(unix)]
    pub(crate) fn await_answers(&self) {
        let begin = Instant::now();
        let under_way = || {
            let log = self.runs().first().map(|run| run.join("run.jsonl"));
            log.and_then(|log| std::fs::read_to_string(log).ok())
                .is_some_and(|text| text.matches("{\"request\"").count() > 2)
        };
        while !under_way() {
            assert!(begin.elapsed() < PATIENCE, "no answer came");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The folders under `results/`.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.folder.path().join("results")) else { return Vec::new() };
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// The folder of the one run there is.
    pub(crate) fn run(&self) -> PathBuf {
        let runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.into_iter().next().unwrap()
    }

    /// What it found, as kept.
    pub(crate) fn summary(&self) -> Value {
        serde_json::from_str(&std::fs::read_to_string(self.run().join("summary.json")).unwrap()).unwrap()
    }

    /// The checks of `rule` in it.
    pub(crate) fn checks(&self, rule: &str) -> Vec<Value> {
        let checks = self.summary()["verdict"]["checks"].as_array().unwrap().clone();
        checks.into_iter().filter(|check| check["rule"] == rule).collect()
    }

    /// The lines of its log under `key`.
    pub(crate) fn lines(&self, key: &str) -> Vec<Value> {
        let log = std::fs::read_to_string(self.run().join("run.jsonl")).unwrap();
        let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter_map(|line| line.get(key).cloned()).collect()
    }
}

/// Copies a file, or a folder with all that is in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        std::fs::copy(from, to).unwrap();
        return;
    }
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

/// `skyline mock` with these options.
pub(crate) fn mock(options: &[&str]) -> MockProcess {
    MockProcess::start(&assert_cmd::cargo::cargo_bin("skyline"), options)
}

/// A port on which nothing listens, for a server that comes and goes: none of those that the system gives to
/// the sockets of clients, so that nobody else takes it while the server is away.
pub(crate) fn free_port() -> u16 {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    // Another process of this program may run beside this one.
    let first = std::process::id().wrapping_mul(97);
    loop {
        let next = first.wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed));
        let port = 20_000 + (next % 12_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Sends a signal, by its name for `kill`, at once: a busy machine may take long to start a program that does.
#[cfg(unix)]
pub(crate) fn signal(child: &Child, name: &str) {
    signal_to(child.id(), name);
}

/// The same to the process of this number.
#[cfg(unix)]
pub(crate) fn signal_to(process: u32, name: &str) {
    use rustix::process::{Pid, Signal, kill_process};
    let signal = match name {
        "-CONT" => Signal::CONT,
        "-HUP" => Signal::HUP,
        "-INT" => Signal::INT,
        "-KILL" => Signal::KILL,
        "-QUIT" => Signal::QUIT,
        "-STOP" => Signal::STOP,
        "-TERM" => Signal::TERM,
        "-TSTP" => Signal::TSTP,
        other => panic!("no signal {other}"),
    };
    // It may have ended meanwhile.
    let _ = kill_process(Pid::from_raw(process.cast_signed()).unwrap(), signal);
}

/// A request as a hand-made server sees it.
pub(crate) struct Seen {
    /// Without its query.
    pub(crate) path: String,
    pub(crate) head: String,
    pub(crate) body: String,
    /// How many generation requests came before it.
    pub(crate) generation: usize,
}

/// Starts a server on a free port that answers each request with what `answer` gives, byte for byte, and then
/// closes the connection. It lives until the test process ends.
pub(crate) fn serve(answer: impl Fn(&Seen) -> String + Send + Sync + 'static) -> SocketAddr {
    serve_by_hand(move |seen, socket| {
        write_paced(socket, &answer(seen));
    })
}

/// Writes a stream event by event, a millisecond apart, as a model does; anything else at once.
pub(crate) fn write_paced(socket: &mut TcpStream, text: &str) {
    let _ = socket.set_nodelay(true);
    for event in text.split_inclusive("\n\n") {
        if socket.write_all(event.as_bytes()).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(u64::from(event.starts_with("data: {\"choices\":[{"))));
    }
}

/// Starts a server whose answers are as long as asked. It keeps the bodies of all requests for answers.
pub(crate) fn serve_and_keep() -> (SocketAddr, Arc<Mutex<Vec<Value>>>) {
    serve_and_keep_answers(|_| None)
}

/// The same, with other streams for bodies for which `other` has one.
pub(crate) fn serve_and_keep_answers(
    other: impl Fn(&Value) -> Option<String> + Send + Sync + 'static,
) -> (SocketAddr, Arc<Mutex<Vec<Value>>>) {
    let kept: Arc<Mutex<Vec<Value>>> = Arc::default();
    let bodies = kept.clone();
    let address = serve(move |request| {
        control(request).unwrap_or_else(|| {
            let body: Value = serde_json::from_str(&request.body).unwrap();
            let tokens = body["max_tokens"].as_u64().unwrap_or(1) as usize;
            let other = other(&body).map(|text| answer("200 OK", "text/event-stream", &text));
            kept.lock().unwrap().push(body);
            other.unwrap_or_else(|| stream(tokens))
        })
    });
    (address, bodies)
}

/// The same for a server that does with the connection what it likes.
pub(crate) fn serve_by_hand(act: impl Fn(&Seen, &mut TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let act = Arc::new(act);
    let generations = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let (act, generations) = (Arc::clone(&act), Arc::clone(&generations));
            std::thread::spawn(move || {
                let mut socket = socket.unwrap();
                let Some((head, body)) = read_request(&mut socket) else { return };
                let mut seen = seen(head, body, 0);
                if seen.path.ends_with("completions") {
                    seen.generation = generations.fetch_add(1, Ordering::Relaxed);
                }
                act(&seen, &mut socket);
            });
        }
    });
    address
}

/// A request with this head and body.
pub(crate) fn seen(head: String, body: String, generation: usize) -> Seen {
    let target = head.split_whitespace().nth(1).unwrap_or("");
    let path = target.split('?').next().unwrap_or("").to_owned();
    Seen { path, head, body, generation }
}

/// The head and body of the next request.
pub(crate) fn read_request(socket: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = socket.read(&mut buffer).ok().filter(|&count| count > 0)?;
        bytes.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok())
            .unwrap_or(0);
        if body.len() >= length {
            return Some((head.to_owned(), body.to_owned()));
        }
    }
}

/// A plain HTTP answer that closes the connection.
pub(crate) fn answer(status: &str, content_type: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// What a healthy server says beside its streams.
pub(crate) fn control(seen: &Seen) -> Option<String> {
    match seen.path.as_str() {
        "/v1/models" => {
            let models = r#"{"object":"list","data":[{"id":"toy","object":"model","max_model_len":4096}]}"#;
            Some(answer("200 OK", "application/json", models))
        }
        "/health" => Some(answer("200 OK", "text/plain", "")),
        "/version" => Some(answer("200 OK", "application/json", r#"{"version":"9.9"}"#)),
        path if path.ends_with("completions") => None,
        _ => Some(answer("404 Not Found", "application/json", r#"{"detail":"Not Found"}"#)),
    }
}

/// A whole chat stream of `tokens` tokens, after a prompt of seven.
pub(crate) fn stream(tokens: usize) -> String {
    stream_after(7, tokens)
}

/// The same after a prompt of so many.
pub(crate) fn stream_after(prompt_tokens: usize, tokens: usize) -> String {
    let mut events = String::from(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n",
    );
    for token in 1..=tokens {
        let finish = if token == tokens { "\"length\"" } else { "null" };
        let delta = r#"{"content":" w"}"#;
        let _ =
            write!(events, "data: {{\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n");
    }
    let total = prompt_tokens + tokens;
    let usage = format!(r#"{{"prompt_tokens":{prompt_tokens},"completion_tokens":{tokens},"total_tokens":{total}}}"#);
    let _ = write!(events, "data: {{\"choices\":[],\"usage\":{usage}}}\n\n");
    events.push_str("data: [DONE]\n\n");
    answer("200 OK", "text/event-stream", &events)
}
