//! Facts about servers, by whoever reports them.

use serde_json::json;

use super::*;
use crate::analysis::test_runs::{exporter, run};

#[test]
fn what_nobody_told_is_missing() {
    let mut log = run(1_000, Vec::new());
    let all: Vec<_> =
        Fact::ALL.iter().copied().filter(|fact| !matches!(fact, Fact::EngineVersion | Fact::Network)).collect();
    assert_eq!(Reproduction::from_log(&log).missing, all, "the version is known, and that there is no network");
    log.header.engines[0].serving_flags.insert("vllm_config.model_config.dtype".into(), "bfloat16".into());
    log.header.telemetry.push(exporter());
    let found = [Fact::Hardware, Fact::Precision, Fact::Driver, Fact::ServingFlags];
    let rest: Vec<_> = all.into_iter().filter(|fact| !found.contains(fact)).collect();
    assert_eq!(Reproduction::from_log(&log).missing, rest);
    assert_eq!(Reproduction::from_log(&log).value(Fact::Hardware), Some("1 × NVIDIA H100"));
    log.header.engines[0].engine = "mock".to_owned();
    assert!(Reproduction::from_log(&log).missing.is_empty());
}

/// Returns the reported value of `fact`, and its source.
fn fact_of(header: &RunHeader, fact: Fact) -> Option<(String, FactSource)> {
    let reported = Sources::from_header(header).reported(fact)?;
    Some((reported.value, reported.source))
}

fn by(source: FactSource, value: &str) -> (String, FactSource) {
    (value.to_owned(), source)
}

#[test]
fn a_person_is_believed_first_and_then_the_server() {
    let mut header = run(1_000, Vec::new()).header;
    header.engines[0].server_version = None;
    assert!(Fact::ALL.iter().all(|fact| *fact == Fact::Network || fact_of(&header, *fact).is_none()));
    for (name, value) in [
        ("vllm_config.model_config.dtype", json!("bfloat16")),
        ("vllm_config.parallel_config.tensor_parallel_size", json!(4)),
        ("vllm_config.cache_config.cache_dtype", json!("fp8")),
    ] {
        header.engines[0].serving_flags.insert(name.to_owned(), value);
    }
    assert_eq!(fact_of(&header, Fact::Precision), Some(by(FactSource::Server, "bfloat16")));
    assert_eq!(tensor_parallel(&header), Some(4));
    for (name, value) in [("version", "0.32"), ("tp", "2"), ("flags", "--x")] {
        header.deployment.labels.insert(name.to_owned(), value.to_owned());
    }
    header.deployment.precision = Some("fp8".to_owned());
    assert_eq!(fact_of(&header, Fact::Precision), Some(by(FactSource::User, "fp8")));
    assert_eq!(tensor_parallel(&header), Some(2));
    assert_eq!(fact_of(&header, Fact::EngineVersion), Some(by(FactSource::User, "0.32")));
    assert_eq!(fact_of(&header, Fact::ServingFlags), Some(by(FactSource::User, "--x")));
    header.engines[0].server_version = Some("0.33".to_owned());
    assert_eq!(fact_of(&header, Fact::EngineVersion), Some(by(FactSource::Server, "0.33")));
}

#[test]
fn a_person_is_believed_before_an_exporter() {
    let mut header = run(1_000, Vec::new()).header;
    header.telemetry.push(exporter());
    assert_eq!(fact_of(&header, Fact::Hardware), Some(by(FactSource::Exporter, "1 × NVIDIA H100")));
    assert_eq!(fact_of(&header, Fact::Driver), Some(by(FactSource::Exporter, "580.1")));
    header.deployment.hardware = Some("h200".to_owned());
    assert_eq!(fact_of(&header, Fact::Hardware), Some(by(FactSource::User, "h200")));
    assert_eq!(fact_of(&header, Fact::Driver), Some(by(FactSource::Exporter, "580.1")));
}

#[test]
fn quantisation_is_the_precision_before_the_format_that_it_is_computed_in() {
    let dtype = ("vllm_config.model_config.dtype", json!("bfloat16"));
    for (quantisation, precision) in [("fp8", "fp8"), ("none", "bfloat16")] {
        let name = "vllm_config.model_config.quantization";
        let header = with_settings(&[(name, json!(quantisation)), dtype.clone()]);
        assert_eq!(fact_of(&header, Fact::Precision), Some(by(FactSource::Server, precision)));
    }
}

#[test]
fn devices_that_were_never_busy_are_the_hosts() {
    let mut log = run(1_000, Vec::new());
    let page =
        TelemetrySource { kind: Some(PageKind::Nvml), hardware: Some("2 × NVIDIA H100".to_owned()), ..exporter() };
    log.header.telemetry.push(page);
    let device =
        |busy: f64| crate::record::DeviceReading { gauges: [(Gauge::Utilisation, busy)].into(), ..Default::default() };
    let mut hardware = |second: f64| {
        let devices = [("0".to_owned(), device(0.9)), ("1".to_owned(), device(second))].into();
        log.telemetry.readings = vec![Reading { devices, ..Reading::default() }];
        let facts = Reproduction::from_log(&log);
        let fact = facts.reported.iter().find(|fact| fact.name == Fact::Hardware).unwrap();
        (fact.value.clone(), fact.source)
    };
    assert_eq!(hardware(0.8), by(FactSource::Nvml, "2 × NVIDIA H100"));
    assert_eq!(hardware(0.0), by(FactSource::Nvml, "2 × NVIDIA H100 (GPUs of the host; 1 busy)"));
}

#[test]
fn a_format_that_the_server_was_to_choose_is_not_known() {
    let mut header = run(1_000, Vec::new()).header;
    header.engines[0].serving_flags.insert("dtype".to_owned(), json!("auto"));
    assert_eq!(fact_of(&header, Fact::Precision), None);
}

/// A header with these settings of the server.
fn with_settings(settings: &[(&str, Value)]) -> RunHeader {
    let mut header = run(1_000, Vec::new()).header;
    let named = |(name, value): &(&str, Value)| ((*name).to_owned(), value.clone());
    header.engines[0].serving_flags = settings.iter().map(named).collect();
    header
}

#[test]
fn each_server_reports_facts_under_its_own_names() {
    let vllm = with_settings(&[
        ("vllm_config.attention_config.backend", json!("FLASH_ATTN")),
        ("vllm_config.cache_config.cache_dtype", json!("auto")),
        ("vllm_config.model_config.revision", json!("0e9e39f2")),
        ("vllm_config.model_config.tokenizer", json!("meta-llama/Llama-3.1-8B")),
        ("vllm_config.parallel_config.data_parallel_size", json!(2)),
        ("vllm_config.parallel_config.pipeline_parallel_size", json!(1)),
        ("vllm_config.scheduler_config.policy", json!("priority")),
        ("vllm_config.speculative_config.draft_parallel_config.tensor_parallel_size", json!(1)),
        ("system_env.cuda_runtime_version", json!("12.9.86")),
        ("system_env.gpu_topo", json!("NVLink (NV18)")),
        ("system_env.nvidia_driver_version", json!("580.95.05")),
        ("system_env.nvidia_gpu_models", json!("NVIDIA H100 80GB HBM3")),
    ]);
    for (fact, value) in [
        (Fact::Hardware, "NVIDIA H100 80GB HBM3"),
        (Fact::KvCacheDtype, "auto"),
        (Fact::ModelRevision, "0e9e39f2"),
        (Fact::Tokenizer, "meta-llama/Llama-3.1-8B"),
        (Fact::PipelineParallel, "1"),
        (Fact::DataParallel, "2"),
        (Fact::AttentionBackend, "FLASH_ATTN"),
        (Fact::SchedulingPolicy, "priority"),
        (Fact::Cuda, "12.9.86"),
        (Fact::Driver, "580.95.05"),
        (Fact::Interconnect, "NVLink (NV18)"),
    ] {
        assert_eq!(fact_of(&vllm, fact), Some(by(FactSource::Server, value)), "{fact:?}");
    }
    assert_eq!(fact_of(&vllm, Fact::TensorParallel), None, "a draft model's is not the model's");
    let sglang = with_settings(&[
        ("attention_backend", json!("fa3")),
        ("kv_cache_dtype", json!("fp8_e5m2")),
        ("pp_size", json!(2)),
        ("schedule_policy", json!("lpm")),
        ("tokenizer_path", json!("deepseek-ai/DeepSeek-R1")),
        ("tp_size", json!(16)),
        ("weight_version", json!("default")),
    ]);
    for (fact, value) in [
        (Fact::AttentionBackend, "fa3"),
        (Fact::KvCacheDtype, "fp8_e5m2"),
        (Fact::TensorParallel, "16"),
        (Fact::PipelineParallel, "2"),
        (Fact::SchedulingPolicy, "lpm"),
        (Fact::Tokenizer, "deepseek-ai/DeepSeek-R1"),
    ] {
        assert_eq!(fact_of(&sglang, fact), Some(by(FactSource::Server, value)), "{fact:?}");
    }
    assert_eq!(fact_of(&sglang, Fact::ModelRevision), None, "`default` names no revision");
    let tgi = with_settings(&[("model_sha", json!("7ad57997")), ("model_dtype", json!("torch.float16"))]);
    assert_eq!(fact_of(&tgi, Fact::ModelRevision), Some(by(FactSource::Server, "7ad57997")));
    assert_eq!(fact_of(&tgi, Fact::Precision), Some(by(FactSource::Server, "torch.float16")));
}

#[test]
fn a_stated_fact_is_believed_before_the_server_and_fills_what_nobody_reports() {
    let mut header = with_settings(&[("tp_size", json!(4)), ("kv_cache_dtype", json!("auto"))]);
    header.engines[0].url = "http://10.0.0.7:8000".to_owned();
    assert_eq!(fact_of(&header, Fact::Network), None);
    header.deployment.gpus = Some(8);
    for (fact, value) in [(Fact::TensorParallel, "8"), (Fact::Network, "25 GbE"), (Fact::Storage, "local NVMe")] {
        header.deployment.facts.insert(fact, value.to_owned());
    }
    assert_eq!(tensor_parallel(&header), Some(8));
    for (fact, value) in [(Fact::Gpus, "8"), (Fact::Network, "25 GbE"), (Fact::Storage, "local NVMe")] {
        assert_eq!(fact_of(&header, fact), Some(by(FactSource::User, value)));
    }
}
