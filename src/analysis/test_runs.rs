//! Builds runs for tests, moment by moment.

use crate::clock::Timestamp;
use crate::record::{
    BreakerTrip, ChunkTrain, ClientLimits, DeploymentFacts, EngineFacts, Failure, HostFacts, Outcome, PageKind, Phase,
    PlanFacts, PromptFacts, PromptMethod, RequestRecord, RunEnding, RunFooter, RunHeader, RunLog, StampSource,
    TelemetrySource, TokenChunk, TokenSource, Usage, WorkKind,
};
use crate::workload::{
    ArrivalPattern, Distribution, Priority, PriorityShare, PromptSource, Purpose, RequestClass, Slo, WorkloadSpec,
};

pub(crate) const fn ms(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

/// A page of one GPU that says what it is.
pub(crate) fn exporter() -> TelemetrySource {
    TelemetrySource {
        url: "http://x:9400/metrics".to_owned(),
        kind: Some(PageKind::Dcgm),
        hardware: Some("1 × NVIDIA H100".to_owned()),
        driver: Some("580.1".to_owned()),
    }
}

/// Builder of a record that completed. It was measured, of class 0 and high priority, with 100 prompt tokens asked for,
/// and as many answer tokens as it got.
#[derive(Clone)]
pub(crate) struct RecordBuilder(RequestRecord);

pub(crate) fn record(index: u64) -> RecordBuilder {
    RecordBuilder(RequestRecord {
        index,
        phase: Phase::Measured,
        class: 0,
        priority: Priority::High,
        prefix: None,
        tenant: None,
        model: None,
        tags: None,
        turn: None,
        release: None,
        target: 0,
        work: WorkKind::Tokens,
        input_tokens_asked: 100,
        output_tokens_asked: 0,
        scheduled: Timestamp::ZERO,
        dispatched: Timestamp::ZERO,
        admitted: None,
        sent: None,
        headers: None,
        chunks: ChunkTrain::default(),
        chunks_counted: false,
        first_answer: None,
        whole_answer: None,
        ended: Timestamp::ZERO,
        outcome: Outcome::Completed,
        finish_reason: None,
        usage: None,
        impossible_usage: None,
        oddities: None,
        output_tokens: 0,
        output_tokens_source: TokenSource::Chunks,
        hidden_tokens: 0,
        leaves: false,
        merged_reads: 0,
        late_stamps: None,
        context_full: false,
        opened_connection: false,
        address: None,
        lost_connection: None,
        validity: None,
        score: None,
        attempts: None,
    })
}

impl RecordBuilder {
    pub(crate) fn sent_at(mut self, scheduled: u64, dispatched: u64, sent: u64) -> Self {
        self.0.scheduled = ms(scheduled);
        self.0.dispatched = ms(dispatched);
        self.0.sent = Some(ms(sent));
        self
    }

    pub(crate) fn scheduled(mut self, scheduled: u64) -> Self {
        self.0.scheduled = ms(scheduled);
        self.0.dispatched = ms(scheduled);
        self
    }

    /// Chunks of an arrival (ms) and tokens; the answer ends with the last.
    pub(crate) fn chunks(mut self, chunks: &[(u64, u32)]) -> Self {
        self.0.chunks = chunks.iter().map(|&(at, tokens)| TokenChunk { at: ms(at), tokens, choice: 0 }).collect();
        self.0.ended = self.0.chunks.last_at().unwrap_or_default();
        self.0.output_tokens = self.0.chunks.tokens();
        self.0.output_tokens_asked = self.0.output_tokens as u32;
        self
    }

    /// `tokens` single-token chunks, the first at `first`, one every `gap`.
    pub(crate) fn paced(self, first: u64, gap: u64, tokens: u64) -> Self {
        let chunks: Vec<_> = (0..tokens).map(|i| (first + i * gap, 1)).collect();
        self.chunks(&chunks)
    }

    pub(crate) fn whole_answer(mut self, at: u64, tokens: u64) -> Self {
        self.0.whole_answer = Some(ms(at));
        self.0.ended = ms(at);
        self.0.output_tokens = tokens;
        self.0.output_tokens_asked = tokens as u32;
        self.usage(100, tokens)
    }

    pub(crate) fn usage(mut self, prompt_tokens: u64, completion_tokens: u64) -> Self {
        self.0.usage = Some(Usage { prompt_tokens, completion_tokens, cached_tokens: None, reasoning_tokens: None });
        self.0.output_tokens = completion_tokens;
        self.0.output_tokens_source = TokenSource::Usage;
        self
    }

    /// The server counted the tokens of its chunks.
    pub(crate) fn counted(mut self) -> Self {
        self.0.chunks_counted = true;
        self
    }

    pub(crate) fn asked(mut self, output_tokens: u32) -> Self {
        self.0.output_tokens_asked = output_tokens;
        self
    }

    pub(crate) fn failed(mut self, at: u64, failure: Failure) -> Self {
        self.0.ended = ms(at);
        self.0.outcome = Outcome::Failed(failure.into());
        self
    }

    pub(crate) fn censored(mut self, at: u64) -> Self {
        self.0.ended = ms(at);
        self.0.outcome = Outcome::Censored;
        self
    }

    pub(crate) fn phase(mut self, phase: Phase) -> Self {
        self.0.phase = phase;
        self
    }

    pub(crate) fn class(mut self, class: u16, priority: Priority) -> Self {
        self.0.class = class;
        self.0.priority = priority;
        self
    }

    pub(crate) fn build(self) -> RequestRecord {
        self.0
    }
}

/// A class named `name` with one SLO for each priority.
pub(crate) fn class(name: &str, slos: &[(Priority, Slo)]) -> RequestClass {
    RequestClass {
        name: name.to_owned(),
        weight: 1.0,
        input_tokens: Distribution::Constant { value: 100 },
        output_tokens: Distribution::Constant { value: 10 },
        inputs: None,
        shared_prefix: None,
        conversation: None,
        session: None,
        prompt: PromptSource::Templates { templates: vec!["Hello".to_owned()] },
        images: None,
        audio: None,
        length: crate::workload::AnswerEnding::default(),
        answer: None,
        cancel: None,
        priorities: slos.iter().map(|&(priority, slo)| PriorityShare { priority, weight: 1.0, slo }).collect(),
        metadata: std::collections::BTreeMap::new(),
    }
}

/// Makes the log of a run that finished. Its window is from 0 to `window_ms`, every record is planned, and vLLM
/// streamed. It has one class `chat` without an SLO.
pub(crate) fn run(window_ms: u64, records: Vec<RequestRecord>) -> RunLog {
    let of_phase = |phase| records.iter().filter(|record| record.phase == phase).count() as u64;
    let (warmup_requests, measured_requests) = (of_phase(Phase::Warmup), of_phase(Phase::Measured));
    let ended = records.iter().map(|record| record.ended).max().unwrap_or_default();
    let header = RunHeader {
        schema: RunHeader::SCHEMA,
        skyline_version: "0.1.0".to_owned(),
        started_at: jiff::Timestamp::UNIX_EPOCH,
        command: ["skyline", "bench", "tiny"].map(str::to_owned).to_vec(),
        workload: WorkloadSpec {
            name: "tiny".to_owned(),
            description: String::new(),
            seed: 7,
            horizon_s: window_ms as f64 / 1e3,
            requests: None,
            warmup_s: 0.0,
            cooldown_s: None,
            drain_s: 30.0,
            arrival: declared(&records),
            classes: vec![class("chat", &[(Priority::High, Slo::default())])],
            tenants: Vec::new(),
            models: None,
            clients: None,
            checks: Vec::new(),
            check_every_s: None,
            cache: None,
            system_idle_cap_s: None,
            scenario: None,
            purpose: Purpose::default(),
            mock_hardware: None,
        },
        repeat: None,
        plan: PlanFacts {
            hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned(),
            warmup_requests,
            measured_requests,
            window_start: Timestamp::ZERO,
            window_end: ms(window_ms),
        },
        prompts: PromptFacts { method: PromptMethod::WordList, salt: 1, template_tokens: None },
        cache: None,
        warming_requests: None,
        cold_start: None,
        engines: vec![EngineFacts {
            engine: "vllm".to_owned(),
            url: "http://127.0.0.1:8000".to_owned(),
            proxy: None,
            http2: None,
            endpoint: "chat".to_owned(),
            streamed: true,
            model: "meta-llama/Llama-3.1-8B-Instruct".to_owned(),
            parameters: None,
            length_fields: None,
            server_version: Some("0.11.0".to_owned()),
            max_model_len: None,
            cache_block_tokens: Some(16),
            replica_header: None,
            request_id_prefix: "0badcafe-0000-4000-8000-".to_owned(),
            trace_id_prefix: Some("0badcafe000040008000".to_owned()),
            serving_flags: serde_json::Map::new(),
            modelled: serde_json::Map::new(),
        }],
        routing: None,
        limits: ClientLimits::default(),
        objectives: Vec::new(),
        percentiles: Vec::new(),
        host: HostFacts { os: "linux x86_64".to_owned(), cpu: None, cores: 2, priority: None },
        stamps: StampSource::default(),
        shard: None,
        shard_delays_ns: Vec::new(),
        clock_offsets: Vec::new(),
        shard_skew_ns: None,
        calibration: None,
        telemetry: Vec::new(),
        deployment: DeploymentFacts::default(),
    };
    let footer = RunFooter {
        released_until: ms(window_ms),
        ended,
        ending: RunEnding::Finished,
        breaker: None,
        present_ns: None,
        sessions: None,
        client: None,
        server: None,
        addresses: Vec::new(),
        profile: None,
    };
    RunLog::of_requests(header, records, footer)
}

/// Returns the arrival pattern of the requests of a run built by hand. It is a metronome, where there are enough of
/// them to tell.
fn declared(records: &[RequestRecord]) -> ArrivalPattern {
    let nanos: Vec<u64> = records.iter().map(|record| record.scheduled.as_nanos()).collect();
    match nanos[..] {
        [first, second, ..] if second > first && nanos.len() >= 50 => {
            ArrivalPattern::Constant { rate_per_s: 1e9 / (second - first) as f64 }
        }
        _ => ArrivalPattern::Poisson { rate_per_s: 10.0 },
    }
}

/// Returns a workload of a minute with one of these arrival processes for each class. The processes are in TOML.
pub(crate) fn by_class(seed: u64, arrivals: &[&str]) -> WorkloadSpec {
    let class = |(place, arrival): (usize, &&str)| {
        format!(
            "[[classes]]\nname = \"class_{place}\"\narrival = {arrival}\n\
             input_tokens = {{ kind = \"constant\", value = 1 }}\n\
             output_tokens = {{ kind = \"constant\", value = 1 }}\n"
        )
    };
    let classes: String = arrivals.iter().enumerate().map(class).collect();
    let text = format!("name = \"by_class\"\nhorizon_s = 60\nwarmup_s = 0\nseed = {seed}\n{classes}");
    WorkloadSpec::from_toml(&text, "a test").unwrap()
}

/// Returns the run, ended after `ms` by a circuit breaker.
pub(crate) fn aborted(mut log: RunLog, ms: u64) -> RunLog {
    let at = Timestamp::from_nanos(ms * 1_000_000);
    if let Some(footer) = &mut log.footer {
        (footer.released_until, footer.ending) = (at, RunEnding::Aborted);
        let found = "90 % of the 40 requests that ended within 10 s failed".to_owned();
        footer.breaker = Some(BreakerTrip { breaker: "error_rate > 50% for 10s".to_owned(), at, found });
    }
    log
}
