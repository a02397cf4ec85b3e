//! The table of faults, `tests/data/faults.toml`: each is done to the program, and printed in the guide.
//!
//! `SKYLINE_FAULT=WORDS cargo test --test cli faults -- --nocapture` tries those with these words alone and prints what the
//! program says. `INSTA_UPDATE=always` writes the guide's page.

mod page;
mod set_up;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Deserialize;

/// One fault, what the program says of it, and how it ends.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fault {
    /// Whose: a heading of the guide's page.
    of: String,
    /// What happens, for people.
    what: String,
    /// What the result is: a word that the program prints, or one of [`WORDS`].
    result: String,
    exit: i32,
    /// What the program says, whatever its line breaks. The guide's page shows the first.
    says: Vec<String>,
    /// What it does not say.
    #[serde(default)]
    never: Vec<String>,
    /// The command line; `URL` stands for the server's.
    #[serde(default = "usual_run")]
    run: String,
    /// More options for it.
    #[serde(default)]
    with: String,
    /// Options of a mock that serves.
    mock: Option<String>,
    /// Whether it ends in the same way over HTTP/2, which is tried too.
    #[serde(default)]
    http2: bool,
    /// A server by hand.
    server: Option<set_up::Server>,
    /// Files in the folder of the command.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// Variables of its environment.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// What a shell does before the program begins.
    shell: Option<String>,
    /// Signals after the first answers, such as `STOP 0.8 CONT` or, when a word is printed, `INT stopping INT`.
    signals: Option<String>,
    /// What a shell does to what was stored.
    between: Option<String>,
    /// A command line of the program that looks at what is left.
    then: Option<String>,
}

/// Results that are not printed as a word.
const WORDS: [&str; 5] = ["refused", "not started", "warned", "fine", "stored"];

fn usual_run() -> String {
    "bench quick.toml --engine vllm --url URL --requests 8 --no-calibration".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    fault: Vec<Fault>,
}

fn table() -> Vec<Fault> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/faults.toml"));
    toml::from_str::<Table>(&text.unwrap()).unwrap().fault
}

/// Runs of spaces and line breaks as one space.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn each_fault_ends_as_the_table_says() {
    let only = std::env::var("SKYLINE_FAULT").ok();
    let over_http2 = |fault: &Fault| Fault { with: format!("{} --http2", fault.with), ..fault.clone() };
    let both = table().into_iter().flat_map(|fault| [fault.http2.then(|| over_http2(&fault)), Some(fault)]).flatten();
    let chosen: Vec<_> = both.filter(|fault| only.as_deref().is_none_or(|words| fault.what.contains(words))).collect();
    assert!(only.is_some() || chosen.len() >= 60, "{} faults", chosen.len());
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(fault) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (code, output, run) = set_up::done(fault);
                    if only.is_some() {
                        println!("== {}: exit {code:?}\n{output}", fault.what);
                    }
                    let said = in_one_line(&output);
                    let missing: Vec<_> =
                        fault.says.iter().filter(|words| !said.contains(&in_one_line(words))).collect();
                    let never: Vec<_> = fault.never.iter().filter(|words| said.contains(words.as_str())).collect();
                    let word = fault.result.as_str();
                    let is_run = run.iter().any(|run| run.eq_ignore_ascii_case(word));
                    let result = WORDS.contains(&word) || said.contains(word) || is_run;
                    // But for what a busy machine did, the run was VALID.
                    let is_busy = fault.exit == 0 && run.contains(&"valid") && said.contains("INVALID:");
                    let ended = code == Some(fault.exit) || is_busy;
                    if !ended || !missing.is_empty() || !never.is_empty() || !result {
                        wrong.lock().unwrap().push(format!(
                            "{}: exit {code:?}, not {}; `{}` {result}; lacks {missing:?}; has {never:?}\n{output}",
                            fault.what, fault.exit, fault.result
                        ));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n\n"));
}
