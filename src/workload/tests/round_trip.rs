//! Written specs read back equal, and every text gets an answer.

use proptest::prelude::*;

use super::behaviours::behaviour;
use crate::workload::answer::ending::AnswerEnding;
use crate::workload::arrival::clients::{Client, GapFamily, RateSpread};
use crate::workload::arrival::pattern::ArrivalPattern;
use crate::workload::arrival::stages::{RateStage, RateState, Spike};
use crate::workload::arrival::think_time::ThinkTime;
use crate::workload::class::mixes::{ModelMix, Tenant};
use crate::workload::class::request_class::{PriorityShare, RequestClass};
use crate::workload::class::slo::{Priority, Slo};
use crate::workload::clients::leaving::Leaving;
use crate::workload::lengths::Distribution;
use crate::workload::library;
use crate::workload::prompt::dataset::{Dataset, DatasetFindings, DatasetFormat, RowFilter, RowOrder};
use crate::workload::prompt::image_size::ImageSize;
use crate::workload::prompt::source::{Conversation, ImageFindings, Images, PromptSource, SharedPrefixes};
use crate::workload::spec::{Purpose, WorkloadSpec};

fn distribution() -> impl Strategy<Value = Distribution> {
    let bounds = (1u32..100, 1000u32..1_000_000);
    prop_oneof![
        (1u32..=1_000_000).prop_map(|value| Distribution::Constant { value }),
        bounds.clone().prop_map(|(min, max)| Distribution::Uniform { min, max }),
        (100.0..1000.0, 0.1..1000.0, bounds.clone()).prop_map(|(mean, std, (min, max))| Distribution::Normal {
            mean,
            std,
            min,
            max
        }),
        (100.0..1000.0, 0.01..3.0, bounds.clone()).prop_map(|(median, sigma, (min, max))| Distribution::LogNormal {
            median,
            sigma,
            min,
            max
        }),
        (100.0..1000.0, bounds).prop_map(|(mean, (min, max))| Distribution::Exponential { mean, min, max }),
        prop::collection::vec((1u32..=1_000_000, 0.001..1e9), 1..5).prop_map(|observed| {
            let (values, weights) = observed.into_iter().unzip();
            Distribution::Empirical { values, weights }
        }),
    ]
}

/// The process of a workload, or of its one class.
fn arrival() -> impl Strategy<Value = ArrivalPattern> {
    process().prop_flat_map(|process| {
        let one = ArrivalPattern::ByClass { classes: vec![process.clone()] };
        prop_oneof![2 => Just(process), 2 => Just(one), 1 => users()]
    })
}

fn users() -> impl Strategy<Value = ArrivalPattern> {
    (1_u64..=100_000, think_time(), 0.0..10.0).prop_map(|(users, think_time_s, ramp_s)| ArrivalPattern::Users {
        users,
        think_time_s,
        ramp_s,
    })
}

fn process() -> impl Strategy<Value = ArrivalPattern> {
    prop_oneof![shared_process(), modulated(), clients()]
}

fn modulated() -> impl Strategy<Value = ArrivalPattern> {
    let rate = || 50.0..1e4;
    let state = (rate(), 0.1..100.0).prop_map(|(rate_per_s, mean_s)| RateState { rate_per_s, mean_s });
    let diurnal = (rate(), 0.01..=1.0, 1.0..1e5, 0.0..1e5).prop_map(|(rate_per_s, amplitude, period_s, phase_s)| {
        ArrivalPattern::Diurnal { rate_per_s, amplitude, period_s, phase_s }
    });
    let spike = (rate(), 0.0..10.0, 0.1..10.0, 0.0..10.0);
    let spikes = (rate(), prop::collection::vec(spike, 1..4)).prop_map(|(base_rate_per_s, spikes)| {
        let spike = |(i, (rate_per_s, rise_s, hold_s, fall_s))| Spike {
            at_s: 100.0 * i as f64,
            rate_per_s,
            rise_s,
            hold_s,
            fall_s,
        };
        ArrivalPattern::Spikes { base_rate_per_s, spikes: spikes.into_iter().enumerate().map(spike).collect() }
    });
    prop_oneof![
        prop::collection::vec(state, 2..4).prop_map(|states| ArrivalPattern::Markov { states }),
        diurnal,
        spikes,
    ]
}

fn clients() -> impl Strategy<Value = ArrivalPattern> {
    let gaps = || prop_oneof![Just(GapFamily::Gamma), Just(GapFamily::Weibull)];
    let cv = || 0.04..8.0;
    let client = (20.0..1e3, cv(), gaps()).prop_map(|(rate_per_s, cv, gaps)| Client { rate_per_s, cv, gaps });
    let rates = prop_oneof![
        Just(RateSpread::Equal),
        (0.0..5.0).prop_map(|exponent| RateSpread::Zipf { exponent }),
        (0.01..5.0).prop_map(|sigma| RateSpread::LogNormal { sigma }),
    ];
    prop_oneof![
        prop::collection::vec(client, 1..4).prop_map(|clients| ArrivalPattern::Clients { clients }),
        (50.0..1e4, 1_u64..=10_000, rates, cv(), gaps()).prop_map(|(rate_per_s, clients, rates, cv, gaps)| {
            ArrivalPattern::Population { rate_per_s, clients, rates, cv, gaps }
        }),
    ]
}

fn shared_process() -> impl Strategy<Value = ArrivalPattern> {
    let rate = || 50.0..1e4;
    let stage = (1.0..1e3, rate(), rate()).prop_map(|(duration_s, from_rate_per_s, to_rate_per_s)| RateStage {
        duration_s,
        from_rate_per_s,
        to_rate_per_s,
    });
    prop_oneof![
        rate().prop_map(|rate_per_s| ArrivalPattern::Poisson { rate_per_s }),
        rate().prop_map(|rate_per_s| ArrivalPattern::Constant { rate_per_s }),
        (rate(), 0.01..1e3).prop_map(|(rate_per_s, burstiness)| ArrivalPattern::Gamma { rate_per_s, burstiness }),
        (rate(), 0.25..100.0).prop_map(|(rate_per_s, shape)| ArrivalPattern::Weibull { rate_per_s, shape }),
        (rate(), rate(), 0.1..1e3, 0.1..1e3).prop_map(|(base_rate_per_s, burst_rate_per_s, base_s, burst_s)| {
            ArrivalPattern::Bursts { base_rate_per_s, burst_rate_per_s, base_s, burst_s }
        }),
        prop::collection::vec(stage, 1..4).prop_map(|stages| ArrivalPattern::Stages { stages }),
    ]
}

fn slo() -> impl Strategy<Value = Slo> {
    let bound = || prop::option::of(0.001..8e7);
    (bound(), bound(), bound()).prop_map(|(ttft_ms, tpot_ms, e2e_ms)| Slo { ttft_ms, tpot_ms, e2e_ms })
}

fn class() -> impl Strategy<Value = RequestClass> {
    let texts = || prop::collection::vec("\\PC*[a-z]\\PC*", 1..4);
    let vocabulary = || prop::option::of(2_u32..=16_777_216);
    let prompt = prop_oneof![
        texts().prop_map(|templates| PromptSource::Templates { templates }),
        texts().prop_map(|questions| PromptSource::Retrieval { questions }),
        vocabulary().prop_map(|vocabulary| PromptSource::RandomTokens { vocabulary }),
        dataset().prop_map(PromptSource::Dataset),
    ];
    let priorities = prop::sample::subsequence(vec![Priority::High, Priority::Medium, Priority::Low], 1..=3)
        .prop_flat_map(|priorities| {
            priorities
                .into_iter()
                .map(|priority| {
                    (0.001..1e9, slo()).prop_map(move |(weight, slo)| PriorityShare { priority, weight, slo })
                })
                .collect::<Vec<_>>()
        });
    let shared_prefix = prop::option::of(
        (1..=100_000_u32, distribution(), 0.0..=5.0, 0.0..=1.0)
            .prop_map(|(count, tokens, zipf, warm)| SharedPrefixes { count, tokens, zipf, warm }),
    );
    let lengths = (distribution(), distribution(), any::<bool>());
    let goes_on = prop::option::of(conversation());
    (0.001..1e9, lengths, (shared_prefix, goes_on), (prompt, images()), priorities).prop_map(
        |(weight, (input_tokens, output_tokens, rows_say), (shared_prefix, goes_on), (prompt, images), priorities)| {
            let conversation = goes_on.filter(|_| !prompt.is_verbatim());
            let class = RequestClass {
                name: String::new(),
                weight,
                input_tokens,
                output_tokens,
                inputs: None,
                shared_prefix: shared_prefix.filter(|_| !prompt.is_verbatim()),
                images: images
                    .filter(|_| !matches!(prompt, PromptSource::RandomTokens { .. }) && conversation.is_none()),
                audio: None,
                conversation,
                session: None,
                prompt,
                length: if weight < 1e8 { AnswerEnding::Natural } else { AnswerEnding::Forced },
                answer: None,
                cancel: (weight < 1e6).then_some(Leaving { share: 0.5, after_s: Some(weight), after_tokens: None }),
                priorities,
                metadata: [("team".to_owned(), format!("weight {weight}"))].into(),
            };
            of_rows(class, rows_say)
        },
    )
}

fn think_time() -> impl Strategy<Value = ThinkTime> {
    let pause = || 0.0..1e4;
    prop_oneof![
        pause().prop_map(|value| ThinkTime::Constant { value }),
        (pause(), pause()).prop_map(|(min, more)| ThinkTime::Uniform { min, max: min + more }),
        (0.001..1e4).prop_map(|mean| ThinkTime::Exponential { mean }),
        (0.001..1e4, 0.01..5.0).prop_map(|(median, sigma)| ThinkTime::LogNormal { median, sigma }),
    ]
}

fn conversation() -> impl Strategy<Value = Conversation> {
    let turns = (1_u32..100, 0_u32..100).prop_map(|(min, more)| Distribution::Uniform { min, max: min + more });
    let first = prop::option::of(distribution());
    let most = prop::option::of(1_u32..=1_000_000);
    (turns, think_time(), first, most).prop_map(|(turns, think_time_s, first_input_tokens, max_context_tokens)| {
        Conversation { turns, think_time_s, first_input_tokens, max_context_tokens }
    })
}

/// The class with the lengths of its dataset, if it has one.
fn of_rows(mut class: RequestClass, rows_say: bool) -> RequestClass {
    if let PromptSource::Dataset(dataset) = &class.prompt {
        let found = dataset.found.as_ref();
        class.input_tokens = Distribution::Dataset { mean: found.map(|found| found.mean_input_tokens) };
        if rows_say {
            let mean = found.and_then(|found| found.mean_output_tokens);
            class.output_tokens = Distribution::Dataset { mean };
        }
    }
    class
}

fn dataset() -> impl Strategy<Value = Dataset> {
    let counts = (0_u64..1 << 40, 0_u64..1 << 30, 0_u64..1 << 30, 0_u64..1 << 30);
    let found = ("[0-9a-f]{64}", counts, 0.0..1e6, prop::option::of(0.0..1e6)).prop_map(
        |(sha256, (bytes, rows, filtered_rows, bad_rows), mean_input_tokens, mean_output_tokens)| DatasetFindings {
            sessions: None,
            bytes,
            sha256,
            revision: Some("0a1b".to_owned()),
            files: vec!["data/train.parquet".to_owned()],
            rows,
            filtered_rows,
            bad_rows,
            mean_input_tokens,
            mean_output_tokens,
            tags: vec![vec!["de".to_owned()]],
        },
    );
    let format = prop::sample::select(vec![
        DatasetFormat::Sharegpt,
        DatasetFormat::Jsonl,
        DatasetFormat::Csv,
        DatasetFormat::Table,
    ]);
    let order = prop_oneof![Just(RowOrder::File), Just(RowOrder::Shuffled)];
    let column = || prop::option::of("[a-z]{1,8}");
    let rows = prop::option::of(1_u64..=100_000_000);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    ("[a-z./]{1,20}", format, order, rows, flags, (column(), column()), prop::option::of(found)).prop_map(
        |(path, format, order, rows, (filtered, skip_bad, salt), (prompt_column, output_column), found)| Dataset {
            order,
            rows,
            filter: (filtered && format == DatasetFormat::Sharegpt).then_some(RowFilter::Vllm),
            skip_bad,
            salt,
            prompt_column: prompt_column.filter(|_| matches!(format, DatasetFormat::Csv | DatasetFormat::Table)),
            output_tokens_column: output_column.filter(|_| matches!(format, DatasetFormat::Csv | DatasetFormat::Table)),
            found: found.map(Box::new),
            ..Dataset::new(path, format)
        },
    )
}

fn images() -> impl Strategy<Value = Option<Images>> {
    let found = ("[0-9a-f]{64}", 1_u64..1000, 1_u64..1 << 40).prop_map(|(sha256, images, bytes)| ImageFindings {
        images,
        bytes,
        sha256,
    });
    let images = ("[a-z./]{1,20}", 1_u32..=64, prop::option::of(found)).prop_map(|(folder, max, found)| Images {
        size: (max % 2 == 0).then_some(ImageSize { width: max, height: 768 }),
        folder: (max % 2 == 1).then_some(folder),
        per_request: Distribution::Uniform { min: 1, max },
        found,
    });
    prop::option::of(images)
}

/// Tenants without names, the first of which sends every class.
fn tenants() -> impl Strategy<Value = Vec<Tenant>> {
    let tenant = (0.001..1e9, prop::option::of(slo()), any::<bool>()).prop_map(|(weight, slo, picky)| {
        let classes = if picky { vec!["class_0".to_owned()] } else { Vec::new() };
        Tenant { name: String::new(), weight, slo, classes }
    });
    prop::collection::vec(tenant, 0..4).prop_map(|mut tenants| {
        for (i, tenant) in tenants.iter_mut().enumerate() {
            tenant.name = format!("tenant_{i}");
        }
        tenants.iter_mut().take(1).for_each(|tenant| tenant.classes.clear());
        tenants
    })
}

fn models() -> impl Strategy<Value = Option<ModelMix>> {
    let mix = prop::collection::vec(0.001..1e9, 1..5).prop_map(|weights| ModelMix {
        names: (0..weights.len()).map(|i| format!("org/model-{i}")).collect(),
        weights,
    });
    prop::option::of(mix)
}

fn spec() -> impl Strategy<Value = WorkloadSpec> {
    let length = (10.0..1e4, prop::option::of(100_000_u64..=100_000_000), 0.0..5.0, 0.0..1e6);
    let texts = ("[A-Za-z0-9_-]{1,64}", "\\PC*");
    let marks = (tenants(), models(), behaviour());
    (texts, any::<u64>(), length, arrival(), prop::collection::vec(class(), 1..4), marks).prop_map(
        |((name, description), seed, (horizon_s, requests, warmup_s, drain_s), arrival, mut classes, marks)| {
            let (tenants, models, clients) = marks;
            let requests = requests.filter(|_| arrival.users().is_none());
            if matches!(arrival, ArrivalPattern::ByClass { .. }) {
                classes.truncate(1);
                classes[0].weight = 1.0;
            }
            for (i, class) in classes.iter_mut().enumerate() {
                class.name = format!("class_{i}");
            }
            WorkloadSpec {
                name,
                description,
                seed,
                horizon_s,
                requests,
                warmup_s,
                cooldown_s: requests.map(|_| drain_s / 2.0),
                drain_s,
                arrival,
                classes,
                tenants,
                models,
                clients,
                checks: Vec::new(),
                check_every_s: None,
                cache: None,
                system_idle_cap_s: None,
                scenario: None,
                purpose: Purpose::default(),
                mock_hardware: Some("h100".to_owned()),
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_spec_reads_back_equal(spec in spec()) {
        let json = serde_json::to_string(&spec).unwrap();
        // Rates that change in time may bring more requests than any run may have, or fewer than `requests` in the
        // longest run.
        if let Err(error) = WorkloadSpec::from_json(&json, "json") {
            let error = error.to_string();
            prop_assume!(!error.contains("requests arrive; the most is"));
            prop_assume!(!error.contains("the arrivals bring only about"));
        }
        prop_assert_eq!(&serde_json::from_str::<WorkloadSpec>(&json).unwrap(), &spec);
        prop_assert_eq!(&WorkloadSpec::from_json(&json, "json").unwrap(), &spec);
        // TOML's own writer has signed numbers only.
        let spec = WorkloadSpec { seed: spec.seed >> 1, ..spec };
        let toml = toml::to_string(&spec).unwrap();
        prop_assert_eq!(&WorkloadSpec::from_toml(&toml, "toml").unwrap(), &spec);
    }

    #[test]
    fn any_text_is_answered(text in "(\\PC|[\n\\[\\]{}=\",.0-9])*") {
        for answer in [WorkloadSpec::from_toml(&text, "any"), WorkloadSpec::from_json(&text, "any")] {
            let error = answer.unwrap_err().to_string();
            prop_assert!(error.contains(" in any\n  line "), "{}", error);
        }
    }

    /// Cuts and duplicates a part of a valid file. The result is a spec or a list of mistakes.
    #[test]
    fn a_damaged_file_is_answered(from in 0usize..4000, length in 0usize..200, doubled in any::<bool>()) {
        for name in library::names() {
            let source: Vec<char> = library::source(name).unwrap().chars().collect();
            let from = from.min(source.len());
            let to = (from + length).min(source.len());
            let resume = if doubled { from } else { to };
            let kept = if doubled { to } else { from };
            let text: String = source[..kept].iter().chain(&source[resume..]).collect();
            if let Err(error) = WorkloadSpec::from_toml(&text, name) {
                prop_assert!(error.to_string().contains("line "), "{}", error);
            }
        }
    }
}

#[test]
fn the_library_reads_back_equal() {
    for spec in library::all().unwrap() {
        let stored = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<WorkloadSpec>(&stored).unwrap(), spec);
    }
}

#[test]
fn a_stored_spec_is_held_to_the_rules() {
    let stored = serde_json::to_string(&crate::workload::tests::least())
        .unwrap()
        .replace("\"horizon_s\":60.0", "\"horizon_s\":0");
    let error = serde_json::from_str::<WorkloadSpec>(&stored).unwrap_err().to_string();
    assert!(error.contains("`horizon_s` is 0; it must be a number above 0, at most 2,678,400"), "{error}");
}
