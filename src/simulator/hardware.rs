//! What accelerators can do, by their vendors' datasheets.

use std::str::FromStr;

use super::preset::{UnknownName, find};

/// One accelerator, by its datasheet. Peaks are dense (datasheets often print twice that, "with sparsity").
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hardware {
    /// Name as given on a command line.
    pub name: &'static str,
    /// Memory bandwidth, bytes per second.
    pub memory_bandwidth: f64,
    /// Memory size, bytes.
    pub memory: f64,
    /// Dense 16-bit (bf16 or fp16) matrix FLOP/s with 32-bit accumulation.
    pub bf16_flops: f64,
    /// Dense 8-bit floating-point matrix FLOP/s; absent where the chip has no such unit.
    pub fp8_flops: Option<f64>,
    /// Bandwidth to the other accelerators of the node, bytes per second and direction (datasheets print the
    /// sum of both directions).
    pub link_bandwidth: f64,
    /// Time of a small all-reduce before any byte counts, seconds.
    pub link_latency: f64,
}

const GB: f64 = 1e9;
const GIB: f64 = 1_073_741_824.0;
const TERA: f64 = 1e12;

/// `PCIe` 4.0 x16: 64 GB/s in both directions together (PCI-SIG).
const PCIE_4: f64 = 32.0 * GB;
/// All-reduce of a few kilobytes over `NVLink`, by vLLM's one- and two-shot kernels: about 10 µs on 8 H100
/// (an estimate: published figures range from 6 to 20 µs).
const NVLINK_LATENCY: f64 = 10e-6;
/// The same through host memory over `PCIe`, by NCCL (an estimate).
const PCIE_LATENCY: f64 = 30e-6;

/// Every accelerator known by name.
pub const HARDWARE: [Hardware; 8] = [
    // NVIDIA A10G datasheet: 24 GB GDDR6, 600 GB/s, bf16 70 TFLOP/s dense (the A10 has 125; the datasheet is quoted
    // from memory: no copy was at hand to check the 70 against), PCIe 4.0 x16. Of
    // the 24 GB the driver shows 23,028 MiB, as ECC takes its part, and CUDA 22,515.75 MiB, which is what vLLM
    // shares out (results published by Pruna AI on Hugging Face record `current_gpu_total_memory` of an A10G).
    Hardware {
        name: "a10g",
        memory_bandwidth: 600.0 * GB,
        memory: 21.99 * GIB,
        bf16_flops: 70.0 * TERA,
        fp8_flops: None,
        link_bandwidth: PCIE_4,
        link_latency: PCIE_LATENCY,
    },
    // NVIDIA L4 datasheet: 24 GB, 300 GB/s, bf16 242 and fp8 485 TFLOP/s with sparsity, PCIe 4.0 x16; the
    // driver shows 23,034 MiB.
    Hardware {
        name: "l4",
        memory_bandwidth: 300.0 * GB,
        memory: 22.49 * GIB,
        bf16_flops: 121.0 * TERA,
        fp8_flops: Some(242.5 * TERA),
        link_bandwidth: PCIE_4,
        link_latency: PCIE_LATENCY,
    },
    // NVIDIA L40S datasheet: 48 GB with ECC, 864 GB/s, bf16 362.05 and fp8 733 TFLOP/s dense, PCIe 4.0 x16; the
    // driver shows 46,068 MiB.
    Hardware {
        name: "l40s",
        memory_bandwidth: 864.0 * GB,
        memory: 44.99 * GIB,
        bf16_flops: 362.05 * TERA,
        fp8_flops: Some(733.0 * TERA),
        link_bandwidth: PCIE_4,
        link_latency: PCIE_LATENCY,
    },
    // NVIDIA A100 datasheet, SXM4 80 GB: 2,039 GB/s, bf16 312 TFLOP/s, NVLink 600 GB/s.
    Hardware {
        name: "a100-80g",
        memory_bandwidth: 2_039.0 * GB,
        memory: 80.0 * GIB,
        bf16_flops: 312.0 * TERA,
        fp8_flops: None,
        link_bandwidth: 300.0 * GB,
        link_latency: NVLINK_LATENCY,
    },
    // NVIDIA H100 datasheet, SXM5: 80 GB, 3.35 TB/s, bf16 1,979 and fp8 3,958 TFLOP/s with sparsity, NVLink
    // 900 GB/s.
    Hardware {
        name: "h100",
        memory_bandwidth: 3_350.0 * GB,
        memory: 80.0 * GIB,
        bf16_flops: 989.5 * TERA,
        fp8_flops: Some(1_979.0 * TERA),
        link_bandwidth: 450.0 * GB,
        link_latency: NVLINK_LATENCY,
    },
    // NVIDIA H200 datasheet, SXM: 141 GB, 4.8 TB/s, peaks as the H100, NVLink 900 GB/s.
    Hardware {
        name: "h200",
        memory_bandwidth: 4_800.0 * GB,
        memory: 141.0 * GB,
        bf16_flops: 989.5 * TERA,
        fp8_flops: Some(1_979.0 * TERA),
        link_bandwidth: 450.0 * GB,
        link_latency: NVLINK_LATENCY,
    },
    // NVIDIA HGX B200 datasheet, per GPU: 180 GB, 7.7 TB/s (others print 8), bf16 4.5 and fp8 9 PFLOP/s with
    // sparsity, NVLink 1.8 TB/s. The peaks agree with the table of G. K. Lockwood's notes on the B200.
    Hardware {
        name: "b200",
        memory_bandwidth: 7_700.0 * GB,
        memory: 180.0 * GB,
        bf16_flops: 2_250.0 * TERA,
        fp8_flops: Some(4_500.0 * TERA),
        link_bandwidth: 900.0 * GB,
        link_latency: NVLINK_LATENCY,
    },
    // AMD Instinct MI300X datasheet: 192 GB, 5.3 TB/s, bf16 1,307.4 and fp8 2,614.9 TFLOP/s dense, seven
    // Infinity Fabric links of 128 GB/s (both directions).
    Hardware {
        name: "mi300x",
        memory_bandwidth: 5_300.0 * GB,
        memory: 192.0 * GB,
        bf16_flops: 1_307.4 * TERA,
        fp8_flops: Some(2_614.9 * TERA),
        link_bandwidth: 448.0 * GB,
        link_latency: NVLINK_LATENCY,
    },
];

impl FromStr for Hardware {
    type Err = UnknownName;

    /// The accelerator with this name: `a10g`, `h100`, …
    fn from_str(name: &str) -> Result<Self, UnknownName> {
        find("accelerator", &HARDWARE, |hardware| hardware.name, name)
    }
}
