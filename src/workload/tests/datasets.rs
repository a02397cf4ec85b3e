//! Classes whose prompts are not written: their fields, and what the command line changes.

use crate::workload::answer::ending::AnswerEnding;
use crate::workload::answer::scoring::ScoringRule;
use crate::workload::class::dataset_change::DatasetChange;
use crate::workload::lengths::Distribution;
use crate::workload::overrides::Overrides;
use crate::workload::prompt::dataset::{Dataset, DatasetFormat, RowFilter, RowOrder};
use crate::workload::prompt::source::PromptSource;
use crate::workload::spec::WorkloadSpec;
use crate::workload::tests::said_of;

/// A workload with one class named `only`; `class` is the rest of its table.
fn with(class: &str) -> String {
    format!(
        "name = \"taken\"\narrival = {{ kind = \"poisson\", rate_per_s = 2 }}\n[[classes]]\nname = \"only\"\n{class}\n"
    )
}

fn read(class: &str) -> WorkloadSpec {
    WorkloadSpec::from_toml(&with(class), "a test").unwrap()
}

fn dataset(spec: &WorkloadSpec) -> &Dataset {
    match &spec.classes[0].prompt {
        PromptSource::Dataset(dataset) => dataset,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_dataset_says_the_lengths_unless_the_class_does() {
    let spec = read(r#"prompt = { kind = "dataset", path = "a/chats.JSON", filter = "vllm", salt = true }"#);
    let expected = Dataset {
        filter: Some(RowFilter::Vllm),
        salt: true,
        ..Dataset::new("a/chats.JSON".into(), DatasetFormat::Sharegpt)
    };
    assert_eq!(dataset(&spec), &expected);
    assert_eq!(spec.classes[0].input_tokens, Distribution::Dataset { mean: None });
    assert_eq!(spec.classes[0].output_tokens, Distribution::Dataset { mean: None });
    let spec = read(
        "output_tokens = { kind = \"constant\", value = 9 }\n\
         prompt = { kind = \"dataset\", path = \"a.txt\", format = \"csv\", order = \"shuffled\", rows = 1e3, \
         prompt_column = \"q\" }",
    );
    assert_eq!(spec.classes[0].output_tokens, Distribution::Constant { value: 9 });
    assert_eq!((dataset(&spec).order, dataset(&spec).rows), (RowOrder::Shuffled, Some(1_000)));
    for (name, format) in [
        ("x.ndjson", Some(DatasetFormat::Jsonl)),
        ("x.parquet", Some(DatasetFormat::Table)),
        ("hf:a/b", Some(DatasetFormat::Table)),
        ("x.jsonl.gz", Some(DatasetFormat::Table)),
        ("x.json.zst", Some(DatasetFormat::Table)),
        ("x.csv.gz", None),
        ("json", None),
    ] {
        assert_eq!(DatasetFormat::of_name(name), format);
    }
}

#[test]
fn what_a_dataset_or_a_folder_of_images_cannot_have_is_told() {
    let length =
        "input_tokens = { kind = \"constant\", value = 9 }\noutput_tokens = { kind = \"constant\", value = 9 }";
    for (class, said) in [
        (
            r#"prompt = { kind = "dataset", path = "a.txt" }"#.to_owned(),
            "line 5: `classes[0].prompt.path` is \"a.txt\", whose extension does not imply a format; add `format`: \
             one of sharegpt, jsonl, csv, table, sessions",
        ),
        (
            r#"prompt = { kind = "dataset", path = "hf:a/b", format = "jsonl" }"#.to_owned(),
            "line 5: `classes[0].prompt.format` is jsonl, and a dataset of the hub is a table; leave it out",
        ),
        (
            r#"prompt = { kind = "dataset", path = "a.csv", filter = "vllm" }"#.to_owned(),
            "line 5: `classes[0].prompt.filter` is a rule for sharegpt, and `format` is csv; leave one of them out",
        ),
        (
            r#"prompt = { kind = "dataset", path = "a.json", prompt_column = "q" }"#.to_owned(),
            "line 5: `classes[0].prompt.prompt_column` names a column of a csv file or a table, and `format` is \
             sharegpt; leave it out",
        ),
        (
            r#"prompt = { kind = "dataset", path = "a.json", rows = 0 }"#.to_owned(),
            "line 5: `classes[0].prompt.rows` is 0; it must be a whole number from 1 to 100,000,000",
        ),
        (
            r#"prompt = { kind = "dataset", path = "a.json", skip_bad = "yes" }"#.to_owned(),
            "line 5: `classes[0].prompt.skip_bad` is \"yes\"; it must be true or false",
        ),
        (
            format!("{length}\nprompt = {{ kind = \"dataset\", path = \"a.json\" }}"),
            "line 5: `classes[0].input_tokens` is given with a dataset, whose prompts have their own lengths; leave it \
             out",
        ),
        (
            format!("{length}\nprompt = {{ kind = \"random_tokens\", vocabulary = 1 }}"),
            "line 7: `classes[0].prompt.vocabulary` is 1; it must be a whole number from 2 to 16,777,216",
        ),
        (
            format!("{length}\nimages = {{ folder = \"a\", per_request = {{ kind = \"exponential\", mean = 2 }} }}"),
            "line 7: `classes[0].images.per_request` has no bound; a request has at most 64 images, so give a `max` up \
             to that",
        ),
        (
            format!("{length}\nprompt = {{ kind = \"random_tokens\" }}\nimages = {{ folder = \"a\" }}"),
            "line 8: `classes[0].images` cannot go along with token ids; choose another `prompt`",
        ),
        (
            format!("{length}\nprompt = {{ kind = \"random_tokens\" }}\nshared_prefix = {{ count = 2, tokens = 9 }}"),
            "line 8: `classes[0].shared_prefix` goes before written prompts only; leave it out with a dataset or token \
             ids",
        ),
        (
            length.replace("\"constant\", value = 9 }\nout", "\"vllm_range\", length = 9, ratio = 1 }\nout"),
            "line 5: `classes[0].input_tokens.ratio` is 1; it must be a number from 0 to 0.999",
        ),
        (
            length.replace("\"constant\", value = 9 }\nout", "\"vllm_range\", length = 900000, ratio = 0.5 }\nout"),
            "line 5: `classes[0].input_tokens.length` times 1 + `ratio` is over 1,000,000; lower one of them",
        ),
    ] {
        assert_eq!(said_of(&with(&class)), format!("1 mistake in my.toml\n  {said}"), "{class}");
    }
    // Without a dataset both lengths are required.
    let missing = said_of(&with("prompt = { kind = \"random_tokens\" }"));
    assert!(missing.contains("`classes[0].input_tokens` is missing; a class needs it"), "{missing}");
    assert!(missing.contains("`classes[0].output_tokens` is missing; a class needs it"), "{missing}");
}

#[test]
fn range_rules_are_those_of_their_tools() {
    // Python: vLLM math.floor(n * (1 - r)), math.ceil(n * (1 + r)), the lower at least 1; SGLang max(int(n * r), 1), n.
    for (kind, length, ratio, min, max) in [
        ("vllm_range", 1024, "0.5", 512, 1536),
        ("vllm_range", 1000, "0.333", 667, 1333),
        ("vllm_range", 128, "0", 128, 128),
        ("vllm_range", 1, "0.999", 1, 2),
        ("sglang_range", 1024, "0.5", 512, 1024),
        ("sglang_range", 1000, "0.333", 333, 1000),
        ("sglang_range", 128, "0", 1, 128),
        ("sglang_range", 128, "1", 128, 128),
    ] {
        let range = format!("{{ kind = \"{kind}\", length = {length}, ratio = {ratio} }}");
        let spec = read(&format!("input_tokens = {range}\noutput_tokens = {range}"));
        assert_eq!(spec.classes[0].input_tokens, Distribution::Uniform { min, max }, "{range}");
    }
}

#[test]
fn relative_paths_begin_at_the_file_s_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.toml");
    std::fs::write(
        &path,
        with("prompt = { kind = \"dataset\", path = \"data/a.csv\" }\nimages = { folder = \"/pictures\" }"),
    )
    .unwrap();
    let spec = WorkloadSpec::load(path.to_str().unwrap()).unwrap();
    assert_eq!(dataset(&spec).path, folder.path().join("data/a.csv").to_str().unwrap());
    assert_eq!(spec.classes[0].images.as_ref().unwrap().folder.as_deref(), Some("/pictures"));
    std::fs::write(&path, with("prompt = { kind = \"dataset\", path = \"hf:org/name@main#train\" }")).unwrap();
    let spec = WorkloadSpec::load(path.to_str().unwrap()).unwrap();
    assert_eq!(dataset(&spec).on_hub(), Some("org/name@main#train"), "the hub is no folder");
}

#[test]
fn the_command_line_brings_a_dataset_or_changes_it() {
    let spec = WorkloadSpec::load("short_chat").unwrap();
    let change = DatasetChange {
        path: Some("a.json".into()),
        order: Some(RowOrder::Shuffled),
        filter: Some(RowFilter::Vllm),
        skip_bad: true,
        ..DatasetChange::default()
    };
    let changed = spec.with(&Overrides { dataset: change, ..Overrides::default() }).unwrap();
    let expected = Dataset {
        order: RowOrder::Shuffled,
        filter: Some(RowFilter::Vllm),
        skip_bad: true,
        ..Dataset::new("a.json".into(), DatasetFormat::Sharegpt)
    };
    assert_eq!(dataset(&changed), &expected);
    assert!(changed.classes[0].output_tokens.is_of_rows());
    let again = DatasetChange { order: Some(RowOrder::File), ..DatasetChange::default() };
    let overrides =
        Overrides { dataset: again, output_tokens: Some(Distribution::Constant { value: 7 }), ..Overrides::default() };
    let changed = changed.with(&overrides).unwrap();
    assert_eq!(dataset(&changed), &Dataset { order: RowOrder::File, ..expected });
    assert_eq!(changed.classes[0].output_tokens, Distribution::Constant { value: 7 });
}

#[test]
fn columns_are_named_on_the_command_line() {
    let columns = |columns: [Option<&str>; 2]| DatasetChange {
        path: Some("hf:org/name".into()),
        columns: Some([columns[0], columns[1], None].map(|name| name.map(str::to_owned))),
        ..DatasetChange::default()
    };
    let spec = WorkloadSpec::load("short_chat").unwrap();
    let change = |change| spec.clone().with(&Overrides { dataset: change, ..Overrides::default() });
    let changed = change(columns([Some("question"), None])).unwrap();
    let expected =
        Dataset { prompt_column: Some("question".into()), ..Dataset::new("hf:org/name".into(), DatasetFormat::Table) };
    assert_eq!(dataset(&changed), &expected);
    let lines = DatasetChange { format: Some(DatasetFormat::Jsonl), ..columns([None, Some("answer")]) };
    let error = change(lines).unwrap_err().to_string();
    assert!(error.contains("names a column of a csv file or a table, and `format` is jsonl"), "{error}");
    let error = change(DatasetChange { path: None, ..columns([None, None]) }).unwrap_err().to_string();
    assert!(error.contains("`--dataset-columns` is about a dataset, and `short_chat` has none"), "{error}");
}

/// A workload with one class, changed by these options.
fn scored(arguments: &[&str]) -> Result<WorkloadSpec, String> {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        change: DatasetChange,
    }
    let line: Line = clap::Parser::try_parse_from([&["x"], arguments].concat()).map_err(|error| error.to_string())?;
    let changed =
        WorkloadSpec::load("short_chat").unwrap().with(&Overrides { dataset: line.change, ..Overrides::default() });
    changed.map_err(|error| error.to_string())
}

#[test]
fn scores_are_asked_for_in_a_file_and_on_the_command_line() {
    let class = |score: &str| format!("prompt = {{ kind = \"dataset\", path = \"a.jsonl\", score = {{ {score} }} }}");
    let spec = read(&class(r#"rule = "number", column = "answer""#));
    let scoring = spec.classes[0].scoring().unwrap();
    assert_eq!((scoring.rule, scoring.column.as_str(), scoring.in_slo), (ScoringRule::Number, "answer", false));
    assert_eq!(spec.classes[0].length, AnswerEnding::Natural, "a forced answer goes on after its end");
    let json = serde_json::to_value(&spec).unwrap();
    assert_eq!(json["classes"][0]["prompt"]["score"], serde_json::json!({ "rule": "number", "column": "answer" }));
    assert_eq!(serde_json::from_value::<WorkloadSpec>(json).unwrap(), spec);
    let plain = read(r#"prompt = { kind = "dataset", path = "a.jsonl" }"#);
    assert!(!serde_json::to_string(&plain).unwrap().contains("score"), "plans keep their hashes");
    let forced = read(&format!("{}\nlength = \"forced\"", class(r#"rule = "choice", column = "a""#)));
    assert_eq!(forced.classes[0].length, AnswerEnding::Forced);
    for (score, said) in [
        (r#"rule = "number""#, "`classes[0].prompt.score.column` is missing; a scoring rule needs it"),
        (r#"rule = "nunber", column = "a""#, "`classes[0].prompt.score.rule` is \"nunber\"; did you mean \"number\"?"),
        (
            r#"rule = "pattern", column = "a", pattern = "(""#,
            "`classes[0].prompt.score.pattern` is \"(\", which is not",
        ),
        (
            r#"rule = "exact", column = "a", pattern = "a""#,
            "`classes[0].prompt.score` has a `pattern`, and its rule is exact",
        ),
        (r#"rule = "command", column = "a""#, "`classes[0].prompt.score` has no program; name it"),
    ] {
        let refused = WorkloadSpec::from_toml(&with(&class(score)), "a test").unwrap_err().to_string();
        assert!(refused.contains(said), "{refused}");
    }
    let sessions = class(r#"rule = "json", column = "a""#).replace("score", "format = \"sessions\", score");
    let refused = WorkloadSpec::from_toml(&with(&sessions), "a test").unwrap_err().to_string();
    assert!(refused.contains("`classes[0].prompt.score` is by a column of rows"), "{refused}");
    let columns = "prompt=question,answer=label";
    let spec =
        scored(&["--dataset", "a.parquet", "--dataset-columns", columns, "--score", "pattern:is ([A-D])"]).unwrap();
    let scoring = spec.classes[0].scoring().unwrap();
    assert_eq!((scoring.rule, scoring.column.as_str()), (ScoringRule::Pattern, "label"));
    assert_eq!(spec.classes[0].length, AnswerEnding::Natural);
    for (arguments, said) in [
        (&["--dataset", "a.jsonl", "--score", "number"][..], "name their column, as in --dataset-columns answer=NAME"),
        (&["--dataset", "a.csv", "--dataset-columns", "answer=b"], "nothing says how answers are scored; add --score"),
        (&["--dataset", "a.csv", "--score", "maths"], "`maths` is no scoring rule; there are exact, number"),
        (&["--dataset-columns", "answer=b", "--score", "number"], "`--dataset-columns` is about a dataset"),
    ] {
        let refused = scored(arguments).unwrap_err();
        assert!(refused.contains(said), "{refused}");
    }
}
