//! What is said of the flags of several tools alike.

pub(super) const CLOSED_LOOP: &str = "a closed loop: each user sends its next request when the last is answered, so the server decides the rate";
pub(super) const UNCOUNTED: &str =
    "a run of so many seconds goes on with uncounted load until the last counted request is done";
pub(super) const ENDPOINTS: &str = "no equal: Skyline speaks OpenAI's chat and completions (--endpoint), and the command asks for one of them";
pub(super) const KEY: &str =
    "Skyline takes the key from the environment: export OPENAI_API_KEY, or --api-key-env VAR";
pub(super) const TIME_OR_NUMBER: &str =
    "a run ends after a time or after a number of requests: here after the time";
pub(super) const PREFIXES: &str = "prefixes that prompts share are `shared_prefix` of a class in a workload file (skyline workloads \
                                   show agents); here every prompt is as long, and all of it is its own";
pub(super) const SESSIONS: &str =
    "conversations are `conversation` of a class in a workload file (skyline guide conversations)";
pub(super) const MODELS: &str = "several models are `models` in a workload file (skyline guide workloads)";
pub(super) const MEDIA: &str =
    "images, audio and video are parts of messages in a workload file; here prompts are text";
pub(super) const ONE_PROMPT: &str = "no equal: one prompt a request";
pub(super) const TOKENIZER: &str = "not needed: a tokenizer is a file, and nothing of it is executed";
pub(super) const ROWS: &str = "Skyline reads files: write its prompts there first, one {\"prompt\": \"…\", \"output_tokens\": N} a line";
pub(super) const SHARE_GPT: &str = "ShareGPT_V3_unfiltered_cleaned_split.json";
pub(super) const DOWNLOADED: &str = "the tool downloads the file; Skyline reads one that is there";
