//! Gives the requests of a workload inputs or audio, and takes from it what goes with texts as answers.

use super::inputs::InputBatch;
use super::request_class::RequestClass;
use crate::workload::answer::ending::AnswerEnding;
use crate::workload::lengths::Distribution;
use crate::workload::prompt::audio::Audio;
use crate::workload::spec::WorkloadSpec;

impl WorkloadSpec {
    /// The inputs of its requests; `None` where answers are texts.
    pub fn inputs(&self) -> Option<InputBatch> {
        self.classes.first()?.inputs
    }

    /// The longest audio of its requests; `None` where none has some.
    pub(crate) fn longest_audio(&self) -> Option<Audio> {
        self.classes.iter().filter_map(|class| class.audio).max_by(|a, b| a.seconds.total_cmp(&b.seconds))
    }

    /// Whether answers are texts, which have tokens.
    pub fn has_answer_tokens(&self) -> bool {
        self.inputs().is_none()
    }

    /// The spec with these inputs in every request. Nothing is left of the lengths of answers, nor of bounds on TTFT
    /// and TPOT.
    #[must_use]
    pub(crate) fn with_inputs(mut self, of_class: impl Fn(&RequestClass) -> InputBatch) -> Self {
        for class in &mut self.classes {
            class.inputs = Some(of_class(class));
            class.output_tokens = Distribution::NONE;
            class.length = AnswerEnding::default();
        }
        let of_classes = self.classes.iter_mut().flat_map(|class| &mut class.priorities).map(|share| &mut share.slo);
        let of_tenants = self.tenants.iter_mut().filter_map(|tenant| tenant.slo.as_mut());
        for slo in of_classes.chain(of_tenants) {
            (slo.ttft_ms, slo.tpot_ms) = (None, None);
        }
        self
    }

    /// Whether an SLO of it bounds TTFT or TPOT.
    pub(crate) fn bounds_tokens(&self) -> bool {
        let of_classes = self.classes.iter().flat_map(|class| &class.priorities).map(|share| share.slo);
        let mut all = of_classes.chain(self.tenants.iter().filter_map(|tenant| tenant.slo));
        all.any(|slo| slo.ttft_ms.or(slo.tpot_ms).is_some())
    }
}

impl RequestClass {
    /// Gives its requests audio in place of texts.
    pub(crate) fn set_audio(&mut self, audio: Audio) {
        (self.audio, self.input_tokens) = (Some(audio), Distribution::NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::class::inputs::InputKind;

    #[test]
    fn inputs_are_read_and_written_and_leave_no_answer() {
        let class = |more: &str| {
            format!(
                "name = \"vectors\"\nhorizon_s = 5\narrival = {{ kind = \"poisson\", rate_per_s = 1 }}\n\
                 [[classes]]\nname = \"all\"\ninput_tokens = 8\n{more}"
            )
        };
        let spec = WorkloadSpec::from_toml(&class("inputs = { kind = \"pairs\", size = 16 }\n"), "a test").unwrap();
        let inputs = InputBatch { kind: InputKind::Pairs, size: 16 };
        assert_eq!((spec.inputs(), spec.classes[0].output_tokens.mean()), (Some(inputs), 0.0));
        assert_eq!(spec.mean_tokens(), [128.0, 0.0]);
        let written = serde_json::to_string(&spec).unwrap();
        assert!(!written.contains("output_tokens"), "{written}");
        assert_eq!(WorkloadSpec::from_json(&written, "what was written").unwrap(), spec);
        for (more, says) in [
            ("inputs = { kind = \"texts\", size = 0 }\n", "inputs.size"),
            ("inputs = { kind = \"texts\", size = 1 }\noutput_tokens = 5\n", "`inputs`, whose answers have no tokens"),
            ("inputs = { kind = \"pairs\", size = 2 }\nprompt = { kind = \"random_tokens\" }\n", "is for prompts that"),
            (
                "inputs = { kind = \"texts\", size = 1 }\nconversation = { turns = 2, think_time_s = 1 }\n",
                "do not continue",
            ),
        ] {
            let error = WorkloadSpec::from_toml(&class(more), "a test").unwrap_err().to_string();
            assert!(error.contains(says), "{more}: {error}");
        }
    }

    #[test]
    fn audio_is_read_and_written_and_leaves_no_text() {
        let class = |more: &str| {
            format!(
                "name = \"voices\"\nhorizon_s = 5\narrival = {{ kind = \"poisson\", rate_per_s = 1 }}\n\
                 [[classes]]\nname = \"all\"\noutput_tokens = 8\n{more}"
            )
        };
        let spec = WorkloadSpec::from_toml(&class("audio = { seconds = 2.5 }\n"), "a test").unwrap();
        assert_eq!((spec.longest_audio(), spec.mean_tokens()), (Some(Audio { seconds: 2.5 }), [0.0, 8.0]));
        let written = serde_json::to_string(&spec).unwrap();
        assert!(!written.contains("input_tokens"), "{written}");
        assert_eq!(WorkloadSpec::from_json(&written, "what was written").unwrap(), spec);
        for (more, says) in [
            ("audio = { seconds = 300 }\n", "audio.seconds"),
            ("audio = { seconds = 1 }\ninput_tokens = 5\n", "`audio`, which takes the place of texts"),
            ("audio = { seconds = 1 }\nimages = { size = \"8x8\" }\n", "`classes[0].audio` takes the place of a text"),
        ] {
            let error = WorkloadSpec::from_toml(&class(more), "a test").unwrap_err().to_string();
            assert!(error.contains(says), "{more}: {error}");
        }
    }
}
