//! Changes that the command line makes to the requests of a workload: what prompts share, and how answers end.

use clap::Args;
use strum::VariantNames as _;

use super::request_class::RequestClass;
use crate::units::{count, percent};
use crate::workload::answer::ending::AnswerEnding;
use crate::workload::answer::golden_set::GoldenSet;
use crate::workload::clients::leaving::Leaving;
use crate::workload::lengths::Distribution;
use crate::workload::prompt::audio::Audio;
use crate::workload::prompt::cache::CacheState;
use crate::workload::prompt::source::{Images, SharedPrefixes};
use crate::workload::reading::{one_of, one_part, seconds};
use crate::workload::spec::WorkloadSpec;

/// Tokens of the blocks in which vLLM caches. A planned share is of whole ones.
const BLOCK: f64 = 16.0;

/// Shared prefixes and ends of answers, in place of those of a workload's classes.
#[derive(Clone, Debug, Default, PartialEq, Args)]
#[command(next_help_heading = "Workload")]
pub struct RequestChange {
    /// End of answers: forced to exactly their length. With natural the model ends them, and the length is their limit
    /// [default: the workload's, else forced]
    #[arg(long, value_name = "FORM", value_parser = one_of::<AnswerEnding>(AnswerEnding::VARIANTS))]
    pub length: Option<AnswerEnding>,

    /// Shared prefix of so many tokens, before those of --input-tokens. 2048x64 are 64 prefixes, of which each prompt
    /// has one [default: the workload's]
    #[arg(long, value_name = "TOKENS[xN]", value_parser = SharedPrefixes::typed)]
    pub shared_prefix: Option<SharedPrefixes>,

    /// Share of the tokens of --input-tokens that a prefix cache finds, 0.9 or 90%. It is one prefix for all prompts,
    /// sent once before the run [default: the workload's]
    #[arg(long, value_name = "SHARE", value_parser = one_part, conflicts_with = "shared_prefix")]
    pub cache_hit: Option<f64>,

    /// State of the server's prefix cache when the window begins. It is cold where nothing that a session says was said
    /// before it, warm where shared prefixes were sent once, primed where the histories of sessions that begin in their
    /// middle were sent too [default: the workload's, else as its classes say]
    #[arg(long, value_name = "STATE", value_parser = one_of::<CacheState>(CacheState::VARIANTS))]
    pub cache: Option<CacheState>,

    /// Images in every request, made from the workload's seed. 2x1024x768 are two, each 1024 pixels wide and 768 high.
    /// Their tokens are not counted in --input-tokens [default: the workload's, else none]
    #[arg(long, value_name = "[Nx]WIDTHxHEIGHT", value_parser = Images::typed)]
    pub images: Option<Images>,

    /// Audio of every request, made from the workload's seed, of this length. It is voice-like sound as WAV (16 kHz, 16
    /// bit, mono), in place of texts [default: the workload's; 10s for --endpoint transcriptions]
    #[arg(long, value_name = "TIME", value_parser = Audio::typed, conflicts_with = "images")]
    pub audio: Option<Audio>,

    /// Clients who leave before their answer is complete, and when. 10%@2s leave 2 s after the request began,
    /// 10%@50tokens after so many tokens (chunks, where the server does not count them). No latency and no SLO counts
    /// them (`guide workloads`) [default: the workload's, else none]
    #[arg(long, value_name = "SHARE@WHEN", value_parser = Leaving::typed)]
    pub cancel: Option<Leaving>,

    /// Golden prompts in addition to those of the workload. It is a file of `[[checks]]`, or `basics`, which are 24
    /// questions that come with this program (`guide prompts`) [default: the workload's alone]
    #[arg(long, value_name = "FILE", value_parser = GoldenSet::typed)]
    pub golden: Option<GoldenSet>,

    /// Cut times in which nothing is in flight to this. The next requests of all agents then come sooner, by the same
    /// time each (`guide agents`) [default: the workload's, else none]
    #[arg(id = "system_idle_cap", long = "system-idle-cap", value_name = "TIME", value_parser = seconds)]
    pub system_idle_cap_s: Option<f64>,
}

impl RequestChange {
    /// Whether it says what prompts share.
    pub fn shares(&self) -> bool {
        self.shared_prefix.is_some() || self.cache_hit.is_some()
    }

    /// The reason why `workload` cannot take this change: flag and cure. Prompts may have other lengths too.
    pub(in crate::workload) fn mistake(&self, workload: &WorkloadSpec, has_lengths: bool) -> Option<String> {
        let is_traced = workload.arrival.trace().is_some();
        let has_audio = self.audio.is_some() || workload.longest_audio().is_some();
        let flag = if self.cache_hit.is_some() { "--cache-hit" } else { "--shared-prefix" };
        let sentence = match self.audio {
            _ if self.shares() && is_traced => {
                return Some(format!(
                    "`{flag}` cannot be given for a trace, which says what prompts share; leave it out"
                ));
            }
            Some(_) if is_traced => {
                "`--audio` cannot be given for a trace, which says how long prompts are; leave it out"
            }
            _ if has_lengths && has_audio => {
                "`--input-tokens` cannot be given with audio, which takes the place of texts; leave it out"
            }
            _ => return None,
        };
        Some(sentence.to_owned())
    }

    /// Makes the change. The error is why the workload cannot take it: flag, value and cure.
    pub(in crate::workload) fn apply(&self, spec: &mut WorkloadSpec) -> Result<(), String> {
        for check in self.golden.iter().flat_map(|set| &set.checks) {
            if spec.checks.iter().any(|own| own.name == check.name) {
                return Err(format!(
                    "`--golden` has a check `{}`, and so has the workload; rename one of them",
                    check.name
                ));
            }
            spec.checks.push(check.clone());
        }
        for class in &mut spec.classes {
            class.length = self.length.unwrap_or(class.length);
            class.cancel = self.cancel.or(class.cancel);
            if self.images.is_some() {
                class.images.clone_from(&self.images);
            }
            if let Some(audio) = self.audio {
                class.set_audio(audio);
            }
            if self.shared_prefix.is_some() {
                class.shared_prefix.clone_from(&self.shared_prefix);
            }
            if let Some(share) = self.cache_hit {
                let (tokens, own) = split(class, share)?;
                class.shared_prefix = Some(SharedPrefixes::alike(1, Distribution::Constant { value: tokens }, 1.0));
                class.input_tokens = own;
            }
        }
        Ok(())
    }
}

/// Tokens of a prefix of this share, and the lengths of what is left.
fn split(class: &RequestClass, share: f64) -> Result<(u32, Distribution), String> {
    let RequestClass { name, input_tokens, prompt, conversation, .. } = class;
    let refused = |why: &str| Err(format!("`--cache-hit` is {}, {why}", percent(share)));
    if prompt.is_verbatim() {
        return refused(&format!(
            "and the prompts of class `{name}` are sent as they are; it is for prompts that are written to a length"
        ));
    }
    if conversation.is_some() {
        return refused(&format!(
            "and a cache holds what the conversations of class `{name}` said before; give --shared-prefix"
        ));
    }
    let mean = input_tokens.mean();
    let tokens = (share * mean / BLOCK).floor() * BLOCK;
    if tokens < BLOCK {
        let mean = count(mean.round() as u64);
        return refused(&format!(
            "less than a block of {BLOCK} of the {mean} tokens of a prompt of class `{name}`; give longer prompts with \
             --input-tokens"
        ));
    }
    if let Some(own) = input_tokens.shortened(tokens as u32) {
        return Ok((tokens as u32, own));
    }
    let shortest = input_tokens.bounds().0;
    let (tokens, shortest) = (count(tokens as u64), count(shortest.into()));
    refused(&format!(
        "{tokens} tokens of a mean prompt of class `{name}`, and the shortest has {shortest}, or the lengths are \
         log-normal; give --input-tokens as one number, or as a narrow range such as 900..1100"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::overrides::Overrides;

    fn changed(workload: Option<&str>, lengths: &str, request: RequestChange) -> Result<WorkloadSpec, String> {
        let spec = workload.map_or_else(WorkloadSpec::synthetic, WorkloadSpec::load).unwrap();
        let input_tokens =
            Some(lengths).filter(|typed| !typed.is_empty()).map(|typed| Distribution::typed(typed).unwrap());
        spec.with(&Overrides { input_tokens, request, ..Overrides::default() }).map_err(|error| error.to_string())
    }

    fn hit(share: f64) -> RequestChange {
        RequestChange { cache_hit: Some(share), ..RequestChange::default() }
    }

    #[test]
    fn a_planned_hit_rate_splits_the_prompt() {
        for (lengths, share, prefix, own) in [
            ("1000", 0.9, 896, "104"),
            ("1024", 0.5, 512, "512"),
            ("900..1100", 0.85, 848, "52..252"),
            ("normal:1000:50:900:1100", 0.8, 800, "normal:200:50:100:300"),
            ("exponential:300:1000:3000", 0.75, 960, "exponential:300:40:2040"),
        ] {
            let class = changed(None, lengths, hit(share)).unwrap().classes.remove(0);
            let expected = SharedPrefixes::alike(1, Distribution::Constant { value: prefix }, 1.0);
            assert_eq!(class.shared_prefix, Some(expected), "{lengths}");
            assert_eq!(class.input_tokens, Distribution::typed(own).unwrap(), "{lengths}");
        }
    }

    #[test]
    fn what_cannot_be_split_is_refused_with_the_cure() {
        for (workload, lengths, share, problem) in [
            (None, "16", 0.9, "less than a block of 16 of the 16 tokens"),
            (None, "10..1990", 0.9, "896 tokens of a mean prompt of class `synthetic`, and the shortest has 10"),
            (None, "lognormal:1000:0.5", 0.5, "log-normal; give --input-tokens as one number"),
            (Some("agents"), "", 0.9, "said before; give --shared-prefix"),
        ] {
            let refusal = changed(workload, lengths, hit(share)).unwrap_err();
            assert!(refusal.contains("`--cache-hit` is") && refusal.contains(problem), "{refusal}");
        }
    }

    #[test]
    fn images_are_typed_with_their_size_and_number() {
        for (typed, number, size) in [("64x32", 1, "64x32"), ("2×1024x768", 2, "1024x768"), ("3x8×9", 3, "8x9")] {
            let images = Images::typed(typed).unwrap();
            assert_eq!(images.size.unwrap().to_string(), size);
            assert_eq!(images.per_request, Distribution::Constant { value: number });
            let request = RequestChange { images: Some(images.clone()), ..RequestChange::default() };
            assert_eq!(changed(None, "7", request).unwrap().classes[0].images, Some(images));
        }
        for typed in ["64", "65x8x8", "0x8x8", "1x8x9000", "axb"] {
            assert!(Images::typed(typed).unwrap_err().contains("write it like"), "{typed}");
        }
        let request = RequestChange { images: Images::typed("8x8").ok(), ..RequestChange::default() };
        let refusal = changed(Some("agents"), "", request).unwrap_err();
        assert!(refusal.contains("images") && refusal.contains("leave one of them out"), "{refusal}");
    }

    #[test]
    fn audio_is_typed_by_its_length_and_takes_the_place_of_texts() {
        for (typed, seconds) in [("10s", 10.0), ("2500ms", 2.5), ("4m", 240.0)] {
            assert_eq!(Audio::typed(typed), Ok(Audio { seconds }), "{typed}");
        }
        for typed in ["5m", "50ms", "loud"] {
            assert!(Audio::typed(typed).is_err(), "{typed}");
        }
        let request = RequestChange { audio: Audio::typed("10s").ok(), ..RequestChange::default() };
        let class = changed(None, "", request.clone()).unwrap().classes.remove(0);
        assert_eq!((class.audio, class.input_tokens.mean()), (Some(Audio::USUAL), 0.0));
        let refusal = changed(None, "7", request.clone()).unwrap_err();
        assert!(refusal.contains("`--input-tokens` cannot be given with audio"), "{refusal}");
        let refusal = changed(Some("agents"), "", request).unwrap_err();
        assert!(refusal.contains("audio") && refusal.contains("takes the place of a text"), "{refusal}");
    }

    #[test]
    fn prefixes_are_typed_with_their_number() {
        let alike = |count, text: &str| SharedPrefixes::alike(count, Distribution::typed(text).unwrap(), 0.0);
        for (typed, expected) in [
            ("2048", alike(1, "2048")),
            ("2048x64", alike(64, "2048")),
            ("2048×64", alike(64, "2048")),
            ("exponential:300x8", alike(8, "exponential:300")),
            ("exponential:300", alike(1, "exponential:300")),
        ] {
            assert_eq!(SharedPrefixes::typed(typed), Ok(expected.clone()), "{typed}");
            let request = RequestChange { shared_prefix: Some(expected.clone()), ..RequestChange::default() };
            let spec = changed(None, "7", request).unwrap();
            assert_eq!(spec.classes[0].shared_prefix.as_ref(), Some(&expected));
            assert_eq!(spec.classes[0].input_tokens, Distribution::Constant { value: 7 }, "it comes on top");
        }
        for (typed, problem) in [
            ("2048x0", "`count` is 0"),
            ("2048x200000", "`count` is 200000"),
            ("many", "`many` is not a length"),
            ("2048x1.5", "`2048x1.5` is not a length"),
        ] {
            let refusal = SharedPrefixes::typed(typed).unwrap_err();
            assert!(refusal.contains(problem), "{typed}: {refusal}");
        }
    }
}
