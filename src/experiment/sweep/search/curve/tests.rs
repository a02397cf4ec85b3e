//! Crossings by hand and by scipy.

use super::*;

const LOADS: [f64; 10] = [9.0, 9.0, 9.5, 9.5, 10.0, 10.0, 10.5, 10.5, 11.0, 11.0];

fn found(objective: &str, figures: [f64; 10]) -> LimitCrossing {
    with_excess(objective, figures, [0.0; 10])
}

fn with_excess(objective: &str, figures: [f64; 10], excess: [f64; 10]) -> LimitCrossing {
    let demand = SearchDemand::from_objective(&objective.parse().unwrap()).unwrap();
    let readings: Vec<_> = (0..LOADS.len())
        .map(|run| DemandReading {
            load: LOADS[run],
            figure: figures[run],
            requests: 1_000.0,
            excess: excess[run],
            near: 0.0,
        })
        .collect();
    course(&demand, &readings)
}

fn crossing_of(found: LimitCrossing) -> Crossing {
    match found {
        LimitCrossing::Crosses(crossing) => crossing,
        LimitCrossing::Kept | LimitCrossing::Missed(_) => panic!("{found:?}"),
    }
}

fn near(found: LimitCrossing, expected: [f64; 3]) {
    let Crossing { estimate, interval } = crossing_of(found);
    let (low, high) = interval.unwrap();
    let ends = [estimate, low, high];
    assert!(ends.iter().zip(expected).all(|(a, b)| (a - b).abs() < 2e-4), "{ends:?}, not {expected:?}");
}

/// Compares with scipy 1.17.1. That is the maximum of the quasi-likelihood by `minimize`, its information matrix,
/// Pearson's dispersion (3.53) and the roots of Fieller's equation by `brentq`, with 1.2 times the quantile of
/// Student's t.
#[test]
fn a_share_crosses_where_scipy_says() {
    let shares = [0.002, 0.004, 0.003, 0.008, 0.006, 0.015, 0.012, 0.03, 0.02, 0.05];
    near(found("p99 ttft < 1s", shares), [9.932_481, 8.956_558, 10.297_622]);
}

/// Crossing by scipy as above, with additions to the quasi-likelihood and to the loads. The dispersion's share of what
/// is known of the slope, 12 ± 4, is added to the quasi-likelihood until both agree, and half of each run's own rate to
/// its load.
#[test]
fn a_share_with_many_late_crosses_where_scipy_says() {
    let shares = [0.01, 0.02, 0.03, 0.02, 0.06, 0.03, 0.05, 0.12, 0.09, 0.2];
    let excess = [-0.06, 0.03, 0.02, -0.05, 0.08, -0.03, -0.04, 0.06, 0.0, 0.07];
    near(with_excess("p95 ttft < 1s", shares, excess), [10.141_585, 9.886_037, 10.345_090]);
}

/// Compares with scipy likewise, with 1.15 times the quantile. It is of (share − 1 %) ÷ 99 %, as half of the 2 % that
/// are late at half the load are late at any load.
#[test]
fn a_share_that_is_late_at_any_load_is_taken_out_before_the_line() {
    let shares = [0.01, 0.02, 0.03, 0.02, 0.06, 0.03, 0.05, 0.12, 0.09, 0.2];
    let excess = [-0.06, 0.03, 0.02, -0.05, 0.08, -0.03, -0.04, 0.06, 0.0, 0.07];
    let demand = SearchDemand::from_objective(&"p95 ttft < 1s".parse().unwrap()).unwrap();
    let reading = |load, figure, excess| DemandReading { load, figure, requests: 1_000.0, excess, near: 0.0 };
    let low = [0.01, 0.03].map(|share| reading(5.0, share, 0.0));
    let near_it = (0..LOADS.len()).map(|run| reading(LOADS[run], shares[run], excess[run]));
    let readings: Vec<_> = low.into_iter().chain(near_it).collect();
    near(course(&demand, &readings), [10.222_012, 10.006_718, 10.386_623]);
}

/// `scipy.stats.linregress` of the logarithms, and the roots likewise.
#[test]
fn a_magnitude_crosses_where_scipy_says() {
    let figures = [400.0, 420.0, 430.0, 450.0, 480.0, 500.0, 540.0, 530.0, 600.0, 590.0];
    near(found("mean ttft < 500ms", figures), [10.088_199, 9.993_091, 10.188_384]);
}

#[test]
fn a_step_may_be_anywhere_between_its_sides() {
    let step = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0];
    assert_eq!(crossing_of(found("p99 ttft < 1s", step)).interval, Ok((10.0, 10.5)));
}

#[test]
fn one_run_that_did_not_keep_up_bounds_nothing() {
    let kept_up = |load, figure| DemandReading { load, figure, requests: 1.0, ..DemandReading::default() };
    let mut runs = [9.0, 9.5, 9.5, 10.0, 10.0].map(|load| kept_up(load, 0.0)).to_vec();
    runs.push(kept_up(10.5, 1.0));
    let interval = |runs: &[DemandReading]| crossing_of(course(&SearchDemand::keeping_up(), runs)).interval;
    assert_eq!(interval(&runs), Err(Unsure::FewRuns));
    runs.push(kept_up(10.5, 1.0));
    assert_eq!(interval(&runs), Ok((10.0, 10.5)));
}

#[test]
fn what_does_not_cross_has_no_crossing() {
    assert_eq!(found("p99 ttft < 1s", [0.0; 10]), LimitCrossing::Kept);
    let LimitCrossing::Missed(times) = found("p99 ttft < 1s", [0.5; 10]) else { panic!("it is missed everywhere") };
    assert!((times - 50.0).abs() < 1e-6, "{times}");
    assert_eq!(found("error_rate < 1%", [0.009; 10]), LimitCrossing::Kept);
}

#[test]
fn a_crossing_without_an_interval_says_why() {
    let demand = SearchDemand::from_objective(&"p99 ttft < 1s".parse().unwrap()).unwrap();
    let why = |runs: &[(f64, f64)]| {
        let reading = |&(load, figure)| DemandReading { load, figure, requests: 1_000.0, ..DemandReading::default() };
        crossing_of(course(&demand, &runs.iter().map(reading).collect::<Vec<_>>())).interval
    };
    let ladder = [(16.0, 0.0), (16.0, 0.0), (32.0, 0.002), (32.0, 0.003), (64.0, 0.2), (64.0, 0.3)];
    assert_eq!(why(&ladder), Err(Unsure::FarApart));
    assert_eq!(why(&[(9.0, 0.002), (10.0, 0.005), (11.0, 0.03)]), Err(Unsure::FewRuns));
    let flat = [(9.0, 0.009), (9.5, 0.011), (10.0, 0.009), (10.0, 0.011), (10.5, 0.009), (11.0, 0.0112)];
    assert_eq!(why(&flat), Err(Unsure::Flat));
}
