//! Advice in the words of the server that was measured: it is written in vLLM's.

use crate::record::EngineFacts;
use crate::record::EngineKind::{Litellm, Llamacpp, Mock, Openai, Sglang, Tgi, Trtllm, Vllm};

/// Settings and metrics in each server's words. vLLM's come first, then SGLang's, TensorRT-LLM's, TGI's and
/// llama.cpp's, and words for any other server.
const NAMES: [(&str, [&str; 5]); 5] = [
    (
        "--gpu-memory-utilization",
        [
            "--mem-fraction-static",
            "--kv_cache_free_gpu_memory_fraction",
            "--cuda-memory-fraction",
            "--ctx-size",
            "its share of the memory",
        ],
    ),
    (
        "max_num_seqs",
        [
            "--max-running-requests",
            "--max_batch_size",
            "--max-batch-size",
            "--parallel",
            "its limit on requests at a time",
        ],
    ),
    (
        "max_num_batched_tokens",
        [
            "--chunked-prefill-size",
            "--max_num_tokens",
            "--max-batch-prefill-tokens",
            "--batch-size",
            "its limit on the tokens of a step",
        ],
    ),
    (
        "vllm:num_requests_waiting",
        [
            "sglang:num_queue_reqs",
            "trtllm_num_requests_waiting",
            "tgi_queue_size",
            "llamacpp:requests_deferred",
            "its count of waiting requests",
        ],
    ),
    (
        "--enforce-eager",
        ["--disable-cuda-graph", "eager mode", "--cuda-graphs 0", "GGML_CUDA_DISABLE_GRAPHS", "eager mode"],
    ),
];

/// `advice` with the names that the server of `engine` has for what it speaks of. Simulated servers have vLLM's.
pub(crate) fn in_words_of(engine: &EngineFacts, advice: &str) -> String {
    let column = match engine.kind() {
        _ if !engine.modelled.is_empty() => return advice.to_owned(),
        Some(Vllm | Mock) => return advice.to_owned(),
        Some(Sglang) => 0,
        Some(Trtllm) => 1,
        Some(Tgi) => 2,
        Some(Llamacpp) => 3,
        Some(Litellm | Openai) | None => 4,
    };
    NAMES.iter().fold(advice.to_owned(), |text, (vllm, others)| {
        // Of another server a name in parentheses says nothing that the words before it do not.
        let text = if column == 4 { text.replace(&format!(" ({vllm})"), "") } else { text };
        text.replace(vllm, others[column])
    })
}

/// Whether requests asked the server to keep an answer to its length. They did under its own dialect, or as was found
/// to work.
pub(crate) fn forces_length(engine: &EngineFacts) -> bool {
    match &engine.length_fields {
        // Templates have names of their own.
        Some(fields) => fields.contains("ignore_eos") || fields.contains("forced by"),
        None => {
            engine.endpoint != "messages" && matches!(engine.kind(), Some(Vllm | Mock | Sglang | Trtllm | Llamacpp))
        }
    }
}

/// Cure of a server that closes its connections.
pub(crate) fn keep_alive(engine: &EngineFacts) -> String {
    let option = if engine.kind() == Some(Vllm) { " (vLLM: VLLM_HTTP_TIMEOUT_KEEP_ALIVE)" } else { "" };
    format!(
        "raise the keep-alive timeout of the server{option}, or of the proxy before it: over 4 s, for which Skyline \
         keeps idle connections"
    )
}

/// Whether its prefix cache can be emptied by a request (`--reset-cache`).
pub(crate) fn may_be_emptied(engine: &EngineFacts) -> bool {
    matches!(engine.kind(), Some(Vllm | Mock | Sglang))
}

/// Whether they asked it to count the tokens of each chunk.
pub(crate) fn counts_chunks(engine: &EngineFacts) -> bool {
    let can_ask = matches!(&*engine.endpoint, "chat" | "completions");
    engine.streamed && can_ask && matches!(engine.kind(), Some(Vllm | Mock | Sglang | Trtllm))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::run;

    #[test]
    fn advice_names_the_settings_of_the_server_in_use_and_of_no_other() {
        let mut engine = run(1_000, Vec::new()).header.engines.remove(0);
        let advice = NAMES.map(|(vllm, _)| vllm).join(" ");
        let mut said = |name: &str| {
            name.clone_into(&mut engine.engine);
            in_words_of(&engine, &advice)
        };
        assert_eq!((said("vllm"), said("mock")), (advice.clone(), advice.clone()));
        for (column, name) in ["sglang", "trtllm", "tgi", "llamacpp", "openai"].into_iter().enumerate() {
            assert_eq!(said(name), NAMES.map(|(_, others)| others[column]).join(" "), "{name}");
            for (vllm, _) in NAMES {
                assert!(!said(name).contains(vllm), "{name}: {vllm}");
            }
        }
        let cure = "more memory (--gpu-memory-utilization), or fewer slots (max_num_seqs, or a cap)";
        let plain = "more memory, or fewer slots (its limit on requests at a time, or a cap)";
        assert_eq!(in_words_of(&engine, cure), plain);
    }
}
