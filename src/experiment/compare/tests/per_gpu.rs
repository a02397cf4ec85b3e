//! Sides of several GPUs, and what they cost.

use super::single_runs::log_of;
use super::*;
use crate::experiment::difference::PerGpuTrade;
use crate::record::DeploymentFacts;

/// Eight repeats on so many GPUs at 3.6 an hour each.
fn served(name: &str, gpus: u32, currency: &str, first_seed: u64, ttft_ms: u64) -> ComparedSide {
    let runs = (1..=8).map(|number| {
        let mut log = log(ttft_ms + number);
        log.header.repeat = Some(Repeat { number, of: 8, first_seed });
        log.header.workload.seed = seed_of_run(first_seed, number);
        log.header.plan.hash = format!("{first_seed}-{number}");
        log.header.deployment = DeploymentFacts {
            gpus: Some(gpus),
            gpu_hour: Some(3.6),
            currency: Some(currency.to_owned()),
            ..DeploymentFacts::default()
        };
        let summary = summarise(&log, &[]);
        (log.header, summary)
    });
    believed(ComparedSide::of_repeats(name.to_owned(), runs.collect(), &[]).unwrap())
}

fn compared(one: ComparedSide, other: ComparedSide) -> Compared {
    Compared::new(&[one, other], &[Condition::Gpus], &[]).unwrap()
}

/// Compares 44 tokens and four answers a second by one GPU and by two. A second of each GPU costs 0.001.
#[test]
fn a_faster_side_that_makes_fewer_tokens_with_each_gpu_is_a_trade() {
    let of = compared(served("tp1", 1, "EUR", 1, 200), served("tp2", 2, "EUR", 2, 120));
    let tokens = row(&of, "output_tokens_per_s_per_gpu");
    assert_eq!((tokens.baseline.value, tokens.other.value), (Some(44.0), Some(22.0)));
    assert_eq!(tokens.standing, ChangeStanding::Worse, "{tokens:?}");
    let cost = row(&of, "cost_per_acceptable_answer");
    assert!(close(cost.baseline.value, 0.001 / 4.0) && close(cost.other.value, 0.002 / 4.0), "{cost:?}");
    let PerGpuTrade { latency, latency_change, per_gpu_change } = of.against[0].per_gpu_trade.clone().unwrap();
    assert_eq!((latency.to_string().as_str(), per_gpu_change), ("p50 ttft", -0.5));
    assert!((latency_change - (124.5 / 204.5 - 1.0)).abs() < 1e-9, "{latency_change}");
    // The price that the other way round is a gain: nothing is paid for it.
    let back = compared(served("tp2", 2, "EUR", 1, 120), served("tp1", 1, "EUR", 2, 200));
    assert_eq!(back.against[0].per_gpu_trade, None);
    // A difference within chance is no trade.
    let same = compared(served("tp1", 1, "EUR", 1, 200), served("tp2", 2, "EUR", 2, 200));
    assert_eq!(same.against[0].per_gpu_trade, None);
}

#[test]
fn figures_that_say_nothing_new_or_cannot_be_compared_are_left_out() {
    let figures =
        |of: &Compared| -> Vec<String> { of.against[0].rows.iter().map(|row| row.figure.to_string()).collect() };
    let one = figures(&compared(served("a", 1, "EUR", 1, 200), served("b", 1, "EUR", 2, 200)));
    assert!(one.iter().all(|figure| figure != "output_tokens_per_s_per_gpu"), "{one:?}");
    assert!(one.iter().any(|figure| figure == "cost_per_answer"), "{one:?}");
    let other = compared(served("a", 1, "EUR", 1, 200), served("b", 1, "USD", 2, 200));
    assert!(figures(&other).iter().all(|figure| !figure.starts_with("cost")), "{:?}", figures(&other));
    let gate: Gate = Gate::MaxRegression("cost_per_answer 10%".parse().unwrap());
    let judged =
        |currency| gate.judge(&served("a", 1, "EUR", 1, 200), &served("b", 1, currency, 1, 200), Pairing::Paired);
    let open = judged("USD");
    assert_eq!((open.status, open.passes), (Status::Undecided, false));
    assert!(open.line.contains("prices are in different currencies"), "{}", open.line);
    assert_eq!(judged("EUR").status, Status::Met);
    let differing: Vec<_> = other.differences.iter().map(|of| (of.fact.as_str(), of.role)).collect();
    assert!(differing.contains(&("currency", Role::Reported)), "{differing:?}");
}

/// Two runs of the same 400 requests: their tokens are paired too.
#[test]
fn single_runs_of_one_plan_show_a_trade() {
    let side = |name: &str, gpus: u32, ttft: u64| {
        let request = |i: u64| {
            let at = i * 100;
            record(i).sent_at(at, at, at).paced(at + ttft + i * i * 7_919 % 97, 10, 2 + i % 3).build()
        };
        let mut log = log_of("one", (0..400).map(request).collect());
        log.header.deployment.gpus = Some(gpus);
        let summary = summarise(&log, &[]);
        believed(ComparedSide::of_run(name.to_owned(), &log, summary, [].iter()))
    };
    let of = compared(side("tp1", 1, 300), side("tp2", 2, 100));
    let tokens = row(&of, "output_tokens_per_s_per_gpu");
    assert_eq!(tokens.standing, ChangeStanding::Apart, "{tokens:?}");
    let trade = of.against[0].per_gpu_trade.as_ref().unwrap();
    assert!((trade.per_gpu_change + 0.5).abs() < 0.01, "{trade:?}");
    assert_eq!(row(&of, "output_tokens_per_s").standing, ChangeStanding::NoSignificantChange);
}
