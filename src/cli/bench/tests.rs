//! Tests of what a command line of `bench` means.

use clap::Parser;

use super::*;
use crate::workload::{ArrivalPattern, ClientBehaviour, RetryCause, ThinkTime};

#[derive(Debug, Parser)]
struct Typed {
    #[command(flatten)]
    bench: BenchArgs,
}

fn plan(typed: &[&str]) -> Result<BenchPlan, Stop> {
    typed_alone(&[&["short_chat", "5"], typed].concat())
}

fn typed_alone(typed: &[&str]) -> Result<BenchPlan, Stop> {
    Typed::parse_from([&["bench", "--quiet"], typed].concat()).bench.plan(Printer)
}

#[test]
fn options_alone_say_what_is_run() {
    let peers = ["--input-tokens=1024", "--output-tokens=128", "--requests=1000", "--rate=inf"];
    let plan = typed_alone(&[&peers[..], &["--max-concurrency=64"]].concat()).unwrap();
    let spec = &plan.checked.spec;
    assert_eq!((spec.name.as_str(), spec.arrival.users()), ("synthetic", Some(64)));
    assert_eq!((spec.requests, spec.warmup_s), (Some(1000), 0.0));
    assert_eq!(plan.checked.settings.requests.max_concurrency, None);
    assert_eq!(plan.runs[0].plan.measured_requests, 64);
    assert!(plan.runs[0].plan.is_open_ended());
    let vllm = [
        "--random-input-len=100",
        "--random-output-len=10",
        "--num-prompts=8",
        "--request-rate=inf",
        "--max-concurrency=64",
        "--base-url=http://x",
        "--served-model-name=m",
        "--goodput",
        "ttft:500",
        "tpot:50",
    ];
    let plan = typed_alone(&vllm).unwrap();
    let spec = &plan.checked.spec;
    assert_eq!((spec.arrival.users(), spec.requests), (Some(8), Some(8)));
    let slo = spec.classes[0].priorities[0].slo;
    assert_eq!((slo.ttft_ms, slo.tpot_ms, slo.e2e_ms), (Some(500.0), Some(50.0), None));
    let burst = typed_alone(&["short_chat", "--rate=max", "--requests=30"]).unwrap();
    let at_once = ArrivalPattern::Users { users: 30, think_time_s: ThinkTime::default(), ramp_s: 0.0 };
    assert_eq!((&burst.checked.spec.arrival, burst.runs[0].plan.measured_requests), (&at_once, 30));
    let lone = typed_alone(&["20", "--output-tokens=normal:256:128", "--arrival=constant"]).unwrap();
    assert_eq!(lone.checked.spec.horizon_s, 20.0);
    for (typed, problem) in [
        (&[][..], "no WORKLOAD is named"),
        (&["short_chat", "--users=4", "--requests=9", "--shard=1/2"], "--shard cannot count"),
        (&["short_chat", "--rate=inf"], "--rate inf does not say how many requests are sent at once"),
        (
            &["short_chat", "--rate=inf", "--requests=200000"],
            "would send 200,000 requests at once; the most is 100,000",
        ),
    ] {
        let stop = typed_alone(typed).err().unwrap();
        assert!(stop.message().contains(problem), "{typed:?}: {}", stop.message());
    }
}

#[test]
fn all_that_was_typed_wrong_is_said_at_once() {
    let wrong = ["--format=ab.txt", "--trace-from=5s", "--url=nowhere", "--header=x", "--metrics-url=y"];
    let stop = plan(&wrong).err().unwrap();
    for option in ["--format ab.txt", "--trace-from", "--url: ", "--header: ", "--metrics-url: "] {
        assert!(stop.message().contains(option), "{option} in {}", stop.message());
    }
    assert_eq!(stop.exit(), Exit::Usage);
}

#[test]
fn a_price_is_stored_and_a_figure_without_one_is_refused() {
    let priced = ["--gpus=2", "--gpu-hour=2.5", "--currency=EUR", "--objective=cost_per_answer < 1"];
    let facts = plan(&priced).unwrap().checked.settings.deployment;
    assert_eq!((facts.cost_per_hour(), facts.currency.as_deref()), (Some(5.0), Some("EUR")));
    let refusal = plan(&["--objective=cost_per_answer < 1"]).err().unwrap();
    assert!(refusal.message().contains("(--gpu-hour)"), "{}", refusal.message());
}

#[test]
fn a_plan_has_the_runs_that_were_typed() {
    let one = plan(&["--percentiles=99.5,50,p99.5"]).unwrap();
    assert_eq!(one.checked.settings.percentiles, [50.0, 99.5]);
    assert_eq!((one.runs.len(), one.runs[0].repeat), (1, None));
    let three = plan(&["--repeats=3", "--objective=p95 ttft < 1s", "--objective=p95 ttft < 1s"]).unwrap();
    assert_eq!((three.runs.len(), three.checked.settings.objectives.len()), (3, 1));
    assert_ne!(three.runs[0].workload.seed, three.runs[1].workload.seed);
}

#[test]
fn clients_retry_and_classes_have_caps_where_that_was_typed() {
    let typed = plan(&["--retries=2", "--retry-on=429,timeout", "--timeout=9s"]).unwrap();
    let (requests, spec) = (&typed.checked.settings.requests, &typed.checked.spec);
    let retries = requests.options(spec).retries.unwrap();
    assert_eq!(retries.behaviour().retries, 2);
    assert_eq!(retries.behaviour().retry_on, [RetryCause::Status(429), RetryCause::Timeout]);
    // What is typed comes before what the workload says, and that before ten minutes.
    let usual = plan(&[]).unwrap().checked.settings.requests;
    for (requests, filed, limit_s) in [
        (requests, Some(5.0), 9.0),
        (requests, Some(20.0), 9.0),
        (&usual, Some(1_200.0), 1_200.0),
        (&usual, None, 600.0),
    ] {
        let clients = ClientBehaviour { timeout_s: filed, ..ClientBehaviour::default() };
        let limits = requests.limits(Some(&clients));
        assert_eq!(limits.total_timeout_s, Some(limit_s), "{filed:?}");
    }
    let class = &spec.classes[0].name;
    let capped = plan(&[&format!("--max-concurrency=64,{class}=4")]).unwrap();
    let options = capped.checked.settings.requests.options(&capped.checked.spec);
    let limits = [options.max_concurrency, options.class_concurrency[0]];
    assert_eq!(limits.map(|limit| limit.map(usize::from)), [Some(64), Some(4)]);
    assert!(options.retries.is_none(), "by default each request is sent once");
    for (typed, problem) in [
        ("--max-concurrency=nope=4", "has no class `nope`"),
        ("--backoff=1s", "`--backoff` is about retries, and there are none"),
    ] {
        let stop = plan(&[typed]).err().unwrap();
        assert!(stop.message().contains(problem), "{}", stop.message());
    }
}
