//! Backends that speak no chats and no completions.

use super::{aiperf, vllm};

#[test]
fn backends_without_chats_are_the_endpoints_of_their_servers() {
    for (flags, options) in [
        ("--backend tgi --endpoint /generate_stream", "--engine tgi --endpoint tgi --"),
        ("--backend tgi --endpoint /v1/generate_stream", "--endpoint tgi --path /v1/generate_stream --"),
        (
            "--backend tensorrt-llm --endpoint /v2/models/ensemble/generate_stream",
            "--engine trtllm --endpoint triton --",
        ),
        (
            "--backend tensorrt-llm --endpoint /v2/models/m/generate_stream",
            "--endpoint triton --path /v2/models/m/generate_stream",
        ),
        (
            "--backend openai-audio --endpoint /v1/audio/transcriptions --dataset-name hf",
            "--endpoint transcriptions --",
        ),
    ] {
        let said = vllm(&format!("{flags} --model m"));
        assert!(said.contains(options) && !said.contains("--endpoint completions"), "{flags}: {said}");
    }
    let audio = vllm("--backend openai-audio --dataset-name hf --dataset-path openslr/librispeech_asr --model m");
    assert!(audio.contains("--output-tokens 128") && !audio.contains("--input-tokens"), "{audio}");
    let audio = aiperf("--endpoint-type openai_audio_transcription --audio-length-mean 30 -m m --url x:8000");
    assert!(audio.contains("--endpoint transcriptions") && audio.contains("--audio 30s"), "{audio}");
    assert!(!audio.contains("--input-tokens"), "{audio}");
}
