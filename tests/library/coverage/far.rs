//! How often an objective on TPOT is decided far from its bound, and how often falsely near it.

use skyline::analysis::{Judgement, Objective, Status, summarise};
use skyline::experiment::SimulatedRun;
use skyline::record::RunLog;

use crate::verdict::{a10g, chat_for};
use crate::virtual_time::{fly, header};

/// Requests a second that the server can do.
const CAPACITY: f64 = 5.7;
/// The share of them that is asked for, and p50 and p95 of TPOT in two hours of it, milliseconds.
const TRUTHS: [(f64, [(&str, f64); 2]); 2] =
    [(0.5, [("p50", 43.1), ("p95", 52.6)]), (0.8, [("p50", 58.1), ("p95", 77.6)])];
/// The bounds, as so many times the truth.
const TIMES: [f64; 4] = [0.5, 0.9, 1.1, 2.0];

/// With the memory of TPOT's own ranks, 14 and 11 of these 24 were missed at half of the truth, and none met at twice of it.
#[test]
fn the_pace_of_tokens_is_decided_far_from_its_bound_and_hardly_ever_falsely_near_it() {
    for (load, truths) in TRUTHS {
        let objectives: Vec<Objective> = TIMES
            .iter()
            .flat_map(|times| truths.map(|(of, truth)| format!("{of} tpot < {}ms", times * truth)))
            .map(|text| text.parse().unwrap())
            .collect();
        let judged: Vec<Vec<Judgement>> = (1_000..1_012)
            .map(|seed| {
                let spec = chat_for(60.0, load * CAPACITY, seed);
                let SimulatedRun { records, footer, .. } = fly(&spec, &mut *a10g().server().unwrap());
                summarise(&RunLog::of_requests(header(&spec), records, footer), &objectives).objectives
            })
            .collect();
        let counts = |status: Status| {
            let has = |judged: &&Judgement| judged.status == status;
            [0, 1, 2, 3].map(|place| judged.iter().flat_map(|run| &run[2 * place..2 * place + 2]).filter(has).count())
        };
        let (met, missed) = (counts(Status::Met), counts(Status::Missed));
        assert!(missed[0] >= 22 && met[3] >= 9, "{load}: {met:?} met, {missed:?} missed of 24");
        assert!(met[1] <= 1 && missed[2] <= 1, "{load}: {met:?} met, {missed:?} missed of 24");
    }
}
