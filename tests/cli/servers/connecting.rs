//! Servers that cannot be reached as they are addressed: what is said of them at once, and the cure.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::support::{Desk, PATIENCE, answer, control, mock, serve, stream};

/// A file of `tests/data/tls`.
fn tls(name: &str) -> String {
    format!("{}/tests/data/tls/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A server that speaks TLS with this certificate, and answers as a healthy one.
fn serve_tls(certificate: &str) -> SocketAddr {
    let certificate = CertificateDer::from_pem_file(tls(certificate)).unwrap();
    let key = PrivateKeyDer::from_pem_file(tls("server.key.pem")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let (config, listener) = (Arc::new(config), TcpListener::bind("127.0.0.1:0").unwrap());
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let config = Arc::clone(&config);
            std::thread::spawn(move || {
                let connection = ServerConnection::new(config).unwrap();
                let mut socket = StreamOwned::new(connection, socket.unwrap());
                let (mut text, mut buffer) = (String::new(), [0; 4096]);
                while !text.contains("\r\n\r\n") {
                    let Ok(count @ 1..) = socket.read(&mut buffer) else { return };
                    text.push_str(&String::from_utf8_lossy(&buffer[..count]));
                }
                let reply = match text.split(' ').nth(1).unwrap_or_default() {
                    "/v1/models" => answer("200 OK", "application/json", r#"{"data":[{"id":"toy"}]}"#),
                    path if path.ends_with("completions") => stream(4),
                    _ => answer("200 OK", "text/plain", ""),
                };
                let _ = socket.write_all(reply.as_bytes());
                socket.conn.send_close_notify();
                let _ = socket.flush();
            });
        }
    });
    address
}

/// What `check` says of the server at `url` with these options, and its exit code.
fn check(url: &str, options: &[&str], variables: &[(&str, &str)]) -> (i32, String) {
    let arguments = [&["check", "--engine", "vllm", "--url", url][..], options].concat();
    let checked = Desk::new()
        .skyline(&arguments)
        .envs(variables.iter().copied())
        // What cannot be cured by waiting is said at once.
        .timeout(PATIENCE)
        .assert();
    let output = checked.get_output();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).replace('\n', " "))
}

#[track_caller]
fn says(checked: &(i32, String), code: i32, parts: &[&str]) {
    let (found, said) = checked;
    assert_eq!(*found, code, "{said}");
    for part in parts {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn certificates_are_accepted_or_refused_by_name() {
    for (certificate, given, code, parts) in [
        // A server's own, whether it may sign others or not, or has an issuer that is not at hand.
        ("server.cert.pem", Some("server.cert.pem"), 0, &[][..]),
        ("own-root.cert.pem", Some("own-root.cert.pem"), 0, &[]),
        ("issued.cert.pem", Some("issued.cert.pem"), 0, &[]),
        // Its name and its dates are checked all the same.
        (
            "other-host.cert.pem",
            Some("other-host.cert.pem"),
            3,
            &["is for elsewhere.example", "not for 127.0.0.1", "--url"],
        ),
        ("expired.cert.pem", Some("expired.cert.pem"), 3, &["expired at 2021-01-01 00:00 UTC", "renew"]),
        (
            "issued.cert.pem",
            Some("own-root.cert.pem"),
            3,
            &["nobody who is trusted", "own-root.cert.pem has neither", "--ca-cert FILE", "openssl s_client"],
        ),
        ("server.cert.pem", Some("server.key.pem"), 2, &["server.key.pem", "is a private key"]),
    ] {
        let url = format!("https://{}", serve_tls(certificate));
        let file = given.map(tls).unwrap_or_default();
        says(&check(&url, &["--ca-cert", &file], &[]), code, parts);
    }
    says(&check(&format!("https://{}", serve_tls("expired.cert.pem")), &["--insecure"], &[]), 0, &[]);
}

#[test]
fn a_file_without_certificates_is_refused_before_anything_is_sent() {
    let desk = Desk::new();
    for (name, text, part) in [
        ("empty.pem", "", "it is empty"),
        ("page.html", "<html>hunter2</html>", "it is no PEM file"),
        ("der.crt", "0\u{2}hunter2", "it is binary (DER)"),
        ("cut.pem", "-----BEGIN CERTIFICATE-----\nMIIB\n", "is damaged PEM"),
        (
            "junk.pem",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "holds no certificate that can be used",
        ),
    ] {
        let file = desk.file(name, text).display().to_string();
        let checked = check("https://127.0.0.1:1", &["--ca-cert", &file], &[]);
        says(&checked, 2, &[part, "--ca-cert"]);
        assert!(!checked.1.contains("hunter2"), "{}", checked.1);
    }
    says(&check("https://127.0.0.1:1", &["--ca-cert", "/nowhere.pem"], &[]), 2, &["/nowhere.pem", "cannot be read"]);
}

#[test]
fn an_address_of_the_wrong_scheme_is_said_at_once() {
    let tls = serve_tls("server.cert.pem");
    says(
        &check(&format!("http://{tls}"), &[], &[]),
        3,
        &["this port speaks TLS", &format!("write https:// in --url: https://{tls}")],
    );
    // A plain server that answers 400 to what it does not know is not one of TLS.
    let plain = serve(|seen| {
        let health = seen.path == "/health";
        let refused = || answer("400 Bad Request", "text/plain", "what?");
        if health { refused() } else { control(seen).unwrap_or_else(|| stream(4)) }
    });
    says(&check(&format!("http://{plain}"), &[], &[]), 0, &[]);
    says(&check(&format!("https://{plain}"), &["--insecure"], &[]), 3, &["does not speak TLS", "write http://"]);
}

#[test]
fn a_redirect_gives_the_address_to_type() {
    let moved = |location: &'static str| {
        let url = serve(move |_| {
            let reply = answer("308 Permanent Redirect", "text/plain", "");
            reply.replacen("\r\n", &format!("\r\nlocation: {location}\r\n"), 1)
        });
        format!("http://{url}")
    };
    let models = moved("https://gate.example/team/v1/models?key=hunter2");
    let checked = check(&models, &[], &[]);
    says(
        &checked,
        3,
        &[
            "/v1/models answers 308",
            "it redirects to https://gate.example/team/v1/models",
            "--url https://gate.example/team/v1",
        ],
    );
    assert!(!checked.1.contains("hunter2"), "{}", checked.1);
    let endpoint = moved("https://gate.example/v1/chat/completions");
    says(
        &check(&endpoint, &["--model", "toy"], &[]),
        3,
        &["http 308", "it redirects to", "--url https://gate.example/v1"],
    );
    says(&check(&moved("/login"), &["--model", "toy"], &[]), 3, &["it redirects to /login", "check --url"]);
}

#[test]
fn a_refused_key_is_named_by_where_it_came_from() {
    let refuses = |listing: bool| {
        let url = serve(move |seen| {
            let refused = || answer("401 Unauthorized", "application/json", r#"{"error":"no"}"#);
            control(seen).filter(|_| listing || seen.path == "/health").unwrap_or_else(refused)
        });
        format!("http://{url}")
    };
    for url in [refuses(true), refuses(false)] {
        says(&check(&url, &[], &[]), 3, &["401", "no key was sent", "--api-key-env"]);
        let key = [("OPENAI_API_KEY", "hunter2hunter2"), ("OTHER_KEY", "hunter2hunter2")];
        let usual = check(&url, &[], &key);
        says(&usual, 3, &["the key in the environment variable OPENAI_API_KEY"]);
        says(&check(&url, &["--api-key-env", "OTHER_KEY"], &key), 3, &["environment variable OTHER_KEY"]);
        let header = check(&url, &["--header", "Authorization: Bearer env:OTHER_KEY"], &key);
        says(&header, 3, &["the header authorization of --header"]);
        assert!(!header.1.contains("variable OPENAI_API_KEY") && !(usual.1 + &header.1).contains("hunter2"));
    }
}

#[test]
fn an_endpoint_that_is_not_there_is_named_with_what_was_tried() {
    let nothing = |seen: &crate::support::Seen| match seen.path.as_str() {
        "/health" => answer("200 OK", "text/plain", ""),
        _ => answer("404 Not Found", "text/plain", "no such page"),
    };
    let url = format!("http://{}", serve(nothing));
    let tried = format!("{url}/v1/chat/completions");
    says(
        &check(&url, &["--model", "toy"], &[]),
        3,
        &[&tried, "404", "neither /v1/chat/completions nor /v1/models", "--path"],
    );
    let listing = serve(move |seen| control(seen).unwrap_or_else(|| nothing(seen)));
    says(&check(&format!("http://{listing}"), &[], &[]), 3, &["though it has /v1/models", "--endpoint"]);
}

#[test]
fn a_gateway_is_not_taken_for_a_server_that_loads() {
    for (status, body, part, other) in [
        ("502 Bad Gateway", "<html><title>502 Bad Gateway</title></html>", "in place of the server", "load a model"),
        ("504 Gateway Timeout", "", "in place of the server", "take minutes to load"),
        ("503 Service Unavailable", "no healthy upstream", "a gateway before it", "take minutes to load"),
        ("503 Service Unavailable", r#"{"error":{"message":"Loading model"}}"#, "take minutes to load", "gateway"),
    ] {
        let url = format!("http://{}", serve(move |_| answer(status, "text/html", body)));
        let checked = check(&url, &["--wait", "300ms"], &[]);
        says(&checked, 3, &[part, &status[..3]]);
        assert!(!checked.1.contains(other), "{}", checked.1);
        // The same where only requests fail.
        let late = serve(move |seen| control(seen).unwrap_or_else(|| answer(status, "text/html", body)));
        says(&check(&format!("http://{late}"), &[], &[]), 3, &[part]);
    }
}

#[test]
fn a_mock_says_who_may_use_it() {
    for (address, open) in [("0.0.0.0", true), ("::", true), ("127.0.0.1", false)] {
        if address == "::" && TcpListener::bind("[::]:0").is_err() {
            continue;
        }
        let (_, said) = mock(&["--bind", address]).end("-TERM");
        assert_eq!(said.contains("everybody who can reach this machine can use it"), open, "{address}: {said}");
    }
}
