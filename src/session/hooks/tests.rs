//! Real commands: how they end, what they are told and what is left of them.

use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::command::begin;
use super::*;
use crate::clock::Pacing;
use crate::live::Screen;
use crate::session::console::{Exit, Interrupts, Stop};

fn run(command: &str, limit: Duration, folder: &Path) -> Result<(), Stop> {
    run_line(Line::Filed(command), limit, folder)
}

fn run_line(line: Line<'_>, limit: Duration, folder: &Path) -> Result<(), Stop> {
    let variables = Variables::default()
        .with(Variable::Variant, "old")
        .with(Variable::Variant, "big batch")
        .with(Variable::Flags, "--max-num-seqs 64");
    let mut output = Output::to(folder.join("hooks.log"));
    Hook { name: "reset", line, limit, screen: Screen::Quiet }.run(
        &variables,
        &mut output,
        Some(&Interrupts::default()),
    )
}

/// Waits until `done`, for a minute at the most.
fn soon(mut done: impl FnMut() -> bool) -> bool {
    let limit = Instant::now() + Duration::from_mins(1);
    while !done() {
        if Instant::now() > limit {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// The process that wrote its number into `file`.
fn number(file: &Path) -> Option<String> {
    std::fs::read_to_string(file).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn is_there(process: &str) -> bool {
    // A process that nobody has waited for is a zombie, which is no process any more.
    std::fs::read_to_string(format!("/proc/{process}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')))
}

#[test]
fn a_command_is_told_its_place_and_all_it_says_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let minute = Duration::from_mins(1);
    run(r#"echo "$SKYLINE_VARIANT: $SKYLINE_FLAGS"; test -x "$SKYLINE" && echo twice >&2"#, minute, folder.path())
        .unwrap();
    run("true", minute, folder.path()).unwrap();
    let log = std::fs::read_to_string(folder.path().join("hooks.log")).unwrap();
    let lines: Vec<_> = log.lines().collect();
    assert!(lines[0].starts_with("--- 20") && lines[0].contains("Z reset: echo"), "{log}");
    assert_eq!(&lines[1..3], ["big batch: --max-num-seqs 64", "twice"]);
    assert!(lines[3].ends_with("reset: true"), "{log}");
}

#[test]
fn only_its_time_limit_cuts_off_a_command_that_tidies_up() {
    let folder = tempfile::tempdir().unwrap();
    let mut output = Output::to(folder.path().join("hooks.log"));
    let run = |limit| Hook { name: "stop", line: Line::Filed("sleep 0.1"), limit, screen: Screen::Quiet };
    run(Duration::from_mins(1)).run(&Variables::default(), &mut output, None).unwrap();
    let late = run(Duration::from_millis(10)).run(&Variables::default(), &mut output, None).unwrap_err();
    assert!(late.message().contains("took longer than"), "{}", late.message());
}

#[test]
fn a_command_that_fails_says_how_and_what_it_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let failed = run("seq 1 30; echo no such model >&2; exit 7", Duration::from_mins(1), folder.path());
    let failed = failed.unwrap_err();
    let message = failed.message();
    assert!(
        message.starts_with("the reset command failed: it exited with 7: `seq 1 30;")
            && message.contains("hooks.log):\n  20\n  21\n")
            && message.contains("\n  no such model\nhint: "),
        "{message}"
    );
    assert_eq!(failed.exit(), Exit::Invalid);
    let silent = run("kill -KILL $$", Duration::from_mins(1), folder.path()).unwrap_err();
    assert!(
        silent.message().contains("ended by a signal: 9") && silent.message().contains("it wrote nothing"),
        "{}",
        silent.message()
    );
}

#[test]
fn what_was_typed_is_run_and_repeated_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let (line, minute) = (Line::Typed("token=hf_secret; echo told ${#token}; exit 7"), Duration::from_mins(1));
    let failed = run_line(line, minute, folder.path()).unwrap_err();
    let late = run_line(Line::Typed(": hf_secret; sleep 600"), Duration::from_millis(200), folder.path());
    let late = late.unwrap_err();
    let log = std::fs::read_to_string(folder.path().join("hooks.log")).unwrap();
    let said = [failed.message(), late.message(), &log].concat();
    assert!(!said.contains("hf_secret"), "{said}");
    assert!(
        failed.message().starts_with("the reset command failed: it exited with 7\nthe end of what it wrote"),
        "{said}"
    );
    assert!(log.lines().next().unwrap().ends_with("Z reset") && log.contains("\ntold 9\n"), "{log}");
}

/// The embedded mock has threads of real time for as long as it is there.
#[cfg(target_os = "linux")]
#[test]
fn a_command_has_neither_the_priority_nor_the_limit_of_threads_of_real_time() {
    let folder = tempfile::tempdir().unwrap();
    let (raised, is_raised) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let _raised = Pacing::RealTime.raise();
            raised.send(()).unwrap();
            let _ = ended.recv();
        });
        is_raised.recv().unwrap();
        let command = "grep -i 'realtime timeout' /proc/self/limits; awk '{ print \"policy\", $41 }' /proc/self/stat";
        run(command, Duration::from_mins(1), folder.path()).unwrap();
        drop(end);
    });
    let log = std::fs::read_to_string(folder.path().join("hooks.log")).unwrap();
    let lines: Vec<_> = log.lines().skip(1).collect();
    assert!(lines[0].starts_with("Max realtime timeout") && !lines[0].contains("500000"), "{log}");
    assert_eq!(lines[1], "policy 0");
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_that_takes_too_long_is_ended_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let command = format!("sleep 600 & echo $! > {}; wait", file.display());
    // Long enough for a busy machine to start all of it.
    let late = run(&command, Duration::from_secs(4), folder.path()).unwrap_err();
    assert!(late.message().contains("took longer than"), "{}", late.message());
    let process = number(&file).unwrap();
    assert!(soon(|| !is_there(&process)));
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_command_leaves_in_the_background_stays() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    run(&format!("sleep 600 & echo $! > {}", file.display()), Duration::from_mins(1), folder.path()).unwrap();
    let process = number(&file).unwrap();
    assert!(is_there(&process));
    Command::new("kill").arg(process).status().unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_lives_as_long_as_its_value_and_ends_with_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let (child, said) = (folder.path().join("pid"), folder.path().join("said"));
    // A leader that notes the signal, and a child in the background.
    let command =
        format!("trap 'echo asked > {}; exit 0' TERM; sleep 600 & echo $! > {}; wait", said.display(), child.display());
    let output = Output::to(folder.path().join("server.log"));
    let server = ServerProcess::start(&command, &Variables::default(), output).unwrap();
    assert!(soon(|| number(&child).is_some()));
    assert!(server.ended().is_none());
    let process = number(&child).unwrap();
    // Between its fork and `sleep` it is a shell, in which a signal may be lost.
    let name = format!("/proc/{process}/comm");
    assert!(soon(|| std::fs::read_to_string(&name).is_ok_and(|name| name.trim() == "sleep")));
    let begin = Instant::now();
    drop(server);
    assert!(!is_there(&process) && said.exists());
    assert!(begin.elapsed() < Duration::from_secs(14), "not killed after the grace: loose, by a factor of many");
}

#[test]
fn a_server_that_ends_by_itself_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let output = Output::to(folder.path().join("server.log"));
    let server = ServerProcess::start("echo out of memory; exit 3", &Variables::default(), output).unwrap();
    assert!(soon(|| server.ended().is_some()));
    let ended = server.ended().unwrap();
    assert!(
        ended.message().starts_with("the server ended by itself: it exited with 3: `echo out")
            && ended.message().contains("\n  out of memory\n"),
        "{}",
        ended.message()
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_group_is_ended_when_the_pipe_of_its_guard_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let mut output = Output::to(folder.path().join("server.log"));
    let mut group = begin("serve", Line::Filed("sleep 600"), &Variables::default(), &mut output).unwrap();
    let mut guard = group::Guard::over(&group, Duration::from_secs(1)).unwrap();
    assert!(group.leader_ended().is_none());
    // What the system does when this process is gone.
    guard.let_go();
    assert!(soon(|| group.leader_ended().is_some()));
}
