//! Speed and memory of accelerators, by their vendors' datasheets.

use serde::{Deserialize, Deserializer};

/// One accelerator, by its datasheet. Peaks are dense (datasheets often print twice that, "with sparsity").
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hardware {
    /// Name as given on a command line.
    pub name: &'static str,
    /// Memory bandwidth, bytes per second.
    pub memory_bandwidth: f64,
    /// Memory available to a program, bytes.
    #[serde(rename = "memory_gib", deserialize_with = "gib")]
    pub memory: f64,
    /// Dense 16-bit (bf16 or fp16) matrix FLOP/s with 32-bit accumulation.
    pub bf16_flops: f64,
    /// Dense 8-bit floating-point matrix FLOP/s; absent where the chip has no such unit.
    pub fp8_flops: Option<f64>,
    /// Bandwidth to the node's other accelerators, bytes per second and direction. Datasheets print the sum of both
    /// directions.
    pub link_bandwidth: f64,
    /// Fixed time of a small all-reduce, seconds.
    pub link_latency: f64,
}

const GIB: f64 = 1_073_741_824.0;

fn gib<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    f64::deserialize(deserializer).map(|gib| gib * GIB)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::HARDWARE;

    #[test]
    fn no_peak_counts_sparsity() {
        // Half the bits, twice the products: by the chips' design, and by every datasheet to 1.3 %. A peak with
        // sparsity among the dense ones is off by a factor of two.
        for hardware in HARDWARE.iter() {
            let Some(fp8_flops) = hardware.fp8_flops else { continue };
            let ratio = fp8_flops / hardware.bf16_flops;
            assert!((ratio / 2.0 - 1.0).abs() < 0.013, "{}: {ratio}", hardware.name);
        }
    }

    #[test]
    fn memory_is_short_of_the_name_plate() {
        // Gigabytes by the datasheet, which count 2^30 bytes; ECC in GDDR and the driver take their part.
        for (name, plate) in [
            ("a10g", 24.0),
            ("l4", 24.0),
            ("l40s", 48.0),
            ("a100-80g", 80.0),
            ("h100", 80.0),
            ("h200", 141.0),
            ("b200", 180.0),
            ("mi300x", 192.0),
        ] {
            let share = name.parse::<Hardware>().unwrap().memory / (plate * GIB);
            assert!((0.91..1.0).contains(&share), "{name}: {share}");
        }
    }
}
