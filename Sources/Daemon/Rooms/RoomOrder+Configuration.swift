// SPDX-License-Identifier: Apache-2.0

import Basics
import ConfigurationFile
import Supervision

extension RoomOrder {
    /// What a worker is told of a room of the configuration.
    init(_ room: RoomConfiguration, in configuration: DaemonConfiguration) {
        self.init(
            name: room.name,
            url: room.address.text.value,
            displayName: room.displayName,
            storage: configuration.storage.directory
        )
        self.secret = room.secret?.value
        self.record = room.record.map { RecordOrder($0, in: configuration.storage) }
        self.whenFullSeconds = Int(room.rejoin.whenFull.components.seconds)
        self.afterKickSeconds = room.rejoin.afterKick.map { Int($0.components.seconds) }
        self.send = room.send.map { CameraOrder($0, in: configuration.pipelines) }
        self.priority = room.priority == Self.usualPriority ? nil : room.priority
        self.outputs = room.outputs.isEmpty ? nil : room.outputs.map { RTPOutputOrder($0, in: configuration.pipelines) }
        self.ice = ICEOrder(configuration.ice)
    }
}

extension RTPOutputOrder {
    init(_ output: OutputConfiguration, in pipelines: PipelinesConfiguration) {
        switch output {
        case .rtp(let output): self.init(output)
        case .pipeline(let output):
            // Its packets do not leave the host.
            self.init(host: "127.0.0.1")
            self.participant = output.participant
            var pipeline = PipelineOutputOrder(file: output.file)
            pipeline.parameters = output.parameters.isEmpty ? nil : output.parameters.mapValues(\.value)
            pipeline.pipelines = pipelines.directory
            self.pipeline = pipeline
        }
    }

    init(_ output: RTPOutputConfiguration) {
        self.init(host: output.host)
        self.videoPort = output.videoPort
        self.audioPort = output.audioPort
        self.participants = output.participants
        self.portStep = output.portStep
        self.participant = output.participant
        self.sourcePort = output.sourcePort
        self.interface = output.interface
        self.timeToLive = output.timeToLive
        self.videoPayloadType = output.videoPayloadType
        self.audioPayloadType = output.audioPayloadType
        self.sdpFile = output.sdpFile
        self.isEncrypted = output.isEncrypted ? true : nil
    }
}

extension RecordOrder {
    init(_ record: RecordConfiguration, in storage: StorageConfiguration) {
        self.init()
        self.isAutomatic = record.automatic
        self.video = record.video
        self.audio = record.audio
        self.chat = record.chat
        self.emptyAfterSeconds = Int(record.emptyAfter.components.seconds)
        self.preferredCodec = record.preferredCodec?.rawValue
        switch record.segment {
        case .time(let time): self.segmentSeconds = Int(time.components.seconds)
        case .bytes(let bytes): self.segmentBytes = bytes
        case nil: break
        }
        self.prerollMilliseconds = record.preroll > .zero ? Int(record.preroll.milliseconds) : nil
        self.synchroniseMilliseconds = Int(storage.synchroniseEvery.milliseconds)
        self.tags = record.tags.isEmpty ? nil : record.tags
        self.notes = record.notes
    }
}

extension CameraOrder {
    init(_ send: SendConfiguration, in pipelines: PipelinesConfiguration) {
        self.init(video: send.capture?.description, audio: send.audio?.description)
        self.pipelines = pipelines.directory
        self.parameters = send.parameters.isEmpty ? nil : send.parameters
        self.preferredCodec = send.preferredCodec.rawValue
        self.width = send.width
        self.height = send.height
        self.framesPerSecond = send.framesPerSecond
        self.bitsPerSecond = send.bitsPerSecond
        self.minimumBitsPerSecond = send.minimumBitsPerSecond
        self.audioBitsPerSecond = send.audioBitsPerSecond
        self.audioFEC = send.usesAudioFEC
        self.audioDTX = send.usesAudioDTX
        self.keepsOpen = send.open == .always
    }
}

extension ICEOrder {
    init(_ ice: ICEConfiguration) {
        self.init()
        self.servers = ice.servers.map {
            Server(urls: $0.urls, username: $0.username, credential: $0.credential?.value)
        }
        self.hostAddresses = ice.hostAddresses
        self.relaysOnly = ice.policy == .relay
        self.usesOffered = ice.usesOffered
        self.offeredHosts = ice.offeredHosts
        self.firstPort = ice.portRange?.lowerBound
        self.lastPort = ice.portRange?.upperBound
    }
}
