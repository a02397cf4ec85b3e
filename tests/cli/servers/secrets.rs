//! Secrets that are sent reach no screen and no file, though the server repeats them.

use predicates::str::contains;

use crate::support::{Desk, Seen, answer, serve, stream};

/// What was sent in the header `name`.
fn sent(seen: &Seen, name: &str) -> String {
    let line = seen.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
    line.unwrap_or_else(|| panic!("{name} in {}", seen.head)).to_owned()
}

/// A whole stream of so many tokens with `new` in place of `old`.
fn streamed(tokens: usize, old: &str, new: &str) -> String {
    let whole = stream(tokens);
    let (_, events) = whole.split_once("\r\n\r\n").unwrap();
    answer("200 OK", "text/event-stream", &events.replace(old, new))
}

/// A server that repeats what it was sent wherever it can, as careless gateways do.
fn echo(seen: &Seen) -> String {
    let json = |body: String| answer("200 OK", "application/json", &body);
    if seen.path == "/dcgm" {
        let of = r#"gpu="0",modelName="H100 zq9",UUID="zq9",DCGM_FI_DRIVER_VERSION="canary-in-file""#;
        return answer("200 OK", "text/plain", &format!("DCGM_FI_DEV_GPU_UTIL{{{of}}} 50\n"));
    }
    let all = format!("{} {} {}", sent(seen, "x-file"), sent(seen, "x-short"), sent(seen, "authorization"));
    match seen.path.as_str() {
        "/v1/models" => json(format!(r#"{{"object":"list","data":[{{"id":"toy {all}","object":"model"}}]}}"#)),
        "/health" => answer("200 OK", "text/plain", ""),
        "/version" => json(format!(r#"{{"version":"9.9 {all}"}}"#)),
        "/metrics" => answer("200 OK", "text/plain", &format!("vllm:num_requests_running{{engine=\"{all}\"}} 1\n")),
        path if !path.ends_with("completions") => json(format!(r#"{{"args":{{"{all}":"{all}"}}}}"#)),
        _ if seen.body.contains("canary-question") => streamed(3, "\" w\"", &format!("\" It is {all} \"")),
        _ if seen.generation < 3 => {
            for secret in ["?code=sk-in-path&api-key=sk-in-url", "canary-typed"] {
                assert!(seen.head.contains(secret), "{secret} in {}", seen.head);
            }
            // The model is asked for by its own name, and the texts are sent.
            let model = format!("toy {all}");
            for text in ["sk-in-body", "canary-template", &model] {
                assert!(seen.body.contains(text) || seen.generation == 0, "{text} in {}", seen.body);
            }
            streamed(8, "length", &format!("stopped by {all}"))
        }
        _ => answer("401 Unauthorized", "application/json", &format!(r#"{{"error":{{"message":"bad key {all}"}}}}"#)),
    }
}

/// All that is in the files below `folder`.
fn files(folder: &std::path::Path) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                return files(&path);
            }
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            vec![(path.display().to_string(), text)]
        })
        .collect()
}

#[test]
fn no_secret_reaches_a_screen_or_a_file() {
    let address = serve(echo);
    let desk = Desk::new();
    let texts = crate::quick::QUICK
        .replace("Say something short.", "canary-template: go.")
        .replace("And now?", "canary-template: on.");
    let golden =
        "\n[[checks]]\nname = \"capital\"\nprompt = \"canary-question\"\nexpect = { contains = \"canary-answer\" }\n";
    desk.file("canary.toml", &(texts + golden));
    desk.file("headers.txt", "X-File: canary-in-file\n");
    let url = format!("http://{address}?api-key=sk-in-url");
    let dcgm = format!("http://{address}/dcgm");
    let run = |verb: &[&str]| {
        let out = desk
            .skyline(
                &[verb, &["canary.toml", "--engine", "vllm", "--url", &url, "--requests", "6", "--no-calibration"]]
                    .concat(),
            )
            .args(["--path", "/v1/chat/completions?code=sk-in-path", "--metrics-url", &dcgm])
            .args([
                "--header",
                "@headers.txt",
                "--header",
                "X-Short: env:SHORT_CANARY",
                "--header=X-Typed: canary-typed",
            ])
            .args(["--extra-body", r#"{"user":"sk-in-body"}"#])
            .envs([("OPENAI_API_KEY", "sk-from-env"), ("SHORT_CANARY", "zq9"), ("SKYLINE_LOG", "trace")])
            .assert();
        let output = out.get_output();
        let screen = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        (output.status.code(), screen)
    };
    let (code, screen) = run(&["bench"]);
    assert!(code == Some(3) && desk.runs().len() == 1, "{screen:?}");
    let stored = desk.skyline(&["report", desk.run().to_str().unwrap(), "--json"]).assert();
    let again = String::from_utf8_lossy(&stored.get_output().stdout).into_owned();
    let read: serde_json::Value = serde_json::from_str(&again).unwrap();
    let checks = read["verdict"]["checks"].as_array().unwrap();
    // No text decides a plan, so the stored one can be drawn again.
    assert!(checks.iter().any(|check| check["rule"] == "plan" && check["outcome"] == "passed"), "{checks:?}");
    let mut all = files(&desk.path().join("results"));
    assert!(
        all.iter().any(|(name, _)| name.ends_with("report.html")),
        "{:?}",
        all.iter().map(|(name, _)| name).collect::<Vec<_>>()
    );
    all.extend(screen.into_iter().chain([again]).map(|text| ("a screen".to_owned(), text)));
    for (name, text) in &all {
        for secret in ["sk-", "canary-", "zq9"] {
            let found = text.find(secret).map(|at| text[..at + 9].chars().rev().take(200).collect::<Vec<_>>());
            let found = found.map(|letters| letters.into_iter().rev().collect::<String>());
            assert_eq!(found, None, "{secret} in {name}");
        }
    }
    // What was run is known all the same, and cannot be mistaken for what can be run.
    let header = desk.lines("header")[0].clone();
    assert_eq!(header["engines"][0]["server_version"], "9.9 *** *** Bearer ***");
    assert_eq!(header["engines"][0]["model"], "toy *** *** Bearer ***");
    let template = header["workload"]["classes"][0]["prompt"]["templates"][0].as_str().unwrap();
    assert!(template.starts_with("sha256:"), "{template}");
    for known in ["@headers.txt", "X-Short: env:SHORT_CANARY", "--header=X-Typed: ***"] {
        assert!(header["command"].as_array().unwrap().iter().any(|word| word == known), "{header}");
    }
    desk.file("copy.json", &header["workload"].to_string());
    desk.skyline(&["bench", "copy.json", "--url", &url]).assert().code(2).stderr(contains("is a stored copy"));
}
