//! Skyline: an open-loop load generator for LLM servers whose numbers can be defended.
//!
//! # Design
//!
//! A **workload** is drawn into a **schedule**. The **runner** runs the schedule, open loop, against an **engine**
//! and keeps **records**. **Analysis** turns records into a **summary**. A **report** writes the summary down.
//!
//! ```text
//! WorkloadSpec --generator--> Schedule --runner + engine--> RunLog --analysis--> Summary --report--> Document
//!   (TOML/JSON)   (pure)     (hashed)    (async, clock)    (JSONL)    (pure)               (pure)   text html md
//! ```
//!
//! Only the middle arrow reads a clock or meets a network. Everything beside it is pure, so tests check it exactly;
//! but tokenizers and datasets of the Hugging Face hub are fetched before the plan is drawn (`generator/hub`).
//! The run log is the only truth: every number that Skyline prints can be computed again from it.
//!
//! ## The floors
//!
//! Each folder of `src` is a room with one duty. A room uses only rooms on lower floors; `tests/structure.rs`
//! checks it.
//!
//! | floor | rooms | duty |
//! |---|---|---|
//! | 0 | [`clock`], [`units`], [`random`], [`guide`] | the run clock; units for people; seeded streams; the guide |
//! | 1 | [`workload`] | what is requested: specs, classes, lengths, arrivals, SLOs, the embedded library |
//! | 2 | [`record`], [`arrivals`] | what happened: records and the run log; the moments of an arrival process |
//! | 3 | [`generator`], [`analysis`], [`simulator`] | spec → schedule; records → figures; a model of an engine |
//! | 4 | [`engine`], [`foreign`] | the wire, the stream grammar, the dialects; results of other tools |
//! | 5 | [`runner`], [`mock`], [`telemetry`] | the open loop; a known engine over HTTP; what a server reports |
//! | 6 | [`experiment`], [`calibration`] | which run comes next and what the runs mean; what this machine can measure |
//! | 7 | [`report`], [`live`] | results → documents → bytes; the screen while a run is on |
//! | 8 | [`session`] | one run from end to end; a campaign of runs: folder, lock, resume, retry |
//! | 9 | [`cli`] | clap structs → typed plans; one file per verb; printing; exit codes |
//!
//! ## The flow of one run
//!
//! 1. A verb's file in [`cli`] turns its clap struct into a typed plan. It reports all mistakes at once.
//! 2. [`session`] connects to the server, checks it with a test request, and prepares the run: prompts, connections,
//!    calibration.
//! 3. [`generator`] draws the plan once: a request has an id, a class, a release moment, lengths and a prompt.
//! 4. [`runner`] releases each request at its moment. Nothing that it does can delay a release without a record of
//!    it. [`engine`] sends the bytes and reads the stream; the clock is read when bytes arrive, before they are
//!    parsed. Each request ends as one record, whatever happens.
//! 5. [`record`] appends the record to the run log as the request ends. Nothing else keeps it until the run is over.
//! 6. [`analysis`] turns the records into figures, checks, findings and a verdict.
//! 7. [`report`] turns the result into one `Document`; a renderer makes text, HTML or Markdown of it.
//!
//! Latency counts from the scheduled moment, so a slow server cannot slow the load that measures it (coordinated
//! omission). A concurrency cap is opt-in, and the wait for a slot counts in the latency. A closed loop has
//! no schedule: its latencies count from sending.
//!
//! ## Where to look
//!
//! | to see or change | open, in `src` |
//! |---|---|
//! | `WorkloadSpec` | `workload/spec.rs` |
//! | `RequestSpec` | `generator/request.rs` |
//! | `Schedule` with `generate` and `generate_stream` | `generator/schedule.rs` |
//! | `Engine`, which sends a `RequestSpec` and streams its answer | `engine/answer.rs` |
//! | the engine over HTTP | `engine/openai/engine.rs` |
//! | the analyzers: `summarise`, which makes a `Summary` of a `RunLog` | `analysis/summarise.rs` |
//! | the reporter: a `Document` of each result | `report/documents/` |
//! | how arrivals are drawn: Poisson, bursts, gamma gaps | `arrivals/draw.rs` |
//! | that requests leave at their moments: no coordinated omission, schedule lag | `runner/pacer.rs` |
//! | the slots of a concurrency cap, and the wait for one | `generator/slots.rs` |
//! | when a slot is freed | `runner/in_flight.rs` |
//! | when clients give up, send again and hedge, in a run and in virtual time | `runner/life/mod.rs` |
//! | whose clients leave before their answer is complete | `workload/clients/leaving.rs` |
//! | what follows a turn of a session, in both | `generator/sessions/turns.rs` |
//! | which request waits for which | `generator/graph.rs` |
//! | which of several servers a request goes to | `engine/router.rs` |
//! | how an address is read: base paths, endpoints, queries | `engine/address.rs` |
//! | the proxy before a server | `engine/proxy.rs` |
//! | how long a server is awaited | `engine/openai/readiness.rs` |
//! | how bytes come and go; to add a transport | `engine/transport/mod.rs`, and `receiver.rs` beside it |
//! | when bytes are stamped | `engine/transport/socket/stamped.rs` |
//! | how a name's addresses get load | `engine/transport/socket/addresses.rs` |
//! | the latencies of a request: TTFT, TPOT, e2e, schedule lag | `analysis/requests/latency.rs` |
//! | from when they count: open and closed loops | `analysis/requests/form.rs` |
//! | the 95 % interval of a percentile | `analysis/latency/intervals.rs` |
//! | how much requests depend on one another | `analysis/statistics/memory.rs` |
//! | the names, units and formulas of figures; to add one | `analysis/figures/catalogue.rs`, and `rows.rs` |
//! | whether a log is that of its plan | `generator/plan_check.rs` |
//! | which runs are spoiled, and how many are replaced | `experiment/spoiled.rs` |
//! | whether a change between stored runs is more than chance: gates | `experiment/compare/gate.rs`; `pairs.rs` |
//! | what makes a run INVALID or OVERLOADED; to add a rule | `analysis/verdict/judge.rs`, and the rules beside it |
//! | why a piece of advice is shown, or is not; to add one | its row, beside `analysis/findings/advice.rs` |
//! | what every table of rules has: a name, a topic of the guide, a test, what silences it | `analysis/rules.rs` |
//! | the trust checklist, and `skyline audit`; to add a rule | `analysis/checklist/judge.rs`, and rules beside it |
//! | the regimes that a diagnosis looks for | `experiment/diagnosis/findings.rs` |
//! | whether a run is steady, growing, or cannot tell | `analysis/verdict/steady_state.rs` |
//! | how far an overload moves latency | `analysis/load/movement.rs` |
//! | what a run log holds | `record/log/runlog.rs`; how it is read, older ones too: `record/log/reader.rs` |
//! | how an interrupted experiment is resumed | `session/campaign/mod.rs` |
//! | what an objective says | `analysis/slo/objective.rs`; whether it is met: `analysis/summary/objectives/mod.rs` |
//! | whether a load of a sweep passes | `experiment/sweep/search/tally.rs` |
//! | what simulated clients do when an answer is late or refused | `experiment/virtual_time/clients/attempts.rs` |
//! | what a simulated server refuses | `simulator/fleet/admission.rs` |
//! | goodput recovery: whether goodput comes back after a spike | `analysis/load/aftermath.rs` |
//! | the phases of a load | `analysis/parts/phases.rs`; where bursts are: `analysis/load/stretches.rs` |
//! | what each of several servers got, and which is slow | `analysis/parts/servers.rs`, and `slower.rs` beside it |
//! | what answers cost, in money and energy | `analysis/server/costs.rs` |
//! | which answers are acceptable | `analysis/load/acceptable.rs` |
//! | tags of requests | `workload/metadata.rs`; their tables: `analysis/parts/tags.rs` |
//! | the names of the folders of runs | `session/folder.rs` |
//! | exit codes | `session/exits.rs` |
//! | golden prompts for any workload | `workload/answer/golden_set.rs` |
//! | whether an answer is right; to add a rule | `workload/answer/scoring.rs` |
//! | the accuracy of answers | `analysis/requests/quality/accuracy.rs` |
//! | to add an endpoint (a protocol) | `engine/protocols/table.rs`, with a file beside it; `mock/protocols.rs` |
//! | an endpoint that a template describes, in the binary or in a file | `engine/protocols/templates/file.rs` |
//! | to add a server's metric names | `engine/dialect.rs`; those of devices: `engine/metrics/exporters.rs` |
//! | the columns of a run's tables | `report/documents/run/latency.rs`; of CSV and Parquet: `report/data/` |
//! | to add a server's dialect | `record/run/engine_kind.rs`, and its row in `engine/dialect.rs` |
//! | to add a format of reports | `report/export.rs` |
//! | the page of a run | `report/documents/run/mod.rs`, and `report/render/html/page.rs` |
//! | what is said to an option of another tool | `cli/help/elsewhere.toml` |
//! | the guide of users; to add a topic | `guide.rs`, and a file in `guide/`; tests write those in `guide/generated` |
//! | to add a verb | `cli/mod.rs`, and a file beside it |
//! | options from the environment and from `skyline.toml` | `cli/args/config/` |
//! | another scheduler that `launch` prints for | `cli/launch/`: a file, and its template beside it |
//! | to translate a flag of another tool | its table in `foreign/commands/tables` |
//! | how those tables are read | `foreign/commands/translation.rs` |
//!
//! ## Many runs
//!
//! An experiment (repeats, sweep, A/B, matrix) is pure: it says which run comes next, which spare run
//! replaces a spoiled one, and what the runs mean. The campaign in [`session`] owns all the rest once: the
//! folder, its manifest and lock, resume, pause, interrupt, progress. The same experiment runs in virtual
//! time with the simulator as executor.

pub mod analysis;
pub mod arrivals;
pub mod calibration;
pub mod cli;
pub mod clock;
pub mod engine;
pub mod experiment;
pub mod foreign;
pub mod generator;
pub mod guide;
pub mod live;
pub mod mock;
pub mod random;
pub mod record;
pub mod report;
pub mod runner;
pub mod session;
pub mod simulator;
pub mod telemetry;
pub mod units;
pub mod workload;
