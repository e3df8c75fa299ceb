// SPDX-License-Identifier: Apache-2.0

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
        self.record = room.record.map { RecordOrder($0) }
        self.whenFullSeconds = Int(room.rejoin.whenFull.components.seconds)
        self.afterKickSeconds = room.rejoin.afterKick.map { Int($0.components.seconds) }
        self.send = room.send.map { CameraOrder($0) }
        self.ice = ICEOrder(configuration.ice)
    }
}

extension RecordOrder {
    init(_ record: RecordConfiguration) {
        self.init()
        self.isAutomatic = record.automatic
        self.video = record.video
        self.audio = record.audio
        self.emptyAfterSeconds = Int(record.emptyAfter.components.seconds)
    }
}

extension CameraOrder {
    init(_ send: SendConfiguration) {
        self.init(video: send.capture?.description, audio: send.audio?.description)
        self.preferredCodec = send.preferredCodec.rawValue
        self.width = send.width
        self.height = send.height
        self.framesPerSecond = send.framesPerSecond
        self.bitsPerSecond = send.bitsPerSecond
    }
}

extension ICEOrder {
    init(_ ice: ICEConfiguration) {
        self.init()
        self.servers = ice.servers.map {
            Server(urls: $0.urls, username: $0.username, credential: $0.credential?.value)
        }
        self.hostAddresses = ice.hostAddresses
        self.firstPort = ice.portRange?.lowerBound
        self.lastPort = ice.portRange?.upperBound
    }
}
