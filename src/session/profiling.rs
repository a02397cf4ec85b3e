//! `--profile`: the server's profiler, over a stretch of load that no figure counts.

use std::str::FromStr;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::clock::{RunClock, Timestamp};
use crate::engine::{OpenAiEngine, Router};
use crate::record::ProfiledStretch;
use crate::runner::Tail;
use crate::session::console::Printer;
use crate::units::spoken;
use crate::workload::WorkloadSpec;
use crate::workload::reading::some_time;

/// The moment of a profile that comes once all that counts has ended.
const STEADY: &str = "STEADY";

/// How long the server profiles itself, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProfileWish {
    /// The length of the profile.
    length: Duration,
    /// The moment of the run. `None` is when all that counts has ended, under load that goes on.
    at: Option<Duration>,
}

impl FromStr for ProfileWish {
    type Err = String;

    /// Reads `10s`, `10s@STEADY` or `10s@30s`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (length, at) = text.split_once('@').unwrap_or((text, STEADY));
        let at = (!at.eq_ignore_ascii_case(STEADY)).then(|| some_time(at)).transpose();
        let at = at.map_err(|error| format!("{error}; it is {STEADY}, or a moment of the run such as 30s"))?;
        Ok(Self { length: some_time(length)?, at })
    }
}

impl ProfileWish {
    /// Returns the workload with load for as long as the profile takes.
    ///
    /// # Errors
    ///
    /// A profile that would lie in the window, which measures.
    pub(crate) fn fit(self, mut spec: WorkloadSpec) -> Result<WorkloadSpec, String> {
        let length_s = self.length.as_secs_f64();
        let Some(at) = self.at else {
            spec.cooldown_s = Some(spec.load_after_s() + length_s);
            spec.drain_s += length_s;
            return Ok(spec);
        };
        let end = at + self.length;
        if end.as_secs_f64() > spec.warmup_s {
            let warmup = Duration::from_secs_f64(spec.warmup_s);
            return Err(format!(
                "--profile: the profile would last until {} and the window begins at {}, so that figures would have \
                 the profiler's cost in them\nhint: leave the moment out, for a profile after the window, or take a \
                 --warmup of more than {}",
                spoken(end),
                spoken(warmup),
                spoken(end)
            ));
        }
        Ok(spec)
    }

    /// The profile of a run, and what the run must wait for.
    pub(crate) fn start(self) -> (Profiling, Option<Tail>) {
        let Some(at) = self.at else {
            let (begins, begun) = oneshot::channel();
            let (ends, over) = oneshot::channel();
            let moment = ProfileMoment::Steady { begun, ends };
            return (Profiling { length: self.length, moment }, Some(Tail { begins: Some(begins), over }));
        };
        (Profiling { length: self.length, moment: ProfileMoment::At(at) }, None)
    }
}

/// The moment of a profile.
#[derive(Debug)]
enum ProfileMoment {
    At(Duration),
    Steady {
        /// Hears when all that counts has ended.
        begun: oneshot::Receiver<()>,
        /// Ends the load.
        ends: oneshot::Sender<()>,
    },
}

/// A profile that is about to be taken.
#[derive(Debug)]
pub(crate) struct Profiling {
    length: Duration,
    moment: ProfileMoment,
}

impl Profiling {
    /// Takes the profile beside a run, which is `over` at its end. It is `None` where the run ended before its moment.
    async fn take(
        self,
        engine: &Router<OpenAiEngine>,
        clock: RunClock,
        over: &CancellationToken,
    ) -> Option<ProfiledStretch> {
        let Self { length, moment } = self;
        let ends = match moment {
            ProfileMoment::At(at) => {
                let reached = sleep_until(clock.instant(Timestamp::ZERO.after(at)));
                over.run_until_cancelled(reached).await?;
                None
            }
            ProfileMoment::Steady { begun, ends } => {
                begun.await.ok()?;
                Some(ends)
            }
        };
        let servers = engine.targets();
        let from = clock.now();
        let started = futures::future::try_join_all(servers.iter().map(OpenAiEngine::start_profile)).await;
        if started.is_ok() {
            over.run_until_cancelled(sleep(length)).await;
        }
        // The load ends with the profile: a server that writes it down answers nothing meanwhile.
        drop(ends);
        let stops: Vec<_> = servers.iter().map(OpenAiEngine::stop_profile).collect();
        let stopped = futures::future::join_all(stops).await.into_iter().collect::<Result<(), _>>();
        let failure = started.err().or(stopped.err()).map(|error| error.to_string());
        Some(ProfiledStretch { from, to: clock.now(), failure })
    }
}

/// The sentence about a profile that was wished for.
fn in_words(stretch: Option<&ProfiledStretch>) -> String {
    match stretch {
        None => "warning: the server was not profiled: the run ended before".to_owned(),
        Some(ProfiledStretch { failure: Some(failure), .. }) => format!("warning: {failure}"),
        Some(_) => "profile: the server has written it where its profiler puts profiles".to_owned(),
    }
}

/// Waits for a run at these servers, and for the profile beside it, if any.
pub(crate) async fn beside<T>(
    profiling: Option<Profiling>,
    run: impl Future<Output = T>,
    (engine, clock): (&Router<OpenAiEngine>, RunClock),
    printer: Printer,
) -> (T, Option<ProfiledStretch>) {
    let Some(profiling) = profiling else { return (run.await, None) };
    let over = CancellationToken::new();
    let run = async {
        let done = run.await;
        over.cancel();
        done
    };
    let (done, stretch) = tokio::join!(run, profiling.take(engine, clock, &over));
    printer.words(&in_words(stretch.as_ref()));
    (done, stretch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_written_as_a_length_and_a_moment() {
        let wish = |length, at: Option<u64>| ProfileWish {
            length: Duration::from_secs(length),
            at: at.map(Duration::from_secs),
        };
        for (text, read) in [
            ("10s", wish(10, None)),
            ("1m@STEADY", wish(60, None)),
            ("5s@steady", wish(5, None)),
            ("10s@30s", wish(10, Some(30))),
        ] {
            assert_eq!(text.parse(), Ok(read), "{text}");
        }
        for (text, said) in [("", "duration"), ("0s", "above 0"), ("10s@soon", "it is STEADY"), ("@30s", "duration")] {
            let error = text.parse::<ProfileWish>().unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn no_profile_lies_in_the_window() {
        let mut spec = WorkloadSpec::load("short_chat").unwrap();
        (spec.warmup_s, spec.drain_s, spec.cooldown_s) = (10.0, 30.0, None);
        let fit = |text: &str| text.parse::<ProfileWish>().unwrap().fit(spec.clone());
        let after = fit("20s").unwrap();
        assert_eq!((after.load_after_s(), after.drain_s), (50.0, 50.0), "load for the answers, and for the profile");
        assert_eq!(fit("5s@5s").unwrap(), spec);
        let error = fit("6s@5s").unwrap_err();
        assert!(error.contains("would last until 11 s and the window begins at 10 s"), "{error}");
    }
}
