//! Which dispatched requests may be sent: caps on those in flight, of all together and of each class.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use super::options::RunOptions;
use super::pacer::DispatchedRequest;

/// The caps of a run, the requests that hold a slot, and those that wait for one.
pub(super) struct ClientAdmission {
    total: Option<NonZeroUsize>,
    classes: Vec<Option<NonZeroUsize>>,
    in_flight: usize,
    /// Of each class, where classes have caps.
    of_class: Vec<usize>,
    /// Of each class, oldest first; one line for all where classes have no caps.
    waiting: Vec<VecDeque<DispatchedRequest>>,
}

impl ClientAdmission {
    /// Nothing in flight.
    pub(super) fn new(options: &RunOptions) -> Self {
        let classes = options.class_concurrency.clone();
        let of_class = vec![0; classes.len()];
        let lines = classes.len().max(1);
        let waiting = (0..lines).map(|_| VecDeque::new()).collect();
        Self { total: options.max_concurrency, classes, in_flight: 0, of_class, waiting }
    }

    /// Whether there is a cap.
    pub(super) fn is_capped(&self) -> bool {
        self.total.is_some() || !self.classes.is_empty()
    }

    /// Whether nobody waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.iter().all(VecDeque::is_empty)
    }

    /// Whether there is a slot for a request of this class.
    pub(super) fn has_room(&self, class: u16) -> bool {
        let place = usize::from(class);
        let of_class = self.classes.get(place).copied().flatten();
        self.total.is_none_or(|cap| self.in_flight < cap.get())
            && of_class.is_none_or(|cap| self.of_class[place] < cap.get())
    }

    /// A request of this class is sent.
    pub(super) fn sent(&mut self, class: u16) {
        self.in_flight += 1;
        if let Some(number) = self.of_class.get_mut(usize::from(class)) {
            *number += 1;
        }
    }

    /// A request of this class has ended.
    pub(super) fn ended(&mut self, class: u16) {
        self.in_flight -= 1;
        if let Some(number) = self.of_class.get_mut(usize::from(class)) {
            *number -= 1;
        }
    }

    /// Lets a request wait.
    pub(super) fn wait(&mut self, released: DispatchedRequest) {
        let class = usize::from(released.ready.request.class);
        let last = self.waiting.len() - 1;
        self.waiting[class.min(last)].push_back(released);
    }

    /// The request that waited longest of those for which there is a slot.
    pub(super) fn next(&mut self) -> Option<DispatchedRequest> {
        let first = |line: &VecDeque<DispatchedRequest>| {
            let request = line.front()?;
            self.has_room(request.ready.request.class).then_some(request.dispatched)
        };
        let lines = self.waiting.iter().enumerate();
        let (line, _) =
            lines.filter_map(|(place, line)| Some((place, first(line)?))).min_by_key(|(_, at)| *at)?;
        self.waiting[line].pop_front()
    }

    /// All that wait, in order of dispatch.
    pub(super) fn give_up(&mut self) -> Vec<DispatchedRequest> {
        let mut waiting: Vec<_> = self.waiting.iter_mut().flat_map(|line| line.drain(..)).collect();
        waiting.sort_by_key(|request| request.dispatched);
        waiting
    }
}
