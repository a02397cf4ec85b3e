//! Several servers as one engine: each request goes to the server that a policy chooses for it.

use std::sync::Arc;

use super::answer::{Engine, PreparedRequest};
use crate::clock::RunClock;
use crate::generator::RequestSpec;

/// Several servers of one kind as one engine.
pub struct Router<E, P> {
    first: Arc<E>,
    others: Vec<Arc<E>>,
    policy: P,
}

/// Chooses the server of a request.
pub trait RoutingPolicy: Send + Sync + 'static {
    /// The server's place in the header's list.
    fn choose(&self, request: &PreparedRequest) -> u16;
}

/// The only server takes every request.
impl RoutingPolicy for () {
    fn choose(&self, _request: &PreparedRequest) -> u16 {
        0
    }
}

impl<E: Engine> Router<E, ()> {
    /// A run's only server.
    pub fn to_one(engine: Arc<E>) -> Self {
        Self::new(engine, Vec::new(), ())
    }
}

impl<E: Engine, P: RoutingPolicy> Router<E, P> {
    /// Makes a router to servers in the order of the header's list. The bodies of requests are the first one's.
    pub fn new(first: Arc<E>, others: Vec<Arc<E>>, policy: P) -> Self {
        Self { first, others, policy }
    }

    fn target(&self, place: u16) -> &E {
        let other = usize::from(place).checked_sub(1).and_then(|place| self.others.get(place));
        other.unwrap_or(&self.first)
    }
}

impl<E: Engine, P: RoutingPolicy> Engine for Router<E, P> {
    type Answer = E::Answer;

    fn prepare(&self, request: &RequestSpec) -> PreparedRequest {
        self.first.prepare(request)
    }

    fn route(&self, request: &PreparedRequest) -> u16 {
        self.policy.choose(request)
    }

    fn generate(&self, request: PreparedRequest, clock: RunClock) -> E::Answer {
        self.target(request.target).generate(request, clock)
    }

    async fn warm_up(&self, count: usize) {
        let each = count.div_ceil(1 + self.others.len());
        for target in std::iter::once(&self.first).chain(&self.others) {
            target.warm_up(each).await;
        }
    }
}
