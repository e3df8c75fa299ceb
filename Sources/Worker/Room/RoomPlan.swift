// SPDX-License-Identifier: Apache-2.0

internal import ConfigurationFile
internal import Media
internal import PipelineCatalogue
internal import Recording
internal import Session
internal import Signalling
internal import Supervision

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
    var camera: CameraPlan?
    var outputs: [RTPOutputSettings]
    /// The video codec that others are asked to send; nil: as what we send, else VP8.
    var preferred: PreferredCodec?
    var network: NetworkSettings

    /// Checks an order.
    ///
    /// - Parameter host: this host's name, for journals.
    init(_ order: RoomOrder, host: String) throws(RoomPlanError) {
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
        let record = order.record ?? RecordOrder()
        recorder.displayName = order.displayName
        recorder.isAutomatic = order.record != nil && record.isAutomatic
        try recorder.take(record)
        recorder.continues = order.continues
        self.preferred = try PreferredCodec(order: record.preferredCodec)
        self.recorder = recorder
        let name = order.displayName
        self.camera = try order.send.map { order throws(RoomPlanError) in
            try CameraPlan(order, name: name)
        }
        self.outputs = try RTPOutputSettings.all(order.outputs ?? [])
        self.network = try NetworkSettings(order.ice)
    }
}

extension RTPOutputSettings {
    /// Checks orders.
    static func all(_ orders: [RTPOutputOrder]) throws(RoomPlanError) -> [RTPOutputSettings] {
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
    fileprivate init(_ order: PipelineOutputOrder, from catalogue: Result<PipelineCatalogue, ConfigurationError>) {
        self.init(Self.plan(order, catalogue))
    }

    private static func plan(
        _ order: PipelineOutputOrder,
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
    /// Takes what an order says of how to record, and checks it.
    mutating func take(_ order: RecordOrder) throws(RoomPlanError) {
        self.recordsVideo = order.video
        self.recordsAudio = order.audio
        self.recordsChat = order.chat ?? true
        guard (1...86_400).contains(order.emptyAfterSeconds) else {
            throw RoomPlanError(message: "emptyAfterSeconds takes 1 to 86400, not \(order.emptyAfterSeconds)")
        }
        self.emptyLimit = .seconds(order.emptyAfterSeconds)
        self.segment = nil
        if let seconds = order.segmentSeconds {
            guard (1...604_800).contains(seconds) else {
                throw RoomPlanError(message: "segmentSeconds takes 1 to 604800, not \(seconds)")
            }
            self.segment = .time(UInt64(seconds) * 1_000_000_000)
        } else if let bytes = order.segmentBytes {
            guard bytes > 0 else { throw RoomPlanError(message: "segmentBytes takes 1 and more, not \(bytes)") }
            self.segment = .bytes(UInt64(bytes))
        }
        let preroll = order.prerollMilliseconds ?? 0
        guard (0...60_000).contains(preroll) else {
            throw RoomPlanError(message: "prerollMilliseconds takes 0 to 60000, not \(preroll)")
        }
        self.preroll = .milliseconds(preroll)
        let synchronise = order.synchroniseMilliseconds ?? 1000
        guard (100...60_000).contains(synchronise) else {
            throw RoomPlanError(message: "synchroniseMilliseconds takes 100 to 60000, not \(synchronise)")
        }
        self.synchroniseEvery = .milliseconds(synchronise)
        self.tags = order.tags ?? []
        self.notes = order.notes
    }
}

/// A camera order after everything in it was checked.
struct CameraPlan: Sendable, Hashable {
    var settings: CameraSettings
    var preferred: PreferredCodec
    /// The folder of the operator's pipeline files.
    var pipelines: String?

    /// Checks an order's values; whether its files and devices work shows when they are opened.
    ///
    /// - Parameter name: What we are called in the room.
    init(_ order: CameraOrder, name: String) throws(RoomPlanError) {
        guard let video = CaptureInput(order.video ?? "none") else {
            throw RoomPlanError(message: "video takes the name of a capture, NAME:ARGUMENT, or none")
        }
        guard let audio = CaptureInput(order.audio ?? "none") else {
            throw RoomPlanError(message: "audio takes the name of a capture, NAME:ARGUMENT, or none")
        }
        guard video != .none || audio != .none else {
            throw RoomPlanError(message: "the camera has neither picture nor sound")
        }
        let preferred = try PreferredCodec(order: order.preferredCodec) ?? .vp8
        guard (320...7680).contains(order.width), (180...4320).contains(order.height), order.width % 2 == 0,
            order.height % 2 == 0
        else { throw RoomPlanError(message: "the picture takes even numbers of pixels from 320x180 to 7680x4320") }
        guard (1...60).contains(order.framesPerSecond) else {
            throw RoomPlanError(message: "framesPerSecond takes 1 to 60, not \(order.framesPerSecond)")
        }
        guard (50_000...50_000_000).contains(order.bitsPerSecond) else {
            throw RoomPlanError(message: "bitsPerSecond takes 50000 to 50000000, not \(order.bitsPerSecond)")
        }
        guard (50_000...order.bitsPerSecond).contains(order.minimumBitsPerSecond) else {
            throw RoomPlanError(
                message: "minimumBitsPerSecond takes 50000 to bitsPerSecond, not \(order.minimumBitsPerSecond)"
            )
        }
        guard (6000...510_000).contains(order.audioBitsPerSecond) else {
            throw RoomPlanError(message: "audioBitsPerSecond takes 6000 to 510000, not \(order.audioBitsPerSecond)")
        }
        var settings = CameraSettings()
        settings.name = name
        settings.video = video
        settings.audio = audio
        settings.parameters = order.parameters ?? [:]
        settings.width = order.width
        settings.height = order.height
        settings.framesPerSecond = order.framesPerSecond
        settings.bitsPerSecond = order.bitsPerSecond
        settings.minimumBitsPerSecond = order.minimumBitsPerSecond
        settings.audioBitsPerSecond = order.audioBitsPerSecond
        settings.usesAudioFEC = order.audioFEC
        settings.usesAudioDTX = order.audioDTX
        settings.keepsOpen = order.keepsOpen
        settings.isVideoMuted = order.videoMuted
        settings.isAudioMuted = order.audioMuted
        settings.isFrozen = order.frozen
        self.settings = settings
        self.preferred = preferred
        self.pipelines = order.pipelines
    }
}

extension PreferredCodec {
    /// Checks what an order prefers; nil if it says nothing.
    init?(order text: String?) throws(RoomPlanError) {
        guard let text else { return nil }
        guard let codec = PreferredCodec(rawValue: text) else {
            let accepted = PreferredCodec.allCases.map(\.rawValue).joined(separator: ", ")
            throw RoomPlanError(message: "preferredCodec takes \(accepted), not \(text.prefix(20))")
        }
        self = codec
    }
}

extension NetworkSettings {
    /// Checks an order.
    init(_ order: ICEOrder) throws(RoomPlanError) {
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
