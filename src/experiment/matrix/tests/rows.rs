//! Rows as they differ, pair and are expected to be.

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
    assert_eq!(plain.differences(&hardly), [MatrixVariable::Load], "three digits would not tell");
    assert_eq!(hardly.variable(MatrixVariable::Load).as_deref(), Some("1.001/s"));
    let even = settings(|even| even.arrival = Some(Spacing::Constant));
    assert_eq!(plain.differences(&even), [MatrixVariable::Arrival]);
}

#[test]
fn unlike_numbers_of_runs_make_no_pairs() {
    let (one, two) = (runs(&[100, 110, 95]), runs(&[50, 52]));
    let claim: Claim = "p50 ttft > 1.5 x B".parse().unwrap();
    let tested = claim.test(&trusted(&one), Some(&trusted(&two)));
    // The means, 305/3 and 51, and not the means of the first two of each.
    assert!((tested.ratio.unwrap() - 305.0 / 3.0 / 51.0).abs() < 1e-9, "{tested:?}");
    let (low, high) = (tested.ratio_low.unwrap(), tested.ratio_high.unwrap());
    // Student's intervals by scipy: 101.667 ± 18.974 of three runs, 51 ± 12.706 of two.
    assert!((low - 82.693_75 / 63.706_20).abs() < 1e-3 && (high - 120.639_58 / 38.293_80).abs() < 1e-3, "{tested:?}");
    assert!(tested.line.contains("over 3 against 2 runs, which make no pairs"), "{}", tested.line);
}

#[test]
fn rows_of_axes_have_hypotheses_and_names_of_their_own() {
    let head = "name = \"t\"\n[defaults]\noutput_tokens = 64\nrate_per_s = 1\n";
    let grid = "[grid]\ninput_tokens = [256, 2048]\nrate_per_s = [0.5, 4]\n";
    let expected = "[[hypotheses]]\nrows = [\"in2048-*\"]\nhypothesis = \"Prefill.\"\nexpect = [\"p50 ttft > \
        in256-rate4\"]\n[[hypotheses]]\nrows = [\"*-rate4\"]\nexpect = [\"p50 tpot < 1.5 x in256-rate4\"]\n";
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
    let mut server = VariantServer { gpu_hour: Some(2.5), ..VariantServer::default() };
    assert_eq!(server.cost_per_hour(), None, "of how many GPUs?");
    server.fill_deployment(&typed);
    assert_eq!(server.cost_per_hour(), Some(10.0));
    let mut said = VariantServer { gpus: Some(2), ..server };
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
        let accept = Accept { objectives, rows, max_cost_per_million_output_tokens: cost, stop_when: StopWhen::AllRun };
        ContractResult::new(&accept, &[&run], (None, None), None)
    };
    assert!(contract("150ms").met);
    let close = contract("100.5ms");
    assert!(!close.met, "{close:?}");
    assert!(close.judgements[0].line.starts_with("cannot tell: p50 ttft < 100.5ms (was 100 ms"), "{close:?}");
}

#[test]
fn users_are_no_axis_beside_the_spacing_of_arrivals() {
    let head = "name = \"t\"\n[defaults]\ninput_tokens = 256\noutput_tokens = 64\n";
    let axes = "users = [1, 8]\narrival = [\"poisson\", \"constant\"]\n";
    for rate in ["", "rate_per_s = 5\n"] {
        let refused = mistakes(&format!("{head}{rate}[grid]\n{axes}"));
        assert!(refused.contains("`grid.users` is an axis together with `arrival`"), "{refused}");
    }
    // Each by itself is another load, and says so.
    assert_eq!(read(&format!("{head}rate_per_s = 5\n[one_at_a_time]\n{axes}")).rows.len(), 5);
}

#[test]
fn a_run_whose_server_was_gone_is_none() {
    let gone = crate::record::Failure::new(crate::record::FailureKind::Connect, "connection refused");
    let records = (0..40).map(|i| record(i).sent_at(i * 100, i * 100, i * 100).failed(i * 100, gone.clone()));
    let run = summarise(&run(4_000, records.map(RecordBuilder::build).collect()), &[]);
    let failure = RowRun::new("row".to_owned(), run).unwrap_err();
    assert_eq!(failure.by, FailedBy::Server);
    assert!(failure.why.contains("the server never answered"), "{failure:?}");
    assert!(RowRun::new("row".to_owned(), completed(1, 1, 100)).is_ok());
}

#[test]
fn a_contract_on_the_cost_needs_the_number_of_gpus() {
    let lines: Vec<&str> = TWO_VARIANTS.lines().filter(|line| !line.starts_with("gpus")).collect();
    let unknown = lines.join("\n");
    let refused = mistakes(&unknown);
    assert!(refused.contains("variant base does not say how many GPUs it has; give it `gpus`"), "{refused}");
}

#[test]
fn the_cost_is_held_against_the_contract_by_the_whole_of_its_interval() {
    let cost = |most: &str| {
        let text = TWO_VARIANTS.replace("million_output_tokens = 50", &format!("million_output_tokens = {most}"));
        let text = text.replace("p50 ttft < 90ms", "p50 ttft < 9s");
        let experiments = read(&text);
        // The later the first tokens, the more of the last requests' tokens come after the end.
        let cells = [cell(0, 0, &[50, 300, 600])];
        let matrix = Matrix::new(&experiments, &cells, MatrixStopped::AllRun, InvalidRuns::Counted);
        let cell = &matrix.cells[0];
        let demand = cell.contract.as_ref().unwrap().judgements[1].clone();
        let standing = matrix.decision.unwrap().variants[0].standing;
        (demand.status == Status::Met, demand.line, cell.cost_per_million_output_tokens.unwrap(), standing)
    };
    let (met, line, mean, standing) = cost("22");
    assert!(!met && mean < 22.0, "{line}");
    assert_eq!((standing, cost("10").3), (Status::Undecided, Status::Missed));
    assert!(line.starts_with("cannot tell: cost of 1M output tokens <= 22.0 (was "), "{line}");
    assert!(cost("40").0 && cost("40").1.contains(", interval "), "{:?}", cost("40"));
    assert!(cost("10").1.starts_with("missed: "), "{:?}", cost("10"));
}

#[test]
fn a_part_of_the_runs_confirms_nothing() {
    let experiments = read(TWO_VARIANTS);
    let (a, b) = (cell(0, 1, &[50, 51, 52]), cell(1, 1, &[150, 151, 149]));
    let cut = |cell: &CellRuns| {
        let mut cut = cell.clone();
        cut.runs.pop();
        cut
    };
    for (cells, name) in [([a.clone(), cut(&b)], "B"), ([cut(&a), b.clone()], "A")] {
        let matrix = Matrix::new(&experiments, &cells, MatrixStopped::Interrupted, InvalidRuns::Counted);
        let test = &matrix.cells[1].tests[0];
        assert_eq!(test.standing, Status::Undecided);
        assert!(test.line.contains(&format!("of row {name} 2 of 3 runs completed")), "{}", test.line);
    }
    let whole = Matrix::new(&experiments, &[a, b], MatrixStopped::AllRun, InvalidRuns::Counted);
    assert_eq!(whole.cells[1].tests[0].standing, Status::Met);
}

#[test]
fn nothing_is_claimed_of_a_row_where_it_did_not_run() {
    let only_fast = |text: &str| text.replace("\n[accept]", "\nvariants = [\"fast\"]\n[accept]");
    let refused = mistakes(&only_fast(TWO_VARIANTS));
    assert!(
        refused.contains("row B, which expects `p50 ttft < @base` of a row that does not run under that variant"),
        "{refused}"
    );
    // A is run under both, B under one: what A expects of B is claimed there.
    let text = only_fast(&TWO_VARIANTS.replace(", \"p50 ttft < @base\"", ""));
    let text = text.replace("name = \"A\"\n", "name = \"A\"\nexpect = [\"p50 ttft < B\"]\n");
    let cells = [cell(0, 0, &[50, 51, 52]), cell(0, 1, &[50, 51, 52]), cell(1, 1, &[150, 151, 149])];
    let matrix = Matrix::new(&read(&text), &cells, MatrixStopped::AllRun, InvalidRuns::Counted);
    let claims: Vec<usize> = matrix.cells.iter().map(|cell| cell.tests.len()).collect();
    assert_eq!((claims, matrix.cells[1].standing), (vec![0, 1, 1], Some(Status::Met)));
}

#[test]
fn a_rehearsal_shortens_runs_and_confirms_nothing() {
    let table = r#"
        name = "t"
        [defaults]
        output_tokens = 16
        input_tokens = 16
        horizon_s = 300
        warmup_s = 60
        repeats = 2
        [[rows]]
        name = "A"
        rate_per_s = 10
        [[rows]]
        name = "B"
        rate_per_s = 0.1
        expect = ["p50 ttft > 1.5 x A", "p50 ttft < 1s"]
        [[rows]]
        name = "C"
        users = 4
        [accept]
        objectives = ["p50 ttft < 1s"]
    "#;
    let whole = read(table);
    let mut rehearsed = whole.clone();
    rehearsed.shorten(5.0);
    let lengths = rehearsed.rows.iter().map(|row| (row.settings.horizon_s, row.settings.warmup_s));
    // Of one request in ten seconds, three take 40, of which 32 s count; 20 s would have 1.6.
    let expected = [(5.0, 1.0), (40.0, 8.0), (5.0, 0.0)].map(|(horizon, warm)| (Some(horizon), Some(warm)));
    assert_eq!(lengths.collect::<Vec<_>>(), expected);
    let mut same = whole.clone();
    same.shorten(300.0);
    assert_eq!(same, whole);
    let kept = serde_json::to_value(&rehearsed).unwrap();
    assert_eq!(Experiments::from_stored(&kept).unwrap(), rehearsed);

    let cells = [cell(0, 0, &[100, 101]), cell(1, 0, &[200, 202]), cell(2, 0, &[100, 101])];
    let judged = |table: &Experiments| {
        let matrix = Matrix::new(table, &cells, MatrixStopped::AllRun, InvalidRuns::LeftOut);
        let standing = matrix.decision.clone().unwrap().variants[0].standing;
        (matrix.cells[1].standing.unwrap(), standing, matrix.rehearsal, matrix.cells[1].tests[0].line.clone())
    };
    let (claim, variant, ..) = judged(&whole);
    assert_eq!((claim, variant), (Status::Met, Status::Met));
    let (claim, variant, rehearsal, line) = judged(&rehearsed);
    assert_eq!((claim, variant), (Status::Undecided, Status::Undecided));
    assert!(rehearsal && line.contains("a rehearsal"), "{line}");
}

#[test]
fn rows_vary_how_answers_are_sampled_and_what_bodies_have_besides() {
    let head = "name = \"t\"\n[defaults]\ninput_tokens = 256\noutput_tokens = 64\nrate_per_s = 1\n";
    let rows = read(&format!(
        "{head}[[rows]]\nname = \"A\"\n[[rows]]\nname = \"B\"\ntemperature = 0.7\ntop_p = 0.9\ntop_k = \
         -1\nsampling_seed = 7\n[[rows]]\nname = \"C\"\nextra_body = {{ repetition_penalty = 1.1 }}\n"
    ))
    .rows;
    let [a, b, c] = [0, 1, 2].map(|place: usize| &rows[place].settings);
    assert_eq!(b.differences(a), [MatrixVariable::Sampling]);
    let said = b.variable(MatrixVariable::Sampling);
    assert_eq!(said.as_deref(), Some("temperature 0.7, top_p 0.9, top_k -1, sampling seed 7"));
    assert_eq!(c.differences(a), [MatrixVariable::ExtraBody]);
    assert_eq!(c.variable(MatrixVariable::ExtraBody).as_deref(), Some(r#"{"repetition_penalty":1.1}"#));
    // What a row says counts before what was typed.
    let typed = crate::engine::Sampling { top_p: Some(0.5), ..crate::engine::Sampling::default() };
    let sampled = b.sampled(&typed);
    assert_eq!((sampled.temperature, sampled.top_p, sampled.seed), (Some(0.7), Some(0.9), Some(7)));
    assert_eq!((a.sampled(&typed).temperature, a.sampled(&typed).top_p), (Some(0.0), Some(0.5)));
    let grid = read(&format!("{head}[grid]\ntemperature = [0, 0.7]\ntop_k = [5, 50]\n")).rows;
    let names: Vec<_> = grid.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["temp0-topk5", "temp0-topk50", "temp0_7-topk5", "temp0_7-topk50"]);
}

#[test]
fn a_misspelt_sampling_parameter_is_answered_with_the_right_one() {
    let of = |row: &str| {
        mistakes(&format!(
            "name = \"t\"\n[[rows]]\nname = \"A\"\ninput_tokens = 1\noutput_tokens = 1\nrate_per_s = 1\n{row}\n"
        ))
    };
    for (row, answer) in [
        ("temprature = 0.7", "temperature"),
        ("temperature = -1", "0"),
        ("top_p = 2", "top_p"),
        ("top_k = 1.5", "is 1.5, which is not a whole number"),
        ("extra_body = 5", "is not a table of fields"),
        ("extra_body = { api_key = \"hunter2\" }", "give it with --extra-body or --header"),
        ("arrival = \"all_at_onse\"", "all_at_once"),
        ("arrival = \"all_at_once\"\nrequests = 8", "has no rate and no users"),
    ] {
        let refusal = of(row);
        assert!(refusal.contains(answer) && !refusal.contains("hunter2"), "{row}: {refusal}");
    }
}

#[test]
fn a_row_of_requests_all_at_once_has_no_rate() {
    // The warm-up of the defaults is of a rate: here it would leave nothing to measure.
    let head = "name = \"t\"\n[defaults]\ninput_tokens = 256\noutput_tokens = 64\nrate_per_s = 1\nwarmup_s = 5\n";
    let table = read(&format!(
        "{head}[[rows]]\nname = \"A\"\n[[rows]]\nname = \"B\"\narrival = \"all_at_once\"\nrequests = 64\n\
         [[rows]]\nname = \"C\"\nrequests = 64\n"
    ));
    let [a, b, c] = [0, 1, 2].map(|place: usize| &table.rows[place].settings);
    assert_eq!((b.rate_per_s, b.requests), (None, Some(64)));
    assert_eq!(b.differences(a), [MatrixVariable::Load, MatrixVariable::Arrival]);
    let load = [MatrixVariable::Arrival, MatrixVariable::Load].map(|variable| b.variable(variable));
    assert_eq!(load, [Some("all at once".to_owned()), Some("64 requests".to_owned())]);
    let spec = b.spec("B").unwrap();
    assert_eq!((spec.requests, spec.warmup_s), (Some(64), 0.0));
    let plan = crate::generator::Schedule::draw(&spec);
    assert_eq!(plan.facts().measured_requests, 64);
    let warm = Settings { warmup_s: Some(5.0), ..b.clone() }.spec("B").unwrap_err();
    assert!(warm.contains("`warmup_s` is given with `arrival = \"all_at_once\"`"), "{warm}");
    let moments: Vec<_> = plan.plan().map(|request| request.scheduled).collect();
    assert_eq!(moments, [crate::clock::Timestamp::ZERO; 64]);
    let refusal = c.spec("C").unwrap_err();
    assert!(refusal.contains("`requests` is given, which only `arrival = \"all_at_once\"` has"), "{refusal}");
    let missing = settings(|row| {
        (row.rate_per_s, row.output_tokens, row.arrival) = (None, Some(1), Some(Spacing::AllAtOnce));
    });
    assert!(missing.spec("D").unwrap_err().contains("`requests` is missing"));
    // Stored, and read again as it was.
    let kept = serde_json::to_value(&table).unwrap();
    assert_eq!(Experiments::from_stored(&kept).unwrap(), table);
}
