//! Every kind of mistake is found, named with its path and line, and reported together with all others.

use crate::workload::spec::WorkloadSpec;
use crate::workload::tests::{LEAST, said_of};

const NASTY_TOML: &str = r#"name = "my chat"
horizon = 60
warmup_s = "five"
drain_s = -1
seed = 1.5
colour = "blue"

[arrival]
kind = "poison"
rate_per_s = 10

[[classes]]
name = "chat"
weight = inf
input_tokens = { kind = "normal", mean = 256, stddev = 128, min = 2000, max = 1024 }
output_tokens = { kind = "uniform", min = 0, max = 99.5 }
slo = { ttft = 200 }
priorities = [
    { priority = "urgent", weight = 0.7 },
    { priority = "low", weight = 0.3, slo = { tpot_ms = 0 } },
]
[classes.prompt]
kind = "templates"
templates = ["", 7]

[[classes]]
name = "rag"
input_tokens = 4000
output_tokens = { mean = 10 }
prompt = { kind = "retrieval", questions = [] }
"#;

const NASTY_JSON: &str = r#"{
  "name": null,
  "requests": 0,
  "seed": -3,
  "seed": 4,
  "arrival": { "kind": "stages", "stages": [
    { "duration_s": 10, "from_rate_per_s": 0 },
    { "duration_s": 0, "to_rate": 5, "from_rate_per_s": 1e999 }
  ] },
  "classes": [
    { "name": "a", "weight": true,
      "input_tokens": { "kind": "empirical", "values": [1, 2], "weights": [1] },
      "output_tokens": { "kind": "log_normal", "median": 100, "sigma": 0.1, "min": 500 } },
    "b"
  ]
}"#;

#[test]
fn all_mistakes_of_a_toml_file_are_reported_at_once() {
    insta::assert_snapshot!(said_of(NASTY_TOML));
}

#[test]
fn all_mistakes_of_a_json_file_are_reported_at_once() {
    insta::assert_snapshot!(WorkloadSpec::from_json(NASTY_JSON, "my.json").unwrap_err());
}

#[test]
fn syntax_errors_have_their_line_and_cause() {
    insta::assert_snapshot!(said_of("name = \"x\"\nseed = \nhorizon_s = 60\n[arrival\nkind = \"poisson\"\nseed 4"), @r"
    3 mistakes in my.toml
      line 2: not valid TOML: string values must be quoted, expected literal string
      line 4: not valid TOML: unclosed table, expected `]`
      line 6: not valid TOML: key with no value, expected `=`
    ");
    insta::assert_snapshot!(said_of("name = \"x\"\nname = \"y\""), @r"
    1 mistake in my.toml
      line 2: not valid TOML: duplicate key, at `name`
    ");
    for (text, said) in [
        ("{\n  \"name\": \"x\",\n}", "line 2: not valid JSON: Trailing commas are not allowed"),
        ("{\n  // c\n}", "line 2: not valid JSON: Comments are not allowed"),
        ("", "line 1: not valid JSON: the file is empty"),
        ("[1", "line 1: not valid JSON: Unterminated array"),
    ] {
        let error = WorkloadSpec::from_json(text, "my.json").unwrap_err().to_string();
        assert_eq!(error, format!("1 mistake in my.json\n  {said}"));
    }
    let error = WorkloadSpec::from_json("[]", "my.json").unwrap_err().to_string();
    assert_eq!(
        error,
        "1 mistake in my.json\n  line 1: the spec is a list; it must be a table that describes a workload"
    );
}

/// One mistake in an otherwise correct spec: `(replaced text, replacement, whole message)`.
const ONE_EACH: &[(&str, &str, &str)] = &[
    ("name = \"least\"", "", "line 1: `name` is missing; a workload needs it"),
    ("\"least\"", "\"\"", "line 2: `name` is \"\"; it must be 1 to 64 letters a–z, digits, `_` and `-`"),
    ("arrival = { kind = \"poisson\", rate_per_s = 2 }", "", "line 1: `arrival` is missing; a workload needs it"),
    (
        "rate_per_s = 2",
        "rate = 2",
        "line 3: `arrival.rate` is not a field of a poisson arrival; did you mean `rate_per_s`? \
         (allowed: kind, rate_per_s)",
    ),
    (", rate_per_s = 2", "", "line 3: `arrival.rate_per_s` is missing; a poisson arrival needs it"),
    ("= 2 }", "= nan }", "line 3: `arrival.rate_per_s` is nan; it must be a number above 0, at most 1,000,000"),
    (
        "= 2 }",
        "= 1979-05-27 }",
        "line 3: `arrival.rate_per_s` is the date 1979-05-27; it must be a number above 0, at most 1,000,000",
    ),
    (
        "kind = \"poisson\", rate_per_s = 2",
        "kind = \"stages\", stages = [{ duration_s = 1, from_rate_per_s = 0 }]",
        "line 3: `arrival.stages` has a rate of 0 throughout; give at least one stage a rate above 0",
    ),
    (
        "kind = \"poisson\"",
        "kind = \"gamma\", burstiness = 0.001",
        "line 3: `arrival.burstiness` is 0.001; it must be a number from 0.01 to 1,000",
    ),
    (
        "kind = \"poisson\"",
        "kind = \"gamma\"",
        "line 3: `arrival.burstiness` is missing; give it, or `cv`, the coefficient of variation of the gaps",
    ),
    (
        "kind = \"poisson\"",
        "kind = \"weibull\", shape = 2, cv = 2",
        "line 3: `arrival.cv` repeats `shape`; keep one of them",
    ),
    (
        "kind = \"poisson\"",
        "kind = \"weibull\", cv = 9",
        "line 3: `arrival.cv` is 9; it must be a number from 0.04 to 8",
    ),
    (
        "kind = \"poisson\", rate_per_s = 2",
        "kind = \"markov\", states = [{ rate_per_s = 1, mean_s = 5 }]",
        "line 3: `arrival.states` has one state, between which nothing changes; give two or more",
    ),
    (
        "kind = \"poisson\", rate_per_s = 2",
        "kind = \"markov\", states = [{ rate_per_s = 0, mean_s = 5 }, { rate_per_s = 0, mean_s = 1 }]",
        "line 3: `arrival.states` has a rate of 0 throughout; give at least one state a rate above 0",
    ),
    (
        "kind = \"poisson\"",
        "kind = \"diurnal\", period_s = 60, amplitude = 1.5",
        "line 3: `arrival.amplitude` is 1.5; it must be a number above 0, at most 1",
    ),
    (
        "kind = \"poisson\", rate_per_s = 2",
        "kind = \"spikes\", base_rate_per_s = 2, spikes = [{ at_s = 1, rate_per_s = 9, hold_s = 0 }]",
        "line 3: `arrival.spikes[0]` has no duration; give it a rise, a hold or a fall",
    ),
    (
        "kind = \"poisson\", rate_per_s = 2",
        "kind = \"spikes\", base_rate_per_s = 2, spikes = [{ at_s = 9, rate_per_s = 9, hold_s = 2 }, \
         { at_s = 10, rate_per_s = 9, hold_s = 2 }]",
        "line 3: `arrival.spikes[1]` begins at 10 s, and the spike before it ends at 11 s; put spikes in order, each \
         after the end of the last",
    ),
    (
        "kind = \"poisson\", rate_per_s = 2",
        "kind = \"clients\", clients = [{ rate_per_s = 1e6 }, { rate_per_s = 1 }]",
        "line 3: `arrival.clients` has 2 clients that send 1000001 requests/s together; the most is 10000 clients and \
         a rate above 0, at most 1,000,000",
    ),
    (
        "kind = \"poisson\"",
        "kind = \"population\", clients = 20000",
        "line 3: `arrival.clients` is 20000; it must be a whole number from 1 to 10,000",
    ),
    (
        "kind = \"poisson\"",
        "kind = \"population\", clients = 20, rates = { kind = \"zip\", exponent = 1 }",
        "line 3: `arrival.rates.kind` is \"zip\"; did you mean \"zipf\"? (allowed: equal, zipf, log_normal)",
    ),
    (
        "name = \"only\"",
        "name = \"only\"\narrival = { kind = \"poisson\", rate_per_s = 1 }",
        "line 3: `arrival` is given, and classes have arrivals of their own; keep one, or one for each class",
    ),
    (
        "kind = \"poisson\", rate_per_s = 2",
        "kind = \"by_class\", classes = [{ kind = \"poisson\", rate_per_s = 2 }, \
         { kind = \"poisson\", rate_per_s = 2 }]",
        "line 3: `arrival` has 2 processes for 1 classes; give one for each",
    ),
    (
        "name = \"least\"",
        "name = \"least\"\nwarmup_s = 60",
        "line 3: `warmup_s` is 60 s, and the run ends at 60 s: nothing would be measured; make the warm-up shorter \
         than the horizon",
    ),
    (
        "name = \"least\"",
        "name = \"least\"\nrequests = 10\nwarmup_s = 5",
        "line 4: `warmup_s` is 5 s, in which about 10.0 requests arrive, and the run has 10: none would be measured; \
         shorten the warm-up or ask for more requests",
    ),
    (
        "rate_per_s = 2",
        "rate_per_s = 0.01",
        "line 1: `horizon_s` is 60 s, and after 0 s of warm-up only 0.600 requests are expected; raise the rate \
         or lengthen the run",
    ),
    (
        "name = \"only\"",
        "name = \"only\"\nweight = 0",
        "line 4: `classes` has no weight above 0; give at least one a share",
    ),
    (
        "name = \"only\"",
        "name = \"only\"\npriorities = [{ priority = \"low\" }, { priority = \"low\" }]",
        "line 6: `classes[0].priorities[1]` has the priority \"low\" a second time; join the two shares",
    ),
    (
        "name = \"only\"",
        "name = \"only\"\npriorities = []",
        "line 6: `classes[0].priorities` is an empty list; it needs at least one item",
    ),
    (
        "name = \"only\"",
        "name = \"only\"\nprompt = { kind = \"templates\", templates = [\" \"] }",
        "line 6: `classes[0].prompt.templates[0]` is \" \"; it must be a text that is not blank",
    ),
    (
        "value = 10",
        "value = 1_000_001",
        "line 6: `classes[0].input_tokens.value` is 1000001; it must be a whole number from 1 to 1,000,000",
    ),
    (
        "{ kind = \"constant\", value = 10 }",
        "{ kind = \"uniform\", min = 9, max = 3 }",
        "line 6: `classes[0].input_tokens.min` is 9, above `max`, which is 3; swap them or move one",
    ),
    (
        "{ kind = \"constant\", value = 10 }",
        "{ kind = \"normal\", mean = 100, std = 10, min = 200 }",
        "line 6: `classes[0].input_tokens` keeps less than 0.1 % of its draws between `min` 200 and `max` 1000000; \
         widen them, move the centre between them, or choose the kind uniform or constant",
    ),
    (
        "{ kind = \"constant\", value = 10 }",
        "{ kind = \"empirical\", values = [4, 5], weights = [0, 0] }",
        "line 6: `classes[0].input_tokens.weights` has no weight above 0; give at least one a share",
    ),
    (
        "name = \"only\"",
        "name = \"only\"\nshared_prefix = { count = 0, tokens = 10 }",
        "line 6: `classes[0].shared_prefix.count` is 0; it must be a whole number from 1 to 100,000",
    ),
    (
        "name = \"only\"",
        "name = \"only\"\nshared_prefix = { count = 2, tokens = 0 }",
        "line 6: `classes[0].shared_prefix.tokens` is 0; it must be a whole number from 1 to 1,000,000",
    ),
    (
        "name = \"only\"",
        "name = \"only\"\nshared_prefix = { count = 2, tokens = 9, zipf = 6 }",
        "line 6: `classes[0].shared_prefix.zipf` is 6; it must be a number from 0 to 5",
    ),
    (
        "name = \"only\"",
        "name = \"only\"\nshared_prefix = { count = 2, tokens = 9, warm = 2 }",
        "line 6: `classes[0].shared_prefix.warm` is 2; it must be a number from 0 to 1",
    ),
    (
        "name = \"least\"",
        "name = \"least\"\ntenants = [{ name = \"a\" }, { name = \"a\" }]",
        "line 3: `tenants[1]` has the name \"a\" of a tenant before it; give it its own",
    ),
    (
        "name = \"least\"",
        "name = \"least\"\ntenants = [{ name = \"a\", classes = [\"onyl\"] }]",
        "line 3: `tenants[0].classes[0]` is \"onyl\"; it must be the name of a class: one of only",
    ),
    (
        "name = \"least\"",
        "name = \"least\"\ntenants = [{ name = \"a\", weight = 0 }]",
        "line 3: `tenants` has none with a weight above 0 that sends the class \"only\"; name it in the `classes` of \
         one",
    ),
    (
        "name = \"least\"",
        "name = \"least\"\nmodels = { names = [\"a\", \"a\"] }",
        "line 3: `models.names[1]` names \"a\" a second time; add the two weights",
    ),
    (
        "name = \"least\"",
        "name = \"least\"\nmodels = { names = [\"a\"], weights = [1], zipf = 1 }",
        "line 3: `models.zipf` is given with `weights`; give one of them",
    ),
    (
        "name = \"least\"",
        "name = \"least\"\nmodels = { names = [\"a\"], weights = [1, 2] }",
        "line 3: `models.weights` has length 2 and `names` 1; give one weight for each, or none",
    ),
    (
        "kind = \"constant\", value = 10",
        "kind = \"gauss\", value = 10",
        "line 6: `classes[0].input_tokens.kind` is \"gauss\"; it must be one of constant, uniform, normal, log_normal, \
         exponential, empirical, vllm_range, sglang_range",
    ),
];

#[test]
fn each_kind_of_mistake_has_its_sentence() {
    for (good, bad, message) in ONE_EACH {
        assert!(LEAST.contains(good), "{good}");
        assert_eq!(said_of(&LEAST.replacen(good, bad, 1)), format!("1 mistake in my.toml\n  {message}"));
    }
}

#[test]
fn two_classes_may_not_share_a_name() {
    let class = &LEAST[LEAST.find("[[classes]]").unwrap()..];
    let error = said_of(&format!("{LEAST}{class}"));
    let said = "line 8: `classes[1]` has the name \"only\" of a class before it; give it its own";
    assert_eq!(error, format!("1 mistake in my.toml\n  {said}"));
}

#[test]
fn classes_have_arrivals_of_their_own_or_share_one() {
    let class = &LEAST[LEAST.find("[[classes]]").unwrap()..];
    let own = class.replace("\"only\"", "\"other\"\narrival = { kind = \"poisson\", rate_per_s = 1 }");
    let shared = "arrival = { kind = \"poisson\", rate_per_s = 2 }";
    let error = said_of(&format!("{}{own}", LEAST.replace(shared, "")));
    let said = "line 4: `classes` have arrivals of their own or share the workload's, all of them; give one to each or \
                none";
    assert_eq!(error, format!("1 mistake in my.toml\n  {said}"));
    let weighed = format!("name = \"all_own\"\n{own}weight = 3\n");
    let said = "line 2: `classes` have arrivals of their own, whose rates say how many requests each has; leave out \
        the weight of \"other\"";
    assert_eq!(said_of(&weighed), format!("1 mistake in my.toml\n  {said}"));
}

#[test]
fn thousands_of_mistakes_are_cut_short() {
    let values = vec!["0"; 1000].join(", ");
    let error = said_of(&LEAST.replace("\"constant\", value = 10", &format!("\"empirical\", values = [{values}]")));
    assert!(error.starts_with("1000 mistakes in my.toml\n"), "{error}");
    assert!(error.ends_with("\n  … and 950 more"), "{error}");
}

#[test]
fn names_given_twice_are_reported_beside_what_is_wrong_with_their_tables() {
    let text = "name = \"two\"\nhorizon_s = 60\n[arrival]\nkind = \"poisson\"\nrate_per_s = 2\n\
                [[classes]]\nname = \"c\"\ninput_tokens = 0\n\
                output_tokens = { kind = \"constant\", value = 1 }\n[[classes]]\nname = \"c\"\n\
                input_tokens = { kind = \"constant\", value = 1 }\n\
                output_tokens = { kind = \"constant\", value = 1 }\n\
                [[tenants]]\nname = \"a\"\nclasses = [3]\n[[tenants]]\nname = \"a\"\n";
    let error = WorkloadSpec::from_toml(text, "a test").unwrap_err().to_string();
    for message in [
        "`classes[0].input_tokens` is 0",
        "`classes[1]` has the name \"c\" of a class before it",
        "`tenants[0].classes[0]` is 3",
        "`tenants[1]` has the name \"a\" of a tenant before it",
    ] {
        assert!(error.contains(message), "{message}: {error}");
    }
}

#[test]
fn arrivals_that_stand_only_in_run_logs_are_not_offered() {
    let text = "name = \"a\"\n[arrival]\nkind = \"traces\"\n";
    let error = WorkloadSpec::from_toml(text, "a test").unwrap_err().to_string();
    assert!(
        error.contains("clients, population") && !error.contains("trace,") && !error.contains("by_class"),
        "{error}"
    );
}
