//! Several servers that share the requests of a run, over real HTTP.

use serde_json::Value;

use crate::support::{Desk, answer, control, mock, serve, stream};

/// Options of a mock whose first token comes after so many milliseconds.
fn queue(ttft_ms: &str) -> [String; 4] {
    ["--ttft".to_owned(), format!("{ttft_ms}ms"), "--itl".to_owned(), "1ms".to_owned()]
}

fn findings(summary: &Value) -> Vec<(String, String)> {
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let found = summary["findings"].as_array().unwrap().iter();
    found.map(|finding| (text(finding, "kind"), text(finding, "sentence"))).collect()
}

#[test]
fn the_slower_of_two_servers_is_found() {
    let desk = Desk::new();
    let [fast, slow] = ["20", "50"].map(|ttft| {
        let options = queue(ttft);
        mock(&options.each_ref().map(String::as_str))
    });
    let options =
        ["bench", "quick.toml", "8", "--rate", "20", "--engine", "vllm", "--allow-invalid", "--weights", "1,1"];
    let urls = ["--url", &slow.url, "--url", &fast.url, "--route", "round-robin"];
    let run = desk.skyline(&[&options[..], &urls].concat()).output().unwrap();
    let report = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.status.success(), "{report}{}", String::from_utf8_lossy(&run.stderr));
    let summary = desk.summary();
    let named: Vec<_> = findings(&summary).into_iter().filter(|(kind, _)| kind == "slow_server").collect();
    assert_eq!(named.len(), 1, "{report}");
    assert!(named[0].1.starts_with(&format!("{} is slower", slow.url)) && !named[0].1.contains(&fast.url), "{named:?}");
    let servers = &summary["servers"];
    assert_eq!((&servers["kind"], &servers["routing"]["route"]), (&"server".into(), &"round-robin".into()));
    assert_eq!(servers["each"][0]["name"], slow.url.as_str());
    assert_eq!(servers["each"][0]["meant"], 0.5);
    desk.assert_schema("summary", &summary);
    assert!(report.contains("By server, ms") && report.contains("shared out by"), "{report}");
}

#[test]
fn the_dead_one_of_two_servers_is_named_and_its_failures_count() {
    let desk = Desk::new();
    let [stays, dies] = [usize::MAX, 1].map(|answers| {
        let address = serve(move |seen| {
            let late =
                || if seen.generation < answers { stream(4) } else { answer("500 Oh", "text/plain", "out of memory") };
            control(seen).unwrap_or_else(late)
        });
        format!("http://{address}")
    });
    let options = ["bench", "quick.toml", "4", "--rate", "20", "--engine", "openai", "--allow-invalid"];
    let run = desk.skyline(&[&options[..], &["--url", &stays, "--url", &dies]].concat()).output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    let summary = desk.summary();
    let named: Vec<_> = findings(&summary).into_iter().filter(|(kind, _)| kind == "dead_server").collect();
    assert_eq!(named.len(), 1, "{said}");
    let sentence = &named[0].1;
    assert!(
        sentence.starts_with(&format!("{dies} completed none")) && sentence.contains("out of memory"),
        "{sentence}"
    );
    assert!(!sentence.contains(&stays), "{sentence}");
    let failed = summary["failures"]["error_rate"].as_f64().unwrap();
    assert!((0.3..0.7).contains(&failed), "{failed}");
}

#[test]
fn ranks_behind_one_address_are_two_servers_with_one_page() {
    let (desk, server) = (Desk::new(), mock(&["--ttft", "5ms", "--itl", "1ms"]));
    let ranks = ["--header-per-url", "X-Rank: rank-zero", "--header-per-url", "X-Rank: rank-one"];
    let urls = ["--url", &server.url, "--url", &server.url];
    let options = ["bench", "quick.toml", "3", "--rate", "20", "--engine", "vllm", "--allow-invalid"];
    let run = desk.skyline(&[&options[..], &urls, &ranks].concat()).output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}");
    let summary = desk.summary();
    let names = [" (1)", " (2)"].map(|number| format!("{}{number}", server.url));
    let each = summary["servers"]["each"].as_array().unwrap();
    assert_eq!(each.iter().map(|of| of["name"].as_str().unwrap()).collect::<Vec<_>>(), names);
    assert_eq!(summary["server"]["pages"].as_array().unwrap().len(), 1, "{said}");
    assert_eq!(summary["requests"]["failed"], 0, "{said}");
    let of_conservation = desk.checks("token_conservation");
    assert!(of_conservation.iter().all(|check| check["status"] != "failed"), "{of_conservation:?}");
    for file in std::fs::read_dir(desk.run()).unwrap().map(|file| file.unwrap().path()) {
        let text = std::fs::read(&file).unwrap();
        assert!(!String::from_utf8_lossy(&text).contains("rank-zero"), "{}", file.display());
    }
    assert!(!said.contains("rank-one"), "{said}");
}

#[test]
fn two_servers_of_two_models_are_refused_before_any_load() {
    let desk = Desk::new();
    let (one, other) = (mock(&[]), mock(&["--served-model-name", "other"]));
    let urls = ["--url", &one.url, "--url", &other.url];
    for verb in [&["bench", "quick.toml", "2"][..], &["check"]] {
        let refused = desk.skyline(&[verb, &["--engine", "vllm"], &urls].concat()).output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(3), "{said}");
        assert!(said.contains("the servers have different models: ") && said.contains("--model"), "{said}");
        assert!([&one.url, &other.url].iter().all(|url| said.contains(url.as_str())), "{said}");
    }
}
