// SPDX-License-Identifier: Apache-2.0

internal import ConfigurationFile
internal import Media
internal import PipelineCatalogue
internal import Rooms
internal import Session
internal import Signalling

/// Why an order cannot be carried out, in a sentence for a person.
struct RoomPlanError: Error, Sendable, Hashable {
    var message: String
}

/// A room order after everything in it was checked.
struct RoomPlan: Sendable {
    var name: String
    var url: RoomURL
    var policy: JoinPolicy
    var displayName: String
    var secret: String?
    var recorder: RecorderSettings
    var camera: SendSpec?
    var outputs: [RTPOutputSettings]
    /// The video codec that others are asked to send; nil: as what we send, else VP8.
    var preferred: PreferredCodec?
    var network: NetworkSettings

    /// Checks an order.
    ///
    /// - Parameter host: this host's name, for journals.
    init(_ order: RoomSpec, host: String) throws(RoomPlanError) {
        guard !order.name.isEmpty else { throw RoomPlanError(message: "the room has no name") }
        guard order.storage.hasPrefix("/") else {
            throw RoomPlanError(message: "the storage directory is not an absolute path")
        }
        self.name = order.name
        self.displayName = order.displayName
        self.secret = order.secret
        do throws(SignallingError) {
            self.url = try RoomURL(parsing: order.url)
        } catch {
            throw RoomPlanError(message: error.message)
        }
        self.policy = .persistent
        if let seconds = order.whenFullSeconds {
            guard (1...86_400).contains(seconds) else {
                throw RoomPlanError(message: "whenFullSeconds takes 1 to 86400, not \(seconds)")
            }
            self.policy.fullWait = .seconds(seconds)
        }
        var recorder = RecorderSettings(storage: order.storage, room: order.name, host: host)
        let record = order.record ?? RecordSpec()
        try record.check()
        recorder.displayName = order.displayName
        recorder.isAutomatic = order.record != nil && record.isAutomatic
        recorder.take(record)
        recorder.continues = order.continues
        self.preferred = record.preferredCodec
        self.recorder = recorder
        try order.send?.check()
        self.camera = order.send
        self.outputs = try RTPOutputSettings.all(order.outputs ?? [])
        self.network = try NetworkSettings(order.ice)
    }
}

extension RTPOutputSettings {
    /// Checks orders.
    static func all(_ orders: [OutputSpec]) throws(RoomPlanError) -> [RTPOutputSettings] {
        guard orders.count(where: { $0.label == nil }) <= RTPOutputs.maximum else {
            throw RoomPlanError(message: "a room takes \(RTPOutputs.maximum) outputs at most")
        }
        var names: [String: Int] = [:]
        // Read once, and where an output needs it.
        var catalogues: [String?: Result<PipelineCatalogue, ConfigurationError>] = [:]
        return try orders.map { order throws(RoomPlanError) in
            var settings = RTPOutputSettings(host: order.host)
            if let pipeline = order.pipeline {
                names[pipeline.file, default: 0] += 1
                let count = names[pipeline.file] ?? 1
                settings.host = "127.0.0.1"
                settings.participant = order.participant
                let catalogue =
                    catalogues[pipeline.pipelines]
                    ?? Result { () throws(ConfigurationError) in try .load(directory: pipeline.pipelines) }
                catalogues[pipeline.pipelines] = catalogue
                settings.pipeline = PipelineOutputSettings(pipeline, from: catalogue)
                settings.label = "pipeline:\(pipeline.file.prefix(64))\(count > 1 ? ":\(count)" : "")"
                return settings
            }
            settings.videoPort = order.videoPort
            settings.audioPort = order.audioPort
            settings.participants = order.participants ?? settings.participants
            settings.portStep = order.portStep ?? settings.portStep
            settings.participant = order.participant
            settings.sourcePort = order.sourcePort
            settings.interface = order.interface
            settings.timeToLive = order.timeToLive
            settings.videoPayloadType = order.videoPayloadType
            settings.audioPayloadType = order.audioPayloadType
            settings.descriptionFile = order.sdpFile
            settings.isEncrypted = order.isEncrypted ?? false
            settings.followsSpeaker = order.followsSpeaker ?? false
            settings.label = order.label
            guard let problem = settings.problem else { return settings }
            throw RoomPlanError(message: "output \(settings.name): \(problem)")
        }
    }
}

extension PipelineOutputSettings {
    /// Looks an order's file up and gives it the values; what is wrong with them is told by the output's status.
    fileprivate init(_ order: PipelineOutputSpec, from catalogue: Result<PipelineCatalogue, ConfigurationError>) {
        self.init(Self.plan(order, catalogue))
    }

    private static func plan(
        _ order: PipelineOutputSpec,
        _ catalogue: Result<PipelineCatalogue, ConfigurationError>
    ) -> Plan {
        let name = order.file.prefix(64)
        do {
            let catalogue = try catalogue.get()
            guard let file = catalogue.file(.output, order.file) else {
                let known = catalogue.files(.output).map(\.name).joined(separator: ", ")
                return .refused("there is no pipeline file output/\(name); there are \(known)")
            }
            var plan = PipelinePlan(file)
            for (name, text) in (order.parameters ?? [:]).sorted(by: { $0.key < $1.key }) {
                // The value may be a secret: it is not shown.
                if let accepted = file.parameters[name]?.objection(to: text) {
                    return .refused("\(file.path): the parameter \(name) takes \(accepted)")
                }
                try plan.set(name, text)
            }
            _ = try plan.settings()
            return .ready(plan)
        } catch {
            return .refused("\(error)")
        }
    }
}

extension RecorderSettings {
    /// Takes what a spec says of how to record; its numbers are in their ranges.
    mutating func take(_ spec: RecordSpec) {
        self.recordsVideo = spec.video
        self.recordsAudio = spec.audio
        self.recordsChat = spec.chat
        self.emptyLimit = .seconds(spec.emptyAfterSeconds)
        self.segment =
            spec.segmentSeconds.map { .time(UInt64(clamping: $0) * 1_000_000_000) }
            ?? spec.segmentBytes.map { .bytes(UInt64(clamping: $0)) }
        self.preroll = .milliseconds(spec.prerollMilliseconds)
        self.synchroniseEvery = .milliseconds(spec.synchroniseMilliseconds)
        self.tags = spec.tags
        self.notes = spec.notes
    }
}

extension RecordSpec {
    /// Throws the first of its problems.
    func check() throws(RoomPlanError) {
        if let problem = self.problems.first { throw RoomPlanError(message: problem.description) }
    }
}

extension SendSpec {
    /// Throws the first of its problems.
    func check() throws(RoomPlanError) {
        if let problem = self.problems.first { throw RoomPlanError(message: problem.description) }
    }
}

extension NetworkSettings {
    /// Checks an order.
    init(_ order: NetworkSpec) throws(RoomPlanError) {
        self.init()
        self.hostAddresses = order.hostAddresses
        self.relaysOnly = order.relaysOnly
        self.offered.usesOffered = order.usesOffered
        self.offered.hosts = order.offeredHosts
        switch (order.firstPort, order.lastPort) {
        case (nil, nil): break
        case (let first?, let last?) where first > 0 && first <= last: self.portRange = first...last
        default: throw RoomPlanError(message: "ice: the port range needs a lowest and a highest port")
        }
        for server in order.servers {
            for url in server.urls {
                do {
                    self.servers.append(
                        try WebRTCServer(url, username: server.username, credential: server.credential)
                    )
                } catch {
                    throw RoomPlanError(message: "ice: \(error.message)")
                }
            }
        }
    }
}
