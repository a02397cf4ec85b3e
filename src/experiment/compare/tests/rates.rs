//! How often single runs of queues, and repeats, are called different that are not, and the other way round.

use super::single_runs::log_of;
use super::*;
use crate::random::RandomStream;

/// Difference between requests of two runs.
#[derive(Clone, Copy)]
struct Noise {
    /// Standard deviation of the logarithm of each service time.
    service: f64,
    /// The other run's service times, as a multiple.
    slower: f64,
}

/// M/M/1 from empty, mean service 1 s, the first 1,000 requests not counted. Runs of one `plan` have the same
/// arrivals and the same work; what the server makes of the work differs from `run` to run.
fn queue(plan: u64, run: u64, load: f64, n: u64, noise: Noise) -> RunLog {
    let [mut gaps, mut work] = ["gaps", "work"].map(|name| RandomStream::named(plan, name));
    let mut server = RandomStream::named(run, "server");
    let (mut at, mut free, mut start) = (0.0, 0.0_f64, 0.0);
    let mut records = Vec::new();
    for i in 0..1_000 + n {
        at += gaps.exponential() / load;
        let begin = free.max(at);
        free = begin + work.exponential() * libm::exp(noise.service * server.normal()) * noise.slower;
        if i == 1_000 {
            start = at;
        }
        if let Some(index) = i.checked_sub(1_000) {
            let [at, begin, end] = [at, begin, free].map(|s| ((s - start) * 1e3) as u64);
            let built = record(index).sent_at(at, at, at).chunks(&[(begin + 50, 1), (end + 100, 1)]);
            records.push(built.build());
        }
    }
    log_of(&plan.to_string(), records)
}

/// One run, or five that repeat one another, each of a plan of its own.
fn queues(runs: u64, plan: u64, run: u64, load: f64, n: u64, noise: Noise) -> ComparedSide {
    let one = |number: u64| {
        let mut log = queue(plan + 1_000_000 * number, run + 1_000_000 * number, load, n, noise);
        log.header.repeat = Some(Repeat { number, of: runs, first_seed: plan });
        log.header.workload = queue(1, 1, load, 20, noise).header.workload;
        log.header.workload.seed = seed_of_run(plan, number);
        log
    };
    if runs == 1 {
        let mut log = one(1);
        log.header.repeat = None;
        return believed(ComparedSide::of_run(run.to_string(), &log, summarise(&log, &[]), [].iter()));
    }
    let runs = (1..=runs).map(one).map(|log| (log.header.clone(), summarise(&log, &[])));
    believed(ComparedSide::of_repeats(run.to_string(), runs.collect(), &[]).unwrap())
}

/// Returns how much longer each service takes where the whole time is longer. The whole time is 1.2 times as long. It
/// is that in the system: 1/(µ − λ) for M/M/1.
fn slower(load: f64) -> f64 {
    1.0 / (load + (1.0 - load) / 1.2)
}

/// Counts of what becomes of comparisons.
#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    /// Some figure is apart, better or worse.
    changed: u32,
    /// `--max-regression` of 10 % is missed, and met, by p95 TTFT and p95 e2e.
    missed: [u32; 2],
    met: [u32; 2],
    /// `--require-improvement` of 10 % is met.
    improved: [u32; 2],
}

impl Rates {
    /// The most that equal servers are called different.
    fn wrong(&self) -> u32 {
        [self.changed].iter().chain(&self.missed).chain(&self.improved).copied().max().unwrap_or(0)
    }
}

/// Counts what becomes of so many `pairs` of sides, of so many `runs` each.
fn rates(pairs: u64, runs: u64, load: f64, n: u64, noise: Noise, same_plan: bool) -> Rates {
    let mut rates = Rates::default();
    let texts = ["max:p95 ttft 10%", "max:p95 e2e 10%", "req:p95 ttft 10%", "req:p95 e2e 10%"];
    for pair in 0..pairs {
        let plan = 1_000 * n + pair;
        let before = queues(runs, plan, 2 * plan, load, n, Noise { slower: 1.0, ..noise });
        let other = if same_plan { plan } else { 7 * plan };
        let after = queues(runs, other, 2 * plan + 1, load, n, noise);
        let gates = texts.map(gate);
        let against = Compared::new(&[before, after], &[Condition::Plan], &gates).unwrap().against.remove(0);
        let changes = [ChangeStanding::Apart, ChangeStanding::Better, ChangeStanding::Worse];
        rates.changed += u32::from(against.rows.iter().any(|row| changes.contains(&row.standing)));
        for (place, gate) in against.gates.iter().enumerate() {
            let (figure, improvement) = (place % 2, place / 2 == 1);
            match gate.status {
                Status::Met if improvement => rates.improved[figure] += 1,
                Status::Met => rates.met[figure] += 1,
                Status::Missed if !improvement => rates.missed[figure] += 1,
                _ => {}
            }
        }
    }
    rates
}

/// Test of 12 pairs that are alike. Of these, 4 or more are called different with a chance of 0.2 % where 5 % are.
///
/// The test below takes many more.
#[test]
fn equal_queues_are_seldom_different_and_a_regression_is_found() {
    for (load, n, same_plan) in [(0.5, 165, true), (0.5, 165, false), (0.8, 500, true)] {
        let found = rates(12, 1, load, n, Noise { service: 0.05, slower: 1.0 }, same_plan);
        assert!(found.wrong() <= 3, "{load} {n}: {found:?}");
    }
    let found = rates(4, 1, 0.5, 2_500, Noise { service: 0.05, slower: slower(0.5) }, true);
    assert!(found.missed.iter().all(|missed| *missed >= 3), "{found:?}");
}

#[test]
#[ignore = "20,000 runs of queues take minutes: `tests/interop/long_tests.sh compare::tests::rates` runs it optimised"]
#[allow(clippy::print_stderr, reason = "a table of rates is to be read")]
fn how_often_comparisons_are_wrong_and_how_often_a_regression_is_found() {
    const PAIRS: u64 = 200;
    // Of 200 pairs 18 or more with a chance of 1.5 % where 5 % are.
    const MOST: u32 = 17;
    for (runs, service, load) in [1, 5]
        .into_iter()
        .flat_map(|runs| [0.05, 0.2].map(|service| (runs, service)))
        .flat_map(|(runs, service)| [0.5, 0.8, 0.9].map(|load| (runs, service, load)))
    {
        let pairs = PAIRS / runs;
        let equal = Noise { service, slower: 1.0 };
        for (n, same_plan) in [165, 1_000, 4_000].into_iter().flat_map(|n| [(n, true), (n, false)]) {
            let found = rates(pairs, runs, load, n, equal, same_plan);
            eprintln!("{runs} runs, noise {service}, load {load}, n {n}, same plan {same_plan}: {found:?}");
            let most = if runs == 1 { MOST } else { 6 };
            assert!(found.wrong() <= most, "{runs} runs, {service}, {load}, {n}: {found:?}");
        }
        let worse = Noise { service, slower: slower(load) };
        let [same, other] = [true, false].map(|same_plan| rates(pairs, runs, load, 4_000, worse, same_plan));
        eprintln!("{runs} runs, noise {service}, load {load}, 20 % worse: {same:?}; other plans: {other:?}");
        if service < 0.1 && load < 0.85 {
            assert!(same.missed.iter().all(|missed| u64::from(*missed) * 5 >= pairs * 4), "{load}: {same:?}");
        }
        // That it is no worse is seldom said.
        let met = same.met.iter().chain(&other.met).max().unwrap();
        assert!(u64::from(*met) * 20 <= pairs, "{load}: {same:?} {other:?}");
    }
}
