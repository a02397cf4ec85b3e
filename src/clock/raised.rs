//! Raises threads that must not be late: to real time where the system permits it, else to nice −20.
//!
//! Threads and processes inherit the priority of the thread that starts them. So a thread raises itself, and it starts
//! nothing while it is raised.

use std::marker::PhantomData;

use super::priority::{Rank, ThreadPriority};
#[cfg(target_os = "linux")]
use super::real_time::RealTime;

/// Whether threads that must not be late ask for more than the normal priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Urgency {
    /// They are threads like all others.
    #[default]
    Normal,
    /// They run before all others.
    RealTime,
}

impl Urgency {
    /// Raises the calling thread as far as the system permits, until the result is dropped.
    pub fn raise(self, rank: Rank) -> RaisedPriority {
        match self {
            Self::Normal => RaisedPriority::by(RaisedBy::Nothing),
            Self::RealTime => real_time(rank),
        }
    }

    /// The priority that threads which measure get here: found by trying.
    pub fn attainable(self) -> ThreadPriority {
        self.raise(Rank::Measuring).priority()
    }
}

/// The calling thread has a higher priority until this is dropped.
#[must_use = "the priority ends with this"]
#[derive(Debug)]
pub struct RaisedPriority {
    by: RaisedBy,
    /// It stays on its thread.
    thread: PhantomData<*const ()>,
}

/// What gives it.
#[derive(Debug)]
enum RaisedBy {
    Nothing,
    #[cfg(target_os = "linux")]
    Nice {
        /// The thread's own, to which it returns.
        before: i32,
    },
    #[cfg(target_os = "linux")]
    RealTime(RealTime),
}

impl RaisedPriority {
    /// The calling thread at nice −20, where the system permits it.
    pub fn nice() -> Self {
        nice()
    }

    /// What the thread was given.
    pub fn priority(&self) -> ThreadPriority {
        match &self.by {
            RaisedBy::Nothing => ThreadPriority::Normal,
            #[cfg(target_os = "linux")]
            RaisedBy::Nice { .. } => ThreadPriority::Nice(FIRST),
            #[cfg(target_os = "linux")]
            RaisedBy::RealTime(given) => ThreadPriority::Fifo(given.level()),
        }
    }

    fn by(by: RaisedBy) -> Self {
        Self { by, thread: PhantomData }
    }
}

#[cfg(target_os = "linux")]
const FIRST: i32 = -20;

#[cfg(target_os = "linux")]
fn real_time(rank: Rank) -> RaisedPriority {
    RealTime::take(rank).map_or_else(nice, |given| RaisedPriority::by(RaisedBy::RealTime(given)))
}

#[cfg(target_os = "linux")]
fn nice() -> RaisedPriority {
    let this = Some(rustix::thread::gettid());
    let raised = rustix::process::getpriority_process(this).and_then(|before| {
        rustix::process::setpriority_process(this, FIRST).map(|()| RaisedBy::Nice { before })
    });
    let raised = raised.inspect_err(|error| tracing::debug!("a thread keeps its normal priority: {error}"));
    RaisedPriority::by(raised.unwrap_or(RaisedBy::Nothing))
}

#[cfg(target_os = "linux")]
impl Drop for RaisedPriority {
    fn drop(&mut self) {
        if let RaisedBy::Nice { before } = self.by {
            let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), before);
        }
    }
}

/// Elsewhere a thread's priority is not a number.
#[cfg(not(target_os = "linux"))]
fn real_time(_rank: Rank) -> RaisedPriority {
    nice()
}

#[cfg(not(target_os = "linux"))]
fn nice() -> RaisedPriority {
    RaisedPriority::by(RaisedBy::Nothing)
}

/// How often the real-time threads of this process got their normal priority back, because one did not rest.
pub fn overruns() -> u64 {
    #[cfg(target_os = "linux")]
    return super::real_time::overruns();
    #[cfg(not(target_os = "linux"))]
    0
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;
    use std::sync::{Mutex, PoisonError};
    use std::time::{Duration, Instant};

    use super::*;

    /// Priorities are given back to all threads at once: one test at a time.
    static ALONE: Mutex<()> = Mutex::new(());

    /// Policy, real-time priority and niceness of a thread, as the kernel has them.
    fn fields(stat: &str) -> [i64; 3] {
        let (_, behind) = stat.rsplit_once(')').unwrap();
        // The first field behind the name is the third of all.
        let field = |number: usize| behind.split_whitespace().nth(number - 3).unwrap().parse().unwrap();
        [field(41), field(40), field(19)]
    }

    fn now() -> [i64; 3] {
        fields(&std::fs::read_to_string("/proc/thread-self/stat").unwrap())
    }

    /// Whether this system gives real time to this user; most containers do not.
    fn permitted() -> bool {
        let given = Urgency::RealTime.attainable();
        eprintln!("threads that measure get: {given}");
        matches!(given, ThreadPriority::Fifo(_))
    }

    fn on_a_thread<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        std::thread::spawn(act).join().unwrap()
    }

    #[test]
    fn a_priority_ends_where_it_is_dropped_and_children_do_not_have_it() {
        on_a_thread(|| {
            let before = now();
            let raised = Urgency::RealTime.raise(Rank::Measuring);
            let during = now();
            match raised.priority() {
                ThreadPriority::Fifo(level) => assert_eq!(during[..2], [1, i64::from(level)]),
                ThreadPriority::Nice(level) => assert_eq!(during, [0, 0, i64::from(level)]),
                ThreadPriority::Normal => assert_eq!(during, before),
            }
            drop(raised);
            assert_eq!(now(), before);
            let child = Command::new("cat").arg("/proc/self/stat").output().unwrap();
            assert_eq!(fields(&String::from_utf8(child.stdout).unwrap()), before);
            assert_eq!(std::thread::spawn(now).join().unwrap(), before);
        });
    }

    #[test]
    fn who_does_not_ask_gets_nothing() {
        on_a_thread(|| {
            let before = now();
            let raised = Urgency::Normal.raise(Rank::Watching);
            assert_eq!((raised.priority(), now()), (ThreadPriority::Normal, before));
        });
    }

    #[test]
    fn a_thread_that_never_rests_loses_its_priority_and_the_process_lives() {
        on_a_thread(|| {
            if !permitted() {
                return;
            }
            let (before, counted) = (now(), overruns());
            let raised = Urgency::RealTime.raise(Rank::Measuring);
            assert_eq!(now()[0], 1);
            let begin = Instant::now();
            while now()[0] == 1 && begin.elapsed() < Duration::from_secs(20) {
                let turn = Instant::now();
                while turn.elapsed() < Duration::from_millis(10) {
                    std::hint::spin_loop();
                }
            }
            assert_eq!(now()[..2], [0, 0], "after {:?}", begin.elapsed());
            assert_eq!(overruns(), counted + 1);
            // The next one gets it again.
            drop(raised);
            assert_eq!(now(), before);
            let again = Urgency::RealTime.raise(Rank::Measuring);
            assert!(matches!(again.priority(), ThreadPriority::Fifo(_)) && now()[0] == 1);
        });
    }

    #[test]
    fn a_thread_that_rests_keeps_it() {
        on_a_thread(|| {
            if !permitted() {
                return;
            }
            let raised = Urgency::RealTime.raise(Rank::Measuring);
            let begin = Instant::now();
            // More than the limit in all, with a rest every tenth of it.
            while begin.elapsed() < Duration::from_millis(900) {
                let turn = Instant::now();
                while turn.elapsed() < Duration::from_millis(50) {
                    std::hint::spin_loop();
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(now()[0], 1);
            drop(raised);
        });
    }

    #[test]
    fn the_limit_is_the_users_again_when_nobody_needs_it() {
        on_a_thread(|| {
            let limit = || rustix::process::getrlimit(rustix::process::Resource::Rttime);
            let before = limit();
            let raised = Urgency::RealTime.raise(Rank::Measuring);
            if matches!(raised.priority(), ThreadPriority::Fifo(_)) {
                assert_eq!((limit().current, limit().maximum), (Some(500_000), before.maximum));
            }
            drop(raised);
            assert_eq!(limit(), before);
        });
    }
}
