//! The rows of the catalogue: each figure's name, unit, formula and source.

use super::cost_rows::COSTS;
use super::info::{Direction, Elsewhere, FigureInfo, GAUGE, PREFIX_HITS, Samples, latency, rate, reported, share};
use super::unit::Unit;

/// The catalogue, in the order of reports and of `Metric`.
pub(super) const CATALOGUE: [FigureInfo; 47] = [
    FigureInfo {
        of_parts: true,
        meaning: "time to first token, from the scheduled moment; in a closed loop from sending",
        source: "from the scheduled moment, as wrk2 and MLPerf LoadGen: no coordinated omission",
        ..latency("ttft", "TTFT", "first token − scheduled")
    },
    FigureInfo {
        meaning: "time to first token, from sending",
        source: "vLLM bench",
        elsewhere: &[Elsewhere { tool: VLLM, name: "ttft", formula: "first chunk − sent" }],
        ..latency("ttft_from_send", "TTFT from send", "first token − sent")
    },
    FigureInfo {
        meaning: "time to the first token that is not reasoning, from the scheduled moment; in a closed loop from \
            sending",
        ..latency("ttfa", "TTFA", "first token that is not reasoning − scheduled")
    },
    FigureInfo {
        of_parts: true,
        meaning: "time per output token after the first",
        source: "vLLM bench",
        elsewhere: &[
            Elsewhere { tool: VLLM, name: "tpot", formula: TPOT },
            Elsewhere { tool: AIPERF, name: "inter_token_latency", formula: TPOT },
            Elsewhere { tool: NIM, name: "inter_token_latency", formula: TPOT },
        ],
        ..latency("tpot", "TPOT", "(last − first token) / (N − 1)")
    },
    FigureInfo {
        meaning: "time per output token after those of the first chunk",
        ..latency("tpot_adjusted", "TPOT adjusted", "(last − first token) / (N − tokens of the first chunk)")
    },
    FigureInfo {
        samples: Samples::PerGap,
        meaning: "time between tokens",
        ..latency("itl", "ITL", "gap / k, counted k times, of each gap that brings k tokens")
    },
    FigureInfo {
        samples: Samples::PerGap,
        meaning: "time between chunks as they arrived",
        source: "vLLM bench and SGLang, which call it ITL",
        elsewhere: &[
            Elsewhere { tool: VLLM, name: "itl", formula: CHUNK_GAP },
            Elsewhere { tool: SGLANG, name: "itl", formula: CHUNK_GAP },
            Elsewhere { tool: AIPERF, name: "inter_chunk_latency", formula: CHUNK_GAP },
        ],
        ..latency("chunk_gap", "chunk gap", "chunk − the chunk before")
    },
    FigureInfo {
        of_parts: true,
        meaning: "end-to-end latency, from the scheduled moment; in a closed loop from sending",
        source: "from the scheduled moment, as wrk2 and MLPerf LoadGen: no coordinated omission",
        ..latency("e2e", "e2e", "last token − scheduled")
    },
    FigureInfo {
        meaning: "end-to-end latency, from sending",
        source: "vLLM bench",
        elsewhere: &[Elsewhere { tool: VLLM, name: "e2el", formula: "last chunk − sent" }],
        ..latency("e2e_from_send", "e2e from send", "last token − sent")
    },
    FigureInfo {
        meaning: "how late the client dispatched requests",
        ..latency("schedule_lag", "schedule lag", "dispatched − scheduled")
    },
    FigureInfo {
        meaning: "wait for a slot under the concurrency cap",
        ..latency("queue_wait", "queue wait", "admitted − dispatched, under --max-concurrency")
    },
    FigureInfo {
        field: "goodput_per_s",
        of_parts: true,
        meaning: "requests scheduled in the window that completed, met their SLO if any has one, and were not wrong",
        source: "DistServe (OSDI 2024)",
        ..rate(
            "goodput",
            "goodput",
            Unit::REQUESTS_PER_SECOND,
            "requests scheduled in the window that met their SLO / window",
        )
    },
    FigureInfo {
        field: "completed_requests_per_s",
        meaning: "requests whose answer was complete in the window",
        ..rate("request_rate", "requests", Unit::REQUESTS_PER_SECOND, "answers completed in the window / window")
    },
    FigureInfo {
        meaning: "inputs (texts, or pairs with a query) whose answer was complete in the window; absent for texts",
        ..rate("inputs_per_s", "inputs", Unit::INPUTS_PER_SECOND, "inputs answered in the window / window")
    },
    FigureInfo {
        meaning: "seconds of audio whose answer was complete in the window; absent where requests have none",
        elsewhere: &[Elsewhere { tool: VLLM, name: "rtfx", formula: "seconds of audio / duration" }],
        ..rate("audio_seconds_per_s", "audio", Unit::AUDIO_PER_SECOND, "seconds of audio answered / window")
    },
    FigureInfo {
        meaning: "prompt tokens of the requests whose first token arrived in the window and that did not fail",
        ..rate("input_tokens_per_s", "input tokens", Unit::TOKENS_PER_SECOND, "prompt tokens / window")
    },
    FigureInfo {
        meaning: "answer tokens that arrived in the window, of answers that did not fail",
        ..rate("output_tokens_per_s", "output tokens", Unit::TOKENS_PER_SECOND, "answer tokens / window")
    },
    FigureInfo {
        meaning: "answer tokens that arrived in the window, of all answers",
        ..rate(
            "arrived_output_tokens_per_s",
            "output tokens that arrived",
            Unit::TOKENS_PER_SECOND,
            "answer tokens / window, failed answers included",
        )
    },
    FigureInfo {
        meaning: "answer tokens that arrived in the window, of answers that did not fail, per GPU; absent where their \
            number is not declared",
        ..rate(
            "output_tokens_per_s_per_gpu",
            "output tokens/s per GPU",
            Unit::TOKENS_PER_SECOND,
            "answer tokens / window / GPUs",
        )
    },
    FigureInfo {
        meaning: "answer tokens per second that one user sees once they flow; the wait for the first is left out",
        elsewhere: &[Elsewhere {
            tool: AIPERF,
            name: "output_token_throughput_per_user",
            formula: "1 / inter_token_latency, of each request",
        }],
        ..rate("tokens_per_s_per_user", "tokens/s per user", Unit::TOKENS_PER_SECOND, "1 s / median TPOT")
    },
    FigureInfo {
        meaning: "answer tokens per second from the scheduled moment to the last token: half are at least so fast",
        elsewhere: &[Elsewhere {
            tool: AIPERF,
            name: "e2e_output_token_throughput",
            formula: "N / request latency, of each request",
        }],
        ..rate(
            "tokens_per_s_per_request",
            "tokens/s per request",
            Unit::TOKENS_PER_SECOND,
            "1 / p50 over requests of e2e / N",
        )
    },
    FigureInfo {
        meaning: "answer tokens per second of a slow request: 19 in 20 are at least so fast",
        ..rate(
            "p5_tokens_per_s_per_request",
            "p5 tokens/s per request",
            Unit::TOKENS_PER_SECOND,
            "1 / p95 over requests of e2e / N",
        )
    },
    FigureInfo {
        better: Direction::Less,
        meaning: "real-time factor, the time of a request over that of its audio: half have at most this; absent where \
            requests have none",
        elsewhere: &[Elsewhere { tool: AIPERF, name: "rtfx", formula: "seconds of audio / request latency" }],
        ..rate("rtf", "RTF", Unit::FACTOR, "p50 over requests of e2e / seconds of audio")
    },
    FigureInfo {
        better: Direction::Less,
        meaning: "real-time factor of a slow request: 19 in 20 have at most this",
        ..rate("p95_rtf", "p95 RTF", Unit::FACTOR, "p95 over requests of e2e / seconds of audio")
    },
    FigureInfo {
        meaning: "answer tokens of a complete answer, on average",
        ..rate("output_tokens_per_answer", "tokens per answer", Unit::TOKENS, "answer tokens / complete answers")
    },
    FigureInfo {
        better: Direction::Less,
        meaning: "requests in flight, from their slot where there is a cap, on average over the window",
        ..rate("in_flight", "in flight", Unit::REQUESTS, "time of all requests in flight / window")
    },
    reported(Unit::REQUESTS, ["running", "running", "requests that the server runs, on average", GAUGE]),
    reported(Unit::REQUESTS, ["waiting", "waiting", "requests that wait in the server, on average", GAUGE]),
    reported(Unit::SHARE, ["kv_usage", "KV use", "key-value cache in use: the largest reading", GAUGE]),
    FigureInfo { better: Direction::More, ..reported(Unit::SHARE, PREFIX_HITS) },
    FigureInfo {
        of_parts: true,
        meaning: "requests that failed, of those scheduled in the window",
        ..share("error_rate", "errors", Direction::Less, "failed / scheduled")
    },
    FigureInfo {
        of_parts: true,
        meaning: "requests that the server refused (429, 503), of those scheduled in the window",
        ..share("reject_rate", "rejects", Direction::Less, "refused / scheduled")
    },
    FigureInfo {
        of_parts: true,
        meaning: "requests that the client's time limits ended, of those scheduled in the window",
        ..share("timeout_rate", "timeouts", Direction::Less, "timed out / scheduled")
    },
    FigureInfo {
        of_parts: true,
        meaning: "requests that met all bounds of their SLO, of those that have one",
        source: "failed, censored and unsent requests count as misses",
        ..share("slo_attainment", "SLO attainment", Direction::More, "met / scheduled with an SLO")
    },
    FigureInfo {
        meaning: "answer tokens later than the bounds of their SLO on TTFT and TPOT allow; tokens of failed requests \
            that never came are late",
        source: "after the fluidity index of Etalon, whose moments begin anew after each miss",
        ..share("deadline_miss", "late tokens", Direction::Less, "tokens after TTFT bound + i × TPOT bound / tokens")
    },
    FigureInfo {
        meaning: "requests with at least one such token, of those with both bounds",
        source: "after the fluidity index of Etalon, whose moments begin anew after each miss",
        ..share(
            "deadline_miss_requests",
            "requests with late tokens",
            Direction::Less,
            "requests with a late token / requests with both bounds",
        )
    },
    FigureInfo {
        meaning: "prompt tokens that an endless prefix cache finds by the plan and that the server's did not find; \
            absent where prompts share nothing, or the server does not say what it found",
        ..share("cache_loss", "hits lost", Direction::Less, "least planned hit rate − measured hit rate, at least 0")
    },
    FigureInfo {
        meaning: "golden prompts that passed, of those that ended",
        ..share("check_pass_rate", "checks passed", Direction::More, "passed / ended")
    },
    FigureInfo {
        meaning: "answers of the requested form, of those that were complete",
        ..share("valid_answers", "valid answers", Direction::More, "valid / complete answers with a form")
    },
    FigureInfo {
        of_parts: true,
        meaning: "answers that are what the rows of a dataset expect, of those that were scored",
        ..share("accuracy", "accuracy", Direction::More, "right / right and wrong")
    },
    FigureInfo {
        better: Direction::Less,
        meaning: "attempts per request, of clients that retry or hedge; absent where each request is sent once",
        source: "Google, Site Reliability Engineering (2016), chapter 22: retries amplify an overload",
        ..rate("amplification", "attempts per request", Unit::REQUESTS, "attempts / requests")
    },
    COSTS[0],
    COSTS[1],
    COSTS[2],
    COSTS[3],
    COSTS[4],
    COSTS[5],
];

const VLLM: &str = "vllm bench";
const SGLANG: &str = "sglang bench_serving";
const AIPERF: &str = "aiperf";
const NIM: &str = "nim";
/// The tools that have other names for figures.
pub(in crate::analysis) const TOOLS: [&str; 4] = [VLLM, SGLANG, AIPERF, NIM];
const TPOT: &str = "(last − first chunk) / (N − 1)";
const CHUNK_GAP: &str = "gap between chunks";
