//! One variant of the server: where it is, what it was started with, and the commands that see to it.

use serde::{Deserialize, Serialize, Serializer};

use super::settings::filled;
use crate::engine::without_secrets;
use crate::record::{DeploymentFacts, EngineKind};
use crate::workload::reading::{Allowed, Fields, SpecValue};

/// A wait or a time limit in seconds.
const WAIT: Allowed = Allowed::above(0.0, 86_400.0);
/// Accelerators.
const GPUS: Allowed = Allowed::from(1.0, 100_000.0);
/// A price.
const PRICE: Allowed = Allowed::above(0.0, 1e9);

/// The server settings of a file. Commands are stored as typed, without the values of their variables.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VariantServer {
    /// Its address, stored without what may be secret.
    #[serde(serialize_with = "shown")]
    pub url: Option<String>,
    /// Its way of speaking, by name.
    pub engine: Option<String>,
    /// The model to ask for.
    pub model: Option<String>,
    /// How long to wait until it is ready, seconds.
    pub wait_s: Option<f64>,
    /// Flags that it serves with: stored with every run, and inserted for `{flags}` in commands.
    pub flags: Option<String>,
    /// Command that is the server: begun before the variant's rows, ended after them.
    pub serve: Option<String>,
    /// Command that is run to its end before the variant's rows.
    pub start: Option<String>,
    /// Command that is run to its end after them.
    pub stop: Option<String>,
    /// Command that is run to its end before every run.
    pub reset: Option<String>,
    /// How long each of these three may take, seconds.
    pub limit_s: Option<f64>,
    /// Accelerator that serves.
    pub hardware: Option<String>,
    /// How many of them serve together.
    pub gpus: Option<u32>,
    /// Model that is served, as the simulator knows it.
    pub serving_model: Option<String>,
    /// Format of the weights.
    pub precision: Option<String>,
    /// Price of one accelerator for an hour.
    pub gpu_hour: Option<f64>,
}

/// Writes an address without what may be secret.
#[expect(clippy::ref_option, reason = "serde hands over a reference to the field")]
fn shown<S: Serializer>(url: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    url.as_deref().map(without_secrets).serialize(serializer)
}

impl VariantServer {
    /// Takes its fields from a table.
    pub(in crate::experiment) fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let mut said = |name| fields.maybe(name, |place| place.nonblank());
        let settings = Self {
            url: said("url"),
            model: said("model"),
            flags: said("flags"),
            serve: said("serve"),
            start: said("start"),
            stop: said("stop"),
            reset: said("reset"),
            hardware: said("hardware"),
            serving_model: said("serving_model"),
            precision: said("precision"),
            engine: fields.maybe("engine", engine),
            wait_s: fields.maybe("wait_s", |place| place.number(WAIT)),
            limit_s: fields.maybe("limit_s", |place| place.number(WAIT)),
            gpu_hour: fields.maybe("gpu_hour", |place| place.number(PRICE)),
            gpus: fields.maybe("gpus", |place| place.whole(GPUS)),
        };
        if settings.serve.is_some() && settings.start.is_some() {
            return fields.reject_of(
                "start",
                "is given with `serve`; `serve` is a server that is ended after its rows, `start` a command that \
                 leaves one running: give one of them",
            );
        }
        Some(settings)
    }

    /// These settings, with those of `common` for missing ones.
    #[must_use]
    pub fn over(self, common: &Self) -> Self {
        let mut common = common.clone();
        // Who has a server of its own to start needs no command that starts one, and the other way round.
        if self.start.is_some() {
            common.serve = None;
        }
        if self.serve.is_some() {
            common.start = None;
        }
        filled(&self, &common)
    }

    /// Takes the deployment from the command line where the file has none.
    pub fn fill_deployment(&mut self, typed: &DeploymentFacts) {
        self.hardware = self.hardware.take().or_else(|| typed.hardware.clone());
        self.gpus = self.gpus.or(typed.gpus);
        self.serving_model = self.serving_model.take().or_else(|| typed.serving_model.clone());
        self.precision = self.precision.take().or_else(|| typed.precision.clone());
    }

    /// A command with the flags in their place.
    pub fn filled(&self, command: &str) -> String {
        command.replace("{flags}", self.flags.as_deref().unwrap_or_default())
    }

    /// What an hour of all accelerators costs; `None` where the price or the number of them is not given.
    pub fn cost_per_hour(&self) -> Option<f64> {
        Some(self.gpu_hour? * f64::from(self.gpus?))
    }
}

/// The name of an engine that is known.
fn engine(place: SpecValue<'_>) -> Option<String> {
    let known: Vec<_> = EngineKind::ALL.iter().map(|&dialect| (dialect.name(), dialect)).collect();
    place.choice(&known).map(|dialect| dialect.name().to_owned())
}

/// A variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Variant {
    /// Its name, unique among the variants.
    pub name: String,
    /// Its server, what is common to all included.
    pub server: VariantServer,
}

impl Variant {
    /// Name of the one variant where a file has none.
    pub(super) const ALONE: &'static str = "server";

    /// Reads one; missing settings are those of `common`.
    pub(super) fn read(place: SpecValue<'_>, common: &VariantServer) -> Option<Self> {
        place.table("a variant", |fields| {
            let name = fields.need("name", |place| place.name());
            let variant = Self { name, server: VariantServer::read(fields)?.over(common) };
            if !fields.is_spoiled() && variant.server.serve.is_some() && variant.server.url.is_none() {
                return fields.reject("has a `serve` command and no `url`; say where it will serve");
            }
            Some(variant)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_stored_without_secrets() {
        let stored = |url: Option<&str>| {
            let url = url.map(str::to_owned);
            serde_json::to_value(VariantServer { url, ..VariantServer::default() }).unwrap()
        };
        let secret = stored(Some("http://me:hunter2@h:1/v1?api-version=1&key=hunter2"));
        assert_eq!(secret["url"], "http://***@h:1/v1?api-version=1&key=***");
        assert_eq!(stored(Some("http://h:1/v1"))["url"], "http://h:1/v1");
        assert!(stored(None).get("url").is_none());
    }
}
