//! Options that people type and that are none here: those of other tools, of other verbs, and near misses.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::foreign::commands::flag_here;
use crate::workload::Slo;
use crate::workload::library::is_address;

/// The options, and what to type in their place. Others of vLLM, GuideLLM and AIPerf are known by the tables that translate
/// their command lines.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "--seconds --duration --max-seconds --benchmark-duration --run-time -d -t",
        "the length of a run stands behind the workload: skyline bench short_chat 60",
    ),
    ("--workload", "the workload stands behind the verb: skyline bench short_chat 60"),
    (
        "--concurrency --num-concurrent-requests --vus --connections -c",
        "--users N is a closed loop of N users; --max-concurrency N caps what is in flight under a rate",
    ),
    (
        "--rps --qps --request-rate --rate -R",
        "--rate PER_S says how many requests a second leave; a sweep has --rates, a trace --rate-scale",
    ),
    (
        "--max-requests --request-count --num-requests --max-num-completed-requests --iterations --num-prompts \
         --num-prompt --requests -n",
        "--requests N ends the run after N requests; a sweep has --samples N for each of its runs",
    ),
    (
        "--warmup-request-count --warmup-requests --num-warmups",
        "bench, sweep and ab have --warmup-requests N; --warmup TIME leaves the first part of a run out of the \
         figures",
    ),
    (
        "--target --host --port --server --endpoint-url -u",
        "--url names the server with its port: --url http://host:8000",
    ),
    (
        "--endpoint-type --service-kind --llm-api",
        "--engine says which server it is (vllm, sglang, openai, …), --endpoint whether it is chat or completions",
    ),
    (
        "--dataset-name --data --input-file --public-dataset",
        "--input-tokens and --output-tokens make prompts of a length; a file is --dataset FILE, for ShareGPT with \
         --dataset-format sharegpt",
    ),
    (
        "--random-range-ratio",
        "it is part of the lengths: --input-tokens vllm_range:1024:0.5 draws what vLLM draws for 1024 and 0.5",
    ),
    (
        "--random-prefix-len --prefix-repetition-prefix-len",
        "prefixes that prompts share are `shared_prefix` of a class in a workload file: skyline workloads show agents",
    ),
    (
        "--sharegpt-output-len --custom-output-len --hf-output-len --output-len --random-output --osl \
         --mean-output-tokens",
        "--output-tokens says how long answers are, as in 128, 100..400 or normal:256:128",
    ),
    (
        "--input-len --random-input --isl --synthetic-input-tokens-mean --mean-input-tokens --prompt-tokens",
        "--input-tokens says how long prompts are, as in 1024, 100..400 or normal:256:128",
    ),
    (
        "--synthetic-input-tokens-stddev --isl-stddev --stddev-input-tokens",
        "it is part of the lengths: --input-tokens normal:MEAN:STD",
    ),
    (
        "--output-tokens-mean --output-tokens-stddev --osl-stddev --stddev-output-tokens",
        "it is part of the lengths: --output-tokens normal:MEAN:STD",
    ),
    (
        "--ramp-up-strategy --ramp-up-start-rps --ramp-up-end-rps --rampup",
        "--ramp FROM:TO:OVER raises the rate, as in --ramp 1:20:60s",
    ),
    (
        "--stage --stages --spawn-rate",
        "--ramp FROM:TO:OVER raises the rate; more stages are the arrivals of a workload file (skyline guide \
         workloads)",
    ),
    (
        "--ignore-eos --disable-ignore-eos",
        "there is nothing to say: answers are forced to the requested length where the engine can; extra fields of \
         the body are --extra-body",
    ),
    (
        "--save-detailed",
        "there is nothing to say: every request is stored in run.jsonl; --format vllm writes vLLM's own file",
    ),
    ("--append-result", "each run has a folder of its own under --out; skyline compare reads several"),
    (
        "--result-filename --output-path --output-file --profile-export-file",
        "--format json=PATH writes the summary there; the run's folder stands under --out",
    ),
    ("--result-dir --results-dir --artifact-dir --output-dir", "--out DIR is where runs get their folders"),
    ("--metadata", "--label NAME=VALUE keeps anything with the run"),
    ("--disable-tqdm --disable-progress", "--quiet shows no progress"),
    ("--ready-check-timeout-sec", "--wait TIME says how long to wait for the server"),
    (
        "--profile --profile-batch",
        "Skyline does not profile the server; a sweep over rates or users is `skyline sweep`",
    ),
    (
        "--rate-type",
        "--rate, --users and --arrival say what load there is; `skyline sweep` raises it step by step",
    ),
    (
        "--logprobs --best-of --stop --min-p --frequency-penalty --presence-penalty --repetition-penalty \
         --extra-inputs --extra-request-body",
        "it is a field of the request: --extra-body '{\"min_p\": 0.1}'",
    ),
    ("--streaming --stream", "answers are streamed unless --no-stream is given"),
    ("--disable-stream", "--no-stream asks for answers in one piece"),
    ("--flush-cache", "--reset-cache empties the server's prefix cache before each run"),
    ("--random-seed", "--seed is that of the schedule, --sampling-seed that of the server"),
    ("--api-key --token", "--api-key-env VAR names the environment variable that holds the key"),
    ("--output -o", "--out DIR is where runs get their folders; --format json=PATH writes a file"),
    ("--verbose -v", "--full shows all of the report"),
];

/// Verbs of other tools, and ours.
const VERBS: &[(&str, &str)] = &[
    ("run start load loadtest benchmark perf profile attack", "bench short_chat 60 runs a workload"),
    ("serve server", "mock is a server of known behaviour; your own is named by --url"),
    ("diff", "compare results/A results/B compares stored runs"),
    ("show view results summary", "report shows a stored run again"),
    ("list ls", "workloads lists the workloads, skyline report results the stored runs"),
    ("predict", "simulate short_chat predicts a run"),
    ("search", "sweep short_chat finds the highest rate"),
    ("ping health doctor", "check --url http://host:8000 checks a server"),
    ("docs", "guide lists the topics"),
];

/// What is wrong with a command line, and the cure; `None` where clap knows best.
pub(in crate::cli) fn advice(error: &clap::Error, command: &Command) -> Option<String> {
    let context = |kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.as_str()),
        ContextValue::Strings(texts) => texts.first().map(String::as_str),
        _ => None,
    };
    if error.kind() == ErrorKind::InvalidSubcommand {
        let typed = context(ContextKind::InvalidSubcommand)?;
        let (_, meant) = VERBS.iter().find(|(names, _)| names.split(' ').any(|name| name == typed))?;
        return Some(format!("`{typed}` is no verb of skyline\nhint: skyline {meant}"));
    }
    let typed = context(ContextKind::InvalidArg)?;
    match error.kind() {
        ErrorKind::UnknownArgument if typed.starts_with('-') => instead_of(typed, command),
        ErrorKind::UnknownArgument => stray_value(typed),
        ErrorKind::ValueValidation if !typed.starts_with('-') => {
            stray_value(context(ContextKind::InvalidValue)?)
        }
        ErrorKind::InvalidValue if typed.starts_with("--endpoint ") => {
            let path = context(ContextKind::InvalidValue).filter(|value| value.starts_with('/'))?;
            Some(format!(
                "`{path}` is not the usual path of an endpoint\nhint: --path {path} takes a path as it is"
            ))
        }
        ErrorKind::ArgumentConflict => {
            let other = context(ContextKind::PriorArg).filter(|other| *other != typed)?;
            Some(format!("{typed} cannot be used with {other}\nhint: leave one of them out"))
        }
        _ => None,
    }
}

/// Hint for a bound behind those of `--slo`, and for an address.
fn stray_value(typed: &str) -> Option<String> {
    if is_address(typed) {
        return Some(
            "an address belongs to an option\nhint: --url names the server: --url http://host:8000"
                .to_owned(),
        );
    }
    Slo::typed(typed).ok()?;
    Some(format!(
        "`{typed}` belongs to no option\nhint: bounds of --slo have commas between them: ttft=500ms,tpot=50ms"
    ))
}

/// What to type in place of an option that is none here.
fn instead_of(typed: &str, command: &Command) -> Option<String> {
    let name = typed.split('=').next().unwrap_or(typed);
    let rows = ELSEWHERE.iter().find(|(names, _)| names.split(' ').any(|known| known == name));
    let hyphens = name.replace('_', "-");
    let hint = match (rows, verbs_with(&hyphens, command)) {
        (Some((_, hint)), _) => (*hint).to_owned(),
        (None, Some(_)) if hyphens != name => format!("it is written with hyphens: {hyphens}"),
        (None, Some(verbs)) => format!("it is an option of {verbs}"),
        (None, None) => flag_here(&hyphens)?,
    };
    Some(format!("`{name}` is not an option here\nhint: {hint}"))
}

/// The verbs that have this option.
fn verbs_with(option: &str, command: &Command) -> Option<String> {
    let name = option.strip_prefix("--")?;
    let has = |verb: &&Command| {
        verb.get_arguments().any(|arg| {
            arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|names| names.contains(&name))
        })
    };
    let verbs: Vec<_> = command.get_subcommands().filter(has).map(Command::get_name).collect();
    (!verbs.is_empty()).then(|| verbs.join(", "))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn verbs_that_are_hinted_at_are_ours_and_those_of_others_are_not() {
        let command = Cli::command();
        for (names, hint) in VERBS {
            let ours = hint.split(' ').next().unwrap_or_default();
            assert!(command.find_subcommand(ours).is_some(), "{ours}");
            assert!(names.split(' ').all(|name| command.find_subcommand(name).is_none()), "{names}");
        }
    }

    fn said(typed: &[&str]) -> Option<String> {
        let command = Cli::command();
        advice(&command.clone().try_get_matches_from([&["skyline"], typed].concat()).unwrap_err(), &command)
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
            (&["bench", "short_chat", "--trust-remote-code"], "nothing of it is executed"),
            (&["bench", "short_chat", "--num-profile-runs=3"], "here it is --repeats"),
            (
                &["bench", "short_chat", "--dataset-sampling-strategy=random"],
                "skyline from-aiperf -- aiperf profile",
            ),
            (&["bench", "short_chat", "--num_prompts=3"], "with hyphens: --num-prompts"),
            (&["bench", "short_chat", "--samples=3"], "it is an option of sweep, simulate"),
            (&["bench", "short_chat", "9", "--slo", "ttft=1s", "tpot=9ms"], "commas between them"),
            (&["bench", "short_chat", "--slo", "ttft=1s", "tpot=9ms"], "commas between them"),
            (&["bench", "short_chat", "--users=3", "--rate=3"], "leave one of them out"),
            (&["check", "http://host:8000"], "--url http://host:8000"),
            (&["check", "host:8000"], "--url http://host:8000"),
            (&["bench", "short_chat", "http://key@host:8000"], "--url http://host:8000"),
            (&["run", "short_chat"], "skyline bench short_chat 60"),
            (&["diff", "a", "b"], "skyline compare"),
        ] {
            let said = said(typed).unwrap_or_default();
            assert!(said.contains(cure), "{typed:?}: {said}");
        }
        assert_eq!(said(&["bench", "short_chat", "--objectiv", "x"]), None);
        assert_eq!(said(&["bench", "short_chat", "9", "more"]), None);
        assert_eq!(said(&["bench", "short_chat", "--rate", "fast"]), None);
    }

    #[test]
    fn hints_name_options_that_there_are() {
        let command = Cli::command();
        let is_known = |name: &str| {
            let mut arguments = command.get_subcommands().flat_map(Command::get_arguments);
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
        let mut names: Vec<_> = ELSEWHERE.iter().flat_map(|(names, _)| names.split(' ')).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
