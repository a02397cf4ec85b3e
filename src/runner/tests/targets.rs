//! Requests over several servers, in exact, paused time.

use super::engines::{Script, ms};
use super::{RunOptions, execute};
use crate::engine::{Router, Targets};
use crate::record::{Route, Routing};

fn patient() -> RunOptions {
    RunOptions { drain: ms(1_000), ..RunOptions::default() }
}

fn server(ttft: u64) -> Script {
    Script { ttft: ms(ttft), gap: ms(1), tokens: 2 }
}

#[tokio::test(start_paused = true)]
async fn each_record_names_the_server_that_answered_it() {
    let three = || Targets::new(server(10), vec![server(20), server(30)]);
    let in_turn = Router::in_turn(three());
    let weights = vec![2, 1, 0];
    let weighted = Router::new(&Routing { route: Route::RoundRobin, weights }, three());
    for (router, place) in [(in_turn, [0, 1, 2]), (weighted, [0, 1, 0])] {
        let run = execute(router, 5, 45, patient(), &[]).await;
        let measured = run.records.iter().filter(|record| record.index < 9);
        for record in measured.clone() {
            let first = record.chunks.first_at().unwrap().since(record.sent.unwrap());
            assert_eq!(u64::from(record.target), place[(record.index % 3) as usize]);
            assert_eq!(first, ms(10 * (1 + u64::from(record.target))), "request {}", record.index);
        }
        assert_eq!(measured.count(), 9);
    }
}

#[tokio::test(start_paused = true)]
async fn one_server_is_a_list_of_one() {
    let run = execute(Router::in_turn(Targets::one(server(10))), 5, 45, patient(), &[]).await;
    assert!(run.records.iter().all(|record| record.target == 0));
}
