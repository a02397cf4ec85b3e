//! Several servers as one engine: each request goes to the server whose turn it is.

use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::answer::{Answer, AnswerEvent, Engine, PreparedRequest};
use crate::clock::RunClock;
use crate::generator::RequestSpec;
use crate::record::{FinishReason, Route, Routing, Turn};

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

/// The turns of servers, by the plan or by how many requests each has now.
struct Turns {
    route: Route,
    /// The server of each turn of a round, by its place in the list.
    round: Vec<u16>,
    /// Requests in flight at each server. They are counted where that decides.
    in_flight: Vec<AtomicU64>,
    /// Requests that were routed by that.
    routed: AtomicU64,
}

impl Turns {
    fn new(routing: &Routing, servers: NonZeroU16) -> Self {
        let weight = |place: u16| routing.weights.get(usize::from(place)).copied().unwrap_or(1);
        let in_flight = (0..servers.get()).map(|_| AtomicU64::new(0)).collect();
        let round = round(&(0..servers.get()).map(weight).collect::<Vec<_>>());
        Self { route: routing.route, round, in_flight, routed: AtomicU64::new(0) }
    }

    /// Returns the server whose turn it is. By any route but the least loaded, it depends on the plan alone.
    fn server(&self, request: &PreparedRequest) -> u16 {
        let turn = match self.route {
            Route::Session => request.session,
            Route::RoundRobin => request.session + Turn::number_of(request.index),
            Route::Tenant => request.tenant.map_or(request.session, u64::from),
            Route::Least => return self.least_loaded(),
        };
        self.round.get((turn % self.round.len().max(1) as u64) as usize).copied().unwrap_or_default()
    }

    /// Returns the server with the fewest requests in flight. Servers with equally many take turns.
    fn least_loaded(&self) -> u16 {
        let servers = self.in_flight.len();
        let first = self.routed.fetch_add(1, Relaxed) as usize % servers;
        let in_turn = (0..servers).map(|step| (first + step) % servers);
        in_turn.min_by_key(|&place| self.in_flight[place].load(Relaxed)).unwrap_or_default() as u16
    }
}

/// Returns a round of turns, in which each server has as many as its weight. They are spread over it evenly. It is
/// the smooth weighted round robin of nginx, commit 52327e0: a server's credit grows by its weight with each turn,
/// the one with the most takes it and pays for all.
fn round(weights: &[u32]) -> Vec<u16> {
    let common = weights.iter().copied().fold(0, greatest_common_divisor).max(1);
    let weights: Vec<i64> = weights.iter().map(|weight| i64::from(weight / common)).collect();
    let all: i64 = weights.iter().sum();
    let mut credit = vec![0; weights.len()];
    let turn = |_| {
        credit.iter_mut().zip(&weights).for_each(|(credit, weight)| *credit += weight);
        let most = credit.iter().copied().max().unwrap_or_default();
        let place = credit.iter().position(|credit| *credit == most).unwrap_or_default();
        credit[place] -= all;
        place as u16
    };
    (0..all).map(turn).collect()
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Several servers of one kind as one engine. The bodies of requests are the first one's.
#[derive(Clone)]
pub struct Router<E> {
    targets: Targets<E>,
    turns: Arc<Turns>,
}

impl<E: Engine> Router<E> {
    /// Makes a router to servers that take turns. The turns of a session stay with one server.
    pub fn in_turn(targets: Targets<E>) -> Self {
        Self::new(&Routing::default(), targets)
    }

    /// Makes a router to servers that share requests like this.
    pub fn new(routing: &Routing, targets: Targets<E>) -> Self {
        Self { turns: Arc::new(Turns::new(routing, targets.count())), targets }
    }

    /// The servers.
    pub const fn targets(&self) -> &Targets<E> {
        &self.targets
    }

    /// Returns the router with `of_each` server in its place.
    #[must_use]
    pub fn map(&self, of_each: impl FnMut(&E) -> E) -> Self {
        Self { targets: self.targets.map(of_each), turns: Arc::clone(&self.turns) }
    }
}

impl<E: Engine> Engine for Router<E> {
    type Answer = RoutedAnswer<E::Answer>;

    fn prepare(&self, request: &RequestSpec) -> PreparedRequest {
        PreparedRequest { tenant: request.planned.tenant, ..self.targets.first().prepare(request) }
    }

    fn route(&self, request: &PreparedRequest) -> u16 {
        self.turns.server(request)
    }

    fn generate(&self, request: PreparedRequest, clock: RunClock) -> RoutedAnswer<E::Answer> {
        let counted = (self.turns.route == Route::Least).then(|| InFlightAt::new(&self.turns, request.target));
        RoutedAnswer { answer: self.targets.at(request.target).generate(request, clock), counted }
    }

    fn with_own_connections(&self) -> Option<Self> {
        let targets = self.targets.try_map(|target| target.with_own_connections().ok_or(())).ok()?;
        Some(Self { targets, turns: Arc::clone(&self.turns) })
    }

    async fn warm_up(&self, count: usize) {
        let each = count.div_ceil(usize::from(self.targets.count().get()));
        for target in self.targets.iter() {
            target.warm_up(each).await;
        }
    }
}

/// The answer of one of several servers, which counts at that server until it ends.
pub struct RoutedAnswer<A> {
    answer: A,
    counted: Option<InFlightAt>,
}

impl<A: Answer> Answer for RoutedAnswer<A> {
    fn send_now(&mut self) -> bool {
        self.answer.send_now()
    }

    async fn next(&mut self) -> AnswerEvent {
        let event = self.answer.next().await;
        if matches!(event, AnswerEvent::Ended(_)) {
            self.counted = None;
        }
        event
    }

    fn next_known(&mut self) -> Option<AnswerEvent> {
        let event = self.answer.next_known();
        if matches!(event, Some(AnswerEvent::Ended(_))) {
            self.counted = None;
        }
        event
    }

    fn finish_reason(&self) -> Option<FinishReason> {
        self.answer.finish_reason()
    }
}

/// A request that counts as in flight at the server in this place.
struct InFlightAt {
    turns: Arc<Turns>,
    place: u16,
}

impl InFlightAt {
    fn new(turns: &Arc<Turns>, place: u16) -> Self {
        let counted = Self { turns: Arc::clone(turns), place };
        counted.add(1);
        counted
    }

    fn add(&self, requests: u64) {
        if let Some(in_flight) = self.turns.in_flight.get(usize::from(self.place)) {
            in_flight.fetch_add(requests, Relaxed);
        }
    }
}

impl Drop for InFlightAt {
    fn drop(&mut self) {
        self.add(u64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn servers(weights: &[u32]) -> NonZeroU16 {
        NonZeroU16::new(weights.len() as u16).unwrap()
    }

    fn turns(route: Route, weights: &[u32]) -> Turns {
        Turns::new(&Routing { route, weights: weights.to_vec() }, servers(weights))
    }

    fn request(session: u64, number: u32, tenant: Option<u16>) -> PreparedRequest {
        let index = Turn::index_of(session, number);
        PreparedRequest { session, tenant, ..PreparedRequest::new(index, Bytes::new()) }
    }

    #[test]
    fn turns_follow_the_weights_and_are_spread_evenly() {
        // The example of nginx's commit.
        assert_eq!(round(&[5, 1, 1]), [0, 0, 1, 0, 2, 0, 0]);
        assert_eq!(round(&[1, 1, 1]), [0, 1, 2]);
        assert_eq!(round(&[6, 2]), round(&[3, 1]), "only their ratio counts");
        assert_eq!(round(&[3, 1]), [0, 0, 1, 0]);
        for weights in [&[7, 3, 2, 1][..], &[1000, 1]] {
            let round = round(weights);
            for (place, weight) in weights.iter().enumerate() {
                let taken = round.iter().filter(|turn| usize::from(**turn) == place).count() as u32;
                assert_eq!(taken, *weight, "{weights:?}");
            }
        }
    }

    #[test]
    fn a_session_stays_where_it_began_and_round_robin_moves_on() {
        let of =
            |route, weights: &[u32], session, number| turns(route, weights).server(&request(session, number, None));
        for session in 0..12 {
            let first = of(Route::Session, &[3, 1], session, 0);
            assert_eq!(first, [0, 0, 1, 0][(session % 4) as usize]);
            assert!((1..9).all(|number| of(Route::Session, &[3, 1], session, number) == first));
            for number in 0..9 {
                let turn = of(Route::RoundRobin, &[1, 1, 1], session, number);
                assert_eq!(u64::from(turn), (session + u64::from(number)) % 3);
            }
        }
    }

    #[test]
    fn a_tenant_stays_with_its_server() {
        let turns = turns(Route::Tenant, &[1, 1]);
        for session in 0..9 {
            assert_eq!(turns.server(&request(session, 0, Some(4))), 0);
            assert_eq!(turns.server(&request(session, 0, Some(1))), 1);
            assert_eq!(u64::from(turns.server(&request(session, 0, None))), session % 2, "one without a tenant");
        }
    }

    #[test]
    fn the_least_loaded_gets_the_next_and_equals_take_turns() {
        let turns = Arc::new(turns(Route::Least, &[1, 1, 1]));
        let next = || turns.server(&request(0, 0, None));
        assert_eq!([next(), next(), next(), next()], [0, 1, 2, 0]);
        let busy = [0, 0, 1].map(|place| InFlightAt::new(&turns, place));
        assert_eq!([next(), next(), next()], [2, 2, 2]);
        drop(busy);
        let _second = InFlightAt::new(&turns, 1);
        assert_eq!([next(), next(), next()], [2, 2, 0], "what ended counts no more");
    }
}
