//! Accelerators and models by name, embedded as TOML.

use std::str::FromStr;
use std::sync::LazyLock;

use serde::Deserialize;

use super::hardware::Hardware;
use super::model::ServingModel;
use super::preset::{UnknownName, find};

/// The embedded presets.
#[derive(Debug, Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
struct Presets {
    hardware: Vec<Hardware>,
    models: Vec<ServingModel>,
}

/// All of them, which a test reads.
fn embedded() -> Presets {
    toml::from_str(include_str!("presets.toml")).unwrap_or_default()
}

/// Every accelerator known by name.
pub static HARDWARE: LazyLock<Vec<Hardware>> = LazyLock::new(|| embedded().hardware);

/// Every model known by name.
pub static MODELS: LazyLock<Vec<ServingModel>> = LazyLock::new(|| {
    let dense = |model: ServingModel| ServingModel { active_parameters: model.parameters, ..model };
    let models = embedded().models.into_iter();
    models.map(|model| if model.active_parameters > 0.0 { model } else { dense(model) }).collect()
});

impl FromStr for Hardware {
    type Err = UnknownName;

    /// The accelerator with this name: `a10g`, `h100`, …
    fn from_str(name: &str) -> Result<Self, UnknownName> {
        find("accelerator", &HARDWARE, |hardware| hardware.name, name)
    }
}

impl FromStr for ServingModel {
    type Err = UnknownName;

    /// The model with this name: `llama-3.1-8b`, `mixtral-8x7b`, …
    fn from_str(name: &str) -> Result<Self, UnknownName> {
        find("serving model", &MODELS, |model| model.name, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_presets_are_read() {
        let presets: Presets = toml::from_str(include_str!("presets.toml")).unwrap();
        assert_eq!((presets.hardware.len(), presets.models.len()), (8, 7));
        assert_eq!(embedded().models.len(), 7);
    }
}
