//! A run and what it says: judged when it ends, read again, stored, and reported.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::save;
use crate::analysis::{Objective, Summary, summarise};
use crate::experiment::{Diagnosis, Repeats};
use crate::generator::check_plan;
use crate::record::{RunEnding, RunFooter, RunLog};
use crate::report::RunReport;
use crate::session::console::Stop;

/// A run with what is computed from its log.
pub(crate) struct JudgedRun {
    pub(crate) log: RunLog,
    pub(crate) summary: Summary,
    pub(crate) diagnosis: Diagnosis,
}

impl JudgedRun {
    /// The run of `log`, held to its plan and judged by `objectives`.
    pub(crate) fn new(log: RunLog, objectives: &[Objective]) -> Self {
        let log = held_to_plan(log);
        let summary = summarise(&log, objectives);
        let diagnosis = Diagnosis::of_run(&log, &summary);
        Self { log, summary, diagnosis }
    }

    /// Reads the run stored at `path`, judged by `objectives`. Where there are none, it is judged by those that it was
    /// started with.
    pub(crate) fn read(path: &Path, objectives: &[Objective]) -> Result<Self, Stop> {
        let log = read_log(path)?;
        if objectives.is_empty() {
            let own = save::objectives_of(&log.header)?;
            return Ok(Self::new(log, &own));
        }
        Objective::check_all(objectives, &log.header.workload).map_err(Stop::usage)?;
        Ok(Self::new(log, objectives))
    }

    /// Its report.
    pub(crate) fn report(&self) -> RunReport<'_> {
        let diagnosis = Some(&self.diagnosis);
        RunReport { log: &self.log, summary: &self.summary, diagnosis }
    }
}

/// Returns the log with the result of holding its records to its plan.
fn held_to_plan(log: RunLog) -> RunLog {
    match log.plan_check {
        Some(_) => log,
        None => RunLog { plan_check: Some(check_plan(&log)), ..log },
    }
}

/// The log at `path`, held to its plan.
pub(crate) fn read_log(path: &Path) -> Result<RunLog, Stop> {
    RunLog::read(path).map(held_to_plan).map_err(Stop::usage)
}

/// The log in `folder`, if there is one and its run came to its end.
pub(crate) fn completed(folder: &Path) -> Result<Option<RunLog>, Stop> {
    if !folder.join(RunLog::FILE_NAME).exists() {
        return Ok(None);
    }
    let ended = |footer: &RunFooter| footer.ending != RunEnding::Interrupted;
    match RunLog::read(folder) {
        Ok(log) => Ok(Some(log).filter(|log| log.footer.as_ref().is_some_and(ended)).map(held_to_plan)),
        Err(_) if broken_off_at_once(folder) => Ok(None),
        Err(error) => Err(Stop::usage(error)),
    }
}

/// Longest header of a log, bytes.
pub(super) const LONGEST_HEADER: u64 = 64 << 20;

/// Whether the log in `folder` has not even a complete header.
fn broken_off_at_once(folder: &Path) -> bool {
    let mut text = Vec::new();
    let read = |log: File| log.take(LONGEST_HEADER).read_to_end(&mut text);
    File::open(folder.join(RunLog::FILE_NAME)).and_then(read).is_ok_and(|_| !text.contains(&b'\n'))
}

/// Name of a run's folder before its number.
const PREFIX: &str = "run-";

/// Suffix of the folder of a run that was broken off, before a number.
pub(crate) const BROKEN_OFF: &str = "broken-off";

/// Whether `folder` is that of a run which was broken off, kept beside its place.
pub(crate) fn is_aside(folder: &Path) -> bool {
    let name = folder.file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| name.contains(&format!(".{BROKEN_OFF}-")))
}

/// The folders of runs inside `folder`, by name, without those that were broken off.
pub(crate) fn runs_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let inside = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let is_run = |path: &PathBuf| path.join(RunLog::FILE_NAME).exists() && !is_aside(path);
    let mut runs: Vec<PathBuf> = inside.filter(is_run).collect();
    runs.sort();
    Ok(runs)
}

/// Returns the folders of runs that repeat one another inside `folder`. They are in the order of their numbers. There
/// are none if `folder` is that of one run.
pub(crate) fn repeats_in(folder: &Path) -> Vec<PathBuf> {
    if folder.join(RunLog::FILE_NAME).exists() {
        return Vec::new();
    }
    let number = |path: &PathBuf| path.file_name()?.to_str()?.strip_prefix(PREFIX)?.parse::<u64>().ok();
    let runs = runs_in(folder).unwrap_or_default().into_iter();
    let mut numbered: Vec<_> = runs.filter_map(|path| Some((number(&path)?, path))).collect();
    numbered.sort();
    numbered.into_iter().map(|(_, path)| path).collect()
}

/// Judges the runs in `folders` together, from their logs, and hands each to `report`. Without `objectives`
/// they are judged by those of the first.
pub(crate) fn repeats_again(
    folders: &[PathBuf],
    objectives: &[Objective],
    mut report: impl FnMut(&Path, &JudgedRun) -> Result<(), Stop>,
) -> Result<Repeats, Stop> {
    let (mut runs, mut diagnoses) = (Vec::new(), Vec::new());
    let mut demanded = objectives.to_vec();
    for folder in folders {
        let log = read_log(folder)?;
        if demanded.is_empty() {
            demanded = save::objectives_of(&log.header)?;
        }
        Objective::check_all(objectives, &log.header.workload).map_err(Stop::usage)?;
        let run = JudgedRun::new(log, &demanded);
        report(folder, &run)?;
        diagnoses.push(run.diagnosis);
        runs.push(run.summary);
    }
    let repeats = Repeats::new(&runs, &demanded).map_err(|error| {
        let folder = folders.first().and_then(|run| run.parent()).unwrap_or(Path::new("."));
        Stop::usage(format!(
            "{} does not hold runs that repeat one another: {error}\nhint: show one of them: skyline report \
             {0}/{PREFIX}1",
            folder.display()
        ))
    })?;
    Ok(repeats.diagnosed(&runs, &diagnoses))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::analysis::test_runs::{self, record};
    use crate::record::{CountedAnswer, Failure, FailureKind, LogLine, NamedLog, RunLogWriter, Shard, merge};
    use crate::report::Export;

    /// Writes a run of several pages whose servers lost some of its answers' counts. The line `damaged` of its log is
    /// damaged.
    fn long_run(folder: &Path, shard: Option<u64>, damaged: Option<usize>) {
        let records = (0..200).filter(|index| shard.is_none_or(|number| index % 2 == number - 1)).map(|index| {
            let (at, first) = (index * 20, index * 20 + 40 + index % 7 * 13);
            let asked = record(index).sent_at(at, at, at);
            match index % 10 {
                3 => asked.failed(first, Failure::new(FailureKind::HttpStatus(503), "full")).build(),
                4 => asked.paced(first, 5, 9).build(),
                _ => asked.paced(first, 5 + index % 3, 10).usage(100, 10).build(),
            }
        });
        let mut log = test_runs::run(4_000, records.collect());
        log.records.sort_by_key(|record| record.ended);
        log.header.shard = shard.map(|number| Shard { number, of: 2 });
        log.header.started_at += Duration::from_millis(15 * shard.unwrap_or_default());
        let mut writer = RunLogWriter::create(folder, &log.header).unwrap();
        for record in log.records.iter() {
            writer.append(LogLine::Request(&record)).unwrap();
        }
        for index in log.records.iter().filter(|record| record.is_uncounted()).map(|record| record.index) {
            writer.append(LogLine::Counted(&CountedAnswer { index, tokens: 11 + index % 3 })).unwrap();
        }
        writer.finish(log.footer.as_ref().unwrap()).unwrap();
        let path = folder.join(RunLog::FILE_NAME);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines = text.lines().enumerate().map(|(place, line)| {
            let (from, to) = if Some(place) == damaged { ("ended_ns", "ended_n5") } else { ("", "") };
            line.replacen(from, to, 1)
        });
        std::fs::write(&path, lines.collect::<Vec<_>>().join("\n") + "\n").unwrap();
    }

    /// Copies each stored run and long ones. Each copy is read with memory for its records, with memory for some, and
    /// without.
    fn copies() -> impl Iterator<Item = (tempfile::TempDir, RunLog, [RunLog; 2])> {
        let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/runs");
        let stored = runs_in(&runs).unwrap().into_iter().map(Some);
        stored.chain([None, None]).enumerate().map(|(number, run)| {
            let copy = tempfile::tempdir().unwrap();
            match run {
                Some(run) => {
                    std::fs::copy(run.join(RunLog::FILE_NAME), copy.path().join(RunLog::FILE_NAME)).unwrap();
                }
                None => long_run(copy.path(), None, (number % 2 == 0).then_some(77)),
            }
            let [whole, some, none] = [u64::MAX, 2_000, 0].map(|room| RunLog::read_with(copy.path(), room).unwrap());
            (copy, whole, [some, none])
        })
    }

    /// All that is said of a run, in every format but PNG. A PNG is drawn from the SVG.
    fn said(log: RunLog) -> Vec<Vec<u8>> {
        let run = JudgedRun::new(log, &[]);
        let others = Export::ALL.iter().filter(|export| export.name != "png");
        let files = others.flat_map(|export| export.run).map(|file| {
            let mut text = Vec::new();
            (file.write)(run.report(), &mut text).unwrap();
            text
        });
        let files = files.collect();
        assert!(!run.log.records.is_listed(), "no figure needs all records at once");
        files
    }

    #[test]
    fn figures_are_the_same_to_the_bit_where_memory_has_no_room_for_records() {
        assert!(copies().count() >= 8);
        for (_copy, whole, paged) in copies() {
            let expected = said(whole.clone());
            for paged in paged {
                assert_eq!(paged.damage, whole.damage);
                assert_eq!(paged.records, whole.records);
                assert!(said(paged) == expected);
            }
        }
        let is_in_part = |(_, whole, [some, none]): &(_, RunLog, [RunLog; 2])| {
            none.records.held() == 0 && (1..whole.records.len()).contains(&some.records.held())
        };
        assert!(copies().filter(is_in_part).count() >= 4);
        let counted = copies().last().unwrap().2[1].clone();
        assert_eq!(counted.records.iter().filter(|record| record.output_tokens > 10).count(), 20);
        assert_eq!(copies().map(|(.., paged)| paged[1].damage.faults).sum::<u64>(), 1);
    }

    #[test]
    fn shards_merge_to_the_same_where_memory_has_no_room_for_records() {
        let folders = [1, 2].map(|number| {
            let folder = tempfile::tempdir().unwrap();
            long_run(folder.path(), Some(number), None);
            folder
        });
        let merged = |rooms: [u64; 2]| {
            let parts = folders.iter().zip(rooms).map(|(folder, room)| {
                let log = RunLog::read_with(folder.path(), room).unwrap();
                NamedLog { name: room.to_string(), log }
            });
            merge(parts.collect()).unwrap().log
        };
        let whole = merged([u64::MAX, u64::MAX]);
        for rooms in [[0, 0], [0, u64::MAX], [u64::MAX, 5_000]] {
            let paged = merged(rooms);
            assert_eq!(paged.records, whole.records);
            assert!(said(paged) == said(whole.clone()));
        }
    }
}
