//! Options that people type and that are none: those of other tools, and near misses. What to type in their place.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The options, and the hint.
const ELSEWHERE: &[(&[&str], &str)] = &[
    (
        &["--seconds", "--duration", "--max-seconds", "--benchmark-duration", "-d"],
        "the length of a run stands behind the workload: skyline bench short_chat 60",
    ),
    (&["--workload"], "the workload stands behind the verb: skyline bench short_chat 60"),
    (
        &["--concurrency", "--vus", "--connections", "-c"],
        "--users N is a closed loop of N users; --max-concurrency N caps what is in flight under a rate",
    ),
    (
        &["--rps", "--qps", "--request-rate", "--rate"],
        "--rate PER_S says how many requests a second leave; a sweep has --rates, a trace --rate-scale",
    ),
    (
        &[
            "--max-requests",
            "--request-count",
            "--num-requests",
            "--iterations",
            "--num-prompts",
            "--requests",
            "-n",
        ],
        "--requests N ends the run after N requests; a sweep has --samples N for each of its runs",
    ),
    (
        &["--warmup-request-count", "--warmup-requests", "--num-warmups"],
        "bench, sweep and ab have --warmup-requests N; --warmup TIME leaves the first part of a run out of the figures",
    ),
    (
        &["--target", "--host", "--port", "--server", "--endpoint-url", "-u"],
        "--url names the server with its port: --url http://host:8000",
    ),
    (
        &["--backend", "--endpoint-type", "--service-kind"],
        "--engine says which server it is (vllm, sglang, openai, …), --endpoint whether it is chat or completions",
    ),
    (
        &["--dataset-name"],
        "--input-tokens and --output-tokens make prompts of a length; a file is --dataset FILE, for ShareGPT with \
      --dataset-format sharegpt",
    ),
    (
        &["--random-range-ratio"],
        "it is part of the lengths: --input-tokens vllm_range:1024:0.5 draws what vLLM draws for 1024 and 0.5",
    ),
    (
        &["--random-prefix-len", "--prefix-repetition-prefix-len", "--prefix-prompt-length"],
        "prefixes that prompts share are `shared_prefix` of a class in a workload file: skyline workloads show agents",
    ),
    (
        &[
            "--random-batch-size",
            "--sharegpt-output-len",
            "--custom-output-len",
            "--hf-output-len",
            "--output-len",
        ],
        "--output-tokens says how long answers are",
    ),
    (
        &["--input-len", "--synthetic-input-tokens-mean", "--isl", "--prompt-tokens"],
        "--input-tokens says how long prompts are, as in 1024, 100..400 or normal:256:128",
    ),
    (&["--osl"], "--output-tokens says how long answers are, as in 128, 100..400 or normal:256:128"),
    (&["--synthetic-input-tokens-stddev"], "it is part of the lengths: --input-tokens normal:MEAN:STD"),
    (
        &["--output-tokens-mean", "--output-tokens-stddev"],
        "it is part of the lengths: --output-tokens normal:MEAN:STD",
    ),
    (
        &["--ramp-up-strategy", "--ramp-up-start-rps", "--ramp-up-end-rps"],
        "--ramp FROM:TO:OVER raises the rate, as in --ramp 1:20:60s",
    ),
    (&["--percentile-metrics"], "there is nothing to choose: TTFT, TPOT, ITL and e2e are always shown"),
    (
        &["--metric-percentiles", "--percentiles"],
        "bench has --percentiles 50,95,99.5 for the table of latencies",
    ),
    (
        &["--ignore-eos"],
        "there is nothing to say: answers are forced to the requested length where the engine can; extra fields of the body are \
      --extra-body",
    ),
    (
        &["--save-detailed"],
        "there is nothing to say: every request is stored in run.jsonl; --format vllm writes vLLM's own file",
    ),
    (&["--append-result"], "each run has a folder of its own under --out; skyline compare reads several"),
    (
        &["--result-filename", "--output-path", "--profile-export-file"],
        "--format json=PATH writes the summary there; the run's folder stands under --out",
    ),
    (&["--result-dir", "--artifact-dir", "--output-dir"], "--out DIR is where runs get their folders"),
    (&["--metadata"], "--label NAME=VALUE keeps anything with the run"),
    (&["--disable-tqdm"], "--quiet shows no progress"),
    (&["--ready-check-timeout-sec"], "--wait TIME says how long to wait for the server"),
    (
        &["--trust-remote-code", "--tokenizer-mode"],
        "there is nothing to say: --tokenizer reads a tokenizer.json, which runs no code",
    ),
    (
        &["--profile", "--profile-batch"],
        "Skyline does not profile the server; a sweep over rates or users is `skyline sweep`",
    ),
    (
        &["--rate-type"],
        "--rate, --users and --arrival say what load there is; `skyline sweep` raises it step by step",
    ),
    (
        &["--use-beam-search", "--logprobs", "--best-of", "--lora-modules", "--stop"],
        "it is a field of the request: --extra-body '{\"logprobs\": 1}'; several models are `models` in a workload file",
    ),
    (&["--streaming", "--stream"], "answers are streamed unless --no-stream is given"),
    (&["--random-seed"], "--seed is that of the schedule, --sampling-seed that of the server"),
    (&["--api-key", "--token"], "--api-key-env VAR names the environment variable that holds the key"),
    (&["--output", "-o"], "--out DIR is where runs get their folders; --format json=PATH writes a file"),
    (&["--verbose", "-v"], "--full shows all of the report"),
];

/// What to type in place of what the command line does not know; `None` where clap knows best.
pub(in crate::cli) fn advice(error: &clap::Error) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let typed = text(ContextKind::InvalidArg)?;
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let name = typed.split('=').next().unwrap_or(typed);
            let (_, hint) = ELSEWHERE.iter().find(|(names, _)| names.contains(&name))?;
            Some(format!("`{name}` is not an option here\nhint: {hint}"))
        }
        ErrorKind::InvalidValue if typed.starts_with("--endpoint ") => {
            let path = text(ContextKind::InvalidValue).filter(|value| value.starts_with('/'))?;
            Some(format!(
                "`{path}` is not the usual path of an endpoint\nhint: --path {path} takes a path as it is"
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::cli::Cli;

    fn said(typed: &[&str]) -> Option<String> {
        advice(&Cli::try_parse_from([&["skyline"], typed].concat()).unwrap_err())
    }

    #[test]
    fn options_of_other_tools_are_known() {
        for (typed, cure) in [
            (&["bench", "short_chat", "--seconds", "60"][..], "skyline bench short_chat 60"),
            (&["bench", "short_chat", "--random-range-ratio=0.5"], "vllm_range:1024:0.5"),
            (&["bench", "short_chat", "--concurrency", "8"], "--users N"),
            (&["sweep", "short_chat", "--num-prompts", "8"], "--samples N"),
            (&["bench", "short_chat", "--endpoint-type", "chat"], "--engine"),
            (&["bench", "short_chat", "--endpoint", "/x/v1/completions"], "--path /x/v1/completions"),
        ] {
            let said = said(typed).unwrap_or_default();
            assert!(said.contains(cure), "{typed:?}: {said}");
        }
        assert_eq!(said(&["bench", "short_chat", "--objectiv", "x"]), None);
        assert_eq!(said(&["bench", "short_chat", "--rate", "fast"]), None);
    }

    #[test]
    fn hints_name_options_that_there_are() {
        let command = Cli::command();
        let is_known = |name: &str| {
            let mut arguments = command.get_subcommands().flat_map(clap::Command::get_arguments);
            arguments.any(|arg| arg.get_long() == Some(name))
        };
        for (_, hint) in ELSEWHERE {
            let words = hint.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
            for name in words.filter_map(|word| word.strip_prefix("--")) {
                assert!(is_known(name), "--{name} in: {hint}");
            }
        }
    }

    #[test]
    fn no_option_is_explained_twice() {
        let mut names: Vec<_> = ELSEWHERE.iter().flat_map(|(names, _)| names.iter()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
