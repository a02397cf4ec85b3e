//! One variant of the server: where it is, what it was started with, and the commands that see to it.

use serde::{Serialize, Serializer};

use crate::engine::without_secrets;
use crate::record::{DeploymentFacts, EngineKind};
use crate::workload::reading::{Allowed, Fields, SpecValue, spec_table};

/// A wait or a time limit in seconds.
const WAIT: Allowed = Allowed::above(0.0, 86_400.0);
/// Accelerators.
const GPUS: Allowed = Allowed::from(1.0, 100_000.0);
/// A price.
const PRICE: Allowed = Allowed::above(0.0, 1e9);

spec_table! {
    filling
    /// The server settings of a file. Commands are stored as typed, without the values of their variables.
    #[derive(Default)]
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub struct VariantServer = "the server" {
        /// Its address, stored without what may be secret.
        #[serde(serialize_with = "shown")]
        url: Option<String> = option(|place| place.nonblank()),
        /// Its way of speaking, by name.
        engine: Option<String> = option(engine),
        /// The model to ask for.
        model: Option<String> = option(|place| place.nonblank()),
        /// How long to wait until it is ready, seconds.
        wait_s: Option<f64> = option(|place| place.number(WAIT)),
        /// Flags that it serves with: stored with every run, and inserted for `{flags}` in commands.
        flags: Option<String> = option(|place| place.nonblank()),
        /// Command that is the server: begun before the variant's rows, ended after them.
        serve: Option<String> = option(|place| place.nonblank()),
        /// Command that is run to its end before the variant's rows.
        start: Option<String> = option(|place| place.nonblank()),
        /// Command that is run to its end after them.
        stop: Option<String> = option(|place| place.nonblank()),
        /// Command that is run to its end before every run.
        reset: Option<String> = option(|place| place.nonblank()),
        /// How long each of these three may take, seconds.
        limit_s: Option<f64> = option(|place| place.number(WAIT)),
        /// Accelerator that serves.
        hardware: Option<String> = option(|place| place.nonblank()),
        /// How many of them serve together.
        gpus: Option<u32> = option(|place| place.whole(GPUS)),
        /// Model that is served, as the simulator knows it.
        serving_model: Option<String> = option(|place| place.nonblank()),
        /// Format of the weights.
        precision: Option<String> = option(|place| place.nonblank()),
        /// Price of one accelerator for an hour.
        gpu_hour: Option<f64> = option(|place| place.number(PRICE)),
    }
    check(fields) {
        if serve.as_ref()?.is_some() && start.as_ref()?.is_some() {
            return fields.reject_of(
                "start",
                "is given with `serve`; `serve` is a server that is ended after its rows, `start` a command that \
                 leaves one running: give one of them",
            );
        }
    }
}

/// Writes an address without what may be secret.
#[expect(clippy::ref_option, reason = "serde hands over a reference to the field")]
fn shown<S: Serializer>(url: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    url.as_deref().map(without_secrets).serialize(serializer)
}

impl VariantServer {
    /// Returns these settings, with those of `common` for missing ones.
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
        self.filled(common)
    }

    /// Takes the deployment from the command line where the file has none.
    pub fn fill_deployment(&mut self, typed: &DeploymentFacts) {
        self.hardware = self.hardware.take().or_else(|| typed.hardware.clone());
        self.gpus = self.gpus.or(typed.gpus);
        self.serving_model = self.serving_model.take().or_else(|| typed.serving_model.clone());
        self.precision = self.precision.take().or_else(|| typed.precision.clone());
    }

    /// A command with the flags in their place.
    pub fn with_flags(&self, command: &str) -> String {
        command.replace("{flags}", self.flags.as_deref().unwrap_or_default())
    }

    /// Returns what an hour of all accelerators costs. It is `None` where the price or the number of them is not given.
    pub fn cost_per_hour(&self) -> Option<f64> {
        Some(self.gpu_hour? * f64::from(self.gpus?))
    }
}

/// The name of an engine that is known.
fn engine(place: SpecValue<'_>) -> Option<String> {
    let known: Vec<_> = EngineKind::ALL.iter().map(|&dialect| (dialect.name(), dialect)).collect();
    place.choice(&known).map(|dialect| dialect.name().to_owned())
}

spec_table! {
    /// A variant.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub struct Variant = "a variant" with(common: &VariantServer) {
        /// Its name, unique among the variants.
        name: String = required(|place| place.name()),
        /// Its server, what is common to all included.
        server: VariantServer = flat(|fields| Some(VariantServer::read_fields(fields)?.over(common))),
    }
    then(served_somewhere)
}

fn served_somewhere(fields: &Fields<'_>, variant: &Variant) -> Option<()> {
    if variant.server.serve.is_some() && variant.server.url.is_none() {
        return fields.reject("has a `serve` command and no `url`; say where it will serve");
    }
    Some(())
}

impl Variant {
    /// Name of the one variant where a file has none.
    pub(super) const ALONE: &'static str = "server";
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
