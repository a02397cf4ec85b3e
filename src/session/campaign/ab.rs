//! An A/B test against two servers that run all the time, or one machine that serves them in turn.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::conduct::{Campaign, CampaignStep, place};
use super::dir::{ExperimentDir, MANIFEST, ServerManifest};
use crate::analysis::Objective;
use crate::experiment::{AbDesign, AbExperiment, AbOrder, AbRun, AbSide, Experiment, RunRequest};
use crate::record::RunEnding;
use crate::session::console::{Interrupts, Printer, Stop};
use crate::session::exits::Require;
use crate::session::hooks::{Hook, Line, Output, Variable, Variables};
use crate::session::planned::PlannedRun;
use crate::session::run::{CheckedWorkload, Conditions, PlannedLoad, RunContext, StoredRun};
use crate::session::settings::{RunSettings, ServerAddress};
use crate::units::hexadecimal;
use crate::workload::WorkloadSpec;

/// The file that commands write to, in the experiment's folder.
const OUTPUT: &str = "commands.log";
/// Rounds that tell how much they vary.
pub(crate) const TELLING: u64 = 4;

/// All that decides which runs a test has.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct AbManifest {
    #[serde(flatten)]
    pub(crate) question: AbQuestion,
    pub(crate) a: ServerManifest,
    pub(crate) b: ServerManifest,
    pub(crate) warmup_requests: u64,
    pub(crate) pause_s: f64,
    /// Commands by their SHA-256: what is typed may hold a secret.
    pub(crate) switch_cmd_sha256: Option<String>,
    pub(crate) reset_cmd_sha256: Option<String>,
}

impl AbManifest {
    /// Returns the manifest of a test of these sides. So many requests come before a run, and so long a pause is between
    /// two. The commands switch and reset.
    pub(crate) fn new(
        question: AbQuestion,
        [a, b]: [&RunSettings; 2],
        (warmup_requests, pause): (u64, Duration),
        commands: [&Option<String>; 2],
    ) -> Result<Self, Stop> {
        let hashed = |command: &Option<String>| command.as_ref().map(|line| hexadecimal(&Sha256::digest(line)));
        let (pause_s, [switch_cmd_sha256, reset_cmd_sha256]) = (pause.as_secs_f64(), commands.map(hashed));
        Ok(Self { question, a: side(a)?, b: side(b)?, warmup_requests, pause_s, switch_cmd_sha256, reset_cmd_sha256 })
    }
}

/// Returns the manifest of what is requested of one side.
fn side(settings: &RunSettings) -> Result<ServerManifest, Stop> {
    match settings.server.address {
        ServerAddress::At(_) => Ok(ServerManifest::from_settings(settings)),
        // The embedded mock lives with one connection: there is nothing to compare.
        ServerAddress::EmbeddedMock(_) => Err(Stop::usage(
            "there are no two servers to compare\nhint: name them with --a and --b, or with --switch-cmd the one \
             address with --url; `skyline mock` starts one",
        )),
    }
}

/// The question of an A/B test: what is to be found out, and of what.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AbQuestion {
    /// Distinguishes the manifest from those of other experiments.
    kind: Kind,
    pub(crate) workload: WorkloadSpec,
    rounds: u64,
    /// Names of the metrics. A name that no figure has any more is reported with those that there are.
    metrics: Vec<String>,
    margin: f64,
    /// Order of the two runs within rounds. Left out where rounds alternate, as in older experiments.
    #[serde(default, skip_serializing_if = "crate::workload::reading::is_usual")]
    pub(crate) order: AbOrder,
    /// The demand of a script on B; left out where that is the usual.
    #[serde(default, skip_serializing_if = "crate::workload::reading::is_usual")]
    pub(crate) require: Require,
    /// The salt that varies the texts of the first round.
    pub(crate) salt: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Ab,
}

impl AbQuestion {
    pub(crate) fn new(workload: WorkloadSpec, design: &AbDesign, require: Require, salt: u64) -> Self {
        let metrics = design.metrics.iter().map(ToString::to_string).collect();
        let (rounds, margin) = (design.rounds, design.margin);
        Self { kind: Kind::Ab, workload, rounds, metrics, margin, order: design.order(), require, salt }
    }

    /// Reads the question of the experiment in `folder`. `None` where there is none of this kind.
    pub(crate) fn read(folder: &Path) -> Option<Self> {
        serde_json::from_str(&std::fs::read_to_string(folder.join(MANIFEST)).ok()?).ok()
    }

    /// Returns the design that was decided before the first round.
    pub(crate) fn design(&self) -> Result<AbDesign, Stop> {
        let metrics = self.metrics.iter().map(|metric| metric.parse()).collect::<Result<_, _>>();
        let design = AbDesign::new(self.rounds, metrics.map_err(Stop::usage)?, self.margin);
        Ok(design.map_err(Stop::usage)?.ordered(self.order, self.workload.seed))
    }
}

/// How both sides are reached, and what their runs are.
pub(crate) struct AbPlan {
    /// The workload against A and against B.
    pub(crate) sides: [CheckedWorkload; 2],
    /// A plan for each round.
    pub(crate) rounds: Vec<PlannedRun>,
    /// Makes one machine serve the side that comes next.
    pub(crate) switch: Option<String>,
    /// Is run before each run.
    pub(crate) reset: Option<String>,
    pub(crate) design: AbDesign,
    pub(crate) manifest: AbManifest,
}

impl AbPlan {
    /// How long a run of a round is.
    pub(crate) fn length(&self) -> Duration {
        self.rounds.first().map_or(Duration::ZERO, PlannedRun::length)
    }

    /// The load on both sides together.
    pub(crate) fn load(&self) -> PlannedLoad {
        let load = PlannedLoad::of_all(&self.rounds, &self.sides[0].settings).times(2);
        let warmings = if self.switch.is_some() { self.rounds.len() as u64 + 1 } else { 2 };
        load.warmed_with(warmings * self.manifest.warmup_requests)
    }

    /// Notes on what may spoil the rounds, of one server where both sides are it.
    pub(crate) fn notes(&self, are_one: bool) -> Vec<String> {
        let Self { design, manifest, sides, reset, .. } = self;
        let classes: Vec<_> = manifest.question.workload.classes.iter().map(|class| class.name.clone()).collect();
        let empties_cache = sides[0].settings.requests.reset_cache || reset.is_some();
        let warm = "note: --a and --b are one server, which gets the same requests twice in each round: a prefix cache \
                    is warm the second time; --reset-cache empties it before each run";
        let odd = "note: with an odd number of rounds one side goes first once more than the other; an even number is \
                   fair";
        let known = [(are_one && !empties_cache, warm), (design.rounds % 2 == 1, odd)];
        let known = known.into_iter().filter(|(applies, _)| *applies).map(|(_, note)| note.to_owned());
        design.too_few_for_classes(&classes).into_iter().chain(known).collect()
    }
}

/// The two servers, made ready when they are needed.
pub(crate) struct AbTargets<'a> {
    plan: &'a AbPlan,
    interrupts: &'a Interrupts,
    printer: Printer,
    output: Option<Output>,
    ready: Vec<(AbSide, RunContext)>,
    /// Conditions that both sides have in common, once one is connected.
    conditions: Option<Conditions>,
    /// The printer that says what the rounds can find. Absent once that was said, or where it is said nowhere.
    announce: Option<Printer>,
}

impl<'a> AbTargets<'a> {
    pub(crate) fn new(
        plan: &'a AbPlan,
        interrupts: &'a Interrupts,
        printer: Printer,
        announce: Option<Printer>,
    ) -> Self {
        let (output, ready, conditions) = (None, Vec::new(), None);
        Self { plan, interrupts, printer, output, ready, conditions, announce }
    }

    /// Says once what the rounds can find, where that is known of this `variation`.
    fn say_power(&mut self, variation: &[(String, f64)], by: &str) {
        let Some(words) = self.plan.design.can_find_in_words(self.plan.length(), variation, by) else { return };
        if let Some(printer) = self.announce.take() {
            printer.words(&words);
        }
    }

    /// Commands write into this folder.
    pub(crate) fn logging_to(&mut self, dir: &ExperimentDir) {
        self.output = Some(Output::to(dir.folder().join(OUTPUT)));
    }

    /// Connects to both sides where both run all the time. One that is missing is thus found before the first run.
    pub(crate) fn connect_both(&mut self) -> Result<(), Stop> {
        if self.plan.switch.is_some() {
            return Ok(());
        }
        AbSide::BOTH.into_iter().try_for_each(|side| self.connect(side))
    }

    fn context(&self, side: AbSide) -> Option<&RunContext> {
        self.ready.iter().find(|(known, _)| *known == side).map(|(_, context)| context)
    }

    fn command(&mut self, name: &str, command: &str, side: AbSide) -> Result<(), Stop> {
        let variables = Variables::default().with(Variable::Side, side.name());
        let Some(output) = &mut self.output else { return Ok(()) };
        let screen = self.plan.sides[0].settings.screen;
        let hook = Hook { name, line: Line::Typed(command), limit: Hook::USUAL_LIMIT, screen };
        hook.run(&variables, output, Some(self.interrupts))
    }

    /// Connects to `side` under the conditions of the other, and warms it.
    fn connect(&mut self, side: AbSide) -> Result<(), Stop> {
        let AbPlan { sides: [a, b], rounds, .. } = self.plan;
        let (interrupts, printer) = (self.interrupts, self.printer);
        let checked = match side {
            AbSide::A => a,
            AbSide::B => b,
        };
        let context = match self.conditions.clone() {
            None => checked.connect(interrupts, printer),
            Some(conditions) => checked.connect_under(conditions, interrupts, printer),
        };
        let context = context.map_err(|stop| stop.about(&format!("side {side}")))?;
        // Where one machine serves in turn, a page is of whichever side it serves.
        if self.plan.switch.is_none() {
            context.check_pages("both sides")?;
        }
        self.conditions.get_or_insert_with(|| context.conditions.clone());
        if let Some(run) = rounds.first() {
            context.warm_server(run, self.plan.manifest.warmup_requests);
        }
        self.ready.push((side, context));
        Ok(())
    }
}

impl Campaign<AbExperiment> for AbTargets<'_> {
    fn plan(&mut self, request: &RunRequest<AbRun>) -> Result<PlannedRun, Stop> {
        PlannedRun::numbered(&self.plan.rounds, request.part.round)
    }

    fn objectives(&self, _request: &RunRequest<AbRun>) -> &[Objective] {
        &[]
    }

    fn resting(&self, after: &RunRequest<AbRun>) -> Option<&RunContext> {
        self.context(after.part.side)
    }

    fn ready(&mut self, request: &RunRequest<AbRun>) -> Result<&RunContext, Stop> {
        let side = request.part.side;
        if let Some(context) = self.context(side) {
            context.ask_who_it_is().map_err(|stop| stop.about(&format!("side {side}")))?;
        } else if let Some(command) = &self.plan.switch {
            // The side that was served so far is gone.
            self.ready.clear();
            self.printer.words(&format!("switching to {side}"));
            self.command("switch", command, side)?;
            self.connect(side)?;
        } else {
            self.connect_both()?;
        }
        if let Some(command) = &self.plan.reset {
            self.command("reset", command, side)?;
        }
        self.context(side).ok_or_else(|| Stop::impossible(format!("{side} is not ready")))
    }

    fn title(&self, next: &CampaignStep<'_, AbExperiment>, run: &PlannedRun) -> Option<String> {
        let AbRun { side, round, of } = next.request.part;
        Some(format!("{}, {side}, seed {}", place("round", round, of), run.workload.seed))
    }

    fn finished(&mut self, _request: &RunRequest<AbRun>, run: &StoredRun) -> Result<(), Stop> {
        if run.ending() != RunEnding::Interrupted {
            let within = self.plan.design.variation_within(&run.run.summary);
            self.say_power(&within, "what varies within this run alone");
        }
        Ok(())
    }

    fn recorded(&mut self, done: &CampaignStep<'_, AbExperiment>) -> Result<(), Stop> {
        let CampaignStep { request, experiment, .. } = done;
        let is_round = request.group.last() == Some(&request.name);
        if let Some(test) = experiment.result().ok().filter(|test| is_round && test.counted_rounds >= TELLING) {
            self.say_power(&test.variation(), "the rounds so far");
        }
        Ok(())
    }
}
