// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Dispatch
internal import GStreamer
internal import Logging
internal import Matroska
internal import Observability
internal import Recording
internal import Storage
internal import Synchronization
internal import Timeline

/// The turns of a room's recorder: it owns the session, makes one call after the other, and performs the actions that follow.
struct RecorderLoop: ~Copyable {
    /// What follows a turn.
    enum Next {
        /// Another turn, when something comes, and not after `latest`; one that is not before `earliest` is of use. Both on
        /// `CLOCK_MONOTONIC`.
        case due(earliest: Int64, latest: Int64)
        /// The recorder is over.
        case over
    }

    private static let longestWait = Duration.milliseconds(100)
    private static let tickInterval = Duration.milliseconds(50)
    /// Most rooms are empty most of the time: a turn of each is due once a second, and comes with that of another from the
    /// half of it on.
    private static let idleWait = Duration.seconds(1)
    private static let shortestIdleWait = Duration.milliseconds(500)
    /// Another room has its turn after these.
    private static let mostItems = 256
    private static let publishingInterval = Duration.milliseconds(100)

    private let exchange: RecorderExchange
    private let synchroniser: Synchroniser
    private let logger: Logger
    private let onEvent: @Sendable (RecorderEvent) -> Void
    private var session: RecordingSession
    /// Empty but for the moment in which they are performed; kept for its memory.
    private var actions: [RecordingAction] = []
    private var life = RecorderExchange.Life.goesOn
    /// The session has ended, and files are being completed.
    private var isEnding = false
    private var stalls: StallWatch
    private var lastTick: Int64 = 0
    private var lastPublished: Int64 = 0

    init(
        _ settings: RecorderSettings,
        _ exchange: RecorderExchange,
        logger: Logger,
        onEvent: @escaping @Sendable (RecorderEvent) -> Void,
        onPicture: (@Sendable (WrittenPicture) -> Void)?
    ) {
        self.exchange = exchange
        self.synchroniser = .of(storage: settings.storage)
        self.logger = logger
        self.onEvent = onEvent
        self.session = RecordingSession(settings: settings, onPicture: onPicture) { Runtime.monotonicNanoseconds }
        self.stalls = StallWatch(at: Runtime.monotonicNanoseconds, suspended: Runtime.suspendedNanoseconds)
        self.publish()
        self.performActions()
    }

    /// Takes what waits, a bounded part of it, hands it to the kernel together, and does what is due.
    mutating func turn() -> Next {
        if self.isEnding { return self.finishEnd() }
        let queue = self.exchange.queue
        var items = 0
        while items < Self.mostItems,
            queue.next({ item, bytes in
                // First: the track of a unit may have come since the last turn.
                self.performOrders()
                self.noteSign(at: item.arrivalNanoseconds)
                self.take(item, bytes)
            })
        { items += 1 }
        self.session.writeGathered()
        self.performActions()
        self.performOrders()
        let now = Runtime.monotonicNanoseconds
        if items == 0 { self.noteSign(at: now) }
        // While units come it need not be looked after each of them; after the last thing nothing may come for a while.
        if items == 0 || self.session.isIdle || now - self.lastTick >= Self.tickInterval.nanoseconds { self.tick(now) }
        // Nothing came, so nothing waits that would distinguish a disk which stopped us from a process that stood still.
        if items == 0 { self.stalls.wasAwake(at: Runtime.monotonicNanoseconds) }
        switch self.life {
        case .goesOn:
            return self.session.isIdle
                ? .due(in: Self.shortestIdleWait, Self.idleWait, since: now)
                : .due(in: Self.tickInterval, Self.longestWait, since: self.lastTick)
        case .ends(let reason):
            self.session.endAnnounced()
            guard items == 0 else { return .due(in: .zero, .zero, since: now) }
            self.isEnding = true
            self.session.end(reason: reason)
            self.performActions()
            return self.finishEnd()
        case .abandoned, .over:
            _ = self.exchange.close()
            return .over
        }
    }

    private mutating func tick(_ now: Int64) {
        self.lastTick = now
        if let length = self.stalls.suspended(for: Runtime.suspendedNanoseconds) {
            self.noteStall(length, isSuspended: true)
        }
        self.session.tick(droppedUnits: self.exchange.queue.droppedItems)
        self.performActions()
        if self.session.isIdle || now - self.lastPublished >= Self.publishingInterval.nanoseconds { self.publish() }
    }

    private mutating func noteSign(at instant: Int64) {
        if let stall = self.stalls.seen(at: instant) { self.noteStall(stall, isSuspended: false) }
    }

    private mutating func noteStall(_ stall: Duration, isSuspended: Bool) {
        let detail = "for \(stall)\(isSuspended ? ": the machine was suspended" : "")"
        self.logger.warning("the recorder stood still", metadata: .tagged([.detail: "\(detail)"]))
        self.session.stoodStill(for: stall, isSuspended: isSuspended)
        self.performActions()
    }

    private mutating func take(_ item: ReceivedItem, _ bytes: UnsafeRawBufferPointer) {
        switch item {
        case .unit(let unit):
            _ = self.session.unitCame(ReceivedUnit(unit), bytes)
            self.performActions()
        case .senderReport(let report):
            self.session.reportCame(ReceivedReport(report))
            self.performActions()
        case .mark(let number, _):
            if let order = self.exchange.take(behind: number) { self.perform(order) }
        }
    }

    private mutating func performOrders() {
        let (orders, life) = self.exchange.take()
        self.life = life
        for order in orders { self.perform(order) }
    }

    private mutating func perform(_ order: RecorderExchange.Order) {
        self.session.writeGathered()
        order.perform(&self.session)
        self.performActions()
        guard let isDone = order.isDone else { return }
        // A caller that waits for the answer looks at the status next.
        self.publish()
        isDone.signal()
    }

    /// Waits in turns for the results of the completions, each of which may request another.
    private mutating func finishEnd() -> Next {
        while self.exchange.queue.next({ _, _ in }) {}
        self.performOrders()
        if self.session.isCompleting {
            return .due(in: Self.longestWait, Self.longestWait, since: Runtime.monotonicNanoseconds)
        }
        for order in self.exchange.close() { self.perform(order) }
        self.publish()
        self.exchange.tellOver()
        return .over
    }

    private mutating func publish() {
        self.lastPublished = Runtime.monotonicNanoseconds
        // The status is what the files have.
        self.session.writeGathered()
        let (status, lag) = (self.session.status, self.session.takeLag())
        self.exchange.published.withLock { published in
            published.status = status
            published.lag.add(lag)
        }
    }

    // MARK: Actions

    /// Performs the session's actions after a call.
    private mutating func performActions() {
        self.session.takeActions(into: &self.actions)
        guard !self.actions.isEmpty else { return }
        // The receiver of an event finds it in the status.
        self.publish()
        for action in self.actions { self.perform(action) }
        // A completion has the journal, whose lock others wait for.
        self.actions.removeAll(keepingCapacity: true)
    }

    private func perform(_ action: RecordingAction) {
        switch action {
        case .tellNotContinued(let failure):
            self.onEvent(.notContinued(reason: failure.message))
        case .requestKeyframe(let track):
            self.exchange.tracks.withLock { $0.open[track]?.requestKeyframe }?()
        case .complete(let completion):
            // On threads that wait for the disk: the session wants only a few at a time, and the process has only a
            // few.
            BlockingThreads.completion.run { [exchange = self.exchange] in
                var failure: RecordingError?
                do throws(RecordingError) {
                    try completion.perform()
                } catch {
                    failure = error
                }
                exchange.tell { [failure] in $0.completed(completion, failure: failure) }
            }
        case .synchronise(let round):
            self.synchroniser.add(
                Synchroniser.Round(round) { [exchange = self.exchange] failures, cost in
                    // What went well can wait for the next unit.
                    exchange.tell(wakes: !failures.isEmpty) { $0.synchronised(failures: failures, cost: cost) }
                }
            )
        case .tellStarted(let folder, let part, let place):
            self.logger.notice("recording started", metadata: .tagged([.recordingPath: "\(folder.path)"]))
            self.onEvent(.started(folder, part: part, place))
        case .tellFinished(let folder, let part, let reason):
            self.logger.notice("recording finished", metadata: .tagged([.recordingPath: "\(folder.path)"]))
            self.onEvent(.finished(folder, part: part, reason: reason))
        case .tellDegraded(let folder, let part, let reason, let byDisk):
            self.onEvent(.degraded(folder, part: part, reason: reason, byDisk: byDisk))
        case .tellFirstUnit(let track, let nanoseconds):
            self.tellFirstUnit(track, nanoseconds)
        case .logIncomplete(let error, let folder):
            var metadata: [LogKey: Logger.MetadataValue] = [.errorMessage: "\(error)"]
            if let folder { metadata[.recordingPath] = "\(folder.path)" }
            self.logger.error("recording is incomplete", metadata: .tagged(metadata))
        case .logRefused(let account):
            self.logger.warning(
                account.isUnrecorded ? "media came and none of them are recorded" : "media came that are not recorded",
                metadata: .tagged([
                    .peerID: "\(account.participant)", .trackSSRC: "\(account.ssrc)", .detail: "\(account.refusedText)",
                ])
            )
        case .logCodecChanged(let track, let before):
            self.logger.notice(
                "a participant changed a codec in the call: a file for each has its part",
                metadata: .tagged([
                    .peerID: "\(track.participant)", .trackSSRC: "\(track.ssrc)",
                    .detail: "\(before.rawValue) to \(track.codec.rawValue)",
                ])
            )
        case .logGoesOn(let folder):
            self.logger.notice("recording continues", metadata: .tagged([.recordingPath: "\(folder.path)"]))
        }
    }

    private func tellFirstUnit(_ id: UInt64, _ nanoseconds: Int64) {
        guard let track = self.exchange.tracks.withLock({ $0.open[id] }),
            let parts = track.setup.parts(firstUnit: nanoseconds)
        else { return }
        let (participant, kind) = (track.received.participant, track.received.codec.kind)
        let delay = parts.values.reduce(.zero, +)
        self.onEvent(.firstUnit(participant: participant, kind: kind, delay: delay, parts: parts))
    }
}

extension RecorderLoop.Next {
    fileprivate static func due(in shortest: Duration, _ longest: Duration, since now: Int64) -> Self {
        .due(earliest: now + shortest.nanoseconds, latest: now + longest.nanoseconds)
    }
}

extension ReceivedItem {
    fileprivate var arrivalNanoseconds: Int64 {
        switch self {
        case .unit(let unit): unit.arrivalNanoseconds
        case .senderReport(let report): report.arrivalNanoseconds
        case .mark(_, let arrivalNanoseconds): arrivalNanoseconds
        }
    }
}

extension ReceivedUnit {
    fileprivate init(_ unit: ReceivedItem.Unit) {
        self.init(
            track: unit.tap,
            rtpTime: unit.rtpTime,
            arrivalNanoseconds: unit.arrivalNanoseconds,
            lostPackets: unit.lostPackets,
            isTruncated: unit.isTruncated,
            packets: unit.packets,
            rotation: unit.rotation
        )
    }
}

extension ReceivedReport {
    fileprivate init(_ report: ReceivedItem.Report) {
        self.init(
            connection: report.receiver,
            ssrc: report.ssrc,
            rtpTimestamp: report.rtpTimestamp,
            ntpTime: report.ntpTime,
            arrivalNanoseconds: report.arrivalNanoseconds
        )
    }
}
