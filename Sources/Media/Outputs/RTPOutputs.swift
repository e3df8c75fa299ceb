// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import GStreamer
public import Logging
internal import Matroska
internal import Model
internal import Observability
internal import Recording
internal import Synchronization

/// The RTP outputs of a room: received tracks sent on to other software, packet by packet as they come.
///
/// Some have a pipeline of this process that takes the packets: it runs on a separate thread. Tracks and participants
/// come from the peer connections, settings from the owner; `tick()` is called once a second. Methods open sockets and
/// write small files: they belong on the control thread. The work for each packet is done by the streaming threads, in
/// C, and packets that cannot be sent are dropped: recording never waits for it.
public final class RTPOutputs: Sendable {
    /// The most outputs that feed a part of Tapedeck.
    private static let maximumFeeds = 2

    private let room: String
    private let logger: Logger
    private let onEvent: @Sendable (RTPOutputEvent) -> Void
    private let resolver: HostResolver
    private let state = Mutex(State())

    private struct State {
        var outputs: [RTPOutput] = []
        var tracks: [OutputTrack] = []
        var names = ParticipantNames()
        var nextTrack: UInt64 = 1
        var isFinished = false
        var speaker = SpeakerChoice()
        /// Whether streams came, went or changed since it was asked.
        var isChanged = false
        /// The pipelines of outputs that have one.
        var pipelines: [RTPOutputSettings: PipelineOutput] = [:]

        mutating func settle(now: Int64 = Runtime.monotonicNanoseconds) {
            for index in self.outputs.indices {
                let speaker = self.speaker.speaker
                self.outputs[index].settle(self.tracks, names: self.names, speaker: speaker, now: now)
                if self.outputs[index].takeChange() { self.isChanged = true }
            }
        }

        /// Notes how much audio each participant sent since the last time.
        mutating func listen() {
            guard self.outputs.contains(where: \.settings.spec.followsSpeaker) else { return }
            var bytes: [String: UInt64] = [:]
            for track in self.tracks {
                let sound = track.format.codec.kind == .audio ? track.fork.bytes : 0
                bytes[track.participant, default: 0] += sound
            }
            self.speaker.note(bytes)
        }
    }

    /// Outputs that nothing flows into yet; `onEvent` must not block.
    ///
    /// - Parameter room: The room's name, for descriptions.
    public convenience init(
        _ settings: [RTPOutputSettings] = [],
        room: String,
        logger: Logger,
        onEvent: @escaping @Sendable (RTPOutputEvent) -> Void = { _ in }
    ) {
        self.init(settings, room: room, resolver: .shared, logger: logger, onEvent: onEvent)
    }

    init(
        _ settings: [RTPOutputSettings],
        room: String,
        resolver: HostResolver,
        logger: Logger,
        onEvent: @escaping @Sendable (RTPOutputEvent) -> Void
    ) {
        self.room = room
        self.resolver = resolver
        self.logger = logger
        self.onEvent = onEvent
        self.take(settings)
    }

    /// Continues with other outputs; unchanged ones are not touched.
    ///
    /// Those without a right set of ports and those beyond `OutputSpec.maximumCount` are left out.
    public func take(_ settings: [RTPOutputSettings]) {
        let gone = self.state.withLock { state -> [PipelineOutput] in
            guard !state.isFinished else { return [] }
            var old = state.outputs
            var wanted: [RTPOutputSettings] = []
            for one in settings.prefix(OutputSpec.maximumCount + Self.maximumFeeds)
            where one.spec.problems.isEmpty && !wanted.contains(one) {
                wanted.append(one)
            }
            // Ports and files of those that end may be those of new ones.
            for index in old.indices where !wanted.contains(old[index].settings) { old[index].close() }
            state.outputs = wanted.map { one in
                old.first { $0.settings == one } ?? RTPOutput(one, room: self.room)
            }
            let pipelines = state.pipelines
            state.pipelines = Dictionary(
                uniqueKeysWithValues: wanted.compactMap { one in
                    one.pipeline.map { (one, pipelines[one] ?? self.pipelineOutput($0, named: one.spec.name)) }
                }
            )
            state.settle()
            return pipelines.filter { state.pipelines[$0.key] == nil }.map(\.value)
        }
        for pipeline in gone { pipeline.end() }
        self.lookUp()
    }

    private func pipelineOutput(_ settings: PipelineOutputSettings, named name: String) -> PipelineOutput {
        PipelineOutput(settings) { [weak self] in self?.tell($0, of: name) }
    }

    // MARK: Tracks

    func add(_ track: ReceivedTrack, profileLevelID: String?, fork: RTPFork) {
        self.state.withLock { state in
            guard !state.isFinished else { return }
            let format = OutputFormat(
                codec: track.codec,
                clockRateHz: track.clockRateHz,
                channels: track.channels,
                profileLevelID: profileLevelID,
                parameterSets: track.parameterSets
            )
            if format.lacksSets { fork.noteParameterSets() }
            let added = OutputTrack(
                id: state.nextTrack,
                connection: track.connection,
                participant: track.participant,
                format: format,
                mid: track.mid,
                fork: fork
            )
            state.nextTrack += 1
            state.tracks.append(added)
            state.settle()
        }
    }

    /// Forgets the tracks of a connection that is closed; their streams wait for the participant to come back.
    func remove(connection: UInt64) {
        self.state.withLock { state in
            state.tracks.removeAll { $0.connection == connection }
            state.settle()
        }
    }

    /// Ends the streams of a participant that left the room.
    func left(participant: String) {
        self.state.withLock { state in
            state.tracks.removeAll { $0.participant == participant }
            for index in state.outputs.indices { state.outputs[index].end(participant) }
            state.settle()
        }
    }

    func named(participant: String, _ name: String) {
        self.state.withLock { state in
            state.names.note(name, of: participant)
            state.settle()
        }
    }

    // MARK: Once a second

    /// Whether `tick` has anything to look at.
    var areThere: Bool { self.state.withLock { !$0.outputs.isEmpty } }

    /// Looks at the counters of the outputs, and at names that must be looked up again.
    func tick(now: Int64 = Runtime.monotonicNanoseconds) {
        self.state.withLock { state in
            for index in state.outputs.indices { state.outputs[index].look(now: now) }
        }
        self.lookUp(now: now)
        typealias Looks = (changes: [(String, OutputHealth.Change)], pipelines: [(PipelineOutput, PipelineSource?)])
        let looks = self.state.withLock { state -> Looks in
            state.listen()
            state.settle(now: now)
            let changes = state.outputs.indices.compactMap { index in
                state.outputs[index].examine().map { (state.outputs[index].settings.spec.name, $0) }
            }
            let pipelines = state.outputs.compactMap { output -> (PipelineOutput, PipelineSource?)? in
                guard let settings = output.settings.pipeline, let pipeline = state.pipelines[output.settings]
                else { return nil }
                return (pipeline, PipelineSource(output.status, for: settings))
            }
            return (changes, pipelines)
        }
        for (name, change) in looks.changes { self.tell(change, of: name) }
        for (pipeline, source) in looks.pipelines { pipeline.look(source) }
    }

    private func tell(_ change: OutputHealth.Change, of name: String) {
        switch change {
        case .failed(let reason):
            self.logger.warning(
                "output does not work",
                metadata: .tagged([.serverAddress: "\(name)", .detail: "\(reason)"])
            )
            self.onEvent(.failed(output: name, reason: reason))
        case .recovered:
            self.logger.notice("output works again", metadata: .tagged([.serverAddress: "\(name)"]))
            self.onEvent(.recovered(output: name))
        }
        self.state.withLock { $0.isChanged = true }
    }

    private func lookUp(now: Int64 = Runtime.monotonicNanoseconds) {
        let hosts = self.state.withLock { state in
            Set(
                state.outputs.indices.compactMap { index in
                    state.outputs[index].startsLookUp(now: now) ? state.outputs[index].settings.spec.host : nil
                }
            )
        }
        for host in hosts {
            self.resolver.lookUp(host, limit: .seconds(5)) { [weak self] addresses in
                self?.lookedUp(host, addresses)
            }
        }
    }

    /// A thread of Dispatch; the streams open with the next `tick()`, or are opened again.
    private func lookedUp(_ host: String, _ addresses: [String]) {
        self.state.withLock { state in
            let now = Runtime.monotonicNanoseconds
            for index in state.outputs.indices
            where state.outputs[index].settings.spec.host == host && state.outputs[index].isLookingUp {
                state.outputs[index].lookedUp(addresses, now: now)
            }
        }
    }

    // MARK: Status and end

    /// Whether streams came, went or changed since this was asked last.
    public func takeChange() -> Bool {
        self.state.withLock { state in
            defer { state.isChanged = false }
            return state.isChanged
        }
    }

    /// How each output is, in the order of the settings.
    public var status: [RTPOutputStatus] {
        self.state.withLock { state in
            state.outputs.map { output in
                var status = output.status
                guard let pipeline = state.pipelines[output.settings], status.state != .failing else { return status }
                status.reason = pipeline.problem
                status.state = status.reason != nil ? .failing : pipeline.isRunning ? .sending : .idle
                return status
            }
        }
    }

    /// Ends the pipelines while there are streams yet; returns when what they write is complete, within five seconds.
    public func finishPipelines() async {
        let pipelines = self.state.withLock { state in
            defer { state.pipelines.removeAll() }
            return Array(state.pipelines.values)
        }
        await withDiscardingTaskGroup { group in
            for pipeline in pipelines { group.addTask { await pipeline.finish() } }
        }
    }

    /// Ends every stream and removes the descriptions; nothing is taken after it.
    public func finish() {
        let pipelines = self.state.withLock { state in
            state.isFinished = true
            for index in state.outputs.indices { state.outputs[index].close() }
            state.outputs.removeAll()
            state.tracks.removeAll()
            defer { state.pipelines.removeAll() }
            return Array(state.pipelines.values)
        }
        for pipeline in pipelines { pipeline.end() }
    }
}
