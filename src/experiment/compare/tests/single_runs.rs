//! One run a side: what its gates say of queues whose truth is known, and how often they are wrong.

use super::*;
use crate::analysis::statistics::Estimate;
use crate::analysis::{AcrossRuns, FigureKind, VerdictOutcome};
use crate::clock::Timestamp;
use crate::record::{Failure, FailureKind, RequestRecord, TokenChunk};

/// Returns a side with one request every 100 ms. Its TTFT is as given, then comes one more token.
fn with(name: &str, plan: &str, ttfts_ms: impl Iterator<Item = u64>) -> ComparedSide {
    let records = (0..).zip(ttfts_ms).map(|(i, ttft)| {
        let at = i * 100;
        record(i).sent_at(at, at, at).paced(at + ttft, 10, 2).build()
    });
    side(name, plan, records.collect())
}

fn side(name: &str, plan: &str, records: Vec<RequestRecord>) -> ComparedSide {
    let log = log_of(plan, records);
    let demanded = ["mean ttft", "p95 e2e of chat"].map(|key| key.parse::<FigureKey>().unwrap());
    believed(ComparedSide::of_run(name.to_owned(), &log, summarise(&log, &[]), demanded.iter()))
}

pub(super) fn log_of(plan: &str, records: Vec<RequestRecord>) -> RunLog {
    let until = records.iter().map(|record| record.scheduled.as_nanos() / 1_000_000).max().unwrap() + 1;
    let mut log = run(until, records);
    plan.clone_into(&mut log.header.plan.hash);
    log.header.workload.seed = plan.len() as u64;
    log
}

/// 400 latencies without memory, and the same a sixth longer but for noise.
fn before() -> impl Iterator<Item = u64> {
    (0..400).map(|i| 100 + i * i * 7_919 % 97 + i / 40 % 3 * 20)
}

fn after() -> impl Iterator<Item = u64> {
    (0..400).zip(before()).map(|(i, ttft)| ttft * 115 / 100 + i * i * 31 % 23)
}

/// Compares the interval with that of numpy 2.4.6 and scipy 1.17.1. It is all changes x for which the mean of 1{after >
/// (1 + x) a} − 1{before > a} is no more than t standard errors above 0, a the baseline's percentile, nor that of
/// 1{before > b ÷ (1 + x)} − 1{after > b}, b the other's. The error is that of the means of 32 batches of 12 or 13. Of
/// the mean, they are those of after − (1 + x) before.
#[test]
fn the_interval_of_pairs_is_scipys() {
    let sides = [with("a", "one", before()), with("b", "one", after())];
    for (figure, value, low, high) in [
        ("p50 ttft", 0.194_610_778_4, 0.191_616_766_5, 0.209_090_909_1),
        ("p95 ttft", 0.173_294_823_4, 0.164_185_736_5, 0.205_707_762_6),
        ("mean ttft", 0.195_117_913_5, 0.193_091_658_3, 0.197_263_181_0),
    ] {
        let found = judged(&sides, &[&format!("max:{figure} 10%")]).remove(0);
        let worse = found.worse_by.unwrap();
        let found_ends = [worse.value, worse.low, worse.high];
        for (found, expected) in found_ends.into_iter().zip([value, low, high]) {
            assert!((found - expected).abs() < 1e-6, "{figure}: {worse:?}");
        }
        assert_eq!((found.status, found.passes), (Status::Missed, false));
    }
    let compared = Compared::new(&sides, &[], &[]).unwrap();
    assert_eq!(compared.against[0].pairing, Pairing::SamePlan);
    let p50 = row(&compared, "p50 ttft");
    assert_eq!(p50.standing, ChangeStanding::Apart);
    assert!(p50.p_holm > p50.p && p50.change.unwrap().low > 0.18, "{p50:?}");
    assert_eq!(row(&compared, "error_rate").standing, ChangeStanding::NoSignificantChange);
}

#[test]
fn each_gate_has_three_outcomes_and_the_user_says_what_the_third_does() {
    let sides = [with("a", "one", before()), with("b", "one", after())];
    let gates = ["max:p95 ttft 10%", "max:p95 ttft 18%", "max:p95 ttft 25%", "max:p95 e2e of chat 30%"];
    let found = judged(&sides, &gates);
    let outcomes: Vec<_> = found.iter().map(|gate| (gate.status, gate.passes)).collect();
    let (met, missed) = ((Status::Met, true), (Status::Missed, false));
    assert_eq!(outcomes, [missed, (Status::Undecided, true), met, met], "{found:#?}");
    assert_eq!(
        found[1].line,
        format!(
            "{}: p95 ttft at most 18 % worse (was 17.3 % worse; 95 % interval 16.4 % worse to 20.6 % worse, which \
             includes the bound; about 9,400 requests a side would tell): passes, unless --undecided fail",
            Status::Undecided.word()
        )
    );
    let back = [sides[1].clone(), sides[0].clone()];
    let found = judged(&back, &["req:p95 ttft 10%", "req:p95 ttft 15%", "req:p95 ttft 25%"]);
    let outcomes: Vec<_> = found.iter().map(|gate| (gate.status, gate.passes)).collect();
    assert_eq!(outcomes, [met, (Status::Undecided, false), missed], "{found:#?}");
    for (passes, line) in [(true, "): passes, by --undecided pass"), (false, "): fails, by --undecided fail")] {
        let said = |text: &str| Margin { undecided_passes: Some(passes), ..text.parse().unwrap() };
        for (gate, sides) in [
            (Gate::MaxRegression(said("p95 ttft 18%")), &sides),
            (Gate::RequiredImprovement(said("p95 ttft 15%")), &back),
        ] {
            let found = Compared::new(sides, &[], &[gate]).unwrap().against.remove(0).gates.remove(0);
            assert!(found.passes == passes && found.line.ends_with(line), "{}", found.line);
        }
    }
}

#[test]
fn a_run_is_no_worse_than_itself() {
    let sides = [with("a", "one", before()), with("b", "one", before())];
    let found = judged(&sides, &["max:p95 ttft 5%", "max:error_rate 1%", "req:p50 ttft 1%", "max:p50 ttft 0%"]);
    let status: Vec<_> = found.iter().map(|gate| gate.status).collect();
    // A change that would be shown as 0 % is none.
    assert_eq!(status, [Status::Met, Status::Met, Status::Missed, Status::Met], "{found:#?}");
    // A latency that all requests share lies on its own percentiles.
    let constant = |name| with(name, "one", before().map(|_| 100));
    let found = judged(&[constant("a"), constant("b")], &["max:p95 ttft 1%", "max:p50 tpot 1%"]);
    assert!(found.iter().all(|gate| gate.status == Status::Met), "{found:#?}");
}

#[test]
fn where_a_figure_is_unknown_nothing_passes() {
    let sides = [with("a", "one", before()), with("b", "one", after())];
    let found = judged(&sides, &["max:check_pass_rate 1%", "max:p95 queue_wait 5%"]);
    for gate in found {
        assert_eq!((gate.status, gate.passes), (Status::Undecided, false), "{}", gate.line);
        assert!(gate.line.ends_with("(not known on both sides): fails, unless --undecided pass"), "{}", gate.line);
    }
}

#[test]
fn few_requests_tell_nothing_and_say_what_would() {
    let sides = [with("a", "one", before().take(15)), with("b", "one", after().take(15))];
    let found = judged(&sides, &["max:p50 ttft 10%"]).remove(0);
    assert_eq!(found.status, Status::Undecided);
    assert!(found.line.contains("no interval; to tell, run both longer or with --repeats 5)"), "{}", found.line);
    // Goodput of runs of other requests has no interval of its own.
    let sides = [with("a", "one", before()), with("b", "another", after())];
    let found = judged(&sides, &["max:goodput 1%", "max:p95 ttft 10%"]);
    assert!(
        found[0].line.contains("; to tell, run both with the same --seed, or with --repeats 5"),
        "{}",
        found[0].line
    );
    assert_eq!(found[1].status, Status::Undecided, "{}", found[1].line);
}

#[test]
fn what_was_cut_off_decides_what_it_can() {
    let cut = (0..400).map(|i| record(i).sent_at(i * 100, i * 100, i * 100).censored(i * 100 + 5_000).build());
    let sides = [with("a", "one", before()), side("b", "one", cut.collect())];
    let found = judged(&sides, &["max:p50 ttft 10%", "max:p50 ttft 9000%", "max:mean ttft 5%"]);
    let status: Vec<_> = found.iter().map(|gate| gate.status).collect();
    assert_eq!(status, [Status::Missed, Status::Undecided, Status::Undecided], "{found:#?}");
    // How far apart they are is not known, and that they are is.
    let compared = Compared::new(&sides, &[], &[]).unwrap();
    let p50 = row(&compared, "p50 ttft");
    assert_eq!((p50.difference, p50.standing), (None, ChangeStanding::Apart), "{p50:?}");
}

/// Returns the run of [`before`] with every so manieth request cut off after 1 ms.
fn cut_off(every: u64) -> ComparedSide {
    let records = (0..).zip(before()).map(|(i, ttft)| {
        let at = i * 100;
        let begun = record(i).sent_at(at, at, at);
        let is_cut_off = i % every == every - 1;
        if is_cut_off { begun.censored(at + 1).build() } else { begun.paced(at + ttft, 10, 2).build() }
    });
    side("b", "one", records.collect())
}

#[test]
fn early_cut_offs_prove_nothing_and_hide_nothing() {
    let found = judged(&[with("a", "one", before()), cut_off(300)], &["max:p95 ttft 5%", "max:p50 ttft 5%"]);
    assert!(found.iter().all(|gate| gate.status == Status::Met), "{found:#?}");
    let many = [with("a", "one", before()), cut_off(16)];
    let compared = Compared::new(&many, &[], &[]).unwrap();
    let p95 = row(&compared, "p95 ttft");
    assert_eq!((p95.p, p95.standing), (Some(1.0), ChangeStanding::NoSignificantChange), "{p95:?}");
    assert_eq!(judged(&many, &["max:p95 ttft 5%"])[0].status, Status::Undecided);
}

/// Runs of other plans, some of whose requests failed.
#[test]
fn shares_of_failures_are_told_apart() {
    let busy = || Failure::new(FailureKind::HttpStatus(503), "busy");
    let failing = |plan: &str, every: u64| {
        let records = (0..).zip(before()).map(|(i, ttft)| {
            let at = i * 100;
            let begun = record(i).sent_at(at, at, at);
            let ends = at + ttft;
            if i % every == every - 1 { begun.failed(ends, busy()).build() } else { begun.paced(ends, 10, 2).build() }
        });
        side(plan, plan, records.collect())
    };
    let status = |other: ComparedSide| {
        let found = judged(&[failing("one", 1_000), other], &["max:error_rate 1%"]).remove(0);
        (found.status, found.worse_by.unwrap())
    };
    let (missed, by) = status(failing("another", 20));
    assert!(missed == Status::Missed && by.value == 0.05 && by.low > 0.02, "{by:?}");
    let (met, by) = status(failing("another", 1_000));
    // The upper end of Wilson's interval of 0 of 400 is 0.951 %.
    assert!(met == Status::Met && (by.high - 0.009_512_2).abs() < 1e-6, "{by:?}");
    assert_eq!(status(failing("another", 200)).0, Status::Undecided);
}

/// Compares with Newcombe's method 10 for 48 of 80 and 56 of 70. His table II has 5.24 to 33.39 points.
#[test]
fn shares_differ_by_newcombes_interval() {
    let share = |hits: u64, trials: u64| AcrossRuns {
        own_interval: crate::analysis::statistics::share_interval(hits, trials).unzip(),
        ..AcrossRuns::of_figures(&[Some(crate::analysis::Figure::Exact(hits as f64 / trials as f64))], 1.0)
    };
    let found = gate("max:error_rate 1%").judge_figures("", &share(48, 80), &share(56, 70), Pairing::OneRunEach);
    let worse = found.worse_by.unwrap();
    assert!((worse.low - 0.0524).abs() < 5e-5 && (worse.high - 0.3339).abs() < 5e-5, "{worse:?}");
    assert!(found.status == Status::Missed, "{}", found.line);
}

#[test]
fn over_invalid_sides_nothing_is_judged() {
    let sides = [with("a", "one", before()), with("b", "one", after())];
    let repeated = [repeats("a", 1, &[100, 200, 300, 400, 500]), repeats("b", 1, &[90, 189, 291, 390, 488])];
    for (mut sides, margin) in [(sides, "max:p95 ttft 25%"), (repeated, "req:p50 ttft 1%")] {
        assert_eq!(judged(&sides, &[margin])[0].status, Status::Met);
        sides[1].reasons.push("the generator was late".to_owned());
        let compared = Compared::new(&sides, &[], &[gate(margin)]).unwrap();
        let rows = &compared.against[0].rows;
        assert!(rows.iter().all(|row| row.standing == ChangeStanding::Unknown), "{rows:?}");
        let found = &compared.against[0].gates[0];
        assert_eq!((found.status, found.passes), (Status::Undecided, false), "{}", found.line);
        assert!(found.line.contains("(a side is INVALID, so nothing is judged)"), "{}", found.line);
    }
}

/// Judges a server that does not keep up. It has no window that is long enough, and still is worse.
#[test]
fn falling_behind_is_no_open_question() {
    let mut sides = [with("a", "one", before().take(15)), with("b", "one", after().take(15))];
    sides[1].outcome = VerdictOutcome::Overloaded;
    let found = judged(&sides, &["max:p95 ttft 10%", "req:p95 ttft 10%"]);
    assert!(found.iter().all(|gate| gate.status == Status::Missed), "{found:#?}");
    let line = &found[0].line;
    assert!(line.contains("(the server did not keep up, while the baseline's did)"), "{line}");
}

/// Combines the two ends of the ratio by hand. They are ln 1.2 ± √(ln²(120/110) + ln²(130/100)), then
/// ± √(ln²(150/120) + ln²(100/80)).
#[test]
fn own_intervals_combine() {
    let known = |value, low, high| AcrossRuns {
        own_interval: (low, high),
        ..AcrossRuns::of_figures(&[Some(crate::analysis::Figure::Exact(value))], f64::INFINITY)
    };
    let judged = gate("max:p95 ttft 10%");
    let judge = |before: &AcrossRuns, after: &AcrossRuns| {
        judged.judge_figures("", before, after, Pairing::OneRunEach).worse_by.unwrap()
    };
    let before = known(100.0, Some(80.0), Some(130.0));
    let whole = judge(&before, &known(120.0, Some(110.0), Some(150.0)));
    assert!((whole.low + 0.089_803_503).abs() < 1e-6, "{whole:?}");
    assert!((whole.high - 0.645_253_036).abs() < 1e-6, "{whole:?}");
    let open = judge(&before, &known(120.0, Some(110.0), None));
    assert_eq!((open.low, open.high), (whole.low, f64::INFINITY));
}

/// Asserts that a verdict is what its shown interval says, and so is a p-value. That holds however few the requests and
/// whatever was drawn.
fn assert_coherent(compared: &Compared) {
    for row in &compared.against[0].rows {
        let shown = if row.figure.kind() == FigureKind::Share { row.difference } else { row.change };
        let Some(Estimate { value, .. }) = shown else { continue };
        let (low, high) = shown.unwrap().ends();
        assert!(low.is_none_or(|low| low <= value) && high.is_none_or(|high| value <= high), "{row:?}");
        let least = if compared.against[0].pairing.is_of_single_runs() { 5e-5 } else { 0.0 };
        let moved = low.is_some_and(|low| low > least) || high.is_some_and(|high| high < -least);
        let expected = match (low, high) {
            (None, None) => row.standing == ChangeStanding::Unknown,
            _ if moved => !matches!(row.standing, ChangeStanding::Unknown | ChangeStanding::NoSignificantChange),
            _ => row.standing == ChangeStanding::NoSignificantChange,
        };
        assert!(expected, "{row:?}");
        if let Some(p) = row.p.filter(|_| low.or(high).is_some()) {
            assert_eq!(p <= 0.05, moved, "{row:?}");
        }
    }
}

#[test]
fn verdicts_follow_from_their_intervals() {
    for seed in 0..60_u64 {
        let n = [24, 60, 90, 150, 400][seed as usize % 5];
        let (times, spread) = (60 + seed % 11 * 15, 1 + seed % 4 * 40);
        let drawn = |run: u64, times: u64| {
            (0..n).map(move |i| times + (i + run * 977) * (i + seed) * 7_919 % spread + i / 40 % 3 * 20)
        };
        let one = || with("a", "one", drawn(seed, 120));
        assert_coherent(&Compared::new(&[one(), with("b", "one", drawn(seed + 1, times))], &[], &[]).unwrap());
        assert_coherent(&Compared::new(&[one(), with("b", "another", drawn(7, times))], &[], &[]).unwrap());
        let ttfts = |run| drawn(run, times).take(2 + seed as usize % 5).collect::<Vec<_>>();
        for other in [1, 2] {
            let sides = [repeats("a", 1, &ttfts(3)), repeats("b", other, &ttfts(4 + seed))];
            assert_coherent(&Compared::new(&sides, &[], &[]).unwrap());
        }
    }
}

/// Finds no change that the table shows as 0 %, however regular a server is. It takes 10 ms a token, and 200 ns less.
#[test]
fn a_change_of_nothing_is_none() {
    let regular = |name: &str, less_ns: u64| {
        let mut records = Vec::new();
        for (i, ttft) in (0..).zip(before()) {
            let at = i * 100;
            let mut record = record(i).sent_at(at, at, at).paced(at + ttft, 10, 2).build();
            let last = record.chunks.pop().unwrap();
            let at = Timestamp::from_nanos(last.at.as_nanos() - less_ns);
            record.chunks.push(TokenChunk { at, ..last });
            records.push(record);
        }
        side(name, "one", records)
    };
    for (less_ns, standing) in [(200, ChangeStanding::NoSignificantChange), (20_000, ChangeStanding::Apart)] {
        let compared = Compared::new(&[regular("a", 0), regular("b", less_ns)], &[], &[]).unwrap();
        let tpot = row(&compared, "p50 tpot");
        assert_eq!((tpot.standing, tpot.p <= Some(0.05)), (standing, standing == ChangeStanding::Apart), "{tpot:?}");
    }
}

/// Finds an end of a change to be the other end of the way back. That holds however few requests there are: what shows
/// a server to be slower shows the other to be faster.
#[test]
fn the_way_back_is_as_sure() {
    for (n, times) in [(24, 4), (60, 4), (66, 5), (150, 3), (400, 2)] {
        // One in ten takes long, so that few are beyond a p95.
        let slow = || (0..n).map(|i| if i % 10 == 3 { 400 + i % 7 * 30 } else { 100 + i * i * 7_919 % 97 });
        let quick = || slow().map(|ttft| ttft / times);
        let sides = [with("a", "one", slow()), with("b", "one", quick())];
        let there = Compared::new(&sides, &[], &[gate("req:p95 ttft 25%")]).unwrap();
        let back = [sides[1].clone(), sides[0].clone()];
        let back = Compared::new(&back, &[], &[gate("max:p95 ttft 10%")]).unwrap();
        let mut apart = 0;
        for figure in ["p50 ttft", "p95 ttft", "mean ttft"] {
            let rows = [&there, &back]
                .map(|compared| compared.against[0].rows.iter().find(|row| row.figure.to_string() == figure));
            let [Some(one), Some(other)] = rows else { continue };
            let (change, way_back) = (one.change.unwrap(), other.change.unwrap());
            let inverse = |end: Option<f64>| end.map(|end| 1.0 / (1.0 + end) - 1.0);
            let (change_ends, back_ends) = (change.ends(), way_back.ends());
            for (end, expected) in [(change_ends.1, inverse(back_ends.0)), (change_ends.0, inverse(back_ends.1))] {
                assert_eq!(end.is_some(), expected.is_some(), "{n} {figure}: {change:?} {way_back:?}");
                let apart = end.zip(expected).map_or(0.0, |(end, expected)| (end - expected).abs());
                assert!(apart < 1e-3, "{n} {figure}: {change:?} {way_back:?}");
            }
            assert_eq!(one.standing, other.standing, "{n} {figure}: {change:?} {way_back:?}");
            apart += u64::from(one.standing == ChangeStanding::Apart);
        }
        assert!(apart >= 2 || n < 60, "{n}: {:?}", there.against[0].rows);
        let gates = [&there, &back].map(|compared| compared.against[0].gates[0].status);
        assert!(n < 60 || gates == [Status::Met, Status::Missed], "{n}: {gates:?}");
    }
}

/// Compares a server 3.5 times faster. Every percentile that has an interval says so, and so does a gate on it.
#[test]
fn a_server_several_times_faster_is_no_chance() {
    let faster = || before().map(|ttft| ttft * 2 / 7);
    for n in [300, 400] {
        let sides = [with("a", "one", before().take(n)), with("b", "one", faster().take(n))];
        let compared = Compared::new(&sides, &[], &[gate("req:p95 ttft 50%")]).unwrap();
        for figure in ["p50 ttft", "p95 ttft"] {
            let row = row(&compared, figure);
            assert!(row.change.unwrap().high < -0.5 && row.standing == ChangeStanding::Apart, "{row:?}");
        }
        assert_eq!(compared.against[0].gates[0].status, Status::Met, "{:?}", compared.against[0].gates);
    }
}
