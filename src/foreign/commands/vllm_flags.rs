//! The flags of `vllm bench serve` in Python and in Rust, and what each means here.

use super::flags::Takes::{Many, Nothing, One};
use super::flags::{Flags, differs, read, same, switch};
use super::sentences::{MEDIA, MODELS, ONE_PROMPT, PREFIXES, SESSIONS, TOKENIZER};

const OWN_PAGE: &str = "not needed: the run's report.html has it";
const OWN_MOMENTS: &str = "a trace is always replayed at its own moments";
const FILE_SAYS: &str = "rows of a file are taken as they are";
const FIELDS: &str = "the fields of a trace are found by their usual names (skyline guide traces)";
const WINDOW: &str =
    "not needed: the verdict says whether the run was steady; --warmup TIME leaves a first part out";
const WARM_SHARE: &str =
    "a shared part of some prompts is `shared_prefix` with `warm` in a workload file (skyline guide prompts)";
const PROFILER: &str = "no equal: start the server's profiler by itself";

/// The flags, by what they mean.
#[rustfmt::skip]
pub(super) const FLAGS: &[Flags] = &[
    read(One, "--base-url --host --port --endpoint --backend|--endpoint-type --model --served-model-name
               --ready-check-timeout-sec"),
    read(One, "--num-prompts --request-rate --max-concurrency --burstiness
               --ramp-up-strategy --ramp-up-start-rps --ramp-up-end-rps --sweep-max-concurrency --sweep-request-rate"),
    read(One, "--dataset-name --dataset-path --input-len --output-len
               --random-input-len|--random-input --random-output-len|--random-output --random-range-ratio --random-prefix-len
               --sharegpt-output-len --custom-output-len --hf-output-len
               --sonnet-input-len --sonnet-output-len --sonnet-prefix-len
               --prefix-repetition-prefix-len --prefix-repetition-suffix-len --prefix-repetition-output-len"),
    read(One, "--min-p --frequency-penalty --presence-penalty --repetition-penalty --logprobs
               --extra-body --chat-template-kwargs"),
    read(One, "--label --result-dir --result-filename"),
    read(Many, "--goodput --header --metadata"),
    read(Nothing, "--disable-shuffle --save-result --save-detailed --append-result --ignore-eos"),
    switch("--insecure", "--insecure"),
    switch("--quiet", "--disable-tqdm"),
    switch("--dry-run", "--dry-run"),
    switch("--reset-cache", "--reset-prefix-cache"),
    same("--repeats", "--num-runs"),
    same("--tokenizer", "--tokenizer"),
    same("--seed", "--seed"),
    same("--warmup-requests", "--num-warmups"),
    same("--temperature", "--temperature"),
    same("--top-p", "--top-p"),
    same("--top-k", "--top-k"),
    same("--percentiles", "--metric-percentiles"),
    differs(One, "not needed: the report has all of them", "--percentile-metrics"),
    differs(Nothing, TOKENIZER, "--trust-remote-code --skip-tokenizer-init"),
    differs(One, TOKENIZER, "--tokenizer-mode"),
    differs(Nothing, "--endpoint completions sends prompts as they are", "--skip-chat-template"),
    differs(Nothing, "it is about how vLLM loads data sets; answers stream here too", "--no-stream"),
    differs(Nothing, "rows are sent again when the file has fewer than the run has requests", "--no-oversample"),
    differs(One, "requests have ids of their own", "--request-id-prefix"),
    differs(Nothing, OWN_PAGE, "--plot-timeline --plot-dataset-stats"),
    differs(One, OWN_PAGE, "--timeline-itl-thresholds"),
    differs(Nothing, PROFILER, "--profile"),
    differs(One, PROFILER, "--profile-batch-threshold --profile-duration"),
    differs(One, "no equal: run a second `skyline bench` at that rate beside the first", "--probe-request-rate"),
    differs(Nothing, "no equal: one answer a request", "--use-beam-search"),
    differs(Many, MODELS, "--lora-modules"),
    differs(One, MODELS, "--lora-assignment"),
    differs(Nothing, OWN_MOMENTS, "--self-timed --no-self-timed"),
    differs(One, ONE_PROMPT, "--random-batch-size"),
    differs(One, PREFIXES, "--prefix-repetition-num-prefixes"),
    differs(One, FILE_SAYS, "--hf-split --hf-subset --hf-name --bfcl-categories
                             --blazedit-min-distance --blazedit-max-distance --spec-bench-output-len --spec-bench-category
                             --speed-bench-category --speed-bench-dataset-subset|--speed-bench-config --speed-bench-output-len
                             --speed-bench-max-input-len"),
    differs(One, "a column of another name is `prompt_column` in a workload file (skyline guide prompts)", "--hf-text-column"),
    differs(One, FIELDS, "--timed-trace-chunk-hash-size --timed-trace-sec-multiplier --timed-trace-label-timestamp
                          --timed-trace-label-input-length --timed-trace-label-output-length --timed-trace-label-hash-ids"),
    differs(One, "not needed: the server's own limit is found before the run, and prompts beyond it are named", "--max-model-len"),
    differs(Nothing, "token ids as prompts are `random_tokens` in a workload file (skyline guide prompts)", "--prompt-token-ids"),
    differs(One, WARM_SHARE, "--random-cache-hit-fraction --random-cache-ratio"),
    differs(One, WINDOW, "--steady-state-threshold --steady-state-min-window"),
    differs(Nothing, WINDOW, "--no-steady-state"),
    differs(One, "--samples N says how many requests each run of a sweep measures", "--sweep-num-prompts-factor"),
    differs(One, "--percentiles gives the tables other columns", "--sweep-summary-percentiles"),
    differs(Many, "results are compared by a verb of their own: skyline compare FILE_A FILE_B", "--compare"),
    differs(Nothing, SESSIONS, "--multi-turn"),
    differs(One, SESSIONS, "--multi-turn-num-turns --multi-turn-min-turns --multi-turn-max-turns --multi-turn-concurrency
                            --multi-turn-delay-ms --multi-turn-prefix-global-ratio --multi-turn-prefix-conversation-ratio
                            --per-turn-input-len"),
    differs(Nothing, ONE_PROMPT, "--no-reranker"),
    differs(Nothing, MEDIA, "--enable-multimodal-chat --custom-ensure-client-side-data"),
    differs(One, MEDIA, "--asr-max-audio-len-sec --asr-min-audio-len-sec"),
    differs(One, MEDIA, "--random-mm-base-items-per-request --random-mm-num-mm-items-range-ratio
                         --random-mm-limit-mm-per-prompt --random-mm-bucket-config"),
];
