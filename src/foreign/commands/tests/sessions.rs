//! Recorded sessions of AIPerf, and its scenario of agents.

use super::*;

#[test]
fn aiperf_says_which_sessions_are_played_and_from_where_on() {
    for (flags, options) in [
        (
            "--scenario inferencex-agentx-mvp --public-dataset semianalysis_cc_traces_weka_with_subagents_256k \
             --concurrency 16 --num-dataset-entries 9",
            "bench agentx --agents 16 --dataset hf:semianalysisai/cc-traces-weka-062126-256k --dataset-format sessions \
             --dataset-rows 9 --start-window 0..1",
        ),
        (
            "--scenario inferencex-agentx-mvp --custom-dataset-type weka_trace --input-file t --benchmark-duration 900 \
             --trajectory-start-min-ratio 0.25 --trajectory-start-max-ratio 0.75 --random-seed 42",
            "bench agentx 1200 --agents 1 --trace t --start-window 0.25..0.75 --seed 42",
        ),
        (
            "--hf-weka-dataset a/b --request-rate 2 --benchmark-duration 60",
            "bench 60 --rate 2 --dataset hf:a/b --dataset-format sessions",
        ),
        (
            "--custom-dataset-type dag_jsonl --input-file t --concurrency 2 --inter-turn-delay-cap-seconds 5",
            "bench --agents 2 --trace t --idle-cap 5s",
        ),
        (
            "--scenario inferencex-agentx-mvp --public-dataset semianalysis_cc_traces_weka_with_subagents_060226_256k",
            "bench agentx --agents 1 --dataset hf:semianalysisai/cc-traces-weka-with-subagents-060226-256k \
             --dataset-format sessions --start-window 0..1",
        ),
    ] {
        assert_eq!(aiperf(flags), options, "{flags}");
    }
}
