//! Conversations and closed-loop users in files: what is allowed and what is not.

use crate::workload::arrival::pattern::ArrivalPattern;
use crate::workload::arrival::think_time::ThinkTime;
use crate::workload::lengths::Distribution;
use crate::workload::overrides::Overrides;
use crate::workload::spec::WorkloadSpec;
use crate::workload::tests::{LEAST, said_of};

const GOES_ON: &str = "name = \"only\"\nconversation = { turns = 3, think_time_s = 2 }";

/// The least spec, whose only class has this conversation.
fn with_conversation(conversation: &str) -> String {
    LEAST.replace("name = \"only\"", &format!("name = \"only\"\nconversation = {{ {conversation} }}"))
}

fn closed(arrival: &str) -> String {
    LEAST.replace("{ kind = \"poisson\", rate_per_s = 2 }", &format!("{{ kind = \"users\", {arrival} }}"))
}

fn read(toml: &str) -> WorkloadSpec {
    WorkloadSpec::from_toml(toml, "a test").unwrap()
}

#[test]
fn numbers_stand_for_what_is_always_the_same() {
    let spec = read(&with_conversation("turns = 3, think_time_s = 2, first_input_tokens = 400"));
    let conversation = spec.classes[0].conversation.as_ref().unwrap();
    assert_eq!(conversation.turns, Distribution::Constant { value: 3 });
    assert_eq!(conversation.think_time_s, ThinkTime::Constant { value: 2.0 });
    assert_eq!(conversation.first_input_tokens, Some(Distribution::Constant { value: 400 }));
    assert_eq!((conversation.max_context_tokens, spec.mean_turns()), (None, 3.0));
}

#[test]
fn users_begin_spread_out_unless_a_file_says_how() {
    for (given, ramp_s) in [("users = 8", 0.4), ("users = 1000", 5.0), ("users = 8, ramp_s = 0", 0.0)] {
        let ArrivalPattern::Users { users, think_time_s, ramp_s: found } = read(&closed(given)).arrival else {
            panic!("no users in {given}")
        };
        assert!(users >= 8 && think_time_s == ThinkTime::default());
        assert_eq!(found, ramp_s, "{given}");
    }
}

#[test]
fn each_mistake_has_its_sentence() {
    let dataset = format!("{LEAST}prompt = {{ kind = \"dataset\", path = \"x.jsonl\", format = \"jsonl\" }}")
        .replace("input_tokens = { kind = \"constant\", value = 10 }\n", "");
    let tokens = format!("{LEAST}prompt = {{ kind = \"random_tokens\" }}");
    for (toml, said) in [
        (
            with_conversation("turns = 0, think_time_s = 2"),
            "line 6: `classes[0].conversation.turns` is 0; it must be a whole number from 1 to 1,000,000",
        ),
        (
            with_conversation("turns = { kind = \"exponential\", mean = 4 }, think_time_s = 2"),
            "line 6: `classes[0].conversation.turns` may be 1,000,000; give a `max` of 10,000 at most",
        ),
        (
            with_conversation("turns = 3, think_time_s = -1"),
            "line 6: `classes[0].conversation.think_time_s` is -1; it must be a number from 0 to 2,678,400",
        ),
        (
            with_conversation("turns = 3, think_time_s = { kind = \"uniform\", min = 5, max = 2 }"),
            "line 6: `classes[0].conversation.think_time_s.min` is 5, above `max`, which is 2; swap them or move one",
        ),
        (
            with_conversation("turns = 3"),
            "line 6: `classes[0].conversation.think_time_s` is missing; a conversation needs it",
        ),
        (
            dataset.replace("name = \"only\"", GOES_ON),
            "line 6: `classes[0].conversation` is given with a dataset, whose rows are whole requests; leave one of \
             them out, or choose another `prompt`",
        ),
        (
            tokens.replace("name = \"only\"", GOES_ON),
            "line 6: `classes[0].conversation` is given with token ids, and answers come as text, which cannot be put \
             between them; choose another `prompt`",
        ),
        (
            LEAST.replace("name = \"only\"", GOES_ON) + "images = { folder = \"x\" }",
            "line 9: `classes[0].images` is given with a conversation or a session, whose turns are texts; leave one \
             of them out",
        ),
        (closed("users = 0"), "line 3: `arrival.users` is 0; it must be a whole number from 1 to 100,000"),
        (
            closed("users = 4, ramp_s = 70"),
            "line 1: `horizon_s` is 60 s, and users still begin until 70 s (`ramp_s`); lengthen the run or let them \
             begin sooner",
        ),
        (
            closed("users = 4").replace("name = \"least\"", "name = \"least\"\nrequests = 3"),
            "line 3: `requests` is 3, and there are 4 users; ask for as many requests as users at least",
        ),
        (
            LEAST.replace("name = \"only\"", "name = \"only\"\narrival = { kind = \"users\", users = 3 }"),
            "line 6: `classes[0].arrival.kind` is \"users\"; it must be one of poisson, constant, gamma, weibull, \
             bursts, stages, markov, diurnal, spikes, clients, population",
        ),
    ] {
        assert!(said_of(&toml).ends_with(&format!("mistake in my.toml\n  {said}")), "{}\nin {toml}", said_of(&toml));
    }
}

#[test]
fn the_command_line_may_close_the_loop() {
    let users = |users, think_time_s| Overrides { users, think_time_s, ..Overrides::default() };
    let closed_by = |spec: WorkloadSpec, overrides: &Overrides| spec.with(overrides).unwrap();
    let spec = closed_by(read(LEAST), &users(Some(8), Some(0.5)));
    assert_eq!(spec.arrival, ArrivalPattern::of_users(8, ThinkTime::Constant { value: 0.5 }));
    // The number of requests comes from the file; users take seconds.
    let counted = read(&LEAST.replace("name = \"least\"", "name = \"least\"\nrequests = 90"));
    assert_eq!(closed_by(counted, &users(Some(8), None)).requests, None);
    // The think time of a file applies to other numbers of users too.
    let patient = closed_by(read(&closed("users = 2, think_time_s = 3")), &users(Some(9), None));
    assert_eq!(patient.arrival, ArrivalPattern::of_users(9, ThinkTime::Constant { value: 3.0 }));
    let own = |name: &str, rate| {
        let class = &LEAST[LEAST.find("[[classes]]").unwrap()..];
        class.replace("\"only\"", &format!("\"{name}\"\narrival = {{ kind = \"poisson\", rate_per_s = {rate} }}"))
    };
    let by_class = read(&format!("name = \"two\"\n{}{}", own("often", 9), own("rare", 3)));
    let spec = closed_by(by_class, &users(Some(4), None));
    assert_eq!(spec.classes.iter().map(|class| class.weight).collect::<Vec<_>>(), [9.0, 3.0]);
    let refused = |spec: WorkloadSpec, overrides: &Overrides| spec.with(overrides).unwrap_err().to_string();
    let rate = Overrides { rate_per_s: Some(3.0), ..Overrides::default() };
    assert!(refused(read(&closed("users = 2")), &rate).contains("`--users` says how many they are"));
    assert!(refused(read(LEAST), &Overrides { users: Some(3), ..rate }).contains("give one of them"));
    assert!(refused(read(LEAST), &users(None, Some(1.0))).contains("or give `--users`"));
    assert!(refused(read(LEAST), &users(Some(0), None)).contains("`--users` is 0; it must be a number from 1"));
}
