//! What is said and asked before a load is sent: how much is planned, and whether a server of others may get it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use predicates::prelude::*;
use predicates::str::contains;

use super::signals::code;
use crate::support::{Desk, answer, serve, signal};
use crate::terminal::Terminal;

/// Addresses of documentation: nothing is there.
const ONE: &str = "http://203.0.113.1:8000";
const OTHER: &str = "http://198.51.100.1:8000";
const AB: [&str; 9] = ["ab", "quick.toml", "1", "--rounds", "7", "--metric", "p50 ttft", "--wait", "1s"];
const HELD: [&str; 4] = ["--sustain", "9s", "--objective", "p50 ttft < 1s"];
const BENCH: [&str; 2] = ["bench", "quick.toml"];

/// A server that is not ready, and how often it was asked anything.
fn counting() -> (String, Arc<AtomicUsize>) {
    let seen = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&seen);
    let address = serve(move |_| {
        counter.fetch_add(1, Relaxed);
        answer("503 Service Unavailable", "text/plain", "not yet")
    });
    (format!("http://{address}"), seen)
}

/// A table with a row under two variants at these addresses.
fn table(desk: &Desk, rate_per_s: u32) {
    let row = format!("[[rows]]\nname = \"A\"\nworkload = \"quick.toml\"\nrate_per_s = {rate_per_s}\nrepeats = 2\n");
    let variant = |name, url| format!("[[variants]]\nname = \"{name}\"\nurl = \"{url}\"\n");
    let servers = [variant("one", ONE), variant("other", OTHER)].concat();
    desk.file("t.toml", &format!("name = \"t\"\n{row}{servers}"));
}

#[test]
fn all_public_servers_of_an_experiment_are_named_before_anything_is_sent_or_created() {
    let (desk, (own, seen)) = (Desk::new(), counting());
    table(&desk, 20);
    for (typed, servers, hint) in [
        (&["bench", "quick.toml", "--url", ONE][..], &[ONE][..], true),
        (&["bench", "quick.toml", "--rate", "5", "--retries", "2", "--url", ONE], &[ONE], true),
        (&["sweep", "quick.toml", "--rates", "1,2", "--url", ONE], &[ONE], true),
        (&["sweep", "quick.toml", "--url", ONE], &[ONE], false),
        (&[&AB[..], &["--a", &own, "--b", ONE]].concat(), &[ONE], true),
        (&[&AB[..], &["--a", OTHER, "--b", ONE]].concat(), &[ONE, OTHER], true),
        (&["matrix", "t.toml"], &[ONE, OTHER], true),
    ] {
        let refused = desk.skyline(&[typed, &["--no-calibration", "--quiet"]].concat()).assert().code(2).stdout("");
        let said = String::from_utf8_lossy(&refused.get_output().stderr).replace('\n', " ");
        assert!(servers.iter().all(|server| said.contains(server)), "{typed:?}: {said}");
        assert!(said.contains("private network") && said.contains("--yes"), "{typed:?}: {said}");
        assert_eq!(said.contains("need no confirmation"), hint, "{typed:?}: {said}");
    }
    assert_eq!(seen.load(Relaxed), 0, "a private server is asked nothing before the question either");
    assert!(!desk.path().join("results").exists());
}

/// Nothing is there, so that they fail when they connect.
#[test]
fn little_load_on_a_public_server_needs_no_confirmation_in_any_verb() {
    let desk = Desk::new();
    table(&desk, 5);
    let wait = ["--wait", "100ms", "--no-calibration"];
    for typed in [
        &["bench", "quick.toml", "--rate", "5", "--url", ONE][..],
        &["sweep", "quick.toml", "--rates", "1,2", "--samples", "10", "--url", ONE],
        &[&AB[..7], &["--rate", "5", "--a", ONE, "--b", OTHER]].concat(),
    ] {
        let run = desk.skyline(&[typed, &wait].concat()).assert().code(3);
        run.stderr(contains("private network").not().and(contains("load")));
    }
    desk.skyline(&[&["matrix", "t.toml"], &wait[..]].concat()).assert().stderr(contains("private network").not());
}

#[test]
fn in_a_terminal_the_question_is_asked_once_for_all() {
    for (typed, exit) in [("n\n", 2), ("\u{4}", 2), ("y\n", 3)] {
        let (desk, (own, seen), mut terminal) = (Desk::new(), counting(), Terminal::new());
        let sides = ["--a", &own, "--b", ONE, "--no-calibration"];
        let ab = terminal.start("dumb", &desk, &[&AB[..], &sides].concat());
        terminal.await_text("[y/N]");
        assert_eq!(seen.load(Relaxed), 0, "nothing is sent before");
        terminal.types(typed);
        assert_eq!(code(ab), Some(exit), "{typed:?}");
        assert_eq!(seen.load(Relaxed) > 0, exit == 3, "{typed:?}");
    }
}

#[test]
fn an_interrupt_ends_the_question_at_once() {
    for verb in [&AB[..], &BENCH] {
        let (desk, mut terminal) = (Desk::new(), Terminal::new());
        let servers = if verb[0] == "ab" { &["--a", ONE, "--b", OTHER][..] } else { &["--url", ONE] };
        let asking = terminal.start("dumb", &desk, &[verb, servers].concat());
        terminal.await_text("[y/N]");
        signal(&asking, "-INT");
        assert_eq!(code(asking), Some(130));
        assert!(desk.runs().is_empty());
    }
}

#[test]
fn the_planned_load_is_one_line_before_it_is_sent() {
    let (desk, (own, _)) = (Desk::new(), counting());
    table(&desk, 20);
    let request = |second| {
        format!("{{\"timestamp\": {second}001, \"input_length\": 5, \"output_length\": 5, \"hash_ids\": []}}\n")
    };
    desk.file("trace.jsonl", &(1..22).map(request).collect::<String>());
    let more = ["--no-calibration", "--wait", "100ms", "--yes"];
    for (typed, line) in [
        (
            &["bench", "quick.toml", "--url", &own][..],
            "load: about 39 requests at up to 20.0/s over 2 s, 312 prompt + 312 answer",
        ),
        (
            &["bench", "quick.toml", "--users", "3", "--url", &own],
            "users get answered over 2 s, 8 prompt + 8 answer tokens each",
        ),
        (
            &[&AB[..7], &["--a", &own, "--b", &own]].concat(),
            "load: about 306 requests at up to 20.0/s in 14 runs over 14 s",
        ),
        (&["matrix", "t.toml"], "load: about 156 requests at up to 20.0/s in 4 runs over 8 s"),
        (
            &["sweep", "quick.toml", "--rates", "1,2", "--samples", "4", "--url", &own],
            "load: about 110 requests at up to 2.00/s in about 6 runs over 1 min",
        ),
        (
            &["sweep", "quick.toml", "--trace", "trace.jsonl", "--rates", "2", "--repeats", "3", "--url", &own],
            "load: about 147 requests at up to 2.00/s in about 3 runs over 1 min 3 s",
        ),
        (
            &[
                &["sweep", "quick.toml", "--users", "2,3", "--repeats", "3", "--max-seconds", "9"],
                &HELD[..],
                &["--url", &own],
            ]
            .concat(),
            "as many requests as users get answered in about 7 runs over",
        ),
        (&["sweep", "quick.toml", "--url", &own], "load: as many requests as the search needs over 5 min,"),
        (
            &["sweep", "quick.toml", "--bracket", "5%", "--url", &own],
            "load at most: as many requests as the search needs in 60 runs over 5 h",
        ),
    ] {
        let said = |extra: &[&str]| {
            let run = desk.skyline(&[typed, &more, extra].concat()).assert();
            String::from_utf8_lossy(&run.get_output().stderr).replace('\n', " ")
        };
        let shown = said(&[]);
        assert!(shown.contains(line), "{line} is not in {shown}");
        assert_eq!(shown.matches("in flight").count(), 1, "{shown}");
        assert!(!said(&["--quiet"]).contains("in flight"));
        if typed[0] == "matrix" {
            let shown = desk.skyline(&[typed, &["--dry-run"]].concat()).assert().code(0);
            let shown = String::from_utf8_lossy(&shown.get_output().stdout).replace('\n', " ");
            assert!(shown.contains(line), "{line} is not in {shown}");
        }
    }
}

#[test]
fn the_guide_shows_the_line_as_it_is_printed() {
    let (desk, (own, _)) = (Desk::new(), counting());
    let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/guide/first-run.md")).unwrap();
    let line = guide.lines().find(|line| line.starts_with("load: ")).unwrap().to_owned();
    let bench = ["bench", "short_chat", "60", "--url", &own, "--wait", "100ms", "--no-calibration"];
    desk.skyline(&bench).assert().stderr(contains(line));
}
