//! What machine this is, for the header of a run.

use crate::record::HostFacts;

/// The operating system, the processor, the cores.
pub(crate) fn facts() -> HostFacts {
    HostFacts {
        os: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        cpu: processor(),
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64),
    }
}

/// The processor's name as Linux tells it; elsewhere it is left out.
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let (_, name) = text.lines().find(|line| line.starts_with("model name"))?.split_once(':')?;
    Some(name.trim().to_owned())
}
