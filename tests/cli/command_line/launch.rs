//! What is printed for clusters, word for word, and what is refused before anything is printed.

use predicates::prelude::*;
use predicates::str::contains;

use crate::support::Desk;

/// An image of the workers.
const IMAGE: &str = "--image=ghcr.io/team/skyline:1";

/// A launch of the quick workload whose output is the same at any time.
const SAME: [&str; 7] =
    ["--shards=3", "--name=peak", "--", "bench", "quick.toml", "--salt=7", "--url=http://vllm:8000"];

/// What a launch prints, and says.
fn launched(desk: &Desk, platform: &str, options: &[&str], bench: &[&str]) -> (String, String) {
    let words = [&["launch", platform], options, &SAME, bench].concat();
    let output = desk.skyline(&words).env("COLUMNS", "120").assert().success();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (printed, said) = (text(&output.get_output().stdout), text(&output.get_output().stderr));
    (printed.replace(env!("CARGO_PKG_VERSION"), "VERSION"), said)
}

#[test]
fn manifests_are_printed_for_kubernetes() {
    let desk = Desk::new();
    let bench = ["--api-key-env=VLLM_KEY", "--header=X-Route: Bearer env:ROUTE_KEY", "--note=$(HOME) \"it's\""];
    let (printed, said) = launched(&desk, "k8s", &[IMAGE, "--namespace=load", "--secret=keys"], &bench);
    insta::assert_snapshot!("k8s", printed);
    assert!(said.contains("kubectl -n load create secret generic keys"), "{said}");
    assert!(said.contains("kubectl -n load apply -f -\n"), "{said}");
    let (printed, said) = launched(&desk, "k8s", &[IMAGE], &["--start-at=2126-11-21T08:00:00Z", "--allow-invalid"]);
    assert!(!printed.contains("start-together") && !printed.contains("namespace:") && !said.contains("secret"));
    assert!(printed.contains(
        "- \"merge\"\n            - \"--out\"\n            - \"/results/peak/7\"\n            - \"--allow-invalid\""
    ));
}

#[test]
fn workers_take_the_headers_of_ranks_from_their_own_environment() {
    let ranks =
        ["--url=http://vllm:8000", "--header-per-url=X-Rank: env:RANK_A", "--header-per-url=X-Rank: env:RANK_B"];
    let (printed, said) = launched(&Desk::new(), "k8s", &[IMAGE, "--secret=keys"], &ranks);
    assert!(printed.contains("--header-per-url=X-Rank: env:RANK_B"), "{printed}");
    assert!(said.contains("RANK_A") && said.contains("RANK_B"), "{said}");
}

#[test]
fn a_script_is_printed_for_slurm() {
    let options = ["--partition=cpu", "--account=team a", "--shared-dir=/shared/my runs/", "--time=90m"];
    let (printed, said) = launched(&Desk::new(), "slurm", &options, &["--note=it's on"]);
    insta::assert_snapshot!("slurm", printed);
    assert!(said.contains("/shared/my runs/peak/7/merge.log"), "{said}");
}

#[test]
fn launches_of_one_name_have_folders_of_their_own() {
    let desk = Desk::new();
    let words =
        ["launch", "slurm", "--shards=2", "--name=peak", "--", "bench", "--url=http://vllm:8000", "--", "quick.toml"];
    let launch = || {
        let output = desk.skyline(&words).assert().success().get_output().stdout.clone();
        let printed = String::from_utf8(output).unwrap();
        let salt = printed.split("'--salt=").nth(1).unwrap().split('\'').next().unwrap().to_owned();
        assert!(printed.contains(&format!("--out results/peak/{salt}/shard-")), "{printed}");
        // What is added stands before what was typed, and its `--`.
        assert!(printed.contains(" '--url=http://vllm:8000' -- quick.toml\n"), "{printed}");
        salt
    };
    assert_ne!(launch(), launch());
}

#[test]
fn workers_wait_as_long_as_was_typed() {
    let desk = Desk::new();
    let options = ["--start-wait=2h"];
    let (usual, _) = launched(&desk, "slurm", &[], &[]);
    let (printed, _) = launched(&desk, "slurm", &options, &["--wait=1h"]);
    assert!(printed.contains("'--start-wait=7200s'") && !usual.contains("start-wait"), "{printed}");
    // Three hours more for the workers, and one more for the merge.
    let minutes = |script: &str| {
        let times = script.split("--time=").skip(1).map(|rest| rest.split(' ').next().unwrap().parse().unwrap());
        times.collect::<Vec<u64>>()
    };
    let [usual, waiting] = [minutes(&usual), minutes(&printed)];
    assert_eq!(waiting, [usual[0] + 180, usual[0] + 240]);
    let words = [&["launch", "slurm"][..], &options, &SAME, &["--start-at=2126-11-21T08:00:00Z"]].concat();
    desk.skyline(&words).assert().code(2).stdout("").stderr(contains("--start-wait: with --start-at"));
}

#[test]
fn the_merge_shows_what_the_bench_would() {
    let desk = Desk::new();
    for (bench, merge) in [("--format=json", "--json"), ("-v", "--full"), ("--json", "--json")] {
        let (printed, _) = launched(&desk, "slurm", &[], &[bench]);
        assert!(printed.contains(&format!("\" merge --out results/peak/7 {merge} results/")), "{bench}: {printed}");
    }
}

#[test]
fn variables_that_a_bench_reads_unasked_are_those_of_the_secret() {
    let desk = Desk::new();
    let words = [&["launch", "k8s", IMAGE][..], &SAME, &["--tokenizer=team/gated"]].concat();
    let tokenizer = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tiny-tokenizer.json");
    desk.file("hub/models--team--gated/refs/main", "1");
    desk.file("hub/models--team--gated/snapshots/1/tokenizer.json", &std::fs::read_to_string(tokenizer).unwrap());
    let launch = || {
        let mut command = desk.skyline(&words);
        command.env("HF_HUB_CACHE", desk.path().join("hub"));
        command
    };
    let output = launch().env("OPENAI_API_KEY", "sk-secret1").env("HF_TOKEN", "hf_secret1").assert().success();
    let output = output.stdout(contains("- \"--api-key-env=OPENAI_API_KEY\"").and(contains("secret1").not()));
    let output = output.stdout(contains("key: \"OPENAI_API_KEY\"").and(contains("key: \"HF_TOKEN\"")));
    output.stderr(contains("OPENAI_API_KEY=\"$OPENAI_API_KEY\" --from-literal=HF_TOKEN=\"$HF_TOKEN\""));
    launch().assert().success().stdout(contains("secretKeyRef").not());
}

#[test]
fn files_that_a_workload_names_go_along() {
    let desk = Desk::new();
    let quick = std::fs::read_to_string(desk.path().join("quick.toml")).unwrap();
    let answer = "\n[[checks]]\nname = \"city\"\nprompt = \"?\"\nexpect = { json_schema = \"schemas/city.json\" }\n";
    desk.file("own/chat.toml", &format!("{quick}{answer}"));
    desk.file("own/schemas/city.json", "{ \"type\": \"object\" }");
    desk.file("rows.jsonl", "{\"prompt\": \"caf\u{e9} \u{2028}\", \"output_tokens\": 4}\n");
    let launch = |words: &[&str]| {
        desk.skyline(&[&["launch", "k8s", IMAGE, "--shards=2", "--name=peak", "--"], words].concat()).assert()
    };
    let url = "--url=http://vllm:8000";
    let output = launch(&["skyline", "bench", "own/chat.toml", url]).success();
    let output = output.stderr(contains("goes along: own/chat.toml\ngoes along: own/schemas/city.json\n"));
    let printed = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    for part in
        ["path: \"own/chat.toml\"", "path: \"own/schemas/city.json\"", "file-1: \"{ \\\"type\\\": \\\"object\\\" }\""]
    {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let rows = ["bench", "5", "--dataset=rows.jsonl", url];
    launch(&rows).success().stdout(contains("caf\u{e9} \\u2028").and(contains("workingDir: /files")));
    let large = "{\"prompt\": \"Say something long.\", \"output_tokens\": 4}\n".repeat(20_000);
    desk.file("rows.jsonl", &large[..300 * 54]);
    launch(&rows).success().stderr(contains("kubectl apply -f -"));
    desk.file("rows.jsonl", &large[..5_000 * 54]);
    launch(&rows).success().stderr(contains("kubectl apply --server-side -f -"));
    desk.file("rows.jsonl", &large);
    launch(&rows).code(2).stdout("").stderr(contains("rows.jsonl does not fit").and(contains("/results/")));
    let elsewhere = desk.file("rows.jsonl", "{\"prompt\": \"?\", \"output_tokens\": 4}\n");
    let elsewhere = format!("--dataset={}", elsewhere.display());
    launch(&["bench", "5", &elsewhere, url]).code(2).stdout("").stderr(contains("is not below this folder"));
    launch(&["bench", "5", "--dataset=none.jsonl", url]).code(2).stdout("").stderr(contains("none.jsonl"));
    std::fs::write(desk.path().join("own/city"), [0xff]).unwrap();
    let binary = contains("own/city does not fit").and(contains("files that are read as UTF-8"));
    launch(&["bench", "own/chat.toml", url]).code(2).stdout("").stderr(binary);
}

#[test]
fn what_could_not_run_on_a_cluster_is_not_printed() {
    let desk = Desk::new();
    let launch = |shards: &str, words: &[&str]| {
        desk.skyline(&[&["launch", "slurm", "--shards", shards, "--"], words].concat()).env("KEY", "sk-1").assert()
    };
    let url = "--url=http://vllm:8000";
    for shards in ["0", "1", "10001", "-2", "many"] {
        launch(shards, &["bench", "quick.toml", url]).code(2).stderr(contains("from 2 to 10,000; one worker runs the"));
    }
    for (bench, said) in [
        (&["sweep", "quick.toml", url][..], "`sweep quick.toml --url=http://vllm:8000` has no shares"),
        (&["quick.toml", url], "has no shares; only a bench has"),
        (&["skyline"], "has no shares; only a bench has"),
        (&[], "--shards <N> -- <BENCH>..."),
        (&["bench", "quik.toml", url], "quik.toml"),
        (&["bench", "quick.toml", "--rat=5", url], "unexpected argument '--rat'"),
        (&["bench", "quick.toml", "--rate=-5", url], "`-5` is not a number above 0"),
        (&["bench", "quick.toml"], "needs a server that all generators share"),
        (&["bench", "quick.toml", "--shard=1/2", url], "--shard: each worker has its own share"),
        (&["bench", "quick.toml", "--repeats=3", url], "launch one for each --seed"),
        (&["bench", "quick.toml", "--dry-run", url], "type the bench without launch"),
        (&["bench", "quick.toml", "--out=here", url], "see --claim and --shared-dir"),
        (&["bench", "quick.toml", "--result-dir", "results", url], "see --claim and --shared-dir"),
        (&["bench", "-", url], "workers have no standard input"),
        (&["bench", "quick.toml", "--start-at=2026-01-01T00:00:00Z", url], "has passed"),
        (&["bench", "quick.toml", "--format=json=all.json", url], "--format json=all.json"),
        (&["bench", "quick.toml", "--format=csv", url], "skyline report MERGED_RUN --format csv"),
        (&["bench", "quick.toml", "--otlp=http://otel:4318", url], "--otlp: a share of a run is not pushed"),
        (&["bench", "quick.toml", "--note=a\nb", url], "\"--note=a\\nb\" has a line break"),
        (&["bench", "quick.toml", "--header=X: env:", url], "names no variable"),
        (&["bench", "quick.toml", "--users=4", "--requests=9", url], "--shard cannot count"),
        (&["bench", "quick.toml", "--rate=2000", "--url=http://1.1.1.1"], "give the bench --yes"),
    ] {
        launch("2", bench).code(2).stdout("").stderr(contains(said));
    }
    // Two mistakes are said together.
    let both = ["bench", "quick.toml", "--repeats=3", "--out=here", url];
    launch("2", &both).code(2).stderr(contains("--repeats: ").and(contains("--out: ")));
}

#[test]
fn no_secret_is_printed() {
    let desk = Desk::new();
    for bench in [
        &["--header=X-Key: sk-secret1"][..],
        &["--header=@headers.txt"],
        &["--api-key-env=sk-secret1"],
        &["--header=X-Key: env:sk-secret1"],
        &["--url=http://me:sk-secret1@vllm:8000"],
        &["--url=http://vllm:8000?key=sk-secret1"],
        &["--metrics-url=http://vllm:9400/metrics?token=sk-secret1"],
        &["--extra-body={\"api_key\": \"sk-secret1\"}"],
    ] {
        let url = ["--url=http://vllm:8000"];
        let url = if bench[0].starts_with("--url") { &[][..] } else { &url };
        let words = [&["launch", "k8s", IMAGE, "--shards=2", "--", "bench", "quick.toml"], bench, url].concat();
        let output = desk.skyline(&words).assert().code(2).stdout("");
        let said = String::from_utf8(output.get_output().stderr.clone()).unwrap();
        assert!(!said.contains("secret1"), "{bench:?}: {said}");
    }
    // The names of variables are printed, and never their values, which need not be there.
    let bench = ["--api-key-env=my_key", "--header=X-Key: env:CLUSTER_KEY", "--extra-body={\"top_k\": 5}"];
    let words = [&["launch", "k8s", IMAGE][..], &SAME, &bench].concat();
    let output = desk.skyline(&words).env("my_key", "sk-secret1").assert().success();
    let output = [&output.get_output().stdout[..], &output.get_output().stderr].concat();
    let output = String::from_utf8(output).unwrap();
    assert!(output.contains("key: \"my_key\"") && output.contains("key: \"CLUSTER_KEY\""), "{output}");
    assert!(!output.contains("secret1"), "{output}");
}

#[test]
fn options_of_a_file_of_settings_go_along() {
    let desk = Desk::new();
    desk.file("skyline.toml", "url = \"http://vllm:8000\"\nout = \"kept\"\n[bench]\nrate = 5\n");
    let launch = ["launch", "slurm", "--shards=2", "--", "bench", "quick.toml"];
    let script = desk.skyline(&launch).assert().success().stderr(contains("settings: --rate, --url, --out from "));
    let bench = " '--rate=5' '--url=http://vllm:8000' quick.toml\n";
    script.stdout(contains(bench).and(contains("kept").not()));
}

#[test]
fn a_merge_waits_for_its_shards_and_not_for_ever() {
    let desk = Desk::new();
    let merge = ["merge", "shard-0", "shard-1", "--wait=0.1s"];
    desk.skyline(&merge).assert().code(3).stderr(contains("no whole run is in shard-0 after 100 ms"));
}
