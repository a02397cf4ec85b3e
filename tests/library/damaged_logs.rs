//! Of a damaged log everything that can be read is read, what is lost is counted and named, and the run is INVALID.

use skyline::analysis::{Rule, summarise};
use skyline::generator::check_plan;
use skyline::record::{Outcome, PlanCheck, RunLog};

/// The log of the stored run of schema 8: 24 lines, of which 4, 6, 8, 11, 13, 15, 17 and 21 are the records of its eight requests.
const STORED: &str = include_str!("../data/runs/schema-8/run.jsonl");

fn lines() -> Vec<String> {
    STORED.split_inclusive('\n').map(str::to_owned).collect()
}

/// Where each line begins.
fn starts() -> Vec<usize> {
    lines().iter().scan(0, |at, line| Some(std::mem::replace(at, *at + line.len()))).collect()
}

fn read(bytes: &[u8]) -> RunLog {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(RunLog::FILE_NAME), bytes).unwrap();
    RunLog::read(folder.path()).unwrap()
}

/// Reads `bytes`, which lost the records of the requests `lost`, so many lines in all, and holds what is said of it.
fn hold(bytes: &[u8], lost: &[u64], lost_lines: u64, said: &[&str]) {
    let log = read(bytes);
    assert_eq!(log.damage.first, said);
    assert_eq!(log.damage.lost_lines, lost_lines);
    let whole = read(STORED.as_bytes());
    let left: Vec<_> =
        whole.records.as_slice().iter().filter(|record| !lost.contains(&record.index)).cloned().collect();
    assert_eq!(*log.records, left, "nothing else is lost");
    let summary = summarise(&log, &[]);
    assert_eq!(summary.unrecorded_requests, lost);
    assert_eq!((summary.verdict.valid, summary.verdict.reasons[0].rule), (false, Rule::WholeLog));
    let reasons = &summary.verdict.reasons;
    let sentence = &reasons[0].sentence;
    assert!(said.iter().all(|what| sentence.contains(what)), "{sentence}");
    assert_eq!(reasons.iter().any(|reason| reason.rule == Rule::Conservation), !lost.is_empty());
    assert!(matches!(check_plan(&log), PlanCheck::Held { .. }), "what is left is the plan's");
}

#[test]
fn a_log_that_is_whole_has_no_damage() {
    let log = read(STORED.as_bytes());
    assert!(log.damage.is_none() && log.unended.is_empty());
    let summary = summarise(&log, &[]);
    assert!(summary.verdict.valid && summary.unrecorded_requests.is_empty());
}

/// Each digit of a stamp by itself: whichever is changed, the line is named and its request is lost.
#[test]
fn a_changed_stamp_shows() {
    let lines = lines();
    let (before, stamp) = lines[7].split_once("\"dispatched_ns\":").unwrap();
    let digits = stamp.bytes().take_while(u8::is_ascii_digit).count();
    for digit in 0..digits {
        let mut bytes = STORED.as_bytes().to_vec();
        let place = lines[..7].concat().len() + before.len() + "\"dispatched_ns\":".len() + digit;
        bytes[place] = if bytes[place] == b'1' { b'2' } else { b'1' };
        hold(&bytes, &[2], 1, &["line 8 was altered, or is another run's"]);
    }
}

/// A run that differs in its machine alone, of eight cores: its lines have other checksums, though all else is the same.
#[test]
fn a_line_of_another_run_is_not_believed() {
    let mut run = 0;
    let resealed = |line: String| {
        let (body, _) = line.rsplit_once(",\"crc32\"").unwrap();
        let mut sum = crc32fast::Hasher::new_with_initial(run);
        sum.update(body.as_bytes());
        let sum = sum.finalize();
        run = if run == 0 { sum } else { run };
        format!("{body},\"crc32\":\"{sum:08x}\"}}\n")
    };
    let mut other = lines();
    other[0] = other[0].replacen("\"cores\":2", "\"cores\":8", 1);
    let other: Vec<String> = other.into_iter().map(resealed).collect();
    assert!(read(other.concat().as_bytes()).damage.is_none());
    let mut lines = lines();
    lines[7].clone_from(&other[7]);
    hold(lines.concat().as_bytes(), &[2], 1, &["line 8 was altered, or is another run's"]);
}

#[test]
fn removed_lines_are_counted_and_their_requests_are_named() {
    let mut lines = lines();
    lines.drain(12..15);
    lines.remove(3);
    let said = ["1 line is missing before line 4", "3 lines are missing before line 12"];
    hold(lines.concat().as_bytes(), &[0, 4, 5], 4, &said);
}

#[test]
fn a_line_that_comes_twice_or_out_of_place_counts_once() {
    let whole = lines();
    let mut lines = whole.clone();
    lines.insert(9, whole[3].clone());
    hold(lines.concat().as_bytes(), &[], 0, &["line 10 is repeated or out of its place"]);
    // All of it twice: what follows the end is of no run.
    let twice = read(STORED.repeat(2).as_bytes());
    assert_eq!((twice.records.len(), twice.damage.faults, twice.damage.lost_lines), (8, 24, 0));
    assert_eq!(twice.damage.first[0], "line 25 comes after the end of the run");
    let mut moved = whole.clone();
    moved.swap(5, 7);
    hold(
        moved.concat().as_bytes(),
        &[1],
        2,
        &[
            "2 lines are missing before line 6",
            "line 7 is repeated or out of its place",
            "line 8 is repeated or out of its place",
        ],
    );
}

#[test]
fn a_piece_that_is_cut_out_of_the_middle_costs_the_lines_that_it_touches() {
    let starts = starts();
    let bytes = STORED.as_bytes();
    // From within line 6 to within line 11: the two ends make one line, and five are lost.
    let cut = [&bytes[..starts[5] + 40], &bytes[starts[10] + 40..]].concat();
    hold(&cut, &[1, 2, 3], 6, &["line 6 was altered, or is another run's", "5 lines are missing before line 7"]);
    // Within one line.
    let cut = [&bytes[..starts[5] + 40], &bytes[starts[5] + 60..]].concat();
    hold(&cut, &[1], 1, &["line 6 was altered, or is another run's"]);
    // From the middle of a line to the end of another: no end of line is left in between.
    let cut = [&bytes[..starts[5] + 40], &bytes[starts[8]..]].concat();
    hold(&cut, &[1, 2], 4, &["line 6 was altered, or is another run's", "3 lines are missing before line 7"]);
}

/// As after a power cut, where the file system had written the length of the file and not yet its content.
#[test]
fn a_block_of_zeros_costs_the_lines_that_it_covers() {
    let starts = starts();
    let zeros = |from: usize, to: usize| {
        let mut bytes = STORED.as_bytes().to_vec();
        bytes[from..to].fill(0);
        bytes
    };
    hold(&zeros(starts[5], starts[7]), &[1], 2, &["2 lines are missing before line 6"]);
    let inside = zeros(starts[5] + 10, starts[7] + 10);
    hold(&inside, &[1, 2], 3, &["line 6 was altered, or is another run's", "2 lines are missing before line 7"]);
    // At its end a log is cut off, as by any crash.
    let log = read(&zeros(starts[12], STORED.len()));
    assert!(log.damage.is_none() && log.footer.is_none());
    assert_eq!((log.records.len(), log.unended[0].index), (4, 4));
}

#[test]
fn a_torn_last_line_is_that_of_a_run_that_was_cut_off() {
    let whole = read(STORED.as_bytes());
    let starts = starts();
    for length in 1..lines()[16].len() - 1 {
        let log = read(&STORED.as_bytes()[..starts[16] + length]);
        assert!(log.damage.is_none() && log.footer.is_none(), "{length}");
        assert_eq!(log.records[..], whole.records[..6], "{length}");
    }
    // The last request had been dispatched, and was in flight.
    let log = read(&STORED.as_bytes()[..starts[16] + 100]);
    let counts = summarise(&log, &[]).requests;
    assert_eq!((counts.completed, counts.in_flight, counts.never_due, counts.unrecorded), (6, 1, 1, 0));
}

/// Without its header a log says nothing, so it is used as it is found.
#[test]
fn an_altered_header_makes_the_run_invalid() {
    let log = read(STORED.replacen("\"cores\":2", "\"cores\":8", 1).as_bytes());
    assert_eq!((log.damage.first[0].as_str(), log.records.len()), ("line 1, the header, was altered", 8));
    assert_eq!(summarise(&log, &[]).verdict.reasons[0].rule, Rule::WholeLog);
    // One wrong digit in its checksum is no fault of the others.
    let (header, _) = STORED.split_once("\"}\n").unwrap();
    let digit = header.len() - 1;
    let other = if header.ends_with('0') { "1" } else { "0" };
    let log = read([&STORED[..digit], other, &STORED[digit + 1..]].concat().as_bytes());
    assert_eq!((log.damage.faults, log.records.len()), (1, 8), "{:?}", log.damage.first);
    // Nor may it give itself out for an older one to be rid of its checksums.
    let log = read(STORED.replacen("\"schema\":8", "\"schema\":5", 1).as_bytes());
    assert!(!log.damage.is_none());
}

#[test]
fn a_line_without_its_checksum_is_not_believed() {
    let mut lines = lines();
    let (bare, _) = lines[7].rsplit_once(",\"line\"").unwrap();
    lines[7] = format!("{bare}}}\n");
    hold(lines.concat().as_bytes(), &[2], 1, &["line 8 cannot be read"]);
}

/// Older logs have no checksums: what is no line, or says what cannot be, is left out all the same.
#[test]
fn older_logs_are_saved_too() {
    let stored = include_str!("../data/runs/schema-5/run.jsonl");
    let whole = read(stored.as_bytes());
    assert!(whole.damage.is_none());
    let place = stored.match_indices("{\"request\"").nth(2).unwrap().0;
    let mut bytes = stored.as_bytes().to_vec();
    bytes[place + 20] = b'}';
    let log = read(&bytes);
    assert_eq!((log.records.len(), log.damage.lost_lines), (whole.records.len() - 1, 1));
    assert!(log.damage.first[0].contains("cannot be read"), "{:?}", log.damage.first);
    assert_eq!(log.records.iter().filter(|record| record.outcome == Outcome::Completed).count(), 5);
    assert_eq!(summarise(&log, &[]).verdict.reasons[0].rule, Rule::WholeLog);
}
