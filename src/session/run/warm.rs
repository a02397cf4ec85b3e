//! What is done with a server between runs: warmed before the first, let come to rest before the next.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::connect::SMOKE_LIMIT;
use super::context::RunContext;
use crate::clock::{RunClock, Timestamp};
use crate::engine::warm_server;
use crate::experiment::seed_of_run;
use crate::generator::{RequestSpec, Schedule};
use crate::live::StepLine;
use crate::record::{ColdStart, Failure};
use crate::session::console::Stop;
use crate::session::planned::PlannedRun;
use crate::units::{counted, spoken};
use crate::workload::{ArrivalPattern, ThinkTime, WorkloadSpec};

/// Answers after which a burst may end. It may end after one to each user where there are fewer users.
const ANSWERS_OF_BURST: u64 = 8;
/// Requests sent at a time to warm a server.
const FEW: usize = 8;
/// Requests of each user that tell how fast users are answered.
const OF_EACH: usize = 3;
/// The number of the texts that these requests say: no run has it.
const TEXTS: u64 = u64::MAX;
/// Time between two looks at whether a server is at rest.
const LOOK: Duration = Duration::from_millis(200);
/// How long a server is waited for that does not come to rest.
const PATIENCE: Duration = Duration::from_secs(60);

/// The requests that warm a server before `run`: its own. A closed loop draws one for each of its users, who
/// may be fewer.
fn warming(run: &PlannedRun, requests: u64) -> Schedule {
    if run.workload.arrival.users().is_none() {
        return run.schedule.clone();
    }
    let arrival = ArrivalPattern::of_users(requests, ThinkTime::default());
    run.schedule.of(&WorkloadSpec { arrival, requests: None, ..run.workload.with_whole_sessions() })
}

impl RunContext {
    /// Asks a server that was just started for test answers until it is warm. They are asked for one at a time. The
    /// server was started at `began` and listened at `listens`. The next run is stored with the times of the start.
    pub(crate) fn time_start(&self, began: Instant, listens: Option<Instant>) -> ColdStart {
        let since = |moment: Instant| moment.saturating_duration_since(began).as_secs_f64();
        let smoke = self.server.smokes.first();
        let mut start = ColdStart {
            listening_s: listens.map(since),
            ready_s: since(self.server.ready),
            first_token_s: smoke.first_token.map(since),
            ..ColdStart::default()
        };
        if let Some((prompt, _)) = smoke.prompt {
            let _line = StepLine::start(self.settings.screen, "asking for test answers until the server is warm");
            let engine = self.server.router.targets().first();
            let (mut moments, mut took_s) = (Vec::new(), Vec::new());
            while start.warm_s.is_none() && moments.len() < ColdStart::MOST {
                let from = Instant::now();
                let Some(Ok(_)) = self.unless_stopped(engine.smoke_test(prompt, SMOKE_LIMIT)) else { break };
                moments.push(from);
                took_s.push(from.elapsed().as_secs_f64());
                start.warm_s = ColdStart::warm_from(&took_s).map(|place| since(moments[place]));
            }
            start.test_answers = Some(moments.len() as u64);
        }
        self.cold_start.set(Some(start));
        start
    }

    /// Sends as many requests as those of `run`, and counts none. They are sent a few at a time. A failure is a
    /// warning: the runs will show it. An interrupt ends it.
    pub(crate) fn warm_server(&self, run: &PlannedRun, requests: u64) {
        if requests == 0 {
            return;
        }
        let line = StepLine::counting(self.settings.screen, "warming the server", requests);
        let first = self.first(&warming(run, requests), requests as usize);
        if let Err(failure) = self.ask(line.count(first), FEW, &Cell::new(requests)) {
            self.printer.words(&format!("warning: the server answered a request of the warm-up with {failure}"));
        }
    }

    /// Measures the requests per second that the server completes for so many users. Each of them asks again at once,
    /// by the first requests of `schedule`, until `length` is over and some are answered. `None` where it is
    /// interrupted. The time until the last answer counts, so that a server that answers in waves is not seen between
    /// two of them.
    pub(crate) fn burst(&self, schedule: &Schedule, users: u64, length: Duration) -> Result<Option<f64>, Stop> {
        let clock = RunClock::starting_in(Duration::ZERO);
        let name = format!("looking at how much the server completes for {}", counted(users, "user"));
        let _line = StepLine::start(self.settings.screen, name);
        let asked = Cell::new(0);
        let requests = self.first(schedule, usize::MAX).take_while(|_| {
            let answered = asked.get() - users.min(asked.get());
            let goes_on = answered < users.min(ANSWERS_OF_BURST) || clock.now().since(Timestamp::ZERO) < length;
            asked.set(asked.get() + u64::from(goes_on));
            goes_on
        });
        let answered = self.ask(requests, users as usize, &asked).map_err(|failure| {
            Stop::impossible(format!(
                "the server answered {failure} when {} asked at once\n\
                 hint: look at the server's log; with --start-rate the search starts without this look",
                counted(users, "user")
            ))
        })?;
        Ok(answered.map(|()| asked.get() as f64 / clock.now().as_secs_f64().max(1e-3)))
    }

    /// Measures how long so many users wait for an answer on average. Each of them asks again at once, by the first
    /// requests of `schedule`, of which it takes [`Self::asked_by`] many. `None` where it is interrupted.
    pub(crate) fn shared(&self, schedule: &Schedule, users: u64) -> Result<Option<Duration>, Stop> {
        let name = "measuring how fast the users are answered";
        let line = StepLine::counting(self.settings.screen, name, Self::asked_by(users));
        let requests = line.count(self.first(schedule, Self::asked_by(users) as usize));
        let clock = RunClock::starting_in(Duration::ZERO);
        let begin = clock.now();
        let all = Cell::new(Self::asked_by(users));
        let answered = self.ask(requests, users as usize, &all).map_err(|failure| {
            Stop::impossible(format!(
                "the server answered a request before the first run with {failure}\nhint: look at the server's log"
            ))
        })?;
        Ok(answered.map(|()| clock.now().since(begin) / OF_EACH as u32))
    }

    /// Sends these requests, and counts those that were `asked` as warming. `None`: an interrupt ended that.
    fn ask(
        &self,
        requests: impl Iterator<Item = RequestSpec>,
        at_once: usize,
        asked: &Cell<u64>,
    ) -> Result<Option<()>, Failure> {
        let answered = self.unless_stopped(warm_server(&self.server.router, requests, at_once)).transpose()?;
        self.warmed.set(self.warmed.get() + answered.map_or(0, |()| asked.get()));
        Ok(answered)
    }

    /// Requests that tell how fast so many users are answered.
    pub(crate) const fn asked_by(users: u64) -> u64 {
        users * OF_EACH as u64
    }

    /// Refuses a server that is not the one that was connected to. It does so as far as the server reports that.
    pub(crate) fn ask_who_it_is(&self) -> Result<(), Stop> {
        let Self { server, .. } = self;
        server.router.targets().iter().try_for_each(|engine| {
            server.runtime.block_on(engine.verify_identity()).map_err(|other| {
                Stop::impossible(format!(
                    "{other}: rounds of two servers are not one experiment\nhint: serve what was served before, and \
                     continue with --resume; or begin again"
                ))
            })
        })
    }

    /// Waits for `pause`, and then until the server has nothing left to do. It waits for the latter where the server
    /// reports that. An interrupt ends it.
    pub(crate) fn let_rest(&self, pause: Duration) {
        let Self { server, printer, settings, .. } = self;
        let waiting = "waiting until the server is idle";
        let line = StepLine::start(settings.screen, format!("{waiting}: {} at least", spoken(pause)));
        let at_rest = async {
            tokio::time::sleep(pause).await;
            let mut waited = Duration::ZERO;
            while let Some(in_flight @ 1..) = server.router.in_flight_requests().await {
                let in_flight = counted(in_flight, "request");
                line.at(format!("{waiting}: {in_flight} in flight, {} at most", spoken(PATIENCE)));
                if waited >= PATIENCE {
                    printer.words(&format!(
                        "warning: the server still has {in_flight} a minute after the run; does another client use it?"
                    ));
                    break;
                }
                tokio::time::sleep(LOOK).await;
                waited += LOOK;
            }
        };
        self.unless_stopped(at_rest);
    }

    /// Returns what `answer` comes to; `None` where an interrupt ends the wait.
    fn unless_stopped<T>(&self, answer: impl Future<Output = T>) -> Option<T> {
        self.server.runtime.block_on(async {
            tokio::select! {
                answered = answer => Some(answered),
                () = self.interrupts.stop_wished() => None,
            }
        })
    }

    /// Returns so many requests of `schedule`, from its first on.
    fn first<'s>(&'s self, schedule: &Schedule, requests: usize) -> impl Iterator<Item = RequestSpec> + use<'s> {
        let prompts = self.conditions.prompts.clone().with_salt(seed_of_run(self.conditions.salt, TEXTS));
        schedule.generate_stream(prompts.into()).take(requests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Overrides;

    #[test]
    fn few_users_warm_a_server_with_as_many_requests() {
        let warming = |overrides| {
            let spec = WorkloadSpec::load("short_chat").unwrap().with(&overrides).unwrap();
            let run = PlannedRun::alone(spec, &std::sync::Arc::default(), "").unwrap();
            warming(&run, 20).plan().take(20).count()
        };
        assert_eq!(warming(Overrides::default()), 20);
        assert_eq!(warming(Overrides { users: Some(2), ..Overrides::default() }), 20);
        assert_eq!(warming(Overrides { users: Some(2), requests: Some(5), ..Overrides::default() }), 20);
    }
}
