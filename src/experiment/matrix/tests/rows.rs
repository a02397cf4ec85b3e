//! Rows as they differ, pair and are expected to be.

use super::super::tested::Believed;
use super::*;

fn settings(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings { input_tokens: Some(256), rate_per_s: Some(1.0), ..Settings::default() };
    change(&mut settings);
    settings
}

#[test]
fn rows_differ_by_what_they_ask_and_not_by_how_it_is_written() {
    let plain = settings(|_| ());
    let said = settings(|said| {
        said.arrival = Some(Spacing::Poisson);
        said.prefix_reuse = Some(PrefixReuse::Cold);
        said.prefix_tokens = Some(64);
    });
    assert_eq!(plain.differences(&said), []);
    let hardly = settings(|hardly| hardly.rate_per_s = Some(1.001));
    assert_eq!(plain.differences(&hardly), [Variable::Load], "three digits would not tell");
    assert_eq!(hardly.variable(Variable::Load).as_deref(), Some("1.001/s"));
    let even = settings(|even| even.arrival = Some(Spacing::Constant));
    assert_eq!(plain.differences(&even), [Variable::Arrival]);
}

#[test]
fn unlike_numbers_of_runs_make_no_pairs() {
    let (one, two) = (runs(&[100, 110, 95]), runs(&[50, 52]));
    let claim: Claim = "p50 ttft > 1.5 x B".parse().unwrap();
    let tested =
        claim.test(&Believed::Runs(one.iter().collect()), Some(&Believed::Runs(two.iter().collect())));
    // The means, 305/3 and 51, and not the means of the first two of each.
    assert!((tested.ratio.unwrap() - 305.0 / 3.0 / 51.0).abs() < 1e-9, "{tested:?}");
    let (low, high) = (tested.ratio_low.unwrap(), tested.ratio_high.unwrap());
    // Student's intervals by scipy: 101.667 ± 18.974 of three runs, 51 ± 12.706 of two.
    assert!(
        (low - 82.693_75 / 63.706_20).abs() < 1e-3 && (high - 120.639_58 / 38.293_80).abs() < 1e-3,
        "{tested:?}"
    );
    assert!(tested.line.contains("over 3 against 2 runs, which make no pairs"), "{}", tested.line);
}

#[test]
fn rows_of_axes_have_hypotheses_and_names_of_their_own() {
    let head = "name = \"t\"\n[defaults]\noutput_tokens = 64\nrate_per_s = 1\n";
    let grid = "[grid]\ninput_tokens = [256, 2048]\nrate_per_s = [0.5, 4]\n";
    let expected = "[[hypotheses]]\nrows = [\"in2048-*\"]\nhypothesis = \"Prefill.\"\nexpect = [\"p50 ttft > in256-rate4\"]\n\
                    [[hypotheses]]\nrows = [\"*-rate4\"]\nexpect = [\"p50 tpot < 1.5 x in256-rate4\"]\n";
    let rows = read(&format!("{head}{grid}{expected}")).rows;
    let claims: Vec<_> = rows.iter().map(|row| (row.hypothesis.is_some(), row.expect.len())).collect();
    // in256-rate0_5, in256-rate4 (which is not held against itself), in2048-rate0_5, in2048-rate4
    assert_eq!(claims, [(false, 0), (false, 0), (true, 1), (true, 2)]);
    let nobody = mistakes(&format!("{head}{grid}[[hypotheses]]\nrows = [\"in512*\"]\nquestion = \"?\"\n"));
    assert!(nobody.contains("has one for `in512*`, which is the name of no row"), "{nobody}");
    let second = "[[hypotheses]]\nrows = [\"*\"]\nhypothesis = \"Queues.\"\n";
    let second = mistakes(&format!("{head}{grid}{expected}{second}"));
    assert!(second.contains("has a second question or hypothesis for row in2048-rate0_5"), "{second}");
    let twice = mistakes("name = \"t\"\n[grid]\nworkload = [\"a/chat.toml\", \"b/chat.toml\"]\n");
    assert!(twice.contains("makes two rows called `chat`"), "{twice}");
}

#[test]
fn what_was_typed_of_the_deployment_counts_where_the_file_is_silent() {
    let typed = crate::record::DeploymentFacts { gpus: Some(4), ..Default::default() };
    let mut server = ServerSettings { gpu_hour: Some(2.5), ..ServerSettings::default() };
    server.fill_deployment(&typed);
    assert_eq!(server.cost_per_hour(), Some(10.0));
    let mut said = ServerSettings { gpus: Some(2), ..server };
    said.fill_deployment(&typed);
    assert_eq!(said.cost_per_hour(), Some(5.0));
}

#[test]
fn a_bound_inside_the_interval_of_a_single_run_keeps_no_contract() {
    // Latencies that swing from request to request: the interval of the median is wide.
    let records = (0..400).map(|i| {
        let ttft = 50 + (i * 37) % 101;
        record(i).sent_at(i * 100, i * 100, i * 100).paced(i * 100 + ttft, 10, 11).build()
    });
    let run = summarise(&run(40_000, records.collect()), &[]);
    let contract = |bound: &str| {
        let objectives = vec![format!("p50 ttft < {bound}").parse().unwrap()];
        let (rows, cost) = (None, None);
        let accept = Accept {
            objectives,
            rows,
            max_cost_per_million_output_tokens: cost,
            stop_when: StopWhen::AllFlown,
        };
        Contract::of(&accept, &[&run], None, None)
    };
    assert!(contract("150ms").met);
    let close = contract("100.5ms");
    assert!(!close.met, "{close:?}");
    assert!(
        close.judgements[0].line.starts_with("unresolvable: p50 ttft < 100.5ms (was 100 ms"),
        "{close:?}"
    );
}
