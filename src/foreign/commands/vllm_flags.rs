//! The flags of `vllm bench serve`, and what each means here.

use super::flags::Takes::{Many, Nothing, One};
use super::flags::{Flags, differs, read, same};
use super::sentences::{MEDIA, MODELS, ONE_PROMPT, PREFIXES, TOKENIZER};

const OWN_PAGE: &str = "not needed: the run's report.html has it";
const OWN_MOMENTS: &str = "a trace is always replayed at its own moments";
const FILE_SAYS: &str = "rows of a file are taken as they are";

/// The flags, by what they mean.
#[rustfmt::skip]
pub(super) const FLAGS: &[Flags] = &[
    read(One, "--base-url --host --port --endpoint --backend|--endpoint-type --model --served-model-name
               --ready-check-timeout-sec"),
    read(One, "--num-prompts --request-rate --max-concurrency --burstiness
               --ramp-up-strategy --ramp-up-start-rps --ramp-up-end-rps"),
    read(One, "--dataset-name --dataset-path --input-len --output-len
               --random-input-len|--random-input --random-output-len|--random-output --random-range-ratio --random-prefix-len
               --sharegpt-output-len --custom-output-len --hf-output-len
               --sonnet-input-len --sonnet-output-len --sonnet-prefix-len
               --prefix-repetition-prefix-len --prefix-repetition-suffix-len --prefix-repetition-output-len"),
    read(One, "--min-p --frequency-penalty --presence-penalty --repetition-penalty --logprobs
               --extra-body --chat-template-kwargs"),
    read(One, "--label --result-dir --result-filename"),
    read(Many, "--goodput --header --metadata"),
    read(Nothing, "--disable-shuffle --insecure --disable-tqdm --save-result --save-detailed --append-result --ignore-eos"),
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
    differs(Nothing, "no equal: start the server's profiler by itself", "--profile"),
    differs(One, "no equal: run a second `skyline bench` at that rate beside the first", "--probe-request-rate"),
    differs(Nothing, "no equal: one answer a request", "--use-beam-search"),
    differs(Many, MODELS, "--lora-modules"),
    differs(One, MODELS, "--lora-assignment"),
    differs(Nothing, OWN_MOMENTS, "--self-timed --no-self-timed"),
    differs(One, ONE_PROMPT, "--random-batch-size"),
    differs(One, PREFIXES, "--prefix-repetition-num-prefixes"),
    differs(One, FILE_SAYS, "--hf-split --hf-subset --hf-name --bfcl-categories
                             --blazedit-min-distance --blazedit-max-distance --spec-bench-output-len --spec-bench-category
                             --speed-bench-category --speed-bench-dataset-subset --speed-bench-output-len"),
    differs(Nothing, MEDIA, "--enable-multimodal-chat --custom-ensure-client-side-data"),
    differs(One, MEDIA, "--random-mm-base-items-per-request --random-mm-num-mm-items-range-ratio
                         --random-mm-limit-mm-per-prompt --random-mm-bucket-config"),
];
