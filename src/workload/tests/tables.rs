//! Tables of a spec, declared once: what the guide says of them, and how changes are held to the same rules.

use crate::workload::arrival::pattern::ArrivalPattern;
use crate::workload::arrival::stages::RateStage;
use crate::workload::class::dataset_change::DatasetChange;
use crate::workload::clients::behaviour::ClientBehaviour;
use crate::workload::clients::change::ClientChange;
use crate::workload::overrides::Overrides;
use crate::workload::prompt::dataset::{DatasetFormat, RowFilter};
use crate::workload::reading::exact_json;
use crate::workload::spec::WorkloadSpec;
use crate::workload::tests::{LEAST, said_of};
use crate::workload::trace::source::Trace;

#[test]
fn the_guide_has_a_row_for_every_arrival_with_its_fields() {
    let guide = include_str!("../../guide/workloads.md");
    let of_logs = ["trace", "by_class"];
    for (kind, fields) in ArrivalPattern::FIELDS.iter().filter(|(kind, _)| !of_logs.contains(kind)) {
        let row = guide.lines().find(|line| line.starts_with(&format!("| `{kind}` |")));
        let row = row.unwrap_or_else(|| panic!("no row for {kind}"));
        for field in fields.iter().filter(|field| **field != "ramp_s") {
            assert!(row.contains(field), "{kind} has {field}, which its row does not name: {row}");
        }
    }
}

#[test]
fn usual_values_are_those_of_a_file_that_gives_none() {
    let clients = WorkloadSpec::from_toml(&format!("clients = {{}}{LEAST}"), "least").unwrap().clients;
    assert_eq!(clients, Some(ClientBehaviour::default()));
    let usual = Trace::default();
    assert_eq!((usual.from_s, usual.time_scale, usual.rate_scale), (0.0, 1.0, 1.0));
}

#[test]
fn whole_numbers_beyond_64_bits_are_refused_wherever_they_stand() {
    assert!(exact_json(r#"{"seed": 18446744073709551615, "of": [1e30, -9223372036854775808]}"#).is_ok());
    let lost = exact_json(r#"{"of": [18446744073709551616]}"#).unwrap_err();
    assert!(lost.starts_with("has a whole number of more than 64 bits"), "{lost}");
    let schema = r#"answer = { kind = "json_schema", schema = '{"const": 18446744073709551616}' }"#;
    let refused = said_of(&format!("{LEAST}{schema}"));
    assert!(refused.contains("`classes[0].answer.schema` has a whole number of more than 64 bits"), "{refused}");
}

#[test]
fn a_change_is_held_to_the_rules_of_files() {
    let spec = |more: &str| WorkloadSpec::from_toml(&format!("{LEAST}{more}"), "least").unwrap();
    let talks = "conversation = { turns = 3, think_time_s = 1 }";
    let rows = DatasetChange { path: Some("rows.csv".to_owned()), ..DatasetChange::default() };
    let sifted = DatasetChange { filter: Some(RowFilter::Vllm), ..rows.clone() };
    let waits = |clients| Overrides { clients, ..Overrides::default() };
    let endless = RateStage { duration_s: 2e6, from_rate_per_s: 0.001, to_rate_per_s: 0.001 };
    for (spec, change, problem) in [
        (
            spec(talks),
            Overrides { dataset: rows, ..Overrides::default() },
            "`classes[0].conversation` is given with a dataset",
        ),
        (
            spec(""),
            Overrides { dataset: sifted, ..Overrides::default() },
            "`classes[0].prompt.filter` is a rule for sharegpt, and `format` is csv",
        ),
        (
            spec(""),
            Overrides { ramp: vec![endless; 2], ..Overrides::default() },
            "`horizon_s` is 4000000.0; it must be a number above 0",
        ),
        (
            spec(""),
            waits(ClientChange { retries: Some(5_000), ..ClientChange::default() }),
            "`--retries` is 5000; it must be a number from 0 to 1,000",
        ),
        (
            spec(""),
            waits(ClientChange {
                retries: Some(1),
                backoff_s: Some(9.0),
                backoff_max_s: Some(2.0),
                ..ClientChange::default()
            }),
            "`clients.backoff_max_s` is 2, below `backoff_s`, which is 9",
        ),
    ] {
        let error = spec.with(&change).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
    let file = DatasetChange { format: Some(DatasetFormat::Csv), ..DatasetChange::default() };
    let error = spec("").with(&Overrides { dataset: file, ..Overrides::default() }).unwrap_err().to_string();
    assert!(error.contains("`--dataset-format` is about a dataset"), "{error}");
}
