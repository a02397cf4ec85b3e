//! Requests over several servers, in exact, paused time.

use std::sync::Arc;

use super::engines::{Script, ms};
use super::{RunOptions, execute};
use crate::engine::{PreparedRequest, Router, RoutingPolicy};

/// The servers take turns.
struct InTurn;

impl RoutingPolicy for InTurn {
    fn choose(&self, request: &PreparedRequest) -> u16 {
        (request.index % 3) as u16
    }
}

fn patient() -> RunOptions {
    RunOptions { drain: ms(1_000), ..RunOptions::default() }
}

#[tokio::test(start_paused = true)]
async fn each_record_names_the_server_that_answered_it() {
    let server = |ttft| Arc::new(Script { ttft: ms(ttft), gap: ms(1), tokens: 2 });
    let router = Router::new(server(10), vec![server(20), server(30)], InTurn);
    let run = execute(router, 5, 45, patient(), &[]).await;
    let measured = run.records.iter().filter(|record| record.index < 9);
    for record in measured.clone() {
        let first = record.chunks.first_at().unwrap().since(record.sent.unwrap());
        assert_eq!(u64::from(record.target), record.index % 3);
        assert_eq!(first, ms(10 * (1 + u64::from(record.target))), "request {}", record.index);
    }
    assert_eq!(measured.count(), 9);
}

#[tokio::test(start_paused = true)]
async fn one_server_is_a_list_of_one() {
    let server = Arc::new(Script { ttft: ms(10), gap: ms(1), tokens: 2 });
    let run = execute(Router::to_one(server), 5, 45, patient(), &[]).await;
    assert!(run.records.iter().all(|record| record.target == 0));
}
