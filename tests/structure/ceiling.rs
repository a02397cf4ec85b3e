//! Ceilings, which are lowered as the figures fall; only a new capability may raise those of lines and types.

/// Lines of production code (no blanks, no comments, no tests) that each room may have: what they have now. They only fall.
/// A capability fits its room's budget, or brings the saving that pays for it; lines may move from one room to another.
pub(crate) const BUDGETS: [(&str, usize); 23] = [
    ("", 21),
    ("analysis", 15_804),
    ("arrivals", 356),
    ("calibration", 637),
    ("cli", 6_548),
    ("clock", 499),
    ("engine", 13_505),
    ("experiment", 14_207),
    ("foreign", 2_030),
    ("generator", 11_658),
    ("guide", 105),
    ("live", 1_805),
    ("main", 4),
    ("mock", 4_060),
    ("random", 190),
    ("record", 4_226),
    ("report", 12_430),
    ("runner", 3_448),
    ("session", 8_269),
    ("simulator", 2_425),
    ("telemetry", 943),
    ("units", 153),
    ("workload", 6_157),
];

/// Types that are `pub`, and those that are `pub(…)`. The latter rose once, from 530, by the seams for more servers, endpoints,
/// graphs and schedulers: `Router`, `Transport`, `Exchange`, `Receiver`, `Reader`, `Dependents`, `StepScheduler`.
/// It rose by four when options and plans that were private in a verb's file moved to where they are shared.
/// It rose by two, `Prometheus` and `SampledSeries`, when readings could come from a Prometheus.
/// It rose by eight when all addresses of a name, Unix sockets and zones could be reached: `Addresses`, `Peer`, `PeerInUse`, `Way`,
/// `ConnectionOptions`, `NameLookup`, `ConnectionArgs`, and `Readiness`, which a file was split by.
/// With HTTP/2 that of public types rose by three, `Http2`, `Http2Facts` and `StreamReads`; the restricted ones by its folder's
/// eleven, and by what its seam (`Carrier`, `Try`, `RequestProgress`, `BrokenStream`) and split files brought.
/// Readers on all cores brought five restricted ones (`Sender`, `EndedRequest`, `LaterTasks`, `ReaderRest`, `Opening`); `Readers` took
/// the place of `SampleSink`.
/// Late tokens brought a public one, `TokenDeadlines`; speculation two, `SpeculationFigures` and `ChunkTokens`; sessions one,
/// `SessionTime`.
/// Datasets and tables of the hub brought `Repository`, `Cache`, `HubAnswer`, `FetchError`, `RowStore`, `Parse`, `Visit`,
/// `TableColumns`, `TableFiles`, `ParquetFault`, and `pub(…)` to `Hashed`.
/// Natural lengths and shared prefixes by options brought three public ones: `AnswerEnding`, `NaturalAnswers`, `RequestChange`.
/// Sessions as graphs brought four public ones (`ClassSession`, `SessionStep`, `StepWait`, `GraphPlace`; `Predecessor`
/// took the place of `Join`) and restricted ones for the graph, its draws, its checks and its prefixes. Sessions of
/// files brought `FileSession`, `FileRequest`, `FilePrompt`, `FoundSessions` and `SessionReader`; their blocks,
/// `PromptBlocks` and `KnownPrompts`; readers with blocks `WekaReader`, `TraceLabReader`, `MooncakeReader`,
/// `RecordedRequest`, `RecordedAgent`, `AgentGraph`, `RowsBySession`, `NamedRows`; readers with texts `DagReader`,
/// `TurnsReader`, `MlcommonsReader`, `SpanReader`, `ChatReader`, and what they share. Sessions that begin in their middle
/// brought three public ones, `CacheState`, `PrimingFigures` and `Scenario`, and the restricted `Middle` and `SessionStarts`. Loops that the model
/// ends brought `StepCondition`. Tiers, rules of `AgentX` and what confounds a comparison brought four public ones (`Tier`,
/// `TierAnswer`, `ScenarioFigures`, `Confounders`) and the restricted `ScenarioRule`, `TierArgs`, `SearchTier` and
/// `Refinement`.
/// Moments and shared texts of sessions brought `BlockTree`, `TextPieces`, `PieceTree`, `SentPrompts`, `SessionStart`
/// and `SessionOpeners`.
/// Compressed files brought `Unpacked`.
/// Sub-agents of `TraceLab` brought `Stretch`, `TimedAgent` and `MintedBlocks`.
/// Its rounds in CSV brought `TraceLabTable`.
/// Idle time that is cut brought `LaneClock`. Endpoints of events brought `ReplyEvent`, `ReplyProgress`
/// and `ChunkMarks`.
/// Several servers brought six public ones: `Route`, `Routing`, `RoutedAnswer`, `ServerGroup`, `ServerShare`, `SlowerBy`;
/// and the restricted `RoutingArgs`.
/// Clients who leave brought `Leaving`, `LeavingPolicy` and `LeavingFigures`; `AttemptOutcome` is in a file of its own.
/// Inputs that one answer covers brought two public ones, `InputBatch` and `InputKind`, and the restricted `AnswerItems`,
/// `ExpectedItems`, `ItemValue`, `ItemFault`, `ResultsAsked` and `Onset`.
/// Golden prompts for any workload brought `GoldenSet`.
/// Templates of endpoints brought the restricted `EndpointTemplate`, `TemplateBody`, `TemplateFile`, `AnswerPointers`,
/// `JsonPointer` and `BodyParts`.
/// Images that are made brought `ImageSize`.
/// What finds a slow request in the server brought the public `RequestMarks`, `Tail` and `ProfiledStretch`, and the
/// restricted `RequestIds`, `TraceId`, `Profiler`, `ProfilerError`, `ProfileWish`, `Profiling`, `Around`,
/// `SurroundedRun`, `MarkArgs` and `BesideArgs`.
/// Accuracy brought the public `Accuracy`, `AccuracyOverLoad`, `ScoreChange`, `Score`, `ScoredAnswer`, `Amendment`,
/// `Scoring`, `ScoringRule`, `ExpectedAnswer` and `AnswerKey`, and the restricted `ScoredRows`, `AnswerFault` and
/// `UnscoredAnswer`.
/// Pictures brought the restricted `DrawnPlot` and `Ground`, replicas that a header names `Replicas`. replicas that a header names `Replicas`.
/// Why two tools differ brought seven public ones (`Aspect`, `Definition`, `Explanation`, `DefinitionStep`,
/// `ExplainedFigure`, `RecountedFigure`, `FigureRange`) and the restricted `Definitions` and `Recount`.
/// The start of a server that is started brought the public `ColdStart` and the restricted `StartWatch`, step time by
/// batch the public `StepTimeLine`, prices of energy the restricted `EnergyArgs`.
/// Audio that is made brought the public `Audio` and `RealTimeFactor`, and the restricted `AudioClip`.
pub(crate) const PUBLIC_TYPES: usize = 741;
pub(crate) const RESTRICTED_TYPES: usize = 699;
/// Names that several public types share.
pub(crate) const SHARED_NAMES: usize = 0;
/// Files that need each other in a circle.
pub(crate) const FILES_IN_CIRCLES: usize = 0;
/// Imports through the `mod.rs` of a folder that the file itself lies in.
pub(crate) const OWN_INDEX: usize = 0;
/// Files and folders in one folder.
pub(crate) const ENTRIES: usize = 20;
/// Folders that have more.
pub(crate) const WIDE_FOLDERS: usize = 0;
/// Lines of a file.
pub(crate) const LINES: usize = 400;
/// Files that have more.
pub(crate) const LONG_FILES: usize = 0;
/// Lines of a file of production code without its tests.
pub(crate) const PRODUCTION_FILE: usize = 300;
/// Files that have more.
pub(crate) const LONG_PRODUCTION_FILES: usize = 6;
/// Lines of production code of a verb's file.
pub(crate) const VERB: usize = 120;
/// Verbs that have more, with what they have.
pub(crate) const LONG_VERBS: [(&str, usize); 3] =
    [("cli/bench.rs", 134), ("cli/simulate.rs", 145), ("cli/stored/report.rs", 132)];
/// Characters of a line.
pub(crate) const WIDTH: usize = 120;
/// Lines that have more.
pub(crate) const WIDE_LINES: usize = 14;
/// Functions named just `of`: another name says from what, and can be searched for.
pub(crate) const NAMED_OF: usize = 17;
/// Folders with nothing but a `tests.rs`.
pub(crate) const FOLDERS_OF_TESTS: usize = 0;
/// Folders of one room that need each other in a circle.
pub(crate) const FOLDERS_IN_CIRCLES: usize = 0;
/// `told`, and forms of *fly*, in all of `src`.
pub(crate) const TOLD: usize = 40;
pub(crate) const FLY: usize = 6;
/// Docs whose first sentence begins without its subject: most of them are help texts and lines of the guide.
pub(crate) const FRAGMENTS: usize = 29;
/// Words of the first sentence of a doc.
pub(crate) const DOC_WORDS: usize = 15;
/// Docs whose first sentence has more: help texts, nearly all.
pub(crate) const LONG_DOCS: usize = 183;
