// SPDX-License-Identifier: Apache-2.0

public import Logging
import Synchronization

/// The daemon's metrics, by what happened; see `docs/metrics.md`.
///
/// Safe to use from any thread; nothing here blocks.
public final class DaemonMetrics: Sendable {
    private struct Room {
        var growth = RoomGrowth()
        var outputs = OutputGrowth()
        var refusals = RefusalGrowth()
        var droppedReports = RefusalGrowth()
        var droppedUnits = RefusalGrowth()
        /// By reason.
        var unrecorded: [String: RefusalGrowth] = [:]
        var cameraReductions = CountGrowth()
        var cameraFailures = CountGrowth()
        var cameraDropped = CountGrowth()
        /// Bytes by kind since `rateSince`.
        var bytes: [String: UInt64] = [:]
        var rateSince: ContinuousClock.Instant
        var shown = Shown()

        mutating func advance(to measurement: RoomMeasurement) -> Grown {
            Grown(
                tracks: self.growth.advance(to: measurement.tracks),
                outputs: self.outputs.advance(to: measurement.outputs),
                refusedPackets: self.refusals.advance(to: measurement.refusedPackets),
                droppedReports: self.droppedReports.advance(to: measurement.droppedReports),
                droppedUnits: self.droppedUnits.advance(to: measurement.droppedUnits),
                unrecordedPackets: self.advance(unrecorded: measurement.unrecordedPackets),
                cameraReductions: self.cameraReductions.advance(to: measurement.cameraReductions),
                cameraFailures: self.cameraFailures.advance(to: measurement.cameraFailures),
                cameraDropped: self.cameraDropped.advance(to: measurement.cameraDropped)
            )
        }

        /// How many packets there are more, by reason.
        private mutating func advance(unrecorded: [String: [String: UInt64]]) -> [String: UInt64] {
            let reasons = Set(self.unrecorded.keys).union(unrecorded.values.flatMap(\.keys))
            return Dictionary(
                uniqueKeysWithValues: reasons.map { reason in
                    (
                        reason,
                        self.unrecorded[reason, default: RefusalGrowth()].advance(
                            to: unrecorded.compactMapValues { $0[reason] }
                        )
                    )
                }
            )
        }
    }

    /// How much counts rose since the measurement before; those of a camera are nil without one.
    private struct Grown {
        var tracks: [RoomGrowth.Group: RoomGrowth.Counts]
        var outputs: OutputGrowth.Counts
        var refusedPackets: UInt64
        var droppedReports: UInt64
        var droppedUnits: UInt64
        var unrecordedPackets: [String: UInt64]
        var cameraReductions: UInt64?
        var cameraFailures: UInt64?
        var cameraDropped: UInt64?
    }

    /// Series of a room that come and go, by their labels.
    private struct Shown {
        var tracks: [[String]: Double] = [:]
        var jitter: [[String]: Double] = [:]
        var rates: [[String]: Double] = [:]
    }

    /// A pause of speakers is shorter.
    private static let silentSeconds = 10.0

    /// The source of scrapes.
    public let registry: PrometheusRegistry
    private let measured = Mutex<[String: Room]>([:])

    private let rooms: GaugeFamily
    private let participants: GaugeFamily
    private let tracks: GaugeFamily
    private let recording: GaugeFamily
    private let lag: GaugeFamily
    private let receivedBytes: CounterFamily
    private let receivedRate: GaugeFamily
    private let lostPackets: CounterFamily
    private let refusedPackets: CounterFamily
    private let droppedReports: CounterFamily
    private let droppedUnits: CounterFamily
    private let unrecordedPackets: CounterFamily
    private let jitter: GaugeFamily
    private let roundTrip: GaugeFamily
    private let cameraTarget: GaugeFamily
    private let cameraReductions: CounterFamily
    private let cameraFailures: CounterFamily
    private let cameraDropped: CounterFamily
    private let keyframeRequests: CounterFamily
    private let audioLevel: GaugeFamily
    private let silentTracks: GaugeFamily
    private let cameraLevel: GaugeFamily
    private let cameraSilence: GaugeFamily
    private let outputPackets: CounterFamily
    private let outputBytes: CounterFamily
    private let outputDropped: CounterFamily
    private let failingOutputs: GaugeFamily
    private let firstUnitWait: HistogramFamily
    private let firstUnitWaitPart: HistogramFamily
    private let joinToFirstFrame: HistogramFamily
    private let freeBytes: GaugeFamily
    private let fullIn: GaugeFamily
    private let heldBack: GaugeFamily
    private let exportQueue: GaugeFamily
    private let exportDuration: HistogramFamily
    private let uploadedBytes: CounterFamily
    private let uploadFailures: CounterFamily
    private let uploadAge: GaugeFamily
    private let clusterHosts: GaugeFamily
    private let clusterUnclaimed: GaugeFamily
    private let clusterClaims: GaugeFamily
    private let clusterRenewal: GaugeFamily
    private let workers: GaugeFamily
    private let workerRestarts: CounterFamily
    private let refusedEvents: CounterFamily
    private let workerCPU: CounterFamily
    private let workerMemory: GaugeFamily
    private let workerAllocation: GaugeFamily
    private let workerSharedConnections: GaugeFamily
    private let workerSlowConnections: CounterFamily
    private let workerLongTracks: CounterFamily
    private let workerForgedPackets: CounterFamily
    private let workerObjects: GaugeFamily
    private let workerThreads: GaugeFamily
    private let workerDescriptors: GaugeFamily
    private let deliveries: CounterFamily
    private let pendingDeliveries: GaugeFamily
    private let deadLetters: GaugeFamily
    private let requests: HistogramFamily
    private let subscribers: GaugeFamily
    private let reloads: CounterFamily
    private let logLines: CounterFamily

    /// Declares every metric; those whose label values are known show zeros from the start.
    ///
    /// - Parameters:
    ///   - version: The program's version.
    ///   - startTime: When the daemon started, in seconds of Unix time.
    public init(registry: PrometheusRegistry, version: String, startTime: Double) {
        self.registry = registry
        registry.gauge(DaemonMetric.build).set(1, version)
        registry.gauge(DaemonMetric.startTime).set(startTime)
        self.rooms = registry.gauge(DaemonMetric.rooms)
        self.participants = registry.gauge(DaemonMetric.participants)
        self.tracks = registry.gauge(DaemonMetric.tracks)
        self.recording = registry.gauge(DaemonMetric.recording)
        self.lag = registry.gauge(DaemonMetric.lag)
        self.receivedBytes = registry.counter(DaemonMetric.receivedBytes)
        self.receivedRate = registry.gauge(DaemonMetric.receivedRate)
        self.lostPackets = registry.counter(DaemonMetric.lostPackets)
        self.refusedPackets = registry.counter(DaemonMetric.refusedPackets)
        self.droppedReports = registry.counter(DaemonMetric.droppedReports)
        self.droppedUnits = registry.counter(DaemonMetric.droppedUnits)
        self.unrecordedPackets = registry.counter(DaemonMetric.unrecordedPackets)
        self.jitter = registry.gauge(DaemonMetric.jitter)
        self.roundTrip = registry.gauge(DaemonMetric.roundTrip)
        self.cameraTarget = registry.gauge(DaemonMetric.cameraTarget)
        self.cameraReductions = registry.counter(DaemonMetric.cameraReductions)
        self.cameraFailures = registry.counter(DaemonMetric.cameraFailures)
        self.cameraDropped = registry.counter(DaemonMetric.cameraDropped)
        self.keyframeRequests = registry.counter(DaemonMetric.keyframeRequests)
        self.audioLevel = registry.gauge(DaemonMetric.audioLevel)
        self.silentTracks = registry.gauge(DaemonMetric.silentTracks)
        self.cameraLevel = registry.gauge(DaemonMetric.cameraLevel)
        self.cameraSilence = registry.gauge(DaemonMetric.cameraSilence)
        self.outputPackets = registry.counter(DaemonMetric.outputPackets)
        self.outputBytes = registry.counter(DaemonMetric.outputBytes)
        self.outputDropped = registry.counter(DaemonMetric.outputDropped)
        self.failingOutputs = registry.gauge(DaemonMetric.failingOutputs)
        self.firstUnitWait = registry.histogram(DaemonMetric.firstUnitWait)
        self.firstUnitWaitPart = registry.histogram(DaemonMetric.firstUnitWaitPart)
        self.joinToFirstFrame = registry.histogram(DaemonMetric.joinToFirstFrame)
        self.freeBytes = registry.gauge(DaemonMetric.freeBytes)
        self.fullIn = registry.gauge(DaemonMetric.fullIn)
        self.heldBack = registry.gauge(DaemonMetric.heldBack)
        self.exportQueue = registry.gauge(DaemonMetric.exportQueue)
        self.exportDuration = registry.histogram(DaemonMetric.exportDuration)
        self.uploadedBytes = registry.counter(DaemonMetric.uploadedBytes)
        self.uploadFailures = registry.counter(DaemonMetric.uploadFailures)
        self.uploadAge = registry.gauge(DaemonMetric.uploadAge)
        self.clusterHosts = registry.gauge(DaemonMetric.clusterHosts)
        self.clusterUnclaimed = registry.gauge(DaemonMetric.clusterUnclaimed)
        self.clusterClaims = registry.gauge(DaemonMetric.clusterClaims)
        self.clusterRenewal = registry.gauge(DaemonMetric.clusterRenewal)
        self.workers = registry.gauge(DaemonMetric.workers)
        self.workerRestarts = registry.counter(DaemonMetric.workerRestarts)
        self.refusedEvents = registry.counter(DaemonMetric.refusedEvents)
        self.workerCPU = registry.counter(DaemonMetric.workerCPU)
        self.workerMemory = registry.gauge(DaemonMetric.workerMemory)
        self.workerAllocation = registry.gauge(DaemonMetric.workerAllocation)
        self.workerSharedConnections = registry.gauge(DaemonMetric.workerSharedConnections)
        self.workerSlowConnections = registry.counter(DaemonMetric.workerSlowConnections)
        self.workerLongTracks = registry.counter(DaemonMetric.workerLongTracks)
        self.workerForgedPackets = registry.counter(DaemonMetric.workerForgedPackets)
        self.workerObjects = registry.gauge(DaemonMetric.workerObjects)
        self.workerThreads = registry.gauge(DaemonMetric.workerThreads)
        self.workerDescriptors = registry.gauge(DaemonMetric.workerDescriptors)
        self.deliveries = registry.counter(DaemonMetric.deliveries)
        self.pendingDeliveries = registry.gauge(DaemonMetric.pendingDeliveries)
        self.deadLetters = registry.gauge(DaemonMetric.deadLetters)
        self.requests = registry.histogram(DaemonMetric.requests)
        self.subscribers = registry.gauge(DaemonMetric.subscribers)
        self.reloads = registry.counter(DaemonMetric.reloads)
        self.logLines = registry.counter(DaemonMetric.logLines)
        self.showZeros()
    }

    private func showZeros() {
        for kind in ["audio", "video"] {
            self.firstUnitWait.touch(kind)
            for part in SetupPart.allCases { self.firstUnitWaitPart.touch(kind, part.rawValue) }
        }
        self.joinToFirstFrame.touch()
        for result in ExportResult.allCases { self.exportDuration.touch(result.rawValue) }
        for reason in RestartReason.allCases { self.workerRestarts.touch(reason.rawValue) }
        self.refusedEvents.touch()
        self.uploadedBytes.touch()
        self.uploadFailures.touch()
        for result in DeliveryResult.allCases { self.deliveries.touch(result.rawValue) }
        for result in ReloadResult.allCases { self.reloads.touch(result.rawValue) }
        for level in Logger.Level.allCases { self.logLines.touch(level.rawValue) }
        for gauge in [
            self.heldBack, self.exportQueue, self.workers, self.pendingDeliveries, self.deadLetters, self.subscribers,
        ] {
            gauge.set(0)
        }
    }

    /// How many rooms are in each phase; phases that are not named are not shown.
    public func roomsByPhase(_ counts: [String: Int]) {
        self.rooms.replace(with: Dictionary(uniqueKeysWithValues: counts.map { ([$0.key], Double($0.value)) }))
    }

    /// Takes over what a room's worker measured.
    ///
    /// - Parameters:
    ///   - room: The room's name in the configuration.
    ///   - now: When it was measured; rates are taken over at least one second.
    public func update(room: String, _ measurement: RoomMeasurement, at now: ContinuousClock.Instant = .now) {
        let (grown, before, shown) = self.measured.withLock { rooms in
            var state = rooms[room] ?? Room(rateSince: now)
            let grown = state.advance(to: measurement)
            for (group, counts) in grown.tracks { state.bytes[group.kind, default: 0] &+= counts.bytes }
            let before = state.shown
            (state.shown.tracks, state.shown.jitter) = Self.open(measurement.tracks, room)
            if let rates = Self.rates(&state, at: now) {
                state.shown.rates = Dictionary(uniqueKeysWithValues: rates.map { ([room, $0.key], $0.value) })
            }
            rooms[room] = state
            return (grown, before, state.shown)
        }
        for (group, counts) in grown.tracks {
            self.receivedBytes.add(Double(counts.bytes), room, group.kind, group.codec)
            self.lostPackets.add(Double(counts.lostPackets), room, group.kind)
            self.keyframeRequests.add(Double(counts.keyframeRequests), room)
        }
        self.refusedPackets.add(Double(grown.refusedPackets), room)
        self.droppedReports.add(Double(grown.droppedReports), room)
        self.droppedUnits.add(Double(grown.droppedUnits), room)
        for (reason, packets) in grown.unrecordedPackets {
            self.unrecordedPackets.add(Double(packets), room, reason)
        }
        // Rooms without a camera show none.
        if let count = grown.cameraReductions { self.cameraReductions.add(Double(count), room) }
        if let count = grown.cameraFailures { self.cameraFailures.add(Double(count), room) }
        if let count = grown.cameraDropped { self.cameraDropped.add(Double(count), room) }
        // Rooms without outputs show none of these.
        if !measurement.outputs.isEmpty {
            self.outputPackets.add(Double(grown.outputs.packets), room)
            self.outputBytes.add(Double(grown.outputs.bytes), room)
            self.outputDropped.add(Double(grown.outputs.droppedPackets), room)
        }
        let failing = measurement.outputs.count { $0.isFailing }
        self.failingOutputs.set(measurement.outputs.isEmpty ? nil : Double(failing), room)
        self.participants.set(Double(measurement.participants), room)
        self.recording.set(measurement.isRecording ? 1 : 0, room)
        self.lag.set(measurement.recordingLagSeconds, room)
        self.roundTrip.set(measurement.roundTripSeconds, room)
        self.show(measurement.tracks.filter(\.isOpen).compactMap(\.sound), measurement.cameraAudio, room)
        self.cameraTarget.set(measurement.cameraBitsPerSecond.map { Double($0) / 8 }, room)
        self.show(shown, insteadOf: before)
    }

    /// How loud tracks are, and what we send.
    private func show(_ tracks: [RoomMeasurement.Sound], _ camera: RoomMeasurement.Sound?, _ room: String) {
        self.audioLevel.set(tracks.compactMap(\.decibels).max(), room)
        let silent = tracks.count { $0.silentSeconds >= Self.silentSeconds }
        self.silentTracks.set(tracks.isEmpty ? nil : Double(silent), room)
        self.cameraLevel.set(camera?.decibels, room)
        self.cameraSilence.set(camera?.silentSeconds, room)
    }

    private func show(_ shown: Shown, insteadOf before: Shown) {
        self.tracks.change(from: before.tracks, to: shown.tracks)
        self.jitter.change(from: before.jitter, to: shown.jitter)
        self.receivedRate.change(from: before.rates, to: shown.rates)
    }

    /// How many tracks are open by kind and codec, and the worst jitter by kind.
    private static func open(
        _ tracks: [RoomMeasurement.Track],
        _ room: String
    ) -> (tracks: [[String]: Double], jitter: [[String]: Double]) {
        var open: [[String]: Double] = [:]
        var jitter: [[String]: Double] = [:]
        for track in tracks where track.isOpen {
            open[[room, track.kind, track.codec], default: 0] += 1
            if let seconds = track.jitterSeconds {
                jitter[[room, track.kind]] = max(seconds, jitter[[room, track.kind]] ?? 0)
            }
        }
        return (open, jitter)
    }

    /// Bytes a second by kind since the last rates; `nil` before a second has passed.
    private static func rates(_ room: inout Room, at now: ContinuousClock.Instant) -> [String: Double]? {
        let elapsed = now - room.rateSince
        guard elapsed >= .seconds(1) else { return nil }
        let rates = room.bytes.mapValues { Double($0) / (elapsed / .seconds(1)) }
        // A kind that was seen stays, at zero, until the room is left.
        room.bytes = room.bytes.mapValues { _ in 0 }
        room.rateSince = now
        return rates
    }

    /// The room is left, or its worker gone: what is measured inside it is unknown; its counters stay.
    public func left(room: String) {
        let state = self.measured.withLock { $0.removeValue(forKey: room) }
        let gauges = [
            self.participants, self.recording, self.lag, self.roundTrip, self.audioLevel, self.silentTracks,
            self.cameraLevel, self.cameraSilence, self.cameraTarget, self.failingOutputs,
        ]
        for gauge in gauges {
            gauge.set(nil, room)
        }
        if let state { self.show(Shown(), insteadOf: state.shown) }
    }

    /// The room is known no more: nothing of it is shown from now on.
    public func remove(room: String) {
        self.measured.withLock { _ = $0.removeValue(forKey: room) }
        self.registry.removeSeries(where: "room", is: room)
    }

    /// A track's first unit is in the file, so long after its participant's offer; `parts` are the steps, in seconds.
    public func firstUnit(kind: String, after seconds: Double, parts: [SetupPart: Double]) {
        self.firstUnitWait.observe(seconds, kind)
        for (part, seconds) in parts { self.firstUnitWaitPart.observe(seconds, kind, part.rawValue) }
    }

    /// The first frame of a room is in a file, this long after we and another participant were there.
    public func firstFrame(afterJoin seconds: Double) {
        self.joinToFirstFrame.observe(seconds)
    }

    /// Free space of the disk; `secondsUntilFull` is `nil` while nothing is written.
    public func storage(freeBytes: Int64, secondsUntilFull: Double?) {
        self.freeBytes.set(Double(freeBytes))
        self.fullIn.set(secondsUntilFull)
    }

    /// How many recordings retention leaves to a person.
    public func heldBack(recordings: Int) {
        self.heldBack.set(Double(recordings))
    }

    /// How many exports wait or run.
    public func exportQueue(length: Int) {
        self.exportQueue.set(Double(length))
    }

    /// An export ended.
    public func exportEnded(_ result: ExportResult, after duration: Duration) {
        self.exportDuration.observe(duration, result.rawValue)
    }

    /// A file was sent to the remote.
    public func uploaded(bytes: Int64) {
        self.uploadedBytes.add(Double(bytes))
    }

    /// An attempt to upload a file failed.
    public func uploadFailed() {
        self.uploadFailures.add(1)
    }

    /// How long the oldest recording waits for its upload; `nil` where nothing is uploaded.
    public func uploads(oldestSeconds: Double?) {
        self.uploadAge.set(oldestSeconds)
    }

    /// How this host and its cluster are.
    public func cluster(_ measurement: ClusterMeasurement) {
        self.clusterHosts.set(Double(measurement.hosts))
        self.clusterUnclaimed.set(Double(measurement.unclaimedRooms))
        self.clusterClaims.set(Double(measurement.heldClaims), "held")
        self.clusterClaims.set(Double(measurement.uncertainClaims), "uncertain")
        self.clusterRenewal.set(measurement.renewalAgeSeconds)
    }

    /// How many worker processes run.
    public func workers(_ count: Int) {
        self.workers.set(Double(count))
    }

    /// How a worker process is; `worker` is the name of the place that it fills.
    public func update(worker: String, _ measurement: WorkerMeasurement) {
        self.workerCPU.set(total: measurement.cpuSeconds, worker)
        self.workerMemory.set(Double(measurement.residentBytes), worker)
        self.workerThreads.set(Double(measurement.threads), worker)
        self.workerDescriptors.set(Double(measurement.descriptors), worker)
        self.workerSharedConnections.set(Double(measurement.sharedConnections), worker)
        self.workerSlowConnections.set(total: Double(measurement.slowConnections), worker)
        self.workerLongTracks.set(total: Double(measurement.longTracks), worker)
        self.workerForgedPackets.set(total: Double(measurement.forgedPackets), worker)
        if let objects = measurement.objects { self.workerObjects.set(Double(objects), worker) }
        if let bytes = measurement.allocatedBytes { self.workerAllocation.set(Double(bytes), worker) }
    }

    /// A place for a worker is empty.
    public func remove(worker: String) {
        self.registry.removeSeries(where: "worker", is: worker)
    }

    /// A line of a worker was dropped.
    public func workerEventRefused() {
        self.refusedEvents.add(1)
    }

    /// A worker process was replaced.
    public func workerRestarted(_ reason: RestartReason) {
        self.workerRestarts.add(1, reason.rawValue)
    }

    /// An attempt to deliver an event ended.
    public func webhookDelivery(_ result: DeliveryResult) {
        self.deliveries.add(1, result.rawValue)
    }

    /// Length of the webhooks' queue.
    public func webhooks(pending: Int, deadLetters: Int) {
        self.pendingDeliveries.set(Double(pending))
        self.deadLetters.set(Double(deadLetters))
    }

    /// A request was answered.
    ///
    /// - Parameter status: The HTTP status code.
    public func request(_ route: RouteGroup, status: Int, took duration: Duration) {
        let digit = (1...5).contains(status / 100) ? status / 100 : 5
        self.requests.observe(duration, route.rawValue, "\(digit)xx")
    }

    /// How many clients listen to the event stream.
    public func eventSubscribers(_ count: Int) {
        self.subscribers.set(Double(count))
    }

    /// The configuration was read again.
    public func reloaded(_ result: ReloadResult) {
        self.reloads.add(1, result.rawValue)
    }

    /// A log line was written.
    public func logLine(_ level: Logger.Level) {
        self.logLines.add(1, level.rawValue)
    }
}
