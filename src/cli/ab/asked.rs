//! What is asked of an A/B experiment: all that decides which runs it is made of and how they are judged, kept with it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::args::{AbArgs, Require};
use crate::cli::args::Server;
use crate::cli::exit::Stop;
use crate::cli::shelf::ASKED;
use crate::engine::AnswerForm;
use crate::experiment::{AbDesign, AbSide};
use crate::record::Limits;
use crate::workload::WorkloadSpec;

/// Figures that decide where none was chosen.
const USUAL: [&str; 4] = ["p50 ttft", "p95 ttft", "p50 tpot", "p95 e2e"];
/// The same where answers come in one piece.
const WHOLE: [&str; 2] = ["p50 e2e", "p95 e2e"];
/// What a closed loop tells beside them: its users ask a fast server for more.
const CLOSED: &str = "output_tokens_per_s";

/// What was asked. The same, asked again, flies the same runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Asked {
    /// What the file is about, beside the files of other experiments.
    kind: Kind,
    pub(super) workload: WorkloadSpec,
    rounds: u64,
    metrics: Vec<String>,
    margin: f64,
    /// What a script asked of B; left out where that is the usual.
    #[serde(default, skip_serializing_if = "Require::is_usual")]
    pub(super) require: Require,
    /// What varies the texts of the first round.
    pub(super) salt: u64,
    a: AskedSide,
    b: AskedSide,
    limits: Limits,
    reset_cache: bool,
    switch_cmd: Option<String>,
    reset_cmd: Option<String>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Ab,
}

/// One side, as it was typed.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct AskedSide {
    url: String,
    engine: String,
    model: Option<String>,
    labels: Vec<(String, String)>,
}

impl Asked {
    pub(super) fn of(
        args: &AbArgs,
        workload: &WorkloadSpec,
        design: &AbDesign,
        salt: u64,
    ) -> Result<Self, Stop> {
        Ok(Self {
            kind: Kind::Ab,
            workload: workload.clone(),
            rounds: design.rounds(),
            metrics: design.metrics().iter().map(ToString::to_string).collect(),
            margin: design.margin(),
            require: args.require,
            salt,
            a: AskedSide::of(args, AbSide::A)?,
            b: AskedSide::of(args, AbSide::B)?,
            limits: args.run.limits(),
            reset_cache: args.run.reset_cache,
            switch_cmd: args.sides.switch_cmd.clone(),
            reset_cmd: args.sides.reset_cmd.clone(),
        })
    }

    /// What was asked of the experiment in `folder`; `None` where there is none of this kind.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        serde_json::from_str(&std::fs::read_to_string(folder.join(ASKED)).ok()?).ok()
    }

    /// What was decided before the first round.
    pub(super) fn design(&self) -> Result<AbDesign, Stop> {
        let metrics = self.metrics.iter().map(|metric| metric.parse()).collect::<Result<_, _>>();
        AbDesign::new(self.rounds, metrics.map_err(Stop::usage)?, self.margin).map_err(Stop::usage)
    }
}

impl AskedSide {
    fn of(args: &AbArgs, side: AbSide) -> Result<Self, Stop> {
        let server = args.server_of(side);
        let url = match server.server()? {
            Server::At(url) => url.to_string(),
            Server::EmbeddedMock => return Err(no_server()),
        };
        let engine = server.dialect().to_string();
        Ok(Self { url, engine, model: server.model.clone(), labels: args.sides.labels_of(side).to_vec() })
    }
}

/// The embedded mock lives with one session, and is nothing that could be compared.
fn no_server() -> Stop {
    Stop::usage(
        "there are no two servers to compare\nhint: name them with --a and --b, or with --switch-cmd the one address with \
         --url; `skyline mock` starts one",
    )
}

/// What decides, before the first round: what was chosen, else the usual.
pub(super) fn design(args: &AbArgs, workload: &WorkloadSpec) -> Result<AbDesign, Stop> {
    let mut metrics = args.experiment.metrics.clone();
    if metrics.is_empty() {
        let usual = match args.server.form() {
            AnswerForm::Streamed => &USUAL[..],
            AnswerForm::Whole => &WHOLE[..],
        };
        let closed = workload.arrival.users().map(|_| &CLOSED);
        let usual = usual.iter().chain(closed).map(|metric| metric.parse());
        metrics = usual.collect::<Result<_, _>>().map_err(Stop::usage)?;
    }
    metrics.iter().try_for_each(|metric| metric.check(workload)).map_err(Stop::usage)?;
    let design = AbDesign::new(args.experiment.rounds, metrics, args.experiment.margin);
    design.map_err(Stop::usage)
}
