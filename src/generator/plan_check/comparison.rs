//! The records of a run beside its plan: each is compared with the request that was planned.

use std::collections::HashMap;
use std::sync::Arc;

use super::graphs::OpenGraphs;
use crate::clock::Timestamp;
use crate::generator::datasets::sources::Datasets;
use crate::generator::request::PlannedRequest;
use crate::generator::schedule::Schedule;
use crate::record::{GraphPlace, Phase, PlanCheck, PlanFacts, RequestRecord, RunHeader, RunLog, Turn};
use crate::workload::{Distribution, WorkloadSpec};

/// Differences that are put into words.
const NAMED: usize = 3;

/// Delays by which the moments of a merged run lie later than planned.
pub(super) struct Shift<'a>(&'a [u64]);

impl<'a> Shift<'a> {
    /// `None` for a run that was merged before merged runs said it.
    pub(super) fn from_header(header: &'a RunHeader) -> Option<Self> {
        let merged = header.command.iter().any(|word| word == "merge");
        let delays = &header.shard_delays_ns;
        (!merged || !delays.is_empty()).then_some(Self(delays))
    }

    /// A moment of this record on the clock of its own generator.
    pub(super) fn back(&self, record: &RequestRecord, moment: Timestamp) -> Timestamp {
        let session = record.turn().map_or(record.index, |turn| turn.session);
        let shard = session.checked_rem(self.0.len() as u64).unwrap_or_default();
        let by = self.0.get(shard as usize).copied().unwrap_or_default();
        Timestamp::from_nanos(moment.as_nanos().saturating_sub(by))
    }
}

/// Compares the records of a run with its plan, drawn with these rows of datasets.
pub(super) fn compare(log: &RunLog, datasets: Result<Arc<Datasets>, String>) -> PlanCheck {
    Comparison::new(log, datasets).result()
}

/// The records of a run beside its plan.
struct Comparison<'a> {
    log: &'a RunLog,
    /// Shift of the moments; absent where none can be compared.
    shift: Option<Shift<'a>>,
    schedule: Schedule,
    /// The classes whose lengths come from rows that are not there: of prompts, of answers.
    rows_missing: Vec<(bool, bool)>,
    /// Whether the plan has all that its hash is of.
    is_whole: bool,
    /// The rows of a file that are dealt to sessions, by their numbers.
    rows: HashMap<u64, u64>,
    unchecked: Vec<String>,
    number: u64,
    first: Vec<String>,
}

impl<'a> Comparison<'a> {
    fn new(log: &'a RunLog, datasets: Result<Arc<Datasets>, String>) -> Self {
        let header = &log.header;
        let shift = Shift::from_header(header);
        let mut unchecked = Vec::new();
        if shift.is_none() {
            unchecked.push("the moments (the run was merged by an older Skyline)".to_owned());
        }
        // Older runs of so many requests had a cool-down that the header does not mention.
        let cooldown_s = header.workload.cooldown_s.or(Some(header.workload.drain_s));
        let (mut workload, mut rows_missing) = (WorkloadSpec { cooldown_s, ..header.workload.clone() }, Vec::new());
        if let Err(why) = &datasets {
            for class in &mut workload.classes {
                let missing = (class.input_tokens.is_of_rows(), class.output_tokens.is_of_rows());
                // A length moves no other draw.
                for (length, missing) in [(&mut class.input_tokens, missing.0), (&mut class.output_tokens, missing.1)] {
                    if missing {
                        *length = Distribution::Constant { value: 1 };
                    }
                }
                rows_missing.push(missing);
            }
            unchecked.push(format!("the rows of datasets ({why})"));
        }
        let is_whole = datasets.is_ok();
        let schedule = Schedule::draw_from(&workload, datasets.unwrap_or_default());
        Self {
            log,
            shift,
            schedule,
            rows_missing,
            is_whole,
            rows: HashMap::new(),
            unchecked,
            number: 0,
            first: Vec::new(),
        }
    }

    fn result(mut self) -> PlanCheck {
        self.facts();
        let records = &self.log.records;
        let openers = records.places_by(|record| record.is_opener().then_some(record.index));
        self.openers(&openers);
        let ended = |record: &RequestRecord, turn: Turn| (record.ended, turn.number);
        let turn = |record: &RequestRecord| record.turn().filter(|turn| !turn.is_opener());
        let turns = records.places_by(|record| Some(ended(record, turn(record)?)));
        self.turns(&openers, &turns);
        match self.number {
            0 => PlanCheck::Held { records: self.log.records.len() as u64, unchecked: self.unchecked },
            number => PlanCheck::Differs { number, first: self.first },
        }
    }

    fn differs(&mut self, what: String) {
        self.number += 1;
        if self.first.len() < NAMED {
            self.first.push(what);
        }
    }

    /// The header's facts of the plan beside those of the plan itself.
    fn facts(&mut self) {
        let PlanFacts { hash, warmup_requests, measured_requests, window_start, window_end } =
            self.log.header.plan.clone();
        let share = self.log.header.shard.map(|shard| self.schedule.shard(shard.number - 1, shard.of));
        let Some(drawn) = share.transpose().ok().map(|share| share.as_ref().unwrap_or(&self.schedule).facts()) else {
            return self.differs("the shard does not exist".to_owned());
        };
        if self.is_whole && hash != drawn.hash {
            self.differs(format!("the header has the hash {hash:.12}, and the plan {:.12}", drawn.hash));
        }
        let counts = [
            ("warm-up requests", warmup_requests, drawn.warmup_requests),
            ("requests in the window", measured_requests, drawn.measured_requests),
        ];
        for (what, said, planned) in counts {
            if said != planned {
                self.differs(format!("the header has {said} {what}, and the plan {planned}"));
            }
        }
        if (window_start, window_end) != (drawn.window_start, drawn.window_end) {
            let window =
                |from: Timestamp, to: Timestamp| format!("from {} s to {} s", from.as_secs_f64(), to.as_secs_f64());
            let [said, planned] = [window(window_start, window_end), window(drawn.window_start, drawn.window_end)];
            self.differs(format!("the header has a window {said}, and the plan {planned}"));
        }
    }

    /// The requests that were planned, in order of their indices.
    fn openers(&mut self, places: &[u32]) {
        // Users may begin in another order.
        let is_closed = self.log.header.workload.arrival.users().is_some();
        let mut of_users: Vec<_> = self.schedule.plan().take_while(|_| is_closed).collect();
        of_users.sort_by_key(|request| request.index);
        let mut plan = of_users.into_iter().chain(self.schedule.plan().take_while(|_| !is_closed));
        let (mut next, mut before) = (plan.next(), None);
        for record in self.log.records.in_places(places) {
            let index = record.index;
            if before.replace(index) == Some(index) {
                self.differs(format!("request {index} has two records"));
                continue;
            }
            while next.is_some_and(|request| request.index < index) {
                next = plan.next();
            }
            let of_another = self.log.header.shard.is_some_and(|shard| index % shard.of != shard.number - 1);
            match next.filter(|request| request.index == index && !of_another) {
                Some(planned) => {
                    self.rows.extend(planned.row.map(|row| (planned.session(), row)));
                    self.compare(&record, &planned, true);
                }
                None => self.differs(format!("request {index} is not in the plan")),
            }
        }
    }

    /// The requests that follow others in their sessions, in order of their ends.
    fn turns(&mut self, openers: &[u32], turns: &[u32]) {
        let all = &self.log.records;
        let Some(sessions) = self.schedule.sessions(&self.log.header.plan) else {
            // What is read from a file has been held to that already.
            return all.in_places(turns).for_each(|record| {
                self.differs(format!("request {} is not in the plan", record.index));
            });
        };
        // The server decides where a window ends that a number of requests ends; older runs ended it with the
        // last opener.
        let phases_known = self.log.header.workload.requests.is_none();
        let opened = all.in_places(openers).zip(openers);
        let mut last: HashMap<u64, u32> =
            opened.map(|(record, place)| (PlannedRequest::from_record(&record).session(), *place)).collect();
        let mut graphs = OpenGraphs::of_rows(std::mem::take(&mut self.rows));
        all.in_places(openers).for_each(|record| graphs.ended(&record, self.end_of(&record)));
        let mut after_lost = false;
        for &place in turns {
            let record = all.at(place as usize);
            if !self.is_whole && self.schedule.is_of_file(record.class) {
                // Only the file says which requests a session has.
                continue;
            }
            let session = PlannedRequest::from_record(&record).session();
            let of_graph = record.turn().filter(|turn| turn.graph.is_some() && turn.place() > 0);
            let in_graph = of_graph.map(|_| graphs.planned(&sessions, &record));
            graphs.ended(&record, self.end_of(&record));
            let before = last.insert(session, place).map(|place| all.at(place as usize));
            match in_graph {
                Some(Some(planned)) => {
                    self.compare(&record, &planned, phases_known);
                    continue;
                }
                Some(None) if self.log.damage.is_none() => {
                    self.differs(format!("request {} came before those that it waits for", record.index));
                    continue;
                }
                Some(None) => {
                    after_lost = true;
                    continue;
                }
                None => {}
            }
            let number = |record: &RequestRecord| record.turn().map_or(0, |turn| turn.number);
            if !self.log.damage.is_none() && before.as_ref().is_none_or(|before| number(before) + 1 < number(&record)) {
                // The turn before may be among the lost lines.
                after_lost = true;
                continue;
            }
            let Some(before) = before else {
                self.differs(format!("request {} follows no other in session {session}", record.index));
                continue;
            };
            match graphs.sequel(&sessions, (&before, self.end_of(&before)), &record) {
                Some(planned) => self.compare(&record, &planned, phases_known),
                None => {
                    self.differs(format!("request {} does not follow request {}", record.index, before.index));
                }
            }
        }
        if after_lost {
            self.unchecked.push("turns that follow lost ones".to_owned());
        }
    }

    /// The end of a record on the clock of its own generator.
    fn end_of(&self, record: &RequestRecord) -> Timestamp {
        self.shift.as_ref().map_or(record.ended, |shift| shift.back(record, record.ended))
    }

    fn compare(&mut self, record: &RequestRecord, request: &PlannedRequest, phase_known: bool) {
        if !self.is_whole && self.schedule.is_of_file(record.class) {
            return;
        }
        let mut request = *request;
        // The plan has the least that a prompt shares: that of its session. More depends on what was sent before.
        let shares = self.schedule.shares_texts(record.class);
        if let (true, Some(turn), Some(said)) = (shares, &mut request.turn, record.turn()) {
            turn.history_tokens = turn.history_tokens.max(said.history_tokens.min(record.input_tokens_asked));
        }
        let (rows_of_prompts, rows_of_answers) =
            self.rows_missing.get(usize::from(record.class)).copied().unwrap_or_default();
        let seconds = |moment: Timestamp| format!("scheduled at {} s", moment.as_secs_f64());
        let moment = self.shift.as_ref().map(|shift| shift.back(record, record.scheduled));
        let same = |what: &str, said: String, planned: String| {
            (said != planned).then(|| format!("request {} is {what}{said}, planned: {planned}", record.index))
        };
        let tokens = |known: bool, what: &str, said: u32, planned: u32| {
            (known && said != planned)
                .then(|| format!("request {} has {what} of {said} tokens, planned: {planned}", record.index))
        };
        let phase = |phase: Phase| <&str>::from(phase).to_owned();
        let difference = moment
            .filter(|moment| *moment != request.scheduled)
            .and_then(|moment| same("", seconds(moment), seconds(request.scheduled)))
            .or_else(|| same("of the ", phase(record.phase), phase(request.phase)).filter(|_| phase_known))
            .or_else(|| same("of class ", record.class.to_string(), request.class.to_string()))
            .or_else(|| same("of priority ", record.priority.to_string(), request.priority.to_string()))
            .or_else(|| tokens(!rows_of_prompts, "a prompt", record.input_tokens_asked, request.input_tokens))
            .or_else(|| tokens(!rows_of_answers, "an answer", record.output_tokens_asked, request.output_tokens))
            .or_else(|| {
                let number = |tags: Option<u16>| tags.map_or("none".to_owned(), |tags| tags.to_string());
                same("of tags ", number(record.tags), number(request.tags)).filter(|_| !rows_of_prompts)
            })
            .or_else(|| {
                // What an answer makes needless is no part of the plan, nor how far the clock of the agents had jumped.
                let turn = |of: &PlannedRequest| {
                    let place = |place: GraphPlace| GraphPlace { left_out: 0, ahead_ns: 0, ..place };
                    of.turn.map(|turn| Turn { graph: turn.graph.map(place), ..turn })
                };
                let marks = |of: &PlannedRequest| (of.prefix, of.tenant, of.model, turn(of));
                (marks(&PlannedRequest::from_record(record)) != marks(&request))
                    .then(|| format!("request {} has another prefix, tenant, model or session", record.index))
            });
        if let Some(difference) = difference {
            self.differs(difference);
        }
    }
}
