//! Where the runs of both sides are flown: two servers that are there all the time, or one machine that serves them in turn.

use std::path::Path;
use std::sync::Arc;

use super::args::AbArgs;
use super::sides::Sides;
use crate::cli::flight::{Common, Field};
use crate::experiment::AbSide;
use crate::generator::Datasets;
use crate::session::hooks::{Hook, Line, Output, Variable, Variables};
use crate::session::{Interrupts, PlannedRun, Printer, Stop};
use crate::workload::WorkloadSpec;

/// The file that commands write to, in the experiment's folder.
const OUTPUT: &str = "commands.log";

/// What runs are flown from, made ready when it is needed.
pub(super) struct Ground<'a> {
    pub(super) args: &'a AbArgs,
    pub(super) sides: &'a Sides,
    pub(super) spec: &'a WorkloadSpec,
    pub(super) datasets: &'a Arc<Datasets>,
    /// What is to be flown, whose first requests warm a server too.
    pub(super) runs: &'a [PlannedRun],
    pub(super) interrupts: &'a Interrupts,
    pub(super) printer: Printer,
    /// What is ready, and whose it is.
    ready: Vec<(AbSide, Field<'a>)>,
    common: Option<Common>,
}

impl<'a> Ground<'a> {
    pub(super) fn new(
        args: &'a AbArgs,
        sides: &'a Sides,
        spec: &'a WorkloadSpec,
        datasets: &'a Arc<Datasets>,
        runs: &'a [PlannedRun],
        interrupts: &'a Interrupts,
        printer: Printer,
    ) -> Self {
        let (ready, common) = (Vec::new(), None);
        Self { args, sides, spec, datasets, runs, interrupts, printer, ready, common }
    }

    /// Connects to both sides where both are there all the time, so that one that is not is found before any load.
    pub(super) fn open_both(&mut self) -> Result<(), Stop> {
        if self.args.sides.switch_cmd.is_some() {
            return Ok(());
        }
        AbSide::BOTH.into_iter().try_for_each(|side| self.open(side))
    }

    /// The field of `side`, made ready: switched to, connected, warmed, reset.
    pub(super) fn ready(&mut self, side: AbSide, folder: &Path) -> Result<&Field<'a>, Stop> {
        let mut output = Output::to(folder.join(OUTPUT));
        if let Some((_, field)) = self.ready.iter().find(|(known, _)| *known == side) {
            field.ask_who_it_is().map_err(|stop| stop.about(&format!("side {side}")))?;
        } else {
            if let Some(command) = &self.args.sides.switch_cmd {
                // Whoever was served so far is gone.
                self.ready.clear();
                self.printer.words(&format!("switching to {side}"));
                self.command("switch", command, side, &mut output)?;
            }
            self.open(side)?;
        }
        if let Some(command) = &self.args.sides.reset_cmd {
            self.command("reset", command, side, &mut output)?;
        }
        let ready = self.ready.iter().find(|(known, _)| *known == side);
        ready.map(|(_, field)| field).ok_or_else(|| Stop::impossible(format!("{side} is not ready")))
    }

    /// Lets the server of `side` come to rest after a run.
    pub(super) fn rest(&self, side: AbSide) {
        if let Some((_, field)) = self.ready.iter().find(|(known, _)| *known == side) {
            field.let_rest(self.args.experiment.pause);
        }
    }

    fn command(&self, name: &str, command: &str, side: AbSide, output: &mut Output) -> Result<(), Stop> {
        let variables = Variables::default().with(Variable::Side, side.name());
        Hook { name, line: Line::Typed(command), limit: Hook::USUAL_LIMIT }.run(
            &variables,
            output,
            self.interrupts,
        )
    }

    /// Connects to `side`, which says what the other says and was calibrated with it.
    fn open(&mut self, side: AbSide) -> Result<(), Stop> {
        let mut setup = self.sides.setup(side);
        setup.machine.no_calibration |= self.common.is_some();
        let checked = setup.check(self.spec, self.datasets)?;
        let datasets = Arc::clone(self.datasets);
        let field = setup
            .open(self.spec, datasets, checked, self.interrupts, self.printer)
            .map_err(|stop| stop.about(&format!("side {side}")))?;
        // Where one machine serves in turn, its pages are of whoever is served.
        if self.args.sides.switch_cmd.is_none() {
            field.no_page_of_engine("both sides")?;
        }
        let common = self.common.get_or_insert_with(|| field.common()).clone();
        let field = field.having(common);
        if let Some(run) = self.runs.first() {
            field.warm_server(&run.schedule, self.args.experiment.warmup_requests as usize);
        }
        self.ready.push((side, field));
        Ok(())
    }
}
