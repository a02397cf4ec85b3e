//! Servers that are reached by other ways than a host and a port.

use std::io::{self, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use crate::support::{Desk, mock};

/// Puts a Unix socket in front of a server.
fn behind_socket(path: &Path, server: &str) {
    let (listener, server) = (UnixListener::bind(path).unwrap(), server.replace("http://", ""));
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let (socket, server) = (socket.unwrap(), TcpStream::connect(&server).unwrap());
            server.set_nodelay(true).unwrap();
            let (mut there, mut back) = (socket.try_clone().unwrap(), socket);
            let (mut to, mut from) = (server.try_clone().unwrap(), server);
            std::thread::spawn(move || {
                let _ = io::copy(&mut there, &mut to);
                let _ = to.shutdown(Shutdown::Write);
            });
            std::thread::spawn(move || {
                let _ = io::copy(&mut from, &mut back);
                let _ = back.flush();
                let _ = UnixStream::shutdown(&back, Shutdown::Both);
            });
        }
    });
}

#[test]
fn a_server_is_measured_over_a_unix_socket() {
    let (desk, server) = (Desk::new(), mock(&["--hardware", "h100"]));
    let socket = desk.path().join("server.sock");
    behind_socket(&socket, &server.url);
    let url = format!("unix:{}", socket.display());
    let checked = desk.skyline(&["check", "--engine", "vllm", "--url", &url]).output().unwrap();
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.status.success() && said.contains(&url), "{said}");

    let run = desk.skyline(&["bench", "smoke", "3", "--rate", "10", "--engine", "vllm", "--url", &url]);
    let run = { run }.output().unwrap();
    let report = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.status.success(), "{report}{}", String::from_utf8_lossy(&run.stderr));
    let summary = desk.summary();
    assert_eq!(summary["run"]["engine"]["url"], url.as_str());
    assert_eq!(summary["requests"]["failed"], 0);
    assert_eq!(summary["requests"]["completed"], summary["requests"]["planned"]);
    assert!(report.contains("stamps taken when a read returns"), "{report}");
    // Its own metrics page is read by the same way.
    assert!(report.contains("Server, by its own metrics"), "{report}");

    let gone = format!("unix:{}", desk.path().join("gone.sock").display());
    let checked = desk.skyline(&["check", "--engine", "vllm", "--wait", "0s", "--url", &gone]).output().unwrap();
    let said = String::from_utf8_lossy(&checked.stderr).into_owned() + &String::from_utf8_lossy(&checked.stdout);
    assert!(!checked.status.success() && said.contains("there is no socket") && said.contains("--uds"), "{said}");
}

#[test]
fn connections_are_kept_only_where_a_server_has_room_for_them() {
    let keep = ["--url", "http://127.0.0.1:9", "--connections-per-host", "2"];
    let refused = Desk::new().skyline(&[&["bench", "smoke", "1", "--engine", "llamacpp"], &keep[..]].concat()).output();
    let refused = refused.unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && said.contains("holds a thread of llamacpp"), "{said}");
}
