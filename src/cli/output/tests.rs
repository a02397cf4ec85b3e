//! What `--format` takes and what it refuses.

use super::ShowArgs;
use super::formats::{AB, FormatArgs, RUN, SWEEP};
use super::requested::RequestedExport;
use crate::report::{Extent, Format, RunReport};
use crate::session::{Printer, Stop};

fn args(typed: &[&str]) -> FormatArgs {
    FormatArgs {
        formats: typed.iter().map(|typed| typed.parse().unwrap()).collect(),
        json: false,
        full: false,
        collector: None,
    }
}

fn refusal<T: std::fmt::Debug>(outcome: Result<T, Stop>) -> String {
    outcome.unwrap_err().message().to_owned()
}

#[test]
fn standard_output_takes_one_thing() {
    let shown = |typed: &[&str]| args(typed).outputs().map(|outputs| outputs.shown());
    assert_eq!(shown(&[]).unwrap(), Some(Format::Text(Extent::Summary)));
    assert_eq!(shown(&["json"]).unwrap(), Some(Format::Json));
    assert_eq!(shown(&["json", "json=-"]).unwrap(), Some(Format::Json));
    assert_eq!(shown(&["json=/dev/null"]).unwrap(), Some(Format::Text(Extent::Summary)));
    assert_eq!(shown(&["html"]).unwrap(), Some(Format::Text(Extent::Summary)));
    assert_eq!(shown(&["html=-"]).unwrap(), None);
    assert!(refusal(shown(&["json", "text"])).contains("json and text both go to standard output"));
    assert!(refusal(shown(&["json", "html=-"])).contains("both go to standard output"));
    let json = FormatArgs { json: true, ..args(&["json"]) };
    assert_eq!(json.outputs().unwrap().shown(), Some(Format::Json));
    assert!(refusal(FormatArgs { json: true, ..args(&["text"]) }.outputs()).contains("--json and text"));
}

#[test]
fn an_unknown_format_is_answered_with_the_known() {
    let error = "word".parse::<RequestedExport>().unwrap_err();
    assert!(error.starts_with("the formats are text, json, "), "{error}");
    assert!("html=".parse::<RequestedExport>().unwrap_err().contains("a path"));
}

#[test]
fn files_are_written_whole_and_where_they_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let log = crate::analysis::test_runs::run(1_000, Vec::new());
    let summary = crate::analysis::summarise(&log, &[]);
    let report = RunReport { log: &log, summary: &summary, diagnosis: None };
    let there = folder.path().join("mine.json");
    std::fs::write(&there, "old").unwrap();
    let asked = args(&[&format!("json={}", there.display()), &format!("text={}", folder.path().display())]);
    let outputs = asked.outputs().unwrap();
    outputs.check(&RUN).unwrap();
    assert_eq!(std::fs::read_to_string(&there).unwrap(), "old", "a check changes nothing");
    outputs.write_run(report, folder.path(), Printer).unwrap();
    assert_eq!(std::fs::read_to_string(&there).unwrap(), crate::report::json_with(&summary, None).unwrap());
    let mut names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["mine.json", "summary.txt"], "nothing unfinished is left");
}

#[test]
fn what_cannot_be_written_is_told_before() {
    let nowhere = args(&["json=/nowhere/at/all/summary.json"]);
    let refusal = refusal(nowhere.outputs().unwrap().check(&RUN));
    assert!(refusal.contains("cannot write /nowhere/at/all/summary.json"), "{refusal}");
    args(&["json=/dev/null"]).outputs().unwrap().check(&RUN).unwrap();
}

#[test]
fn two_documents_do_not_share_a_file() {
    let twice = args(&["json=/dev/null", "text=/dev/null"]);
    let refusal = refusal(twice.outputs().unwrap().check(&RUN));
    assert!(refusal.contains("something else is written there too"), "{refusal}");
}

#[test]
fn two_forms_of_a_result_do_not_share_a_file() {
    #[derive(clap::Parser)]
    struct Typed {
        #[command(flatten)]
        show: ShowArgs,
    }
    let check = |formats| <Typed as clap::Parser>::parse_from(["skyline", "--format", formats]).show.check();
    let refusal = refusal(check("html=/dev/null,markdown=/dev/null"));
    assert!(refusal.contains("both go to /dev/null"), "{refusal}");
    check("json,html=/dev/null").unwrap();
}

#[test]
fn a_place_is_the_same_however_it_is_spelled() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path).display().to_string();
    std::os::unix::fs::symlink(at("a"), at("link")).unwrap();
    std::fs::write(at("a"), "").unwrap();
    for other in ["a", "./a", "link"] {
        let twice = args(&[&format!("json={}", at("a")), &format!("text={}", at(other))]);
        let refusal = refusal(twice.outputs().unwrap().check(&RUN));
        assert!(refusal.contains("something else is written there too"), "{other}: {refusal}");
    }
}

#[test]
fn a_document_is_written_once_though_it_is_asked_for_twice() {
    let planned = |typed: &[&str]| {
        let args = args(typed);
        let planned = args.outputs().unwrap().planned(&RUN).unwrap();
        planned.iter().map(|planned| planned.document.file).collect::<Vec<_>>()
    };
    assert_eq!(planned(&["csv", "requests.csv"]), ["summary.csv", "requests.csv"]);
    assert_eq!(planned(&["json=/dev/null", "json=/dev/null"]), ["summary.json"]);
}

#[test]
fn what_is_shown_has_its_form_too() {
    let check = |typed: &str| args(&[typed]).outputs().unwrap().check(&RUN);
    check("summary.json").unwrap();
    assert!(refusal(check("sweep.json")).contains("--format sweep.json: a run has no such form"));
    assert!(refusal(check("ab.txt")).contains("a run has no such form"));
    args(&["sweep.json"]).outputs().unwrap().check(&SWEEP).unwrap();
    let table = |typed: &str| args(&[typed]).outputs().unwrap().forms_of("a table of experiments");
    assert_eq!(table("json").unwrap().shown(), Format::Json);
    assert_eq!(table("html").unwrap().shown(), Format::Html);
    assert_eq!(table("html=/dev/null").unwrap().shown(), Format::Text(Extent::Summary));
    assert!(refusal(table("summary.json")).contains("a table of experiments has no such form"));
}

#[test]
fn only_runs_are_pushed() {
    let pushing = FormatArgs { collector: Some("http://127.0.0.1:4318".to_owned()), ..args(&[]) };
    let outputs = pushing.outputs().unwrap();
    outputs.check(&RUN).unwrap();
    for refused in [outputs.check(&SWEEP), outputs.check(&AB), outputs.forms_of("a table").map(drop)] {
        assert!(refusal(refused).contains("is not pushed"));
    }
}

#[test]
fn several_runs_write_into_their_own_folders() {
    let outputs = args(&["json"]).outputs().unwrap();
    outputs.check_runs().unwrap();
    assert_eq!(outputs.shown(), Some(Format::Json));
    let refusal = refusal(args(&["json=all.json"]).outputs().unwrap().check_runs());
    assert!(refusal.contains("each writes a file into its own folder"), "{refusal}");
}
