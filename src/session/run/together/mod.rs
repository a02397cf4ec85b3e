//! A common start of all shards, agreed on by files in a folder that each of them sees.
//!
//! Each shard appends its state to a file of its own. Nobody writes to the file of another and no file is replaced,
//! so on a network file system whoever opens a file sees its newest line. Files of an earlier start confuse nobody:
//! shard 1 counts a shard only once that has repeated the ticket that shard 1 drew for this start, and a shard begins
//! only if shard 1 has named its ticket.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::live::{Screen, StepLine};
use crate::record::{ClockOffset, ClockReference, PlanFacts, Shard, farthest_apart};
use crate::session::console::Stop;
use crate::session::settings::{MachineCheck, RunSettings, Share};
use crate::units::{listed, spoken};

/// How long a shard waits for the others.
const USUAL_WAIT: Duration = Duration::from_secs(10 * 60);
/// Time between two looks at the folder.
const LOOK: Duration = Duration::from_millis(100);
/// Time from the moment when all are there to the start. Each shard has seen by then when it begins.
const AHEAD: Duration = Duration::from_secs(5);
/// Farthest apart that clocks may be whatever was overridden. Beyond that the start may have passed for a shard.
const FARTHEST: Duration = Duration::from_millis(2_500);

/// The newest line in the file of a shard.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Presence {
    /// A number drawn at random for this start.
    ticket: u64,
    /// The plan that it would execute, and the version that executes it.
    plan: [String; 2],
    /// The ticket of shard 1, once it was seen.
    answered: Option<u64>,
    /// The moment when shard 1 asked all for the time, once all are there. Of another shard it is that of its answer.
    clock: Option<jiff::Timestamp>,
    /// Tickets of the shards that have answered, by their numbers. Only shard 1 has them.
    present: BTreeMap<u64, u64>,
    /// Offsets of the clock of shard 1 from those of all, by their numbers.
    offsets: BTreeMap<u64, ClockOffset>,
    /// The decision of shard 1, once there is one.
    decision: Option<Decision>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decision {
    StartAt(jiff::Timestamp),
    Refused(String),
}

/// The moment that a share begins at.
#[derive(Debug)]
pub(super) struct Start {
    /// The moment as typed, or as all shards agree; absent: at once.
    pub(super) at: Option<jiff::Timestamp>,
    /// The offset of the clock of shard 1, where the shards agreed.
    pub(super) offset: Option<ClockOffset>,
}

impl Start {
    /// Finds the moment for the share of these settings. It waits for all others where they begin together.
    pub(super) fn find(settings: &RunSettings, plan: &PlanFacts) -> Result<Self, Stop> {
        let Share { shard, start_at, start_together, start_wait } = &settings.share;
        let Some((folder, shard)) = start_together.as_ref().zip(*shard) else {
            return Ok(Self { at: *start_at, offset: None });
        };
        let is_overridden = settings.machine == MachineCheck::Overridden;
        let most_apart = if is_overridden { FARTHEST } else { farthest_apart(plan) };
        let limit = start_wait.unwrap_or(USUAL_WAIT);
        CommonStart::enter(folder, shard, limit, plan, most_apart)?.wait(settings.screen)
    }
}

/// A shard that waits for the others.
struct CommonStart<'a> {
    folder: &'a Path,
    shard: Shard,
    limit: Duration,
    /// Farthest apart that clocks may be.
    most_apart: Duration,
    own: Presence,
    /// The ticket of shard 1 that was there before. It may be of an earlier start.
    earlier: Option<u64>,
    /// The moment after which it waits no longer.
    until: Instant,
}

impl<'a> CommonStart<'a> {
    /// Enters `shard` of a plan in its file in `folder`. It waits there up to `limit` for the others.
    fn enter(
        folder: &'a Path,
        shard: Shard,
        limit: Duration,
        plan: &PlanFacts,
        most_apart: Duration,
    ) -> Result<Self, Stop> {
        let plan = [plan.hash.clone(), env!("CARGO_PKG_VERSION").to_owned()];
        let own = Presence { ticket: rand::random(), plan, ..Presence::default() };
        let until = Instant::now() + limit;
        let mut start = Self { folder, shard, limit, most_apart, own, earlier: None, until };
        start.earlier = start.read(1).map(|first| first.ticket);
        std::fs::create_dir_all(folder).and_then(|()| start.write(true)).map_err(|error| {
            let folder = folder.display();
            Stop::usage(format!(
                "--start-together {folder}: {error}\nhint: name a folder that all generators can write to"
            ))
        })?;
        Ok(start)
    }

    /// Waits for all shards, and returns when they begin.
    fn wait(mut self, screen: Screen) -> Result<Start, Stop> {
        let line = StepLine::start(screen, self.waiting(1));
        loop {
            if self.read(self.shard.number).is_some_and(|presence| presence.ticket != self.own.ticket) {
                return Err(Stop::usage(format!(
                    "another process is shard {} in {} too\nhint: give each process a number of its own, and each run \
                     a folder of its own",
                    self.shard,
                    self.folder.display()
                )));
            }
            let overdue = Instant::now() > self.until;
            let decision = if self.shard.number == 1 { self.lead(&line, overdue) } else { self.follow(&line, overdue) };
            match decision {
                Ok(Some(Decision::StartAt(moment))) => {
                    return Ok(Start { at: Some(moment), offset: self.own.offsets.remove(&self.shard.number) });
                }
                Ok(Some(Decision::Refused(why))) => return Err(Stop::impossible(why)),
                Ok(None) => std::thread::sleep(LOOK),
                Err(error) => {
                    let folder = self.folder.display();
                    return Err(Stop::impossible(format!("--start-together {folder}: {error}")));
                }
            }
        }
    }

    /// Counts the shards that have answered, and decides once all have or time is over.
    fn lead(&mut self, line: &StepLine, overdue: bool) -> io::Result<Option<Decision>> {
        let answered = |number| {
            let presence = self.read(number)?;
            (presence.answered == Some(self.own.ticket)).then_some((number, presence))
        };
        let others: Vec<_> = (2..=self.shard.of).filter_map(answered).collect();
        let present: BTreeMap<u64, u64> = others.iter().map(|(number, presence)| (*number, presence.ticket)).collect();
        let differing = others.iter().filter(|(_, presence)| presence.plan != self.own.plan);
        let differing: Vec<_> = differing.map(|(number, presence)| self.difference(*number, presence)).collect();
        let all = present.len() as u64 + 1 == self.shard.of;
        line.at(self.waiting(present.len() as u64 + 1));
        let is_news = present != self.own.present;
        self.own.offsets.retain(|number, _| present.get(number) == self.own.present.get(number));
        self.own.present = present;
        self.own.decision = if !differing.is_empty() {
            let hint = "run all shards with the same workload, options and version of skyline";
            Some(Decision::Refused(format!("{}\nhint: {hint}", differing.join("; "))))
        } else if all
            && let Some(asked) = self.own.clock
            && let Some(compared) = self.compare_clocks(asked, &others)
        {
            Some(compared)
        } else {
            overdue.then(|| Decision::Refused(self.missing(&self.own.present)))
        };
        let asks = all && self.own.clock.is_none();
        if asks {
            self.own.clock = Some(jiff::Timestamp::now());
        }
        if is_news || asks || self.own.decision.is_some() {
            self.write(false)?;
        }
        Ok(self.own.decision.clone())
    }

    /// Bounds the offsets of the other clocks, and decides once all have answered. Each wrote its time after it was
    /// asked for and before it was read here.
    fn compare_clocks(&mut self, asked: jiff::Timestamp, others: &[(u64, Presence)]) -> Option<Decision> {
        let to = ClockReference::FirstShard;
        let nanos = |from, to: jiff::Timestamp| i64::try_from(to.duration_since(from).as_nanos()).unwrap_or(i64::MAX);
        for (number, presence) in others {
            if let Some(clock) = presence.clock.filter(|_| !self.own.offsets.contains_key(number)) {
                let (low_ns, high_ns) = (nanos(clock, asked), nanos(clock, jiff::Timestamp::now()));
                self.own.offsets.insert(*number, ClockOffset { to, low_ns, high_ns });
            }
        }
        self.own.offsets.insert(1, ClockOffset { to, low_ns: 0, high_ns: 0 });
        if (self.own.offsets.len() as u64) < self.shard.of {
            return None;
        }
        let (slowest, low) = self.own.offsets.iter().max_by_key(|(_, offset)| offset.low_ns)?;
        let (fastest, high) = self.own.offsets.iter().min_by_key(|(_, offset)| offset.high_ns)?;
        let apart = Duration::from_nanos(u64::try_from(low.low_ns.saturating_sub(high.high_ns)).unwrap_or(0));
        if apart <= self.most_apart {
            return Some(Decision::StartAt(jiff::Timestamp::now() + AHEAD));
        }
        let [slowest, fastest] = [slowest, fastest].map(|number| Shard { number: *number, ..self.shard });
        Some(Decision::Refused(format!(
            "the clock of shard {fastest} is at least {} ahead of that of shard {slowest} (the limit is {})\n\
             hint: synchronise the clocks of all machines (NTP); --force allows {}",
            spoken(apart),
            spoken(self.most_apart),
            spoken(FARTHEST)
        )))
    }

    /// Answers shard 1, and takes its decision.
    fn follow(&mut self, line: &StepLine, overdue: bool) -> io::Result<Option<Decision>> {
        let first = self.read(1).unwrap_or_default();
        if first.ticket != 0 && self.own.answered != Some(first.ticket) {
            (self.own.answered, self.own.clock) = (Some(first.ticket), None);
            self.write(false)?;
            // Shard 1 waits from now on no longer than this.
            self.until = Instant::now() + self.limit + AHEAD;
        }
        // Shard 1 may refuse before it knows of this shard. So may it have long ago.
        let is_refused = self.earlier != Some(first.ticket) && matches!(first.decision, Some(Decision::Refused(_)));
        if is_refused || first.present.get(&self.shard.number) == Some(&self.own.ticket) {
            line.at(self.waiting(first.present.len() as u64 + 1));
            if let Some(decision) = first.decision {
                self.own.offsets = first.offsets;
                return Ok(Some(decision));
            }
            if first.clock.is_some() && self.own.clock.is_none() {
                self.own.clock = Some(jiff::Timestamp::now());
                self.write(false)?;
            }
            return Ok(overdue.then(|| Decision::Refused(self.missing(&first.present))));
        }
        let last = match first.decision {
            Some(Decision::Refused(why)) => format!("; it refused an earlier start there: {why}"),
            Some(Decision::StartAt(moment)) => format!("; it named {moment} to others\nhint: run all shards again"),
            None => "\nhint: start all shards, or wait longer (--start-wait)".to_owned(),
        };
        let (first, folder) = (Shard { number: 1, ..self.shard }, self.folder.display());
        let missing = format!("shard {first} is missing in {folder}, which says when all begin{last}");
        Ok(overdue.then_some(Decision::Refused(missing)))
    }

    fn difference(&self, number: u64, Presence { plan: [plan, version], .. }: &Presence) -> String {
        let ([own, own_version], shard) = (&self.own.plan, Shard { number, ..self.shard });
        if version == own_version {
            let [one, other] = [own, plan].map(|hash| hash.chars().take(12).collect::<String>());
            format!("shard {shard} would run another plan than shard {}: {other}, not {one}", self.shard)
        } else {
            format!("shard {shard} is skyline {version}, shard {} is {own_version}", self.shard)
        }
    }

    fn missing(&self, present: &BTreeMap<u64, u64>) -> String {
        let missing = (2..=self.shard.of).filter(|number| !present.contains_key(number));
        let folder = self.folder.display();
        let Some(missing) = listed(missing.map(|number| Shard { number, ..self.shard }), ", ") else {
            return format!(
                "a shard stopped answering in {folder}\nhint: see what each says, and run all of them again"
            );
        };
        format!(
            "shard {missing} did not come to {folder} within {}\nhint: start all shards, or wait longer (--start-wait)",
            spoken(self.limit)
        )
    }

    fn waiting(&self, there: u64) -> String {
        let (of, folder) = (self.shard.of, self.folder.display());
        format!("{there} of {of} shards are in {folder}; waiting up to {}", spoken(self.limit))
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("shard-{number}-of-{}.jsonl", self.shard.of))
    }

    /// Appends the newest state to the own file, which `anew` empties before.
    fn write(&self, anew: bool) -> io::Result<()> {
        let mut line = serde_json::to_vec(&self.own)?;
        line.push(b'\n');
        let mut file = OpenOptions::new().create(true).append(true).open(self.path(self.shard.number))?;
        if anew {
            file.set_len(0)?;
        }
        file.write_all(&line)?;
        file.sync_all()
    }

    /// The newest line in the file of a shard, if there is a whole one.
    fn read(&self, number: u64) -> Option<Presence> {
        let text = std::fs::read_to_string(self.path(number)).ok()?;
        text.lines().rev().find_map(|line| serde_json::from_str(line).ok())
    }
}
