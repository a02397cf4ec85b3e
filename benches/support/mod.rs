//! What the benches over the loopback device share: the client's side of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use skyline::engine::{OpenAiEngine, Target};
use skyline::generator::{PlannedRequest, Prompt, RequestSpec};
use skyline::record::EngineKind;
use tokio::runtime::{Builder, Runtime};

/// The kind of runtime that `skyline bench` has.
pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// The engine at this address.
pub(crate) async fn engine_at(address: SocketAddr) -> Arc<OpenAiEngine> {
    let target = Target::new(format!("http://{address}").parse().unwrap(), EngineKind::Openai);
    Arc::new(OpenAiEngine::connect(target, Duration::from_secs(5), |_| {}).await.unwrap())
}

/// A request that leaves at once.
pub(crate) fn request(index: u64, tokens: u32) -> RequestSpec {
    let planned = PlannedRequest { index, input_tokens: 4, output_tokens: tokens, ..PlannedRequest::default() };
    planned.into_spec(Prompt::Text("Count from one to ten.".to_owned()))
}
