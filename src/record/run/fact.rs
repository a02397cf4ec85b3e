//! Facts about a server that its figures cannot be understood without, by name.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

/// A fact about a server without which its figures cannot be understood. It may also be about what the server was
/// asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Fact {
    /// Request parameters other than length: temperature and the like.
    SamplingSettings,
    /// The accelerator.
    Hardware,
    /// Number of accelerators that serve together.
    Gpus,
    /// The format of weights.
    Precision,
    /// The format of the key-value cache.
    KvCacheDtype,
    /// The revision of the model: a commit, a tag or a version of the weights.
    ModelRevision,
    /// The tokenizer.
    Tokenizer,
    /// Number of accelerators that tensors are split over.
    TensorParallel,
    /// Number of stages that layers are split over.
    PipelineParallel,
    /// Number of replicas behind the one address.
    DataParallel,
    /// The kernels of attention.
    AttentionBackend,
    /// The order in which waiting requests are served.
    SchedulingPolicy,
    /// The version of CUDA, or of `ROCm`.
    Cuda,
    /// The version of the accelerator's driver.
    Driver,
    /// The interconnect of the accelerators.
    Interconnect,
    /// The network between client and server.
    Network,
    /// The place where the weights are loaded from.
    Storage,
    /// The version of the server.
    EngineVersion,
    /// How the server was started.
    ServingFlags,
}

impl Fact {
    /// All facts, in the order of reports.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name in options and files.
    pub fn key(self) -> &'static str {
        self.into()
    }

    /// Its name in a sentence.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SamplingSettings => "sampling settings",
            Self::Hardware => "hardware",
            Self::Gpus => "GPUs",
            Self::Precision => "precision",
            Self::KvCacheDtype => "KV-cache dtype",
            Self::ModelRevision => "model revision",
            Self::Tokenizer => "tokenizer",
            Self::TensorParallel => "tensor parallel",
            Self::PipelineParallel => "pipeline parallel",
            Self::DataParallel => "data parallel",
            Self::AttentionBackend => "attention backend",
            Self::SchedulingPolicy => "scheduling policy",
            Self::Cuda => "CUDA",
            Self::Driver => "driver",
            Self::Interconnect => "interconnect",
            Self::Network => "network",
            Self::Storage => "storage",
            Self::EngineVersion => "engine version",
            Self::ServingFlags => "serving flags",
        }
    }

    /// Returns whether the user can state it. Sampling settings are what is sent, and need no statement.
    pub const fn is_stated(self) -> bool {
        !matches!(self, Self::SamplingSettings)
    }

    /// Whether it is a whole number.
    pub const fn is_number(self) -> bool {
        matches!(self, Self::Gpus | Self::TensorParallel | Self::PipelineParallel | Self::DataParallel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_is_read_by_the_name_that_is_stored() {
        for &fact in Fact::ALL {
            assert_eq!(fact.key().parse(), Ok(fact));
            assert_eq!(serde_json::to_value(fact).unwrap(), fact.key());
        }
    }
}
