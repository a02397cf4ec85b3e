//! The workload under a load: rate, users, requests, repeats.

use clap::Args;

use super::values::{rate, whole};
use super::work::WorkArgs;
use crate::experiment::LoadAxis;
use crate::session::campaign::axis::check_agents;
use crate::session::{Printer, Stop};
use crate::units::{count, counted};
use crate::workload::{LoadSpike, Overrides, RateStage, WorkloadSpec};

/// The workload, what load it brings, and its overrides.
#[derive(Debug, Args)]
pub(in crate::cli) struct WorkloadArgs {
    #[command(flatten)]
    pub(in crate::cli) load: LoadArgs,

    /// Run it N times, one run after another, each with a seed of its own drawn from the first, and report every
    /// figure with its 95 % interval across the runs; 5 or more are advised, because fewer give a wide interval
    #[arg(long, value_name = "N", help_heading = "Workload", default_value_t = 1,
          value_parser = whole::<u64>(1..=1000), allow_negative_numbers = true)]
    pub(in crate::cli) repeats: u64,

    #[command(flatten)]
    pub(in crate::cli) what: WorkArgs,
}

impl WorkloadArgs {
    /// The workload that was meant, overrides applied; `cap` is the most requests in flight, and `swept` are the loads
    /// of a sweep.
    pub(in crate::cli) fn spec(
        &self,
        cap: Option<u64>,
        swept: Option<&LoadAxis>,
        printer: Printer,
    ) -> Result<WorkloadSpec, Stop> {
        self.load.spec_of(&self.what, cap, swept, printer)
    }
}

/// Most users of a closed loop.
const MOST_AT_ONCE: u64 = 100_000;

/// The load, for verbs that run the workload under one.
#[derive(Debug, Args)]
pub(in crate::cli) struct LoadArgs {
    /// Send this many requests (conversations, where they have turns) and count all of them, from the start
    /// of the run to the last answer: no warm-up and no load beyond them, unless --warmup or --cooldown asks
    /// for it [default: no limit]
    #[arg(long, visible_alias = "num-prompts", value_name = "N", conflicts_with = "seconds", help_heading = "Workload",
          value_parser = whole::<u64>(1..=u64::MAX), allow_negative_numbers = true)]
    requests: Option<u64>,

    /// Requests per second: multiplies all rates of the workload so that their mean becomes this one. The mean is
    /// over whole periods, all stages, or in the long run, for spikes the base rate: a window may have another, which
    /// the report shows; for a trace use --rate-scale. `inf` sends all --requests at once; with
    /// --max-concurrency N so many at once, and the next as each is answered; `max` is the same [default: the
    /// workload's]
    #[arg(long, visible_alias = "request-rate", value_name = "PER_S", help_heading = "Workload", value_parser = rate,
          allow_negative_numbers = true)]
    rate: Option<f64>,

    /// Closed loop in place of the workload's arrivals: N users, each of whom sends a request, waits for its answer
    /// and sends the next. The server then decides how many requests there are: a slow one gets fewer; --requests ends
    /// the loop after so many [default: the workload's arrivals]
    #[arg(long, value_name = "N", conflicts_with = "rate", help_heading = "Workload",
          value_parser = whole::<u64>(1..=MOST_AT_ONCE), allow_negative_numbers = true)]
    users: Option<u64>,

    /// N agents in place of the workload's arrivals. Each begins its next session or conversation when one is over;
    /// refused where the workload has neither (`guide agents`) [default: the workload's arrivals]
    #[arg(long, value_name = "N", conflicts_with_all = ["rate", "users"], help_heading = "Workload",
          value_parser = whole::<u64>(1..=MOST_AT_ONCE), allow_negative_numbers = true)]
    agents: Option<u64>,

    /// Raise the rate evenly from one to another over a time, such as 1:20:60s; several parts have commas
    /// between them, such as 1:20:60s,20:5:30s; it then stays; the run lasts as long, unless [SECONDS] or
    /// --requests says otherwise [default: the workload's arrivals]
    #[arg(long, value_name = "FROM:TO:OVER", help_heading = "Workload", value_delimiter = ',',
          value_parser = RateStage::typed)]
    ramp: Vec<RateStage>,

    /// A Poisson process at the rate, and so many times the rate from a moment on for a time, such as
    /// 2:40s:20s; then the rate again: does the server recover? [default: the workload's arrivals]
    #[arg(long, value_name = "TIMES:AT:FOR", help_heading = "Workload", value_parser = LoadSpike::typed)]
    spike: Option<LoadSpike>,
}

impl LoadArgs {
    /// The workload that was meant, under the load that was typed; `cap` is the most requests in flight, and
    /// `swept` are the loads of a sweep.
    pub(in crate::cli) fn spec_of(
        &self,
        work: &WorkArgs,
        cap: Option<u64>,
        swept: Option<&LoadAxis>,
        printer: Printer,
    ) -> Result<WorkloadSpec, Stop> {
        let overrides = self.overrides(cap, printer)?;
        let overrides = Overrides { users: overrides.users.or(work.users_of(swept)), ..overrides };
        let is_replayed = swept.is_none() && work.is_replayed(&overrides);
        if work.is_described(is_replayed) && self.rate.is_none() && overrides.users.is_none() && self.ramp.is_empty() {
            printer.words("note: 1 request/s, since nothing says how many (--rate, --users)");
        }
        let spec = work.spec(&overrides, is_replayed, printer)?;
        self.agents.map_or(Ok(()), |_| check_agents(&spec))?;
        Ok(spec)
    }

    /// Whether as many requests at once as there may be stand for a rate.
    pub(in crate::cli) fn is_rate_inf(&self) -> bool {
        self.rate == Some(f64::INFINITY)
    }

    fn overrides(&self, cap: Option<u64>, printer: Printer) -> Result<Overrides, Stop> {
        let Self { requests, rate, spike, .. } = *self;
        let users = self.users.or(self.agents);
        let overrides = Overrides { requests, ramp: self.ramp.clone(), spike, ..Overrides::default() };
        if !self.is_rate_inf() {
            return Ok(Overrides { rate_per_s: rate, users, ..overrides });
        }
        let users = self.users_in_place_of_a_rate(cap, printer)?;
        Ok(Overrides { users: Some(users), users_at_once: true, ..overrides })
    }

    /// Returns as many users as requests may be in flight. They are no more than there are requests.
    fn users_in_place_of_a_rate(&self, cap: Option<u64>, printer: Printer) -> Result<u64, Stop> {
        let Some(users) = self.requests.into_iter().chain(cap).min() else {
            return Err(Stop::usage(
                "--rate inf does not say how many requests are sent at once\nhint: add --requests N, which sends N at \
                 once, or --max-concurrency N, which keeps N in flight (where the verb has neither: --users N in place \
                 of --rate inf)",
            ));
        };
        if users > MOST_AT_ONCE {
            let users = count(users);
            return Err(Stop::usage(format!(
                "--rate inf would send {users} requests at once; the most is {}\nhint: add --max-concurrency N, which \
                 keeps N in flight",
                count(MOST_AT_ONCE)
            )));
        }
        if self.requests != Some(users) {
            printer.words(&format!(
                "--rate inf: {} at once, and the next as each is answered, so the server decides the rate",
                counted(users, "request")
            ));
        }
        Ok(users)
    }
}
