//! A run over two servers, from the addresses to the tables.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use serde_json::{Value, json};

use super::consent::public_load;
use super::load::PlannedLoad;
use crate::clock::Pacing;
use crate::engine::{CommonRequest, Targets};
use crate::live::Screen;
use crate::mock::{Backend, MockOptions, MockServer};
use crate::record::{CheckResult, DeploymentFacts, Routing, RunHeader, RunLog};
use crate::report::Export;
use crate::session::console::{Interrupts, Printer};
use crate::session::hooks::Around;
use crate::session::planned::PlannedRun;
use crate::session::settings::{
    LoadOption, LocalGpus, MachineCheck, RequestSettings, RunSettings, ServerAddress, ServerSettings, Share,
    TelemetrySettings,
};
use crate::simulator::Delay;
use crate::workload::{Overrides, WorkloadSpec};

#[derive(Parser)]
struct Typed {
    #[command(flatten)]
    requests: RequestSettings,
    /// The option that a limit of requests conflicts with.
    #[arg(long)]
    no_stream: bool,
}

fn settings(first: &str, second: &str) -> RunSettings {
    let Typed { requests, .. } = Typed::parse_from(["skyline"]);
    let address = ServerAddress::At(Targets::new(first.parse().unwrap(), vec![second.parse().unwrap()]));
    RunSettings {
        server: ServerSettings {
            address,
            routing: Routing::default(),
            own_headers: Vec::new(),
            wait: None,
            common: CommonRequest::default(),
        },
        deployment: DeploymentFacts::default(),
        requests,
        telemetry: TelemetrySettings {
            urls: Vec::new(),
            prometheus: None,
            prometheus_match: Vec::new(),
            reads_own_page: true,
            local_gpus: LocalGpus::Unread,
            interval: Duration::from_secs(1),
        },
        machine: MachineCheck::Skipped,
        pacing: Pacing::Precise,
        readers: None,
        share: Share::default(),
        objectives: Vec::new(),
        percentiles: Vec::new(),
        load_option: LoadOption::OfOneRun,
        screen: Screen::Quiet,
        around: Around::default(),
        profile: None,
    }
}

fn planned(rate_per_s: f64) -> PlannedRun {
    let mut stored = serde_json::to_value(WorkloadSpec::load("short_chat").unwrap()).unwrap();
    stored["checks"] = json!([{"name": "greets", "prompt": "Say hello.", "expect": {"contains": "o"}}]);
    let (seed, horizon_s, none_s, rate_per_s) = (Some(1), Some(2.0), Some(0.0), Some(rate_per_s));
    let before = Overrides { horizon_s, rate_per_s, seed, ..Overrides::default() };
    let overrides = Overrides { warmup_s: none_s, cooldown_s: none_s, ..before };
    let spec: WorkloadSpec = serde_json::from_value(stored).unwrap();
    PlannedRun::alone(spec.with(&overrides).unwrap(), &Arc::default(), "").unwrap()
}

/// Ids of the requests that a mock received, by its own log.
fn received(truth: &std::path::Path) -> Vec<String> {
    let log = std::fs::read_to_string(truth).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| line["id"].as_str().map(str::to_owned)).collect()
}

#[test]
fn requests_go_to_both_servers_and_their_records_say_which() {
    let folder = tempfile::tempdir().unwrap();
    let truths = ["a", "b"].map(|name| folder.path().join(name));
    let mocks = [0, 1].map(|place: usize| {
        // Pages of two that are new and count the same are taken for one.
        let ttft = Delay::Constant(0.01 * (1 + place) as f64);
        let backend = Backend::fixed(8, ttft, Delay::Constant(0.0001), 1);
        let options = MockOptions { truth: Some(truths[place].clone()), ..MockOptions::default() };
        MockServer::start(backend, options, (Ipv4Addr::LOCALHOST, 0).into()).unwrap()
    });
    let urls = mocks.each_ref().map(|mock| mock.url().to_string());
    let run = planned(30.0);
    let checked = settings(&urls[0], &urls[1]).check(&run.workload, &Arc::default()).unwrap();
    let context = checked.connect(&Interrupts::default(), Printer).unwrap();
    let stored = context.execute(run, 1, |_: &RunHeader| Ok(folder.path().to_owned())).unwrap();
    stored.stored.unwrap();
    let _ = mocks.map(MockServer::stop);

    let log = RunLog::read(folder.path()).unwrap();
    let header = &log.header;
    assert_eq!(header.engines.iter().map(|engine| &engine.url).collect::<Vec<_>>(), urls.each_ref());
    let prefixes: Vec<_> = header.engines.iter().map(|engine| engine.request_id_prefix.as_str()).collect();
    assert_ne!(prefixes[0], prefixes[1]);
    assert_eq!(log.checks.len(), 3, "a golden prompt to each before the load, and one under it");
    assert!(log.checks.iter().all(|check| check.result == CheckResult::Passed), "{:?}", log.checks);
    let report = stored.run.report();
    let jsonl = Export::ALL.iter().find(|export| export.name == "jsonl").unwrap();
    let mut rows = Vec::new();
    (jsonl.run[0].write)(report, &mut rows).unwrap();
    let rows = String::from_utf8(rows).unwrap();
    let rows: Vec<Value> = rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    let received = truths.each_ref().map(|truth| received(truth));
    for record in log.records.iter() {
        let place = usize::from(record.target);
        assert_eq!(place as u64, record.index % 2, "they take turns");
        assert_eq!(header.engine_of(&record).url, urls[place]);
        let id = format!("{}{:012x}", prefixes[place], record.index);
        let row = rows.iter().find(|row| row["index"] == record.index).unwrap();
        assert_eq!((row["request_id"].as_str(), row["target"].as_u64()), (Some(id.as_str()), Some(place as u64)));
        let of = |place: usize| received[place].iter().any(|other| other.ends_with(&id));
        assert_eq!((of(place), of(1 - place)), (true, false), "{id} in {:?}", received[place]);
    }
    let counted = log.footer.unwrap().server.unwrap();
    let all = log.records.len() as u64 + 1;
    assert_eq!(counted.requests_succeeded, Some(all), "of both servers, with the golden prompt under load");
    assert_eq!(log.header.telemetry.len(), 2);
    let page = &mut Vec::new();
    let html = Export::ALL.iter().find(|export| export.name == "html").unwrap();
    (html.run[0].write)(report, page).unwrap();
    let page = String::from_utf8_lossy(page);
    assert!(prefixes.iter().all(|prefix| page.contains(prefix)) && urls.iter().all(|url| page.contains(url)));
}

#[test]
fn a_user_is_asked_for_both_servers() {
    let settings = settings("http://203.0.113.1:8000", "http://203.0.113.2:8000");
    let load = PlannedLoad::of_all([&planned(30.0)], &settings);
    let asked = public_load(&load, [&settings]).unwrap().unwrap();
    let both =
        "http://203.0.113.1:8000 (203.0.113.1) and http://203.0.113.2:8000 (203.0.113.2) are neither on this machine";
    assert!(asked.starts_with(both), "{asked}");
}
