//! Several servers as one engine: each request goes to the server that a policy chooses for it.

use std::num::NonZeroU16;
use std::sync::Arc;

use super::answer::{Engine, PreparedRequest};
use crate::clock::RunClock;
use crate::generator::RequestSpec;

/// One or more servers, or a fact about each. Their order is that of the header's list.
#[derive(Clone, Debug, PartialEq)]
pub struct Targets<T> {
    first: T,
    others: Vec<T>,
}

impl<T> Targets<T> {
    /// Makes the list with the only server of a run.
    pub const fn one(only: T) -> Self {
        Self::new(only, Vec::new())
    }

    /// Makes the list with `first` before the `others`.
    pub const fn new(first: T, others: Vec<T>) -> Self {
        Self { first, others }
    }

    /// The server that is asked what all answer alike. They serve one model, to requests of one form.
    pub const fn first(&self) -> &T {
        &self.first
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The number of them.
    pub fn count(&self) -> NonZeroU16 {
        NonZeroU16::MIN.saturating_add(self.others.len() as u16)
    }

    /// Returns what `of_each` makes of each.
    pub fn map<U>(&self, mut of_each: impl FnMut(&T) -> U) -> Targets<U> {
        Targets { first: of_each(&self.first), others: self.others.iter().map(of_each).collect() }
    }

    /// Returns what `of_each` makes of each, or its first error.
    ///
    /// # Errors
    ///
    /// As `of_each`.
    pub fn try_map<U, E>(&self, mut of_each: impl FnMut(&T) -> Result<U, E>) -> Result<Targets<U>, E> {
        Ok(Targets { first: of_each(&self.first)?, others: self.others.iter().map(of_each).collect::<Result<_, _>>()? })
    }

    /// The server at this place, or the first where there is none.
    fn at(&self, place: u16) -> &T {
        self.iter().nth(usize::from(place)).unwrap_or(&self.first)
    }
}

/// Chooses the server of a request among so many: its place in the list.
type RoutingPolicy = dyn Fn(&PreparedRequest, NonZeroU16) -> u16 + Send + Sync;

/// Several servers of one kind as one engine. The bodies of requests are the first one's.
#[derive(Clone)]
pub struct Router<E> {
    targets: Targets<E>,
    policy: Arc<RoutingPolicy>,
}

impl<E: Engine> Router<E> {
    /// Makes a router to servers that take turns. The turns of a session stay with one server.
    pub fn in_turn(targets: Targets<E>) -> Self {
        Self::by(|request, servers| (request.session % u64::from(servers.get())) as u16, targets)
    }

    /// Makes a router to servers among which `policy` chooses.
    pub fn by(
        policy: impl Fn(&PreparedRequest, NonZeroU16) -> u16 + Send + Sync + 'static,
        targets: Targets<E>,
    ) -> Self {
        Self { targets, policy: Arc::new(policy) }
    }

    /// The servers.
    pub const fn targets(&self) -> &Targets<E> {
        &self.targets
    }

    /// Returns the router with `of_each` server in its place.
    #[must_use]
    pub fn map(&self, of_each: impl FnMut(&E) -> E) -> Self {
        Self { targets: self.targets.map(of_each), policy: Arc::clone(&self.policy) }
    }
}

impl<E: Engine> Engine for Router<E> {
    type Answer = E::Answer;

    fn prepare(&self, request: &RequestSpec) -> PreparedRequest {
        self.targets.first().prepare(request)
    }

    fn route(&self, request: &PreparedRequest) -> u16 {
        (self.policy)(request, self.targets.count())
    }

    fn generate(&self, request: PreparedRequest, clock: RunClock) -> E::Answer {
        self.targets.at(request.target).generate(request, clock)
    }

    fn with_own_connections(&self) -> Option<Self> {
        let targets = self.targets.try_map(|target| target.with_own_connections().ok_or(())).ok()?;
        Some(Self { targets, policy: Arc::clone(&self.policy) })
    }

    async fn warm_up(&self, count: usize) {
        let each = count.div_ceil(usize::from(self.targets.count().get()));
        for target in self.targets.iter() {
            target.warm_up(each).await;
        }
    }
}
