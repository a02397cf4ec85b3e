//! Advice about a run.

use serde::Serialize;

/// A piece of advice. It does not make a run invalid.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Finding {
    /// Kind of the finding: what it is about.
    pub kind: FindingKind,
    /// Finding in words, with the figure and the limit.
    pub sentence: String,
    /// Advice on what to do about it.
    pub cure: String,
}

/// Subject of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// One of several servers completed none of its requests, and others did.
    DeadServer,
    /// One of several servers is slower than the others by more than chance.
    SlowServer,
    /// The user stopped the run.
    Interrupted,
    /// The log has no last line.
    CutOff,
    /// Requests do not end well again after a spike of the load. Clients keep up the overload.
    Metastable,
    /// Requests do not end well again after a spike. Clients send no more than before.
    NotRecovered,
    /// Requests were still running when the drain limit ended.
    DrainLimit,
    /// Requests waited for a slot under the concurrency cap.
    CapBound,
    /// Requests waited before a retry for as long as the server asked. That is longer than their clients wait by
    /// themselves.
    AskedWaits,
    /// The server went on with requests whose clients had left.
    HeldForNobody,
    /// The client's lateness raised a percentile, and not by enough to make the run INVALID.
    ClientLate,
    /// The run does not show whether the server kept up.
    CannotTell,
    /// The window is shorter than the slowest request.
    ShortWindow,
    /// The beginning of the window looks like warm-up.
    WarmUp,
    /// The whole window looks like warm-up.
    NotSettled,
    /// Requests present or latency grew over the window, and the other did not.
    Drift,
    /// The window holds a part of the arrival pattern that is unlike the whole.
    UnevenArrivals,
    /// The p99 of all is that of one kind of requests, and others have another.
    SeveralKinds,
    /// No load followed the last request, and the end of the run shows it.
    EndWithoutLoad,
    /// Agents had no request in the window.
    IdleAgents,
    /// Requests that were to keep the load up after the horizon failed.
    CooldownFailures,
    /// Rules of its scenario are broken.
    ScenarioRules,
    /// No class declares an SLO.
    NoSlo,
    /// An SLO bounds a figure that answers which are not streamed do not have.
    UnmeasurableSlo,
    /// Answers are longer or shorter than requested.
    OutputLength,
    /// Prompts are longer or shorter than requested.
    PromptLength,
    /// The server's token counts are impossible, and are ignored.
    ImpossibleUsage,
    /// Answers had what answers do not need, or ended for a reason that nobody knows.
    OddAnswers,
    /// Token counts are guessed from chunks.
    EstimatedTokens,
    /// The server counts tokens whose text it did not send.
    HiddenTokens,
    /// Chunk counts do not add up to the server's.
    TokenMismatch,
    /// Many chunks shared a read.
    MergedReads,
    /// A prefix cache was warm.
    WarmCache,
    /// A prefix cache found less than requests share.
    LostPrefixes,
    /// Requests that prime a prefix cache were not over when the window began.
    LatePriming,
    /// Drafts were accepted or refused for text that nobody would write.
    MeaninglessAcceptance,
    /// A golden prompt passed before the run and failed under load.
    WorseUnderLoad,
    /// Answers in conversations had no text, and the next turn repeated an empty one.
    EmptyTurns,
    /// Answers lack the requested form, or were cut off before they could have it.
    WrongForms,
    /// Requests opened their own connections.
    ColdConnections,
    /// A requested metrics page could not be read, or not all the time.
    PageUnread,
    /// A total of the server went back inside the window. The server was started anew, or there are several.
    ServerRestarted,
    /// The key-value cache was full, and requests were put back for want of it.
    CacheFull,
    /// Much of the time to the first token is spent outside of the server.
    OutsideServer,
    /// The server profiled itself while the window was on.
    Profiled,
    /// Requests went through an HTTP proxy.
    Proxy,
    /// Heat, its power supply or its hardware lowered the clocks of a device.
    Throttled,
    /// The power limit lowered them.
    PowerCapped,
    /// A device was busy before the first request.
    BusyBefore,
    /// The energy is of another number of devices than the deployment has GPUs.
    OtherDevices,
    /// The server logs each request, or more.
    VerboseLogging,
}
