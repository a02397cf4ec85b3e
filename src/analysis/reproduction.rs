//! What a reader would have to know to repeat a run, and nobody told.

use serde::Serialize;

use super::serving;
use crate::record::RunLog;

/// What of the description of a run is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reproduction {
    /// What nobody told, neither a person nor the server nor an exporter; empty for the mock and in virtual time, where there
    /// is nothing else to know.
    pub missing: Vec<Untold>,
}

/// Something about a server that its figures cannot be understood without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Untold {
    /// What was asked for beside length: temperature and the like.
    SamplingSettings,
    /// The accelerator.
    Hardware,
    /// The format of weights.
    Precision,
    /// The version of the accelerator's driver.
    Driver,
    /// The version of the server.
    EngineVersion,
    /// How the server was started.
    ServingFlags,
}

impl Untold {
    /// Its name in a sentence.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SamplingSettings => "sampling settings",
            Self::Hardware => "hardware",
            Self::Precision => "precision",
            Self::Driver => "driver",
            Self::EngineVersion => "engine version",
            Self::ServingFlags => "serving flags",
        }
    }

    /// The option by which a person says it; `None` where only a newer log has it.
    #[must_use]
    pub const fn option(self) -> Option<&'static str> {
        match self {
            Self::SamplingSettings => None,
            Self::Hardware => Some("--hardware"),
            Self::Precision => Some("--precision"),
            Self::Driver => Some("--label driver=…"),
            Self::EngineVersion => Some("--label version=…"),
            Self::ServingFlags => Some("--label flags=…"),
        }
    }
}

impl Reproduction {
    /// What is missing in the header of `log`.
    pub(crate) fn of(log: &RunLog) -> Self {
        let header = &log.header;
        let engine = &header.engine;
        if engine.engine == "mock" || !engine.modelled.is_empty() {
            return Self::default();
        }
        let told = [
            (Untold::SamplingSettings, engine.parameters.is_some()),
            (Untold::Hardware, serving::hardware(header).is_some()),
            (Untold::Precision, serving::precision(header).is_some()),
            (Untold::Driver, serving::driver(header).is_some()),
            (Untold::EngineVersion, serving::version(header).is_some()),
            (Untold::ServingFlags, serving::flags(header).is_some()),
        ];
        let missing = told.into_iter().filter(|(_, told)| !told).map(|(what, _)| what).collect();
        Self { missing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_runs::run;
    use crate::record::{PageKind, TelemetrySource};

    #[test]
    fn what_nobody_told_is_missing() {
        let mut log = run(1_000, Vec::new());
        let all = [Untold::SamplingSettings, Untold::Hardware, Untold::Precision, Untold::Driver];
        assert_eq!(Reproduction::of(&log).missing, [&all[..], &[Untold::ServingFlags]].concat());
        log.header.engine.serving_flags.insert("vllm_config.model_config.dtype".into(), "bfloat16".into());
        log.header.telemetry.push(TelemetrySource {
            url: "http://x/metrics".to_owned(),
            kind: Some(PageKind::Dcgm),
            hardware: Some("1 × NVIDIA L4".to_owned()),
            driver: Some("580.1".to_owned()),
        });
        assert_eq!(Reproduction::of(&log).missing, [Untold::SamplingSettings]);
        log.header.engine.engine = "mock".to_owned();
        assert!(Reproduction::of(&log).missing.is_empty());
    }
}
