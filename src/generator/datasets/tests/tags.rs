//! Tags of rows: read from every format, drawn with their rows, and no part of a plan's hash.

use super::*;

const CSV: &str = "prompt,output_tokens,country,Customer plan\n\
    One,5, de ,gold\nTwo,6,fr,free\nThree,7,de,gold\nFour,8,,free\n";
const JSONL: &str = "{\"prompt\":\"One\",\"output_tokens\":5,\"country\":\"de\",\"paid\":true}\n\
    {\"prompt\":\"Two\",\"output_tokens\":6,\"country\":\"fr\",\"paid\":1.50}\n\
    {\"prompt\":\"Three\",\"output_tokens\":7,\"country\":null}\n";
const SHAREGPT: &str = "[{\"country\":\"de\",\"conversations\":[{\"value\":\"One\"},{\"value\":\"1\"}]},\
    {\"country\":\"fr\",\"conversations\":[{\"value\":\"Two\"},{\"value\":\"2\"}]}]";

/// The workload once its dataset is read, and its plan.
fn drawn(name: &str, content: &str, fields: &str) -> (WorkloadSpec, Vec<PlannedRequest>, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    let (spec, datasets) = open(with_dataset(&path, fields)).unwrap();
    let schedule = Schedule::draw_from(&spec, datasets);
    (spec.clone(), schedule.plan().collect(), schedule.facts().hash)
}

/// The tags of the first requests, in the order of `keys`.
fn tags(name: &str, content: &str, fields: &str, keys: &[&str]) -> Vec<Vec<Option<String>>> {
    let (spec, plan, _) = drawn(name, content, fields);
    let of = |request: &PlannedRequest, key: &&str| spec.tag_of(request.class, request.tags, key).map(str::to_owned);
    plan.iter().take(5).map(|request| keys.iter().map(|key| of(request, key)).collect()).collect()
}

fn values<const N: usize>(rows: [[&str; N]; 5]) -> Vec<Vec<Option<String>>> {
    let value = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    rows.iter().map(|row| row.iter().map(|text| value(text)).collect()).collect()
}

#[test]
fn each_format_has_tags_and_they_are_drawn_with_their_rows() {
    let csv = ", metadata = { country = \"country\", plan = \"Customer plan\" }";
    assert_eq!(
        tags("a.csv", CSV, csv, &["country", "plan"]),
        values([["de", "gold"], ["fr", "free"], ["de", "gold"], ["", "free"], ["de", "gold"]])
    );
    assert_eq!(
        tags("a.jsonl", JSONL, ", metadata = [\"country\", \"paid\"]", &["country", "paid"]),
        values([["de", "true"], ["fr", "1.50"], ["", ""], ["de", "true"], ["fr", "1.50"]])
    );
    assert_eq!(
        tags("a.json", SHAREGPT, ", metadata = [\"country\"]", &["country"]),
        values([["de"], ["fr"], ["de"], ["fr"], ["de"]])
    );
    // Combinations are stored once, in the order of the rows.
    let found = opened("a.csv", CSV, csv).unwrap();
    assert_eq!(found.tags, [["de", "gold"], ["fr", "free"], ["", "free"]]);
    // What is stored is read back.
    let json = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<DatasetFindings>(&json).unwrap(), found);
}

#[test]
fn tags_change_nothing_of_a_plan() {
    let shuffled = ", order = \"shuffled\"";
    let (before, plan, hash) = drawn("a.csv", CSV, shuffled);
    let (_, tagged, same) = drawn("a.csv", CSV, &format!("{shuffled}, metadata = [\"country\"]"));
    assert_eq!(hash, same);
    assert!(plan.iter().all(|request| request.tags.is_none()));
    assert!(tagged.iter().all(|request| request.tags.is_some()));
    let untagged = tagged.into_iter().map(|request| PlannedRequest { tags: None, ..request });
    assert_eq!(untagged.collect::<Vec<_>>(), plan);
    assert!(!serde_json::to_string(&before).unwrap().contains("tags"));
    let record = plan[0].record(crate::clock::Timestamp::ZERO);
    assert!(!serde_json::to_string(&record).unwrap().contains("tags"));
}

#[test]
fn a_tag_that_no_row_can_have_is_refused() {
    for (name, content, fields, said) in [
        (
            "a.csv",
            CSV,
            ", metadata = [\"contry\"]",
            "a.csv: there is no column `contry` for a tag; did you mean `country`?",
        ),
        (
            "a.jsonl",
            JSONL,
            ", metadata = [\"tier\"]",
            "a.jsonl: no row has a value for the tag `tier`\nhint: correct `metadata`",
        ),
        ("a.jsonl", JSONL, ", metadata = { plan = \"tier\" }", "a.jsonl: no row has a value for the tag `plan`"),
        (
            "a.jsonl",
            "{\"prompt\":\"One\",\"output_tokens\":5,\"country\":[\"de\"]}",
            ", metadata = [\"country\"]",
            "a.jsonl, row 1, line 1: `country` is no tag: a tag is a text, a number, true or false",
        ),
        (
            "a.csv",
            "prompt,output_tokens,country\nOne,5,\"d\ne\"\n",
            ", metadata = [\"country\"]",
            "column `country`: it has a line break or another control character",
        ),
    ] {
        let error = opened(name, content, fields).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    let rows: Vec<String> = (0..4_097).map(|i| format!("One,5,{i}\n")).collect();
    let rows = rows.concat();
    let error = opened("a.csv", &format!("prompt,output_tokens,id\n{rows}"), ", metadata = [\"id\"]").unwrap_err();
    assert!(error.contains("`metadata` has more than 4,096 combinations of values"), "{error}");
}
