// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Model

/// When the pipeline of an output is created, ended and created again.
///
///     idle ── wanted ──▶ running ── another source, or none ──▶ ending ── ended ──▶ idle
///       ▲                  │ failed                                                  │
///       └── no one ── waiting ── wait is over ──▶ running            finish ──▶ finished
///
/// A pipeline that fails is created again at once, then after waits that double up to half a minute. `finished` is
/// terminal. Late events, of a pipeline that is gone, are harmless races and ignored by their number.
struct PipelineOutputLife: Sendable {
    /// A step for its driver.
    enum Action: Sendable, Hashable {
        /// Makes a pipeline of that number and starts it; if that cannot be, `failed` follows.
        case start(Int, PipelineSource)
        /// Lets a pipeline complete what it writes; `ended` follows, within a time.
        case end(Int)
        /// Frees a pipeline.
        case stop(Int)
        /// Reports the change to people.
        case tell(OutputHealth.Change)
        /// Nothing runs any more, and nothing will.
        case finished
    }

    private enum State: Sendable, Hashable {
        case idle
        case running(Int, PipelineSource, since: Duration)
        case ending(Int)
        case waiting(until: Duration)
        case finishing(Int)
        case finished
    }

    /// A pipeline that ran for so long without an error, and takes what is sent, works.
    static let trial = Duration.seconds(5)
    /// A queue that is full in this many looks, one after the other, feeds a file that is stuck.
    static let patience = 10

    private var state = State.idle
    private var number = 0
    private var policy: RestartPolicy
    private var fullLooks = 0
    /// Why nothing comes out; nil if all is well.
    private(set) var problem: String?

    init() {
        var settings = RestartPolicy.Settings()
        settings.maximumDelay = .seconds(30)
        // A server that is away for an hour is no crash loop.
        settings.crashLoopFailures = .max
        settings.healthyTime = .seconds(60)
        self.policy = RestartPolicy(settings: settings)
    }

    /// Whether a pipeline runs.
    var isRunning: Bool { if case .running = self.state { true } else { false } }

    /// Takes what is sent at present, nil for nothing; once a second.
    ///
    /// - Parameters:
    ///   - isFull: whether a queue in front of the file is full.
    ///   - now: time since any fixed instant.
    ///   - random: 0 to 1, for waits.
    mutating func wanted(_ source: PipelineSource?, isFull: Bool, now: Duration, random: Double) -> [Action] {
        switch self.state {
        case .idle: return source.map { [self.start($0, now)] } ?? []
        case .running(let number, let present, _) where source != present:
            self.state = .ending(number)
            return [.end(number)]
        case .running(let number, _, let since):
            self.fullLooks = isFull ? self.fullLooks + 1 : 0
            if self.fullLooks >= Self.patience {
                return self.failed(number, "it takes no more: what is sent to it is stuck", now: now, random: random)
            }
            guard self.problem != nil, !isFull, now - since >= Self.trial else { return [] }
            self.problem = nil
            self.policy.reset()
            return [.tell(.recovered)]
        case .waiting(let until):
            guard let source else {
                self.state = .idle
                return []
            }
            return now >= until ? [self.start(source, now)] : []
        case .ending, .finishing, .finished: return []
        }
    }

    private mutating func start(_ source: PipelineSource, _ now: Duration) -> Action {
        self.number += 1
        self.fullLooks = 0
        self.state = .running(self.number, source, since: now)
        return .start(self.number, source)
    }

    /// Takes that a pipeline failed, or could not be made.
    mutating func failed(_ number: Int, _ reason: String, now: Duration, random: Double) -> [Action] {
        switch self.state {
        case .running(number, _, _):
            let delay = self.policy.failed(at: now, random: random)
            self.state = .waiting(until: now + delay)
            let isNew = self.problem == nil
            self.problem = reason
            return [.stop(number)] + (isNew ? [.tell(.failed(reason: reason))] : [])
        case .ending(number), .finishing(number): return self.ended(number, now: now, random: random)
        case .idle, .running, .ending, .waiting, .finishing, .finished: return []
        }
    }

    /// Takes that a pipeline came to its end, or had its time for it.
    mutating func ended(_ number: Int, now: Duration, random: Double) -> [Action] {
        switch self.state {
        case .running(number, _, _): return self.failed(number, "it ended without a command", now: now, random: random)
        case .ending(number):
            self.state = .idle
            return [.stop(number)]
        case .finishing(number):
            self.state = .finished
            return [.stop(number), .finished]
        case .idle, .running, .ending, .waiting, .finishing, .finished: return []
        }
    }

    /// Takes why nothing can come out at present, whatever the pipeline does: there is no file to make one of, or it hangs.
    mutating func blocked(_ reason: String) -> [Action] {
        guard self.problem == nil else { return [] }
        self.problem = reason
        return [.tell(.failed(reason: reason))]
    }

    /// Ends for ever.
    mutating func finish() -> [Action] {
        switch self.state {
        case .idle, .waiting:
            self.state = .finished
            return [.finished]
        case .running(let number, _, _):
            self.state = .finishing(number)
            return [.end(number)]
        case .ending(let number):
            self.state = .finishing(number)
            return []
        case .finishing: return []
        case .finished: return [.finished]
        }
    }
}
