//! What is asked of an A/B experiment: all that decides which runs it is made of and how they are judged, kept with it.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::args::{AbArgs, Require};
use super::sides::Sides;
use crate::cli::args::Server;
use crate::cli::flight::AskedOfServer;
use crate::engine::AnswerForm;
use crate::experiment::{AbDesign, AbSide};
use crate::session::{ASKED, Stop};
use crate::units::hexadecimal;
use crate::workload::WorkloadSpec;

/// Figures that decide where none was chosen.
const USUAL: [&str; 4] = ["p50 ttft", "p95 ttft", "p50 tpot", "p95 e2e"];
/// The same where answers come in one piece.
const WHOLE: [&str; 2] = ["p50 e2e", "p95 e2e"];
/// What a closed loop tells beside them: its users ask a fast server for more.
const CLOSED: &str = "output_tokens_per_s";

/// What was asked. The same, asked again, flies the same runs.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Asked {
    #[serde(flatten)]
    question: Question,
    a: AskedOfServer,
    b: AskedOfServer,
    warmup_requests: u64,
    pause_s: f64,
    /// Commands by their SHA-256: what is typed may hold a secret.
    switch_cmd_sha256: Option<String>,
    reset_cmd_sha256: Option<String>,
}

/// What is to be found out, and of what.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Question {
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
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Ab,
}

impl Asked {
    pub(super) fn of(
        args: &AbArgs,
        sides: &Sides,
        workload: &WorkloadSpec,
        design: &AbDesign,
        salt: u64,
    ) -> Result<Self, Stop> {
        let question = Question {
            kind: Kind::Ab,
            workload: workload.clone(),
            rounds: design.rounds(),
            metrics: design.metrics().iter().map(ToString::to_string).collect(),
            margin: design.margin(),
            require: args.require,
            salt,
        };
        let hashed =
            |command: &Option<String>| command.as_ref().map(|line| hexadecimal(&Sha256::digest(line)));
        Ok(Self {
            question,
            a: side(args, sides, AbSide::A)?,
            b: side(args, sides, AbSide::B)?,
            warmup_requests: args.experiment.warmup_requests,
            pause_s: args.experiment.pause.as_secs_f64(),
            switch_cmd_sha256: hashed(&args.sides.switch_cmd),
            reset_cmd_sha256: hashed(&args.sides.reset_cmd),
        })
    }
}

impl Question {
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

/// What is asked of one side.
fn side(args: &AbArgs, sides: &Sides, side: AbSide) -> Result<AskedOfServer, Stop> {
    match args.server_of(side).server()? {
        Server::At(_) => sides.setup(side).asked(),
        Server::EmbeddedMock => Err(no_server()),
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
