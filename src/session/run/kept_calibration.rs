//! The calibration of this machine that an earlier run left, while it holds.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::clock::Pacing;
use crate::record::Calibration;

/// Time for which a calibration holds.
const HOLDS: Duration = Duration::from_secs(3_600);
/// Version of the file's form. A file of another is measured again.
const SCHEMA: u32 = 1;

/// A calibration as it is kept, and of what.
#[derive(Serialize, Deserialize)]
struct Kept {
    schema: u32,
    /// The machine since it was started, this program, and the priority of its threads.
    of: String,
    /// When it was measured, seconds since 1970.
    at_s: u64,
    calibration: Calibration,
}

/// The calibration by this program with this pacing within the last hour, with its age.
pub(super) fn read(pacing: Pacing) -> Option<Calibration> {
    read_from(&file()?, &subject(pacing)?, now_s()?)
}

/// Keeps a calibration for the runs of the next hour. Where it cannot be kept, they measure again.
pub(super) fn keep(calibration: Calibration, pacing: Pacing) {
    if let (Some(file), Some(of), Some(at_s)) = (file(), subject(pacing), now_s())
        && let Err(error) = write_to(&file, &Kept { schema: SCHEMA, of, at_s, calibration })
    {
        tracing::debug!("the calibration is not kept in {}: {error}", file.display());
    }
}

fn read_from(file: &Path, of: &str, now_s: u64) -> Option<Calibration> {
    let kept: Kept = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    let age_s = now_s.checked_sub(kept.at_s)?;
    let holds = kept.schema == SCHEMA && kept.of == of && age_s < HOLDS.as_secs();
    holds.then_some(Calibration { age_s: Some(age_s), ..kept.calibration })
}

/// Writes it beside and renames it: other runs may read meanwhile.
fn write_to(file: &Path, kept: &Kept) -> std::io::Result<()> {
    std::fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
    let beside = file.with_extension(std::process::id().to_string());
    std::fs::write(&beside, serde_json::to_vec(kept)?)?;
    std::fs::rename(beside, file)
}

fn file() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(cache.join("skyline").join("calibration.json"))
}

/// Returns what a calibration is of. `None` where the system does not tell when it was started, as it alone tells one
/// machine from another that shares the folder.
fn subject(pacing: Pacing) -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let program = std::env::current_exe().ok()?;
    let built = std::fs::metadata(&program).ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let cores = std::thread::available_parallelism().ok()?;
    Some(format!("{} {} {built:?} {cores} {}", boot.trim(), program.display(), pacing.priority()))
}

fn now_s() -> Option<u64> {
    Some(SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_holds_for_an_hour_for_what_it_is_of() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/b.json");
        let calibration = Calibration { request_cpu_ns: 7, ..Calibration::default() };
        assert_eq!(read_from(&file, "x", 0), None);
        write_to(&file, &Kept { schema: SCHEMA, of: "x".to_owned(), at_s: 1_000, calibration }).unwrap();
        let aged = |age_s| Some(Calibration { age_s: Some(age_s), ..calibration });
        assert_eq!([read_from(&file, "x", 1_000), read_from(&file, "x", 4_599)], [aged(0), aged(3_599)]);
        for (of, now_s) in [("y", 1_000), ("x", 4_600), ("x", 999)] {
            assert_eq!(read_from(&file, of, now_s), None, "{of} at {now_s}");
        }
        std::fs::write(&file, "torn").unwrap();
        assert_eq!(read_from(&file, "x", 1_000), None);
        assert_eq!(std::fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_was_measured_at_another_priority_is_another_subject() {
        let of = |pacing: Pacing| (subject(pacing).unwrap(), pacing.priority());
        let (precise, real_time) = (of(Pacing::Precise), of(Pacing::RealTime));
        assert_eq!(precise, of(Pacing::Precise));
        assert_eq!(precise.0 == real_time.0, precise.1 == real_time.1);
    }
}
