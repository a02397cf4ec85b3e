//! Runs on a terminal of their own: what is drawn there, and that it is as it was afterwards.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Desk, PATIENCE, signal_to};

const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";

/// All that a terminal of 80 columns and 24 rows was sent: by a run of the quick workload, and then by the shell, of how the
/// run ended and how the terminal is. `meanwhile` happens as soon as there are answers and it was sent `drawn`.
fn on_a_terminal(options: &str, drawn: &str, meanwhile: impl FnOnce(u32)) -> String {
    let desk = Desk::new();
    let skyline = assert_cmd::cargo::cargo_bin("skyline");
    let run = format!("exec {} bench quick.toml {options}", skyline.display());
    let all = format!(
        "stty rows 24 cols 80; stty -a > before; sh -c 'echo $$ > pid; {run}'; echo ended with $?; \
         stty -a | cmp - before && echo the terminal is as it was"
    );
    // `script` gives a command a terminal, and passes on what is written to it.
    let mut script = Command::new("script");
    script.args(["-qfec", &all, "sent"]).current_dir(desk.path()).env("TERM", "xterm").env_remove("NO_COLOR");
    let script = script.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    desk.await_answers();
    let begin = Instant::now();
    let sent = || String::from_utf8_lossy(&std::fs::read(desk.path().join("sent")).unwrap()).into_owned();
    while !sent().contains(drawn) {
        assert!(begin.elapsed() < PATIENCE, "{drawn:?} is not in {:?}", sent());
        std::thread::sleep(Duration::from_millis(20));
    }
    let process = std::fs::read_to_string(desk.path().join("pid")).unwrap();
    meanwhile(process.trim().parse().unwrap());
    String::from_utf8(script.wait_with_output().unwrap().stdout).unwrap()
}

/// What was sent before the dashboard, to it, and after it.
fn parts(sent: &str) -> [&str; 3] {
    assert_eq!((sent.matches(ENTER).count(), sent.matches(LEAVE).count()), (1, 1), "{sent:?}");
    let (before, rest) = sent.split_once(ENTER).unwrap();
    let (drawn, after) = rest.split_once(LEAVE).unwrap();
    assert!(drawn.ends_with("\u{1b}[?25h"), "the cursor is back: {drawn:?}");
    [before, drawn, after]
}

#[test]
fn the_dashboard_is_gone_when_the_report_comes() {
    let sent = on_a_terminal("", ENTER, |_| {});
    let [_, drawn, after] = parts(&sent);
    assert!(drawn.contains("window so far") && drawn.contains("TTFT"), "{drawn:?}");
    assert!(after.contains("Latency, ms") && after.contains("saved to results/"), "{after}");
    assert!(!after.contains("\u{1b}[?25l") && after.contains("the terminal is as it was"), "{after}");
}

#[test]
fn a_signal_that_ends_the_program_leaves_the_terminal_as_it_was() {
    let sent = on_a_terminal("60", ENTER, |process| signal_to(process, "-QUIT"));
    let [_, _, after] = parts(&sent);
    assert!(after.contains("ended with 131") && after.contains("the terminal is as it was"), "{after}");
    assert!(!after.contains('\u{1b}'), "{after:?}");
}

#[test]
fn nothing_typed_is_shown_whatever_standard_input_is() {
    let mut settings = String::new();
    on_a_terminal("60 < /dev/null", ENTER, |process| {
        let terminal = format!("/proc/{process}/fd/2");
        let told = Command::new("stty").args(["-a", "-F", &terminal]).output().unwrap();
        settings = String::from_utf8(told.stdout).unwrap();
        signal_to(process, "-TERM");
    });
    assert!(settings.contains("-echo ") && settings.contains("susp = <undef>"), "{settings:?}");
}

#[test]
fn a_run_that_is_put_to_sleep_gives_the_terminal_back() {
    let sent = on_a_terminal("60", ENTER, |process| {
        let state = || {
            let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
            stat.rsplit(')').next().unwrap().trim().chars().next().unwrap()
        };
        signal_to(process, "-TSTP");
        let begin = Instant::now();
        while state() != 'T' {
            assert!(begin.elapsed() < PATIENCE, "it goes on in state {}", state());
            std::thread::sleep(Duration::from_millis(20));
        }
        signal_to(process, "-CONT");
        signal_to(process, "-QUIT");
    });
    let [_, _, after] = parts(&sent);
    assert!(after.contains("ended with 131") && after.contains("the terminal is as it was"), "{after}");
}

#[test]
fn words_that_are_said_meanwhile_come_after_the_dashboard() {
    let sent = on_a_terminal("60", ENTER, |process| signal_to(process, "-INT"));
    let [before, drawn, after] = parts(&sent);
    let words = "stopping: no more requests are sent";
    assert!(!before.contains(words) && drawn.contains("stopping:"), "{drawn:?}");
    assert!(after.trim_start().starts_with(words) && after.contains("ended with 130"), "{after}");
    // Within the width of the terminal.
    assert!(after.contains("Ctrl-C\r\n  again cuts them off\r\n"), "{after:?}");
    assert!(after.contains("the terminal is as it was"), "{after}");
}

#[test]
fn a_line_takes_no_terminal() {
    let sent = on_a_terminal("--live line", "", |_| {});
    assert!(!sent.contains(ENTER) && sent.contains(" released") && sent.contains("Latency, ms"), "{sent:?}");
}

/// A line that stands there is taken away before words are said, and drawn again below them.
#[test]
fn words_do_not_break_the_line() {
    let sent = on_a_terminal("60 --live line", " released", |process| signal_to(process, "-INT"));
    let (before, _) = sent.split_once("stopping: no more requests are sent").unwrap();
    let last = before.rsplit('\n').next().unwrap();
    let cleared = last.rfind("\u{1b}[2K").unwrap();
    assert!(!last[cleared..].contains("released"), "{last:?}");
}
