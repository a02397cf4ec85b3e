//! The sessions of a run under way.

use std::collections::HashMap;

use super::lane_clock::LaneClock;
use super::open::OpenSession;
use super::{ConversationBreak, SessionPlanner};
use crate::clock::Timestamp;
use crate::generator::datasets::SentPrompts;
use crate::generator::graph::Dependents;
use crate::generator::request::PlannedRequest;
use crate::record::{Outcome, Phase, Release, RequestRecord, SessionCounts, Turn};
use crate::workload::AnswerShape;

/// Sessions of a run with the counts of their turns.
#[derive(Debug)]
pub struct SessionTurns {
    /// Draws what follows.
    pub planner: SessionPlanner,
    /// Moment from which on nothing leaves: the drain limit, or never.
    until: Timestamp,
    /// The later turns so far, and conversations that ended early.
    pub counts: SessionCounts,
    /// Requests that wait for the ends of others.
    dependents: Dependents<PlannedRequest>,
    /// The sessions under way that are graphs, by their numbers.
    open: HashMap<u64, OpenSession>,
    /// Prompts that were sent of sessions that share texts.
    sent: SentPrompts,
    /// Tokens that those under way have in common with one sent before, by their indices.
    shared: HashMap<u64, u32>,
    /// The clock of what waits for ends.
    clock: LaneClock,
}

impl SessionPlanner {
    /// Whether answers to `request` may call tools that its class declares.
    pub fn has_tools(&self, request: &PlannedRequest) -> bool {
        let class = self.workload.classes.get(usize::from(request.class));
        class.is_some_and(|class| matches!(class.answer, Some(AnswerShape::Tools { .. })))
    }
}

impl SessionTurns {
    /// The sessions of a run that sends nothing from `until` on.
    pub fn new(planner: SessionPlanner, until: Timestamp) -> Self {
        let (counts, dependents) = (SessionCounts::default(), Dependents::default());
        let (open, sent, shared) = (HashMap::new(), SentPrompts::default(), HashMap::new());
        let clock = LaneClock::new(&planner.workload);
        Self { planner, until, counts, dependents, open, sent, shared, clock }
    }

    /// Notes a dispatched request: it begins its session, or is counted as a later turn. The session may have requests
    /// that wait for no other: [`SessionTurns::next_released`].
    pub fn released(&mut self, request: &PlannedRequest) {
        let Some(turn) = request.turn else { return };
        self.clock.left(request);
        if !turn.is_opener() {
            self.counts.released(request.phase);
        }
        let shared = self.planner.file_of(request).and_then(|file| self.sent.send(file, request));
        self.shared.extend(shared.map(|tokens| (request.index, tokens)));
        if turn.place() == 0
            && let Some(open) = OpenSession::begin(&self.planner, request, &mut self.dependents, &mut self.counts)
        {
            self.open.insert(turn.session, open);
        }
    }

    /// Notes the end of `last`, as `record` says it. This releases what waits for it: [`SessionTurns::next_released`].
    /// The record of a request in a graph gets what released it. Marks the record of a turn after which its
    /// conversation had no more context. The next turn repeats the answer, but not what was reasoned before it.
    pub fn ended(&mut self, last: &PlannedRequest, record: &mut RequestRecord) {
        let repeated = || {
            let reasoning = record.usage.and_then(|usage| usage.reasoning()).unwrap_or(0);
            u32::try_from(record.output_tokens.saturating_sub(reasoning)).unwrap_or(u32::MAX)
        };
        let answered = (record.outcome == Outcome::Completed).then(repeated);
        let graph = last.turn.filter(|turn| turn.graph.is_some());
        if let Some((turn, open)) = graph.and_then(|turn| Some((turn, self.open.get_mut(&turn.session)?))) {
            record.release = open.release(&turn).map(Box::new);
            say_shared(record, self.shared.remove(&last.index));
            let ended = (last, self.clock.of_run(record.ended));
            if answered.is_some()
                && !record.calls_tools()
                && let Some(place) = record.turn.as_mut().and_then(|turn| turn.graph.as_mut())
            {
                place.left_out = open.leave_out(&turn, &mut self.dependents);
            }
            record.context_full = open.ended(ended, answered, &mut self.dependents, &mut self.counts);
            let is_over = open.is_over();
            if let Some((at, last, answered)) = open.last().filter(|_| is_over) {
                self.open.remove(&turn.session);
                // The one that ended last need not be the last that was read.
                if let (Some((next, release)), _) = self.planner.follower(&last, answered) {
                    let at = release.moment(|_| Some(at)).unwrap_or(at);
                    self.dependents.add(next.index, next, &Release::At(at));
                }
            }
        } else if graph.is_none()
            && let Some(broken) = self.follow(last, answered)
        {
            broken.count(&mut self.counts);
            record.context_full = matches!(broken, ConversationBreak::Full(_));
        }
        self.dependents.ended(last.index, self.clock.of_run(record.ended));
        self.clock.ended();
    }

    /// Lets requests come sooner where nothing is in flight after an end `at` this moment. All that it released was
    /// taken. Returns those that were handed out before, at their new moments; others, which were too late before; and
    /// how many of the former a run waits for and did not before.
    pub fn catch_up(&mut self, at: Timestamp) -> (Vec<PlannedRequest>, Vec<PlannedRequest>, u64) {
        let (mut moved, mut next, mut awaited) = (Vec::new(), Vec::new(), 0);
        for (raw, [before, moment], was_out) in self.clock.jump(at, self.planner.window).into_iter().flatten() {
            let request = self.planner.at(self.clock.stamped(raw), moment);
            let is_out = was_out || self.is_sent(request);
            self.clock.plan(raw, moment, is_out);
            if was_out {
                let was_awaited = self.planner.at(raw, before).phase != Phase::Cooldown;
                awaited += u64::from(!was_awaited && request.phase != Phase::Cooldown);
                moved.push(request);
            } else if is_out {
                next.push(request);
            }
        }
        (moved, next, awaited)
    }

    /// Whether a request of this moment is sent in the run.
    fn is_sent(&mut self, request: PlannedRequest) -> bool {
        request.scheduled < self.until && self.planner.counted(request).is_some()
    }

    /// Marks the record of a request in a graph with the ends that released it. It also says what is shared.
    pub fn mark(&self, request: &PlannedRequest, record: &mut RequestRecord) {
        if let Some((turn, open)) = request.turn.and_then(|turn| Some((turn, self.open.get(&turn.session)?))) {
            record.release = open.release(&turn).map(Box::new);
            say_shared(record, self.shared.get(&request.index).copied());
        }
    }

    /// Lets the request that follows `last` wait for its end, if there is one.
    fn follow(&mut self, last: &PlannedRequest, answered: Option<u32>) -> Option<ConversationBreak> {
        let (next, broken) = self.planner.follower(last, answered);
        if let Some((next, release)) = next {
            self.dependents.add(next.index, next, &release);
        }
        broken
    }

    /// The next of the requests that ends have released, and that are sent.
    pub fn next_released(&mut self) -> Option<PlannedRequest> {
        loop {
            let (at, next, by) = self.dependents.pop()?;
            let turn = next.turn.filter(|turn| turn.place() > 0);
            let next = match turn.and_then(|turn| Some((turn, self.open.get_mut(&turn.session)?))) {
                Some((turn, open)) => {
                    open.released(turn.place(), by);
                    open.complete(next)
                }
                None => next,
            };
            let moment = self.clock.in_run(at);
            let request = self.planner.at(self.clock.stamped(next), moment);
            let request = Some(request).filter(|request| request.scheduled < self.until);
            let request = request.and_then(|request| self.planner.counted(request));
            self.clock.plan(next, moment, request.is_some());
            if request.is_some() {
                return request;
            }
        }
    }

    /// Whether later turns may repeat what `request` and its answer say.
    pub fn has_next_turn(&self, request: &PlannedRequest) -> bool {
        let open = self.open.get(&request.session());
        match open.zip(request.turn) {
            Some((open, turn)) => open.graph().is_carried(turn.place()),
            None => self.planner.has_next_turn(request),
        }
    }

    /// Whether requests are sent only if the answer to `request` calls a tool.
    pub fn asks_for_tools(&self, request: &PlannedRequest) -> bool {
        let open = request.turn.and_then(|turn| Some((self.open.get(&turn.session)?, turn.place())));
        open.is_some_and(|(open, place)| open.graph().asks_for_tools(place))
    }

    /// The index of the request whose prompt this whole one begins like. With it are the tokens that they share.
    pub fn begins_like(&self, request: &PlannedRequest) -> Option<(u64, u32)> {
        let turn = request.turn?;
        let (place, tokens) = self.open.get(&turn.session)?.graph().begins_like(turn.place())?;
        Some((Turn::index_of(turn.session, turn.begun + place), tokens))
    }

    /// Whether whole prompts of its session begin like that of `request`.
    pub fn is_begun_like(&self, request: &PlannedRequest) -> bool {
        let open = request.turn.and_then(|turn| Some((self.open.get(&turn.session)?, turn.place())));
        open.is_some_and(|(open, place)| open.graph().is_begun_like(place))
    }

    /// Whether requests of this session have not ended, as far as it is a graph.
    pub fn is_open(&self, session: u64) -> bool {
        self.open.contains_key(&session)
    }

    /// End of the window, where the answers decided it and it is known.
    pub fn window_end(&self) -> Option<Timestamp> {
        self.planner.counted_end()
    }
}

/// Says in a record how many tokens of its prompt came in one sent before.
fn say_shared(record: &mut RequestRecord, tokens: Option<u32>) {
    if let (Some(tokens), Some(turn)) = (tokens, record.turn.as_deref_mut()) {
        turn.history_tokens = turn.history_tokens.max(tokens);
    }
}
