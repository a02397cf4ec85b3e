//! Looks ahead with the simulator: fitted to the runs of one variant, it runs the others in virtual time.

use super::outlook::{Forecast, Forecaster, Lever, Outlook, levers_for_limit, levers_for_regime};
use crate::analysis::{Objective, Quantile, summarise};
use crate::experiment::diagnosis::Diagnosis;
use crate::experiment::engine_fit::{EngineFit, Grade, MeasuredRun};
use crate::experiment::prediction::{predict, run_virtually};
use crate::experiment::sweep::{Bracket, Load, Trial, TrialRequest};
use crate::generator::Schedule;
use crate::record::{RunHeader, RunLog};
use crate::simulator::Fleet;
use crate::workload::WorkloadSpec;

/// Requests of a simulated run.
const REQUESTS: f64 = 400.0;
/// Ratio of the ends of a predicted load to which the search brings them.
const NEAR: f64 = 1.08;
/// Times that a load is doubled or halved until it ends to meet the objectives.
const MOST_STEPS: usize = 8;
/// The least relative error of a prediction: that of the search for it.
const LEAST_ERROR: f64 = 0.08;

/// A look ahead with the simulator.
pub struct Predictor<L, F> {
    /// Every variant as the simulator has it, with its accelerators; or why it has none.
    pub fleets: Vec<(Result<Fleet, String>, u32)>,
    /// The requests.
    pub workload: WorkloadSpec,
    /// Objectives that a load must meet.
    pub objectives: Vec<Objective>,
    /// Reads the log of the run in a folder.
    pub log: L,
    /// Fits the engine of a variant, by its place, to its runs. It says why where none can be fitted.
    pub fit: F,
}

impl<L, F> Forecaster for Predictor<L, F>
where
    L: FnMut(&str) -> Option<RunLog>,
    F: FnMut(usize, &[MeasuredRun]) -> Result<EngineFit, String>,
{
    fn look(&mut self, measured: usize, runs: &[String], of: &[usize]) -> Outlook {
        let logs = runs.iter().filter_map(|name| Some(MeasuredRun { name: name.clone(), log: (self.log)(name)? }));
        let logs: Vec<MeasuredRun> = logs.collect();
        let highest = logs.iter().max_by(|a, b| rate(&a.log).total_cmp(&rate(&b.log)));
        let Some(highest) = highest.map(|run| &run.log) else { return Outlook::default() };
        let (like, own_gpus) = &self.fleets[measured];
        let like = like.as_ref().map_err(|why| format!("the simulator does not know the flags: {why}"));
        let fitted = like.and_then(|like| match (self.fit)(measured, &logs)? {
            fit if fit.grade == Grade::Poor => {
                Err("the fitted engine does not reproduce the runs that it is fitted to".to_owned())
            }
            fit => Ok((fit, like)),
        });
        let (fit, like) = match fitted {
            Ok(fitted) => fitted,
            Err(why) => {
                let (unpredicted, held_back) = (Some(why), self.seen_in(highest));
                return Outlook { forecasts: Vec::new(), unpredicted, held_back };
            }
        };
        let begin = rate(highest) / f64::from(*own_gpus);
        let error = fit.worst(Quantile::P50).filter(|off| off.is_finite()).unwrap_or(0.0).max(LEAST_ERROR);
        let mut left_out = None;
        let mut forecasts = Vec::new();
        for &place in of {
            let (fleet, gpus) = &self.fleets[place];
            let fleet = fleet.as_ref().ok().and_then(|fleet| fit.transferred_to(fleet, like));
            match fleet.and_then(|fleet| self.ends_at(&highest.header, &fleet, *gpus, begin)) {
                Some(per_gpu) => {
                    let (low, high) = (per_gpu / (1.0 + error), per_gpu * (1.0 + error));
                    forecasts.push((place, Forecast { per_gpu, low, high }));
                }
                None => left_out = left_out.or(Some(place)),
            }
        }
        let unpredicted = left_out.map(|place: usize| {
            let why = self.fleets[place].0.as_ref().err();
            why.map_or("what the runs show says nothing of it", String::as_str).to_owned()
        });
        let schedule = Schedule::draw(&highest.header.workload);
        let bottleneck = predict(highest.header.clone(), schedule, &fit.applied_to(like), &self.objectives).ok();
        let limit = bottleneck.map(|(_, predicted)| predicted.bottleneck.limit);
        let held_back = limit.map(|limit| (limit.words().0, levers_for_limit(limit)));
        let held_back = held_back.filter(|(_, levers)| !levers.is_empty());
        Outlook { forecasts, unpredicted, held_back: held_back.or_else(|| self.seen_in(highest)) }
    }
}

impl<L, F> std::fmt::Debug for Predictor<L, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Predictor").field("variants", &self.fleets.len()).finish_non_exhaustive()
    }
}

impl<L, F> Predictor<L, F> {
    /// Returns what a client sees of the run under the highest load.
    fn seen_in(&self, log: &RunLog) -> Option<(&'static str, &'static [Lever])> {
        let diagnosis = Diagnosis::of_run(log, &summarise(log, &self.objectives));
        diagnosis.symptoms.first().map(|symptom| levers_for_regime(symptom.regime))
    }

    /// Returns the load per accelerator at which `fleet` ends to meet the objectives. It is searched from `begin` on.
    fn ends_at(&self, header: &RunHeader, fleet: &Fleet, gpus: u32, begin: f64) -> Option<f64> {
        let (mut bracket, mut runs) = (Bracket::default(), 0);
        while let Some(per_gpu) = bracket.next(begin, 2.0, NEAR) {
            if runs > MOST_STEPS && bracket.met.xor(bracket.missed).is_some() {
                return bracket.met;
            }
            let is_met = self.meets(header, fleet, per_gpu * f64::from(gpus))?;
            *if is_met { &mut bracket.met } else { &mut bracket.missed } = Some(per_gpu);
            runs += 1;
        }
        Some(libm::sqrt(bracket.met? * bracket.missed?))
    }

    /// Returns whether a simulated run at this rate meets the objectives. It is `None` where it cannot be simulated.
    fn meets(&self, header: &RunHeader, fleet: &Fleet, rate: f64) -> Option<bool> {
        let window_s = REQUESTS / rate;
        let load = Load::Rate(rate);
        let wanted =
            TrialRequest { number: 1, load, repeat: 1, seed: header.workload.seed, window_s, run: String::new() };
        let workload = wanted.workload(&self.workload).ok()?;
        let schedule = Schedule::draw(&workload);
        let header = RunHeader { plan: schedule.facts(), workload, ..header.clone() };
        let log = run_virtually(header, schedule, fleet).ok()?;
        Some(Trial::new(&wanted, &summarise(&log, &self.objectives)).is_met())
    }
}

fn rate(log: &RunLog) -> f64 {
    log.header.workload.arrival.mean_rate_per_s()
}
