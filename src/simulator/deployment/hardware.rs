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
    /// Memory available to a program, bytes.
    pub memory: f64,
    /// Dense 16-bit (bf16 or fp16) matrix FLOP/s with 32-bit accumulation.
    pub bf16_flops: f64,
    /// Dense 8-bit floating-point matrix FLOP/s; absent where the chip has no such unit.
    pub fp8_flops: Option<f64>,
    /// Bandwidth to the other accelerators of the node, bytes per second and direction (datasheets print the
    /// sum of both directions).
    pub link_bandwidth: f64,
    /// Fixed time of a small all-reduce, seconds.
    pub link_latency: f64,
}

const GB: f64 = 1e9;
const GIB: f64 = 1_073_741_824.0;
const TERA: f64 = 1e12;

/// All-reduce of some kilobytes between accelerators with links of their own. vLLM's kernels took 9.3 µs for 4 KiB and
/// 11.8 µs for 32 KiB on 8 H100, and little less on 2 (sgl-project/sglang pull request 2904, which brought its own to
/// 6 and 8 µs); on 4 AMD accelerators such kernels took 7.3 µs for 16 KiB (sgl-project/sglang pull request 6619).
const DIRECT_LATENCY: f64 = 10e-6;
/// The same through host memory over `PCIe`, by NCCL. An estimate for two to four accelerators: the one measurement
/// found is 54 µs, of 8 bytes on 8 RTX 3090 (NVIDIA/nccl issue 1439).
const PCIE_LATENCY: f64 = 30e-6;

/// Links by their GB/s in one direction, and their latency. `PCIe` 4.0 x16 has 64 GB/s in both directions together
/// (NVIDIA's L40S datasheet prints it so).
const PCIE_4: (f64, f64) = (32.0, PCIE_LATENCY);

const fn direct(gb_per_s: f64) -> (f64, f64) {
    (gb_per_s, DIRECT_LATENCY)
}

/// A row of the table: memory in GB/s and GiB, dense peaks in TFLOP/s, and the link.
const fn row(
    name: &'static str,
    gb_per_s: f64,
    gib: f64,
    bf16: f64,
    fp8: Option<f64>,
    (link, link_latency): (f64, f64),
) -> Hardware {
    let fp8_flops = match fp8 {
        Some(fp8) => Some(fp8 * TERA),
        None => None,
    };
    let [memory_bandwidth, memory] = [gb_per_s * GB, gib * GIB];
    let [bf16_flops, link_bandwidth] = [bf16 * TERA, link * GB];
    Hardware { name, memory_bandwidth, memory, bf16_flops, fp8_flops, link_bandwidth, link_latency }
}

/// Every accelerator known by name.
///
/// Bandwidths and peaks are the vendor's. No datasheet was available: *checked against* names the copy or measurement
/// that was read and that agrees. Memory is what CUDA or HIP reports, since vLLM divides that: `total_gpu_memory` in
/// its log, *total capacity* in `PyTorch`'s out-of-memory message. It varies by up to 0.3 GiB between drivers.
pub const HARDWARE: [Hardware; 8] = [
    // NVIDIA A10G for AWS, datasheet of 2022-02-17 (d1.awsstatic.com/product-marketing/ec2/): 600 GB/s, bf16 70
    // TFLOP/s dense, PCIe 4.0 x16. Checked against baseten.co, "A10 vs A10G" (600 GB/s, and that the A10's 125 TFLOP/s
    // are not the A10G's), and fullstackdeeplearning.com/cloud-gpus (70); of the link no copy was found. Memory:
    // 22,515.75 MiB in PrunaAI's results.json files on Hugging Face.
    row("a10g", 600.0, 21.99, 70.0, None, PCIE_4),
    // NVIDIA L4 datasheet (nvidia.com/en-us/data-center/l4): 300 GB/s, bf16 242 and fp8 485 TFLOP/s with sparsity,
    // PCIe 4.0 x16. Checked against fpsbench.com (300.1 GB/s) and hmc-tech.com (dense 125 and 251 at the
    // highest clock). Memory: the out-of-memory messages of L4 found on GitHub.
    row("l4", 300.0, 22.03, 121.0, Some(242.5), PCIE_4),
    // NVIDIA L40S datasheet: 864 GB/s, bf16 362.05 and fp8 733 TFLOP/s dense, PCIe 4.0 x16. Checked against
    // its table at mullet.se (product 355414). Memory: vllm-project/vllm issue 15598, Wan-Video/Wan2.1 issue
    // 205.
    row("l40s", 864.0, 44.53, 362.05, Some(733.0), PCIE_4),
    // NVIDIA A100 datasheet, SXM4 80 GB: 2,039 GB/s, bf16 312 TFLOP/s, NVLink 600 GB/s. Checked against
    // glennklockwood.com/garden/processors/A100. Memory: vllm-project/vllm pull request 10909, lianqi1008/Control-GIC
    // issue 6 (79.14).
    row("a100-80g", 2_039.0, 79.15, 312.0, None, direct(300.0)),
    // NVIDIA H100 datasheet, SXM5: 3.35 TB/s, bf16 1,979 and fp8 3,958 TFLOP/s with sparsity, NVLink 900 GB/s. Checked
    // against glennklockwood.com/garden/processors/h100 (989.4 and 1,978.9 dense). Memory: vllm-project/vllm issue
    // 27508 (79.11) and pull request 12126 (79.22).
    row("h100", 3_350.0, 79.11, 989.5, Some(1_979.0), direct(450.0)),
    // NVIDIA H200 datasheet, SXM: 4.8 TB/s, peaks as the H100, NVLink 900 GB/s. Checked against
    // aiwiki.ai/wiki/nvidia_h200 (4.8 TB/s, the H100's silicon) and the MLPerf Inference 4.1 system
    // H200-SXM-141GBx8 (900 GB/s). The 141 GB of the datasheet are nearer to 141 GiB. Memory: the
    // out-of-memory messages of H200 found on GitHub (139.72 to 139.81).
    row("h200", 4_800.0, 139.8, 989.5, Some(1_979.0), direct(450.0)),
    // NVIDIA Blackwell datasheet, HGX B200, per GPU: 7.7 TB/s, bf16 4.5 and fp8 9 PFLOP/s with sparsity, NVLink 1.8
    // TB/s. Checked against pytorch/ao pull request 4002, which read 7,680 bits at 3,996 MHz from a card:
    // 7.67 TB/s (the 8 TB/s of others are the announced 8,192 bits, and the GB200's), and
    // glennklockwood.com/garden/processors/B200 (2,250 and 4,500 dense at 1,000 W; 900 GB/s a direction).
    // Memory: pytorch/ao pull request 4002.
    row("b200", 7_700.0, 178.35, 2_250.0, Some(4_500.0), direct(900.0)),
    // AMD Instinct MI300X data sheet: 5.3 TB/s, bf16 1,307.4 and fp8 2,614.9 TFLOP/s dense, seven Infinity Fabric
    // links of 128 GB/s (both directions). Checked against emergentmind.com/topics/amd-mi300x-gpu (5.3 TB/s,
    // 448 GB/s in all) and SemiAnalysis, "MI300X vs H100 vs H200", as others quote it (1,307); of the fp8
    // peak only tables that cite the data sheet were found. Memory: HIP's out-of-memory messages found on
    // GitHub (191.69 to 191.98).
    row("mi300x", 5_300.0, 191.98, 1_307.4, Some(2_614.9), direct(448.0)),
];

impl FromStr for Hardware {
    type Err = UnknownName;

    /// The accelerator with this name: `a10g`, `h100`, …
    fn from_str(name: &str) -> Result<Self, UnknownName> {
        find("accelerator", &HARDWARE, |hardware| hardware.name, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_peak_counts_sparsity() {
        // Half the bits, twice the products: by the chips' design, and by every datasheet to 1.3 %. A peak with
        // sparsity among the dense ones is off by a factor of two.
        for hardware in HARDWARE {
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
