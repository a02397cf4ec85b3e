//! Shards that begin together, and those that do not.

use super::*;
use crate::clock::Timestamp;
use crate::session::console::Exit;

fn plan(hash: &str) -> PlanFacts {
    let (window_start, window_end) = (Timestamp::ZERO, Timestamp::ZERO);
    PlanFacts { hash: hash.to_owned(), warmup_requests: 0, measured_requests: 1, window_start, window_end }
}

/// Lets shards of these numbers and plans meet, each in a thread.
fn met(folder: &Path, of: u64, shards: &[(u64, &str)], limit: Duration) -> Vec<Result<Start, Stop>> {
    std::thread::scope(|scope| {
        let meet = |&(number, hash): &(u64, &str)| {
            let plan = plan(hash);
            scope.spawn(move || {
                CommonStart::enter(folder, Shard { number, of }, limit, &plan, farthest_apart(&plan).max(LONG))?
                    .wait(Screen::Quiet)
            })
        };
        let waiting: Vec<_> = shards.iter().map(meet).collect();
        waiting.into_iter().map(|shard| shard.join().unwrap()).collect()
    })
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn all_shards_begin_at_one_moment_whatever_an_earlier_start_left() {
    let folder = tempfile::tempdir().unwrap();
    let together = folder.path().join("new");
    let mut earlier = None;
    for _ in 0..2 {
        let met = met(&together, 3, &[(2, "a"), (3, "a"), (1, "a")], LONG);
        let starts: Vec<_> = met.into_iter().map(Result::unwrap).collect();
        let moments: Vec<_> = starts.iter().filter_map(|start| start.at).collect();
        assert!(moments.len() == 3 && moments.iter().all(|moment| *moment == moments[0]), "{moments:?}");
        // All have one clock.
        let offsets: Vec<_> = starts.iter().filter_map(|start| start.offset).collect();
        assert!(offsets.len() == 3 && offsets.iter().all(|offset| offset.low_ns <= 0 && offset.high_ns >= 0));
        assert!(moments[0] > jiff::Timestamp::now() && earlier.is_none_or(|earlier| earlier < moments[0]));
        earlier = Some(moments[0]);
    }
    // Of three files that are there, two are of no process.
    let alone = met(&together, 3, &[(1, "a")], Duration::from_millis(600)).remove(0).unwrap_err();
    assert_eq!(alone.exit(), Exit::Invalid);
    assert!(alone.message().starts_with("shard 2/3, 3/3 did not come to "), "{}", alone.message());
    let alone = met(&together, 3, &[(3, "a")], Duration::ZERO).remove(0).unwrap_err();
    let said = alone.message();
    assert!(said.starts_with("shard 1/3 is missing in ") && said.contains("refused an earlier start"), "{said}");
}

#[test]
fn clocks_are_compared_with_one_another() {
    let folder = tempfile::tempdir().unwrap();
    let asked = jiff::Timestamp::now();
    // The clocks of shards 2 and 3 are ahead of this one by so many milliseconds.
    let compared = |ahead: [i64; 2], most_apart| {
        let (shard, plan) = (Shard { number: 1, of: 3 }, plan("a"));
        let mut start = CommonStart::enter(folder.path(), shard, LONG, &plan, most_apart).unwrap();
        let clock = |ahead| {
            Some(asked + Duration::from_secs(60) - Duration::from_millis(60_000_u64.saturating_sub_signed(ahead)))
        };
        let present = |number, ahead: i64| (number, Presence { clock: clock(ahead), ..Presence::default() });
        let decision = start.compare_clocks(asked, &[present(2, ahead[0]), present(3, ahead[1])]);
        (decision, start.own.offsets[&2])
    };
    let (decision, offset) = compared([2_000, 2_000], FARTHEST);
    assert!(matches!(decision, Some(Decision::StartAt(_))), "{decision:?}");
    assert!(offset.low_ns == -2_000_000_000 && (offset.low_ns..0).contains(&offset.high_ns), "{offset:?}");
    for ([two, three], most_apart, problem) in [
        ([2_000, 2_000], LONG / 60, "the clock of shard 2/3 is at least 2 s ahead of that of shard 1/3"),
        ([-1_900, 1_900], FARTHEST, "the clock of shard 3/3 is at least 3.8 s ahead of that of shard 2/3"),
    ] {
        let (decision, _) = compared([two, three], most_apart);
        assert!(matches!(&decision, Some(Decision::Refused(why)) if why.starts_with(problem)), "{decision:?}");
    }
}

#[test]
fn shards_that_stop_answering_do_not_keep_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let (limit, shard, plan) = (Duration::from_millis(300), Shard { number: 1, of: 2 }, plan("a"));
    let first = CommonStart::enter(folder.path(), shard, limit, &plan, LONG).unwrap();
    let mut second = CommonStart::enter(folder.path(), Shard { number: 2, ..shard }, limit, &plan, LONG).unwrap();
    // It dies before it tells its time.
    second.own.answered = Some(first.own.ticket);
    second.write(false).unwrap();
    let refused = first.wait(Screen::Quiet).unwrap_err();
    assert!(refused.message().starts_with("a shard stopped answering in "), "{}", refused.message());
}

#[test]
fn a_shard_that_starts_again_tells_its_time_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = CommonStart::enter(folder.path(), Shard { number: 1, of: 3 }, LONG, &plan("a"), LONG).unwrap();
    let line = StepLine::start(Screen::Quiet, String::new());
    let mut come = |number, clock| {
        let shard = Shard { number, of: 3 };
        let mut other = CommonStart::enter(folder.path(), shard, LONG, &plan("a"), LONG).unwrap();
        (other.own.answered, other.own.clock) = (Some(first.own.ticket), clock);
        other.write(false).unwrap();
        assert!(first.lead(&line, false).unwrap().is_none());
        first.own.offsets.contains_key(&number)
    };
    assert!(!come(2, None) && !come(3, None));
    assert!(come(3, Some(jiff::Timestamp::now())) && !come(3, None));
}

#[test]
fn a_refusal_reaches_a_shard_that_shard_1_does_not_know() {
    let folder = tempfile::tempdir().unwrap();
    let enter = |number| CommonStart::enter(folder.path(), Shard { number, of: 3 }, LONG, &plan("a"), LONG).unwrap();
    let (second, mut first) = (enter(2), enter(1));
    first.own.decision = Some(Decision::Refused("why".to_owned()));
    first.write(false).unwrap();
    assert_eq!(second.wait(Screen::Quiet).unwrap_err().message(), "why");
}

#[test]
fn shards_of_other_plans_are_refused_by_all() {
    let folder = tempfile::tempdir().unwrap();
    for refused in met(folder.path(), 2, &[(1, "aaaa"), (2, "bbbb")], LONG) {
        let refused = refused.unwrap_err();
        let said = refused.message();
        assert!(said.starts_with("shard 2/2 would run another plan than shard 1/2: bbbb, not aaaa"), "{said}");
    }
}

#[test]
fn two_processes_are_not_one_shard() {
    let folder = tempfile::tempdir().unwrap();
    let met = met(folder.path(), 2, &[(2, "a"), (2, "a")], Duration::from_millis(800));
    let doubled = |stop: &Stop| stop.message().starts_with("another process is shard 2/2 in ");
    assert_eq!(met.iter().filter(|one| one.as_ref().is_err_and(doubled)).count(), 1, "{met:?}");
}
