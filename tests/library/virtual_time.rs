//! A run in virtual time, as the tests of several binaries fly it.

use std::time::Duration;

use skyline::experiment::{SimulatedRun, VirtualRun};
use skyline::generator::{ConcurrencyCaps, Schedule};
use skyline::record::{
    ClientLimits, DeploymentFacts, EngineFacts, HostFacts, PromptFacts, PromptMethod, RunHeader, StampSource,
};
use skyline::simulator::SimulatedServer;
use skyline::workload::WorkloadSpec;

/// Flies `spec` against `server`, which must be fresh.
pub(crate) fn fly(spec: &WorkloadSpec, server: &mut dyn SimulatedServer) -> SimulatedRun {
    let schedule = Schedule::draw(spec);
    let drain = Duration::from_secs_f64(spec.drain_s);
    VirtualRun { plan: schedule.facts(), schedule, drain, caps: ConcurrencyCaps::default() }.execute(server)
}

/// The header of a run of `spec`.
pub(crate) fn header(spec: &WorkloadSpec) -> RunHeader {
    RunHeader {
        schema: RunHeader::SCHEMA,
        skyline_version: "0.1.0".to_owned(),
        started_at: jiff::Timestamp::UNIX_EPOCH,
        command: vec!["skyline".to_owned(), "simulate".to_owned()],
        workload: spec.clone(),
        repeat: None,
        plan: Schedule::draw(spec).facts(),
        prompts: PromptFacts { method: PromptMethod::LengthsOnly, salt: 0, template_tokens: None },
        cache: None,
        warming_requests: None,
        cold_start: None,
        engines: vec![EngineFacts {
            engine: "simulator".to_owned(),
            url: "virtual time".to_owned(),
            proxy: None,
            http2: None,
            endpoint: "no wire".to_owned(),
            streamed: true,
            model: "plain".to_owned(),
            parameters: None,
            length_fields: None,
            server_version: None,
            max_model_len: None,
            cache_block_tokens: None,
            replica_header: None,
            request_id_prefix: String::new(),
            trace_id_prefix: None,
            serving_flags: serde_json::Map::new(),
            modelled: serde_json::Map::new(),
        }],
        routing: None,
        limits: ClientLimits::default(),
        objectives: Vec::new(),
        percentiles: Vec::new(),
        host: HostFacts::default(),
        stamps: StampSource::default(),
        shard: None,
        shard_delays_ns: Vec::new(),
        clock_offsets: Vec::new(),
        shard_skew_ns: None,
        calibration: None,
        telemetry: Vec::new(),
        deployment: DeploymentFacts::default(),
    }
}
