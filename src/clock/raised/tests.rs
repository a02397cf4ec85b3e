//! Priorities that were raised, and what becomes of them.

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
    Pacing::RealTime.priority().starts_with("fifo")
}

fn on_a_thread<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::spawn(act).join().unwrap()
}

#[test]
fn a_priority_ends_where_it_is_dropped_and_children_do_not_have_it() {
    on_a_thread(|| {
        let before = now();
        let raised = Pacing::RealTime.raise();
        let during = now();
        match &*raised.name() {
            "fifo 5" => assert_eq!(during[..2], [1, 5]),
            "nice -20" => assert_eq!(during, [0, 0, -20]),
            name => assert_eq!((name, during), ("normal", before)),
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
        let raised = Pacing::Precise.raise();
        assert_eq!((&*raised.name(), now()), ("normal", before));
    });
}

#[test]
fn a_thread_that_never_rests_loses_its_priority_and_the_process_lives() {
    on_a_thread(|| {
        if !permitted() {
            return;
        }
        let (before, counted) = (now(), overruns());
        let raised = Pacing::RealTime.raise();
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
        let again = Pacing::RealTime.raise();
        assert_eq!((&*again.name(), now()[0]), ("fifo 5", 1));
    });
}

#[test]
fn a_thread_that_rests_keeps_it() {
    on_a_thread(|| {
        if !permitted() {
            return;
        }
        let raised = Pacing::RealTime.raise();
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
fn a_thread_that_is_one_of_real_time_already_stays_as_it_is() {
    on_a_thread(|| {
        if !permitted() {
            return;
        }
        let raised = Pacing::RealTime.raise_watcher();
        let again = Pacing::RealTime.raise();
        assert_eq!((&*again.name(), now()[1]), ("fifo 6", 6));
        drop(again);
        assert_eq!(now()[1], 6);
        drop(raised);
    });
}

#[test]
fn the_limit_is_the_users_for_processes_and_when_nobody_needs_it() {
    on_a_thread(|| {
        let limit = || rustix::process::getrlimit(rustix::process::Resource::Rttime);
        let before = limit();
        let raised = Pacing::RealTime.raise();
        if raised.name().starts_with("fifo") {
            assert_eq!((limit().current, limit().maximum), (Some(500_000), before.maximum));
        }
        let during = limit();
        assert_eq!(with_users_limit(limit), before);
        assert_eq!(limit(), during);
        drop(raised);
        assert_eq!(limit(), before);
        assert_eq!(with_users_limit(limit), before);
    });
}
