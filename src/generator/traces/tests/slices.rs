//! Slices that hold nothing or go on too long, and what becomes of the kinds of a trace.

use super::*;
use crate::generator::schedule::Schedule;
use crate::workload::WorkloadSpec;

/// Requests at 0 s, 1 s, 2 s and 3.0074 s.
fn four(folder: &tempfile::TempDir) -> Trace {
    let text = [0.0, 1_000.0, 2_000.0, 3_007.4]
        .map(|moment| format!(r#"{{"timestamp": {moment}, "input_length": 9, "output_length": 1, "hash_ids": []}}"#));
    written(folder, &text.join("\n"))
}

fn refusal(trace: &Trace) -> String {
    survey(trace, 0).unwrap_err().to_string()
}

#[test]
fn a_slice_ends_where_the_trace_does() {
    let folder = tempfile::tempdir().unwrap();
    let whole = four(&folder);
    assert_eq!(survey(&whole, 0).unwrap().ends_s, 3.008);
    for (from_s, for_s) in [(0.0, 3.0), (0.0, 3.008), (1.0, 2.008), (1.5, 1.0)] {
        let trace = Trace { from_s, for_s: Some(for_s), ..whole.clone() };
        assert_eq!(survey(&trace, 0).unwrap().ends_s, for_s);
    }
    for (from_s, for_s, until) in [(0.0, 3.1, "3.1"), (0.0, 40.0, "40"), (1.0, 2.5, "3.5"), (3.0, 1.0, "4")] {
        let trace = Trace { from_s, for_s: Some(for_s), time_scale: 0.5, rate_scale: 2.0, ..whole.clone() };
        let error = refusal(&trace);
        let said = format!("ends 3.007 s after its zero, and the slice goes on until {until} s; leave for_s");
        assert!(error.contains(&said), "{error}");
    }
}

#[test]
fn where_nothing_is_in_a_slice_the_end_of_the_trace_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let whole = four(&folder);
    let beyond = refusal(&Trace { from_s: 100.0, ..whole.clone() });
    assert!(beyond.ends_with("has no request from 100 s on; it ends 3.007 s after its zero"), "{beyond}");
    let between = refusal(&Trace { from_s: 0.25, for_s: Some(0.5), ..whole.clone() });
    assert!(between.ends_with("no request from 0.25 s on for 0.5 s; it ends 3.007 s after its zero"), "{between}");
    let thinned = refusal(&Trace { rate_scale: 0.000_1, ..whole });
    assert!(thinned.contains("is left with rate_scale = 0.0001 (--rate-scale) and seed 0"), "{thinned}");
    let heading = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
    let error = refusal(&Trace { from_s: 3600.0, ..written(&folder, heading) });
    assert!(error.ends_with("holds no request; name the file with the trace"), "{error}");
    let skipping = Trace { bad_lines: BadLines::Skip, ..written(&folder, &format!("{heading}a\nb\n")) };
    assert!(refusal(&skipping).contains("holds no request (2 lines were left out)"));
}

/// A trace of Skyline's whose requests are of these kinds in turn, one a second.
fn of_kinds(folder: &tempfile::TempDir, kinds: &[&str]) -> Trace {
    let mut text = "{\"skyline_trace\": 1}\n".to_owned();
    for (place, kind) in (0_u64..).zip(kinds) {
        let at_ns = place * 1_000_000_000;
        let _ = writeln!(text, r#"{{"at_ns": {at_ns}, "input_tokens": 9, "output_tokens": 1, "class": "{kind}"}}"#);
    }
    written(folder, &text)
}

/// Returns the name of the class of each request of the trace. The workload is of the trace alone, or has these
/// classes.
fn classes(trace: &Trace, tables: &str) -> Vec<String> {
    let read = |trace: &mut Trace, seed| survey(trace, seed).map_err(|error| error.to_string());
    let text = format!("name = \"t\"\nwarmup_s = 0\n[trace]\npath = {:?}\n{tables}", trace.path);
    let spec = WorkloadSpec::from_toml_with(&text, "a test", &read).unwrap();
    let name = |class: u16| spec.classes[usize::from(class)].name.clone();
    Schedule::draw(&spec).plan().map(|request| name(request.class)).collect()
}

#[test]
fn every_kind_has_its_class() {
    let folder = tempfile::tempdir().unwrap();
    let kinds = ["聊天", "图像", "/a/b", "/a_b", "聊天"];
    assert_eq!(classes(&of_kinds(&folder, &kinds), ""), ["__-2", "__", "_a_b", "_a_b-2", "__-2"]);
    // Twenty kinds, of which five come once and the others twice.
    let mut kinds: Vec<String> = (0..20).map(|place| format!("/route/{place}")).collect();
    kinds.extend((5..20).map(|place| format!("/route/{place}")));
    let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    let trace = of_kinds(&folder, &kinds);
    let expected: Vec<String> = (0..35)
        .map(|place| match place {
            0..5 => "other".to_owned(),
            5..20 => format!("_route_{place}"),
            _ => format!("_route_{}", place - 15),
        })
        .collect();
    assert_eq!(classes(&trace, ""), expected);
    // A rare kind has a class where the workload gives it one, and no class takes the kinds of another.
    let tables = "[[classes]]\nname = \"_route_3\"\n[[classes]]\nname = \"other\"\n[[classes]]\nname = \
        \"rest\"\nweight = 0\n";
    let found = classes(&trace, tables);
    assert_eq!((found[3].as_str(), found[0].as_str(), found[4].as_str()), ("_route_3", "other", "other"));
}
