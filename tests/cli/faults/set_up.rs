//! Does one fault to the program.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::Fault;
use crate::support::{Desk, PATIENCE, Seen, answer, control, copy, mock, outcomes, serve_by_hand, signal, stream};

/// A server by hand: healthy but for what it answers at one path.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Server {
    /// The path at which it is faulty: that of generation where absent, all for `*`.
    path: Option<String>,
    /// The first faulty request for generation, from 0, which is the test request.
    #[serde(default = "after_the_test_request")]
    from: usize,
    /// The status of an answer of its own.
    status: Option<String>,
    /// Its further headers, each with its line end.
    #[serde(default)]
    headers: String,
    #[serde(default = "json")]
    r#type: String,
    #[serde(default)]
    body: String,
    /// Bytes in place of an answer.
    raw: Option<String>,
    /// This text so many times after that, as a server without measure.
    repeated: Option<(String, usize)>,
    /// Bytes at the end.
    #[serde(default)]
    after: String,
    #[serde(default)]
    then: Then,
}

/// What becomes of the connection.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Then {
    #[default]
    Close,
    /// Nothing more comes.
    Hang,
    Reset,
}

const fn after_the_test_request() -> usize {
    1
}

fn json() -> String {
    "application/json".to_owned()
}

impl Server {
    fn start(&self) -> String {
        let server = self.clone();
        let address = serve_by_hand(move |seen, socket| server.act(seen, socket));
        format!("http://{address}")
    }

    fn is_faulty_at(&self, seen: &Seen) -> bool {
        match self.path.as_deref() {
            None => seen.path.ends_with("completions") && seen.generation >= self.from,
            Some("*") => true,
            Some(path) => seen.path == path,
        }
    }

    fn act(&self, seen: &Seen, socket: &mut TcpStream) {
        if !self.is_faulty_at(seen) {
            let _ = socket.write_all(control(seen).unwrap_or_else(|| stream(8)).as_bytes());
            return;
        }
        let reply = match (&self.raw, &self.status) {
            (Some(raw), _) => raw.clone(),
            (None, status) => {
                let reply = answer(status.as_deref().unwrap_or("200 OK"), &self.r#type, &self.body);
                reply.replacen("\r\n", &format!("\r\n{}", self.headers), 1)
            }
        };
        let mut gone = socket.write_all(reply.as_bytes()).is_err();
        if let Some((text, times)) = &self.repeated {
            for _ in 0..*times {
                gone = gone || socket.write_all(text.as_bytes()).is_err();
            }
        }
        if !gone {
            let _ = socket.write_all(self.after.as_bytes());
        }
        match self.then {
            Then::Close => {}
            Then::Hang => std::thread::sleep(Duration::from_secs(60)),
            Then::Reset => {
                rustix::net::sockopt::set_socket_linger(&*socket, Some(Duration::ZERO)).unwrap();
            }
        }
    }
}

/// Its exit code; none if it does not end.
fn ended(child: &mut Child) -> Option<i32> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if begin.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends the signals, with pauses of so many seconds between them, or until a word in small letters is printed.
fn send(signals: &str, desk: &Desk, child: &Child) {
    for word in signals.split(' ') {
        match word.parse() {
            Ok(seconds) => std::thread::sleep(Duration::from_secs_f64(seconds)),
            Err(_) if word.starts_with(char::is_lowercase) => {
                let begin = Instant::now();
                while !std::fs::read_to_string(desk.path().join("printed")).unwrap().contains(word) {
                    assert!(begin.elapsed() < PATIENCE, "{word} is not printed");
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
            Err(_) => signal(child, &format!("-{word}")),
        }
    }
}

/// Begins the program in this folder, with all that it prints in a file there.
fn begin(desk: &Desk, fault: &Fault, line: &str, prelude: &str) -> Child {
    let out = |name: &str| std::fs::OpenOptions::new().create(true).append(true).open(desk.path().join(name)).unwrap();
    let mut command = Command::new("sh");
    command.current_dir(desk.path()).args(["-c", &format!("{prelude}\nexec \"$0\" \"$@\"")]);
    command.arg(assert_cmd::cargo::cargo_bin("skyline")).args(shlex::split(line).unwrap());
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", desk.path());
    command.envs(&fault.env).stdin(Stdio::null()).stdout(out("printed")).stderr(out("printed"));
    command.spawn().unwrap()
}

/// Runs the command line against its server; the exit code.
fn run(desk: &Desk, fault: &Fault) -> Option<i32> {
    for (name, text) in &fault.files {
        desk.file(name, text);
    }
    let served = fault
        .mock
        .as_ref()
        .map(|options| mock(&shlex::split(options).unwrap().iter().map(String::as_str).collect::<Vec<_>>()));
    let by_hand = fault.server.as_ref().map(Server::start);
    let url = served.as_ref().map(|mock| mock.url.clone()).or(by_hand).unwrap_or_default();
    let line = format!("{} {}", fault.run, fault.with).replace("URL", &url);
    let mut child = begin(desk, fault, &line, fault.shell.as_deref().unwrap_or(":"));
    if let Some(signals) = &fault.signals {
        desk.await_answers();
        send(signals, desk, &child);
    }
    ended(&mut child)
}

/// Folders after a command line against a mock. What is done to a stored run is done to a copy, as many have the same.
static STORED: LazyLock<Mutex<BTreeMap<String, Desk>>> = LazyLock::new(Mutex::default);

/// The exit code, everything that is printed, and what the run may be said to be whatever this machine did to it.
pub(super) fn done(fault: &Fault) -> (Option<i32>, String, Vec<&'static str>) {
    let desk = Desk::new();
    let mut code = match (&fault.between, &fault.signals) {
        (Some(_), None) => {
            let before = format!("{} {} {:?} {:?}", fault.run, fault.with, fault.mock, fault.files);
            let mut stored = STORED.lock().unwrap();
            let original = stored.entry(before).or_insert_with(|| {
                let desk = Desk::new();
                run(&desk, fault);
                desk
            });
            copy(original.path(), desk.path());
            None
        }
        _ => run(&desk, fault),
    };
    if let Some(edit) = &fault.between {
        assert!(Command::new("sh").current_dir(desk.path()).args(["-c", edit]).status().unwrap().success());
    }
    if let Some(line) = &fault.then {
        std::fs::write(desk.path().join("printed"), "").unwrap();
        code = ended(&mut begin(&desk, fault, line, ":"));
    }
    let printed = String::from_utf8_lossy(&std::fs::read(desk.path().join("printed")).unwrap()).into_owned();
    let run = desk.runs().into_iter().next().filter(|run| run.join("summary.json").exists());
    (code, printed, run.map(|_| outcomes(&desk.summary())).unwrap_or_default())
}
