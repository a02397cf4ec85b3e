//! What the command line of an A/B test means, and the test's manifest.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::args::{AbArgs, Require};
use crate::engine::AnswerForm;
use crate::experiment::AbDesign;
use crate::session::campaign::ab::AbPlan;
use crate::session::run::check_plan;
use crate::session::settings::{RunSettings, ServerAddress};
use crate::session::{MANIFEST, PlannedRun, Printer, ServerManifest, Stop, datasets};
use crate::units::hexadecimal;
use crate::workload::WorkloadSpec;

/// Figures that decide where none was chosen.
const USUAL: [&str; 4] = ["p50 ttft", "p95 ttft", "p50 tpot", "p95 e2e"];
/// The same where answers come in one piece.
const WHOLE: [&str; 2] = ["p50 e2e", "p95 e2e"];
/// What a closed loop tells beside them: its users ask a fast server for more.
const CLOSED: &str = "output_tokens_per_s";

/// All that decides which runs a test has.
#[derive(Clone, Debug, Serialize)]
pub(super) struct AbManifest {
    #[serde(flatten)]
    question: Question,
    a: ServerManifest,
    b: ServerManifest,
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

impl AbArgs {
    /// What is executed, what decides, and what both are kept as.
    pub(super) fn plan(&self, printer: Printer) -> Result<(AbPlan, AbDesign, AbManifest), Stop> {
        let spec = self.work.spec(&self.load.overrides(), printer)?;
        let (workload, datasets) = datasets::open(spec, self.run.tokenizer.as_deref(), printer)?;
        let design = design(self, &workload)?;
        let begun = self.resume.as_deref().and_then(Question::read);
        let salt = self.run.salt.or(begun.map(|question| question.salt)).unwrap_or_else(rand::random);
        let sides = self.settings(salt)?;
        let manifest = self.manifest(&sides, &workload, &design, salt)?;
        sides.iter().try_for_each(|settings| settings.check(&workload, &datasets).map(drop))?;
        let rounds = PlannedRun::all(&workload, &datasets, design.rounds())?;
        rounds.iter().try_for_each(check_plan)?;
        let plan = AbPlan {
            sides,
            workload,
            datasets,
            rounds,
            pause: self.experiment.pause,
            warmup_requests: self.experiment.warmup_requests,
            switch: self.sides.switch_cmd.clone(),
            reset: self.sides.reset_cmd.clone(),
        };
        Ok((plan, design, manifest))
    }

    fn manifest(
        &self,
        [a, b]: &[RunSettings; 2],
        workload: &WorkloadSpec,
        design: &AbDesign,
        salt: u64,
    ) -> Result<AbManifest, Stop> {
        let question = Question {
            kind: Kind::Ab,
            workload: workload.clone(),
            rounds: design.rounds(),
            metrics: design.metrics().iter().map(ToString::to_string).collect(),
            margin: design.margin(),
            require: self.require,
            salt,
        };
        let hashed =
            |command: &Option<String>| command.as_ref().map(|line| hexadecimal(&Sha256::digest(line)));
        Ok(AbManifest {
            question,
            a: side(a)?,
            b: side(b)?,
            warmup_requests: self.experiment.warmup_requests,
            pause_s: self.experiment.pause.as_secs_f64(),
            switch_cmd_sha256: hashed(&self.sides.switch_cmd),
            reset_cmd_sha256: hashed(&self.sides.reset_cmd),
        })
    }
}

impl Question {
    /// What was asked of the experiment in `folder`; `None` where there is none of this kind.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        serde_json::from_str(&std::fs::read_to_string(folder.join(MANIFEST)).ok()?).ok()
    }

    /// What was decided before the first round.
    pub(super) fn design(&self) -> Result<AbDesign, Stop> {
        let metrics = self.metrics.iter().map(|metric| metric.parse()).collect::<Result<_, _>>();
        AbDesign::new(self.rounds, metrics.map_err(Stop::usage)?, self.margin).map_err(Stop::usage)
    }
}

/// What is asked of one side.
fn side(settings: &RunSettings) -> Result<ServerManifest, Stop> {
    match settings.server.address {
        ServerAddress::At(_) => Ok(ServerManifest::of(settings)),
        // The embedded mock lives with one connection: there is nothing to compare.
        ServerAddress::EmbeddedMock => Err(Stop::usage(
            "there are no two servers to compare\nhint: name them with --a and --b, or with --switch-cmd the one address \
             with --url; `skyline mock` starts one",
        )),
    }
}

/// What decides, before the first round: what was chosen, else the usual.
fn design(args: &AbArgs, workload: &WorkloadSpec) -> Result<AbDesign, Stop> {
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
