//! `--profile`: the server's profiler, over a stretch of load that no figure counts.

use std::str::FromStr;
use std::time::Duration;

use futures::future::join_all;
use tokio::sync::{oneshot, watch};
use tokio::time::{sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::clock::{RunClock, Timestamp};
use crate::engine::{OpenAiEngine, ProfilerError, Router};
use crate::record::ProfiledStretch;
use crate::runner::{Interrupt, Tail};
use crate::session::console::Printer;
use crate::units::{listed, spoken};
use crate::workload::WorkloadSpec;
use crate::workload::reading::some_time;

/// The moment of a profile that comes once all that counts has ended.
const STEADY: &str = "STEADY";

/// Time limit for a server to hear that the user leaves.
const FAREWELL: Duration = Duration::from_secs(1);

/// Length and moment of a server's profile.
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
    /// Returns the workload with load for as long as the profile takes. The rest of the plan stays as it is.
    ///
    /// # Errors
    ///
    /// A profile that would lie in the window, which measures, or one without load.
    pub(crate) fn fit(self, mut spec: WorkloadSpec) -> Result<WorkloadSpec, String> {
        let Some(at) = self.at else {
            if spec.arrival.trace().is_some() {
                let hint = "take a moment of the warm-up, such as --profile 10s@5s --warmup 20s";
                return Err(format!("--profile: no load follows the last request of a trace\nhint: {hint}"));
            }
            let drain = Duration::from_secs_f64(spec.drain_s);
            if self.length > drain {
                let (drain, length) = (spoken(drain), spoken(self.length));
                return Err(format!(
                    "--profile: load goes on for {drain} after the window at most, and the profile takes {length}\n\
                     hint: take a shorter one, or a --drain of more than {length}"
                ));
            }
            spec.cooldown_s = Some(spec.drain_s);
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

    /// The profile of a run whose window ends then, where that is known, and what the run must wait for.
    pub(crate) fn start(self, window_end: Option<Timestamp>) -> (Profiling, Option<Tail>) {
        let Some(at) = self.at else {
            let (begins, begun) = oneshot::channel();
            let (ends, over) = oneshot::channel();
            let moment = ProfileMoment::Steady { begun, window_end, ends };
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
        /// End of the window, which may come later: what the server reports counts until then.
        window_end: Option<Timestamp>,
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
        leave: watch::Receiver<Interrupt>,
    ) -> Option<ProfiledStretch> {
        let Self { length, moment } = self;
        let ends = match moment {
            ProfileMoment::At(at) => {
                let reached = sleep_until(clock.instant(Timestamp::ZERO.after(at)));
                over.run_until_cancelled(reached).await?;
                None
            }
            ProfileMoment::Steady { begun, window_end, ends } => {
                begun.await.ok()?;
                if let Some(end) = window_end {
                    over.run_until_cancelled(sleep_until(clock.instant(end))).await?;
                }
                Some(ends)
            }
        };
        let servers = engine.targets();
        let from = clock.now();
        let starts = join_all(servers.iter().map(OpenAiEngine::start_profile));
        let started = tokio::select! { started = starts => started, () = left(leave.clone()) => Vec::new() };
        let begun = clock.now();
        if !started.is_empty() && started.iter().all(Result::is_ok) {
            over.run_until_cancelled(sleep(length)).await;
        }
        let lasted = clock.now().since(begun);
        // The load ends with the profile: a server that writes it down answers nothing meanwhile.
        drop(ends);
        // Where a start was refused, none of this run's is on; where it was not answered, one may be.
        let refused = |place: usize| matches!(started.get(place), Some(Err(ProfilerError::Refused { .. })));
        let on = servers.iter().enumerate().filter(|(place, _)| !refused(*place));
        let stops = join_all(on.map(|(_, server)| server.stop_profile()));
        let in_vain = async {
            left(leave).await;
            sleep(FAREWELL).await;
        };
        let stopped = tokio::select! { stopped = stops => stopped, () = in_vain => Vec::new() };
        let refused = started.into_iter().chain(stopped).filter_map(|answered| Some(answered.err()?.to_string()));
        let short =
            || (lasted < length).then(|| format!("the profile lasted {} of {}", spoken(lasted), spoken(length)));
        let failure = listed(refused, "; ").or_else(short);
        Some(ProfiledStretch { from, to: clock.now(), failure })
    }
}

/// Waits until the user leaves.
async fn left(mut wish: watch::Receiver<Interrupt>) {
    if wish.wait_for(|wish| *wish == Interrupt::Leave).await.is_err() {
        std::future::pending::<()>().await;
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
    (engine, clock, wish): (&Router<OpenAiEngine>, RunClock, watch::Receiver<Interrupt>),
    printer: Printer,
) -> (T, Option<ProfiledStretch>) {
    let Some(profiling) = profiling else { return (run.await, None) };
    let over = CancellationToken::new();
    let run = async {
        let done = run.await;
        over.cancel();
        done
    };
    let (done, stretch) = tokio::join!(run, profiling.take(engine, clock, &over, wish));
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
        let fit = |spec: &WorkloadSpec, text: &str| text.parse::<ProfileWish>().unwrap().fit(spec.clone());
        spec.requests = Some(20);
        let after = fit(&spec, "20s").unwrap();
        assert_eq!((after.load_after_s(), after.drain_s), (30.0, 30.0), "load, and no other wait for answers");
        assert!(fit(&spec, "31s").unwrap_err().contains("for 30 s after the window at most"));
        spec.requests = None;
        let fit = |text| fit(&spec, text);
        assert_eq!(fit("5s@5s").unwrap(), spec);
        let error = fit("6s@5s").unwrap_err();
        assert!(error.contains("would last until 11 s and the window begins at 10 s"), "{error}");
    }
}
