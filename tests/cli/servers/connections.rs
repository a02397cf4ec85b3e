//! Servers that close connections, and servers that die.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use predicates::prelude::*;
use predicates::str::contains;

use crate::support::{Desk, answer, control, free_port, mock, read_request, seen, serve_by_hand, stream};

/// What a server does with a connection that has carried an answer.
#[derive(Clone, Copy)]
enum After {
    /// Closes it, and says so.
    Announces,
    /// Closes it without a word.
    Closes,
    /// Closes it when the next request comes.
    Races,
    /// Takes the next request, and closes it 0.3 s later.
    Drops,
}

/// A server that keeps connections only so far.
fn closing(after: After) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            std::thread::spawn(move || converse(&mut socket.unwrap(), after));
        }
    });
    address
}

fn converse(socket: &mut TcpStream, after: After) {
    let Some((head, body)) = read_request(socket) else { return };
    let seen = seen(head, body, 0);
    if let Some(reply) = control(&seen) {
        let _ = socket.write_all(reply.as_bytes());
        return;
    }
    let whole = stream(8);
    let kept = whole.replace("connection: close\r\n", "");
    match after {
        After::Announces => drop(socket.write_all(whole.as_bytes())),
        After::Closes => drop(socket.write_all(kept.as_bytes())),
        After::Races => {
            drop(socket.write_all(kept.as_bytes()));
            let _ = read_request(socket);
        }
        After::Drops => {
            drop(socket.write_all(kept.as_bytes()));
            let _ = read_request(socket);
            std::thread::sleep(Duration::from_millis(300));
        }
    }
}

/// A run of the quick workload against a server: its folder, and what it printed.
fn run(address: SocketAddr) -> (Desk, String) {
    let desk = Desk::new();
    let url = format!("http://{address}");
    let bench = ["bench", "quick.toml", "--engine", "vllm", "--url", &url, "--no-calibration", "--allow-invalid"];
    let done = desk.skyline(&bench).assert();
    let printed = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    (desk, printed)
}

#[test]
fn a_request_that_meets_the_close_of_an_idle_connection_is_sent_again() {
    let (desk, printed) = run(closing(After::Races));
    let summary = desk.summary();
    let resent = summary["requests"]["resent"].as_u64().unwrap();
    // A busy machine may read a close too late to know that the server had not been at work.
    assert!(resent > 1, "{printed}");
    let rules: Vec<_> =
        summary["verdict"]["reasons"].as_array().unwrap().iter().map(|reason| &reason["rule"]).collect();
    assert!(rules.contains(&&"sent_twice".into()), "{printed}");
    assert!(printed.contains("were sent twice") && printed.contains("VLLM_HTTP_TIMEOUT_KEEP_ALIVE"), "{printed}");
    assert!(printed.contains("sent again"), "{printed}");
    // They are marked in the log, and keep the stamp of their first sending.
    let records = desk.lines("request");
    let again: Vec<_> = records.iter().filter(|record| record["lost_connection"] == "as_sent").collect();
    assert_eq!(again.len() as u64, resent);
    for record in again {
        assert_eq!(record["opened_connection"], true);
        assert!(record["sent_ns"].as_u64() < record["headers_ns"].as_u64(), "{record}");
    }
    desk.assert_schema("summary", &desk.summary());
}

/// What a server had for 0.3 s is lost: to send it again would hide that.
#[test]
fn a_request_that_the_server_took_and_dropped_has_failed() {
    let (desk, printed) = run(closing(After::Drops));
    let summary = desk.summary();
    let requests = &summary["requests"];
    assert!(requests["failed"].as_u64() > Some(0), "{printed}");
    assert_eq!(requests["resent"], 0, "{printed}");
    assert_eq!(summary["verdict"]["outcome"], "invalid", "{printed}");
    assert!(printed.contains("the server closed the connection before it answered"), "{printed}");
}

#[test]
fn a_server_that_closes_each_connection_loses_no_request() {
    for after in [After::Announces, After::Closes] {
        let (desk, printed) = run(closing(after));
        let requests = &desk.summary()["requests"];
        assert_eq!(requests["completed"], requests["planned"], "{printed}");
    }
}

#[test]
fn a_server_that_dies_is_named() {
    let desk = Desk::new();
    let server = mock(&["--ttft", "200ms", "--itl", "20ms"]);
    let mut bench = desk.start(&["bench", "quick.toml", "5", "--url", &server.url, "--no-calibration"]);
    desk.await_answers();
    server.end("-KILL");
    assert_eq!(bench.wait().unwrap().code(), Some(3));
    let reasons = desk.summary()["verdict"]["reasons"].as_array().unwrap().clone();
    assert_eq!(reasons[0]["rule"], "server_stayed", "{reasons:?}");
    assert!(reasons.iter().all(|reason| reason["rule"] != "error_rate" && reason["rule"] != "steady_state"));
    let run = desk.run();
    desk.skyline(&["report", run.to_str().unwrap()])
        .assert()
        .stdout(contains("the server stopped answering at").and(contains("refused")));
    // What was in flight is not laid to an idle connection.
    for record in desk.lines("request") {
        let message = record["outcome"]["message"].as_str().unwrap_or_default();
        assert!(!message.contains("idle"), "{message}");
    }
}

#[test]
fn a_server_that_dies_in_mid_answer_is_named() {
    let listener = TcpListener::bind(("127.0.0.1", free_port())).unwrap();
    let address = listener.local_addr().unwrap();
    let answers = Arc::new(AtomicUsize::new(0));
    std::thread::spawn(move || {
        // The tenth answer breaks off, and nothing listens from then on.
        while let Ok((mut socket, _)) = listener.accept() {
            if answers.load(Relaxed) >= 10 {
                return;
            }
            let answers = Arc::clone(&answers);
            std::thread::spawn(move || {
                let Some((head, body)) = read_request(&mut socket) else { return };
                let reply = control(&seen(head, body, 0)).unwrap_or_else(|| {
                    let whole = stream(8);
                    match answers.fetch_add(1, Relaxed) {
                        ..9 => whole,
                        9 => whole[..whole.len() / 2].to_owned(),
                        10.. => String::new(),
                    }
                });
                let _ = socket.write_all(reply.as_bytes());
            });
        }
    });
    let (desk, printed) = run(address);
    let reasons = desk.summary()["verdict"]["reasons"].as_array().unwrap().clone();
    assert_eq!(reasons[0]["rule"], "server_stayed", "{printed}");
    // Whether a request met the close on a connection that idled depends on the moment.
    assert!(printed.contains("stopped answering at"), "{printed}");
    let failures = desk.summary()["failures"]["kinds"].as_array().unwrap().clone();
    assert!(failures.iter().any(|failure| failure["kind"] == "connect"), "{failures:?}");
}

#[test]
fn a_server_that_only_fails_is_not_gone() {
    let address = serve_by_hand(|seen, socket| {
        let reply = control(seen).unwrap_or_else(|| match seen.generation {
            ..20 => stream(8),
            _ => answer("502 Bad Gateway", "text/plain", "no"),
        });
        let _ = socket.write_all(reply.as_bytes());
    });
    let (desk, printed) = run(address);
    let reasons = desk.summary()["verdict"]["reasons"].as_array().unwrap().clone();
    assert_eq!(reasons[0]["rule"], "error_rate", "{printed}");
}
