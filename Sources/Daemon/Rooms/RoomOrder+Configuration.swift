// SPDX-License-Identifier: Apache-2.0

import Basics
import ConfigurationFile
import Rooms

extension RoomSpec {
    /// What a worker is told of a room of the configuration.
    init(_ room: RoomConfiguration, in configuration: DaemonConfiguration) {
        self.init(
            name: room.name,
            url: room.address.text.value,
            displayName: room.displayName,
            storage: configuration.storage.directory
        )
        self.secret = room.secret?.value
        self.record = room.record
        self.record?.synchroniseMilliseconds = Int(configuration.storage.synchroniseEvery.milliseconds)
        self.whenFullSeconds = Int(room.rejoin.whenFull.components.seconds)
        self.afterKickSeconds = room.rejoin.afterKick.map { Int($0.components.seconds) }
        self.send = room.send
        self.send?.pipelines = configuration.pipelines.directory
        self.priority = room.priority == Self.usualPriority ? nil : room.priority
        self.outputs = room.outputs.isEmpty ? nil : room.outputs.map { OutputSpec($0, in: configuration.pipelines) }
        self.ice = NetworkSpec(configuration.ice)
    }
}

extension OutputSpec {
    init(_ output: OutputConfiguration, in pipelines: PipelinesConfiguration) {
        switch output {
        case .rtp(let output): self.init(output)
        case .pipeline(let output):
            // Its packets do not leave the host.
            self.init(host: "127.0.0.1")
            self.participant = output.participant
            var pipeline = PipelineOutputSpec(file: output.file)
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

extension NetworkSpec {
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
