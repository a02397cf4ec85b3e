//! Sentences about flags that mean nothing here, or something else.

use super::*;

/// Sentences about a flag or a subject.
fn said(line: &str, about: &str) -> Vec<String> {
    let gaps = translate(&shlex::split(line).unwrap()).unwrap().differences;
    let is_about = |gap: &&super::super::TranslationGap| gap.about.split(", ").any(|known| known == about);
    gaps.iter().filter(is_about).map(|gap| gap.sentence.clone()).collect()
}

#[test]
fn no_flag_of_the_load_is_left_out_without_a_word() {
    let vllm = "vllm bench serve --num-prompts 9";
    let ramp = "--ramp-up-strategy linear --ramp-up-start-rps 1 --ramp-up-end-rps 9";
    for (line, about) in [
        (format!("{vllm} {ramp} --request-rate 5"), "--request-rate 5"),
        (format!("{vllm} --ramp-up-start-rps 1"), "--ramp-up-start-rps 1"),
        (format!("{vllm} --burstiness 2"), "--burstiness 2"),
        (format!("{vllm} --dataset-name burstgpt --request-rate 5"), "--request-rate 5"),
        (format!("{vllm} --dataset-name timed_trace {ramp}"), "--ramp-up-strategy linear"),
        (format!("{vllm} --sweep-max-concurrency 1,2 --request-rate 5"), "--request-rate 5"),
        (format!("{vllm} --sweep-max-concurrency 1,2 --max-concurrency 5"), "--max-concurrency 5"),
        ("sglang.bench_serving --dataset-name mooncake --request-rate 5".to_owned(), "--request-rate 5"),
        ("guidellm benchmark --profile synchronous --rate 5".to_owned(), "--rate 5"),
        ("guidellm benchmark --profile poisson --rate 5,6 --rampup 3".to_owned(), "--rampup"),
        ("aiperf profile --input-file t --fixed-schedule --request-rate 5".to_owned(), "--request-rate 5"),
        ("aiperf profile --request-rate 5 --concurrency 1,2".to_owned(), "--concurrency 1,2"),
        ("aiperf profile --arrival-pattern constant".to_owned(), "--arrival-pattern constant"),
        ("aiperf profile --trajectory-start-max-ratio 0.7".to_owned(), "--trajectory-start-min-ratio"),
    ] {
        let said = said(&line, about);
        assert!(said.iter().any(|said| said.starts_with("not used: ") || said.starts_with("no option of a")), "{line}");
    }
    assert!(said(&format!("{vllm} {ramp} --request-rate inf"), "--request-rate inf").is_empty());
    for (line, options) in [
        (
            format!("{vllm} --sweep-request-rate 1,2 --max-concurrency 5 --burstiness 2"),
            "--burstiness 2 --max-concurrency 5",
        ),
        (format!("{vllm} --dataset-name burstgpt --max-concurrency 5"), "--max-concurrency 5"),
        ("sglang.bench_serving --dataset-name mooncake --max-concurrency 5".to_owned(), "--max-concurrency 5"),
        ("aiperf profile --request-rate 5,6 --concurrency 4".to_owned(), "--max-concurrency 4"),
        ("aiperf profile --request-rate 5,6 --arrival-pattern constant".to_owned(), "--arrival constant"),
    ] {
        let words = translate(&shlex::split(&line).unwrap()).unwrap().words.join(" ");
        assert!(words.contains(options), "{line}: {words}");
    }
}

#[test]
fn load_that_does_not_count_and_a_late_start_are_said_of_runs_that_have_them() {
    let uncounted =
        |line: &str| format!("{:?}", translate(&shlex::split(line).unwrap()).unwrap()).contains("uncounted");
    let staggered = |line: &str| {
        ["--concurrency", "--profile concurrent"].iter().any(|about| said(line, about).concat().contains("within 5 s"))
    };
    for (line, has_more, begins_late) in [
        ("aiperf profile --request-rate 5 --request-count 9", false, false),
        ("aiperf profile --request-rate 5 --benchmark-duration 9", true, false),
        ("aiperf profile --concurrency 5 --request-count 9", false, false),
        ("aiperf profile --concurrency 5 --benchmark-duration 9", true, true),
        ("aiperf profile --benchmark-duration 9", true, false),
        ("guidellm benchmark --profile constant --rate 5 --max-requests 9", false, false),
        ("guidellm benchmark --profile constant --rate 5 --max-seconds 9", true, false),
        ("guidellm benchmark --profile concurrent --rate 5 --max-requests 9", false, false),
        ("guidellm benchmark --profile concurrent --rate 5 --max-seconds 9", true, true),
        ("guidellm benchmark --profile sweep --max-seconds 9", false, false),
        (
            "guidellm run --profile kind=replay --data kind=mooncake,path=t --constraint kind=max_duration,seconds=9",
            false,
            false,
        ),
    ] {
        assert_eq!((uncounted(line), staggered(line)), (has_more, begins_late), "{line}");
    }
}
