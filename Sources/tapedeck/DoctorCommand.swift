// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import ConfigurationFile
import Diagnosis
import Signalling

/// `tapedeck doctor`.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Looks at this host: what works, what is missing, what to install.",
        discussion: """
            Looks at GStreamer and its plugins, encoders, devices, ports, storage, clock and limits, in less than ten \
            seconds. With --config it looks at the storage, the ports and the servers that the configuration names. \
            Exits with 0 if rooms can be recorded, whatever else is missing, and with 2 if they cannot.

            Example: sudo -u tapedeck tapedeck doctor --config /etc/tapedeck/tapedeck.yaml
            """
    )

    @Option(help: "The daemon's configuration.")
    var config: String?

    @Option(help: "The storage directory; the configuration's, or this one.")
    var directory: String?

    @Option(help: "Local UDP ports for media; the configuration's, or 40000-49999.")
    var portRange: PortRange?

    /// What the doctor runs itself again with, so that a driver that crashes takes no more than that process.
    @Option(help: .hidden)
    var tryEncoder: String?

    @OptionGroup var common: CommonOptions

    mutating func run() async throws {
        if let encoder = self.tryEncoder {
            do {
                return try await EncoderTrial.encode(with: encoder)
            } catch {
                throw CommandFailure(error)
            }
        }
        let report = await Doctor(settings: try self.settings()).examine()
        if self.common.json {
            try Output.json(report)
        } else {
            Output.result(report.table)
        }
        guard report.works else { throw CommandFailure(.usage, "something that recording needs is missing; see above") }
    }

    private func settings() throws -> DoctorSettings {
        var settings = DoctorSettings()
        if let path = self.config {
            do {
                settings = DoctorSettings(try DaemonConfiguration.load(path: path))
            } catch {
                throw CommandFailure(error)
            }
        }
        settings.storageDirectory = self.directory ?? settings.storageDirectory
        settings.mediaPorts = self.portRange?.ports ?? settings.mediaPorts
        settings.encoderTrial = ["doctor", "--try-encoder"]
        return settings
    }
}

extension DoctorSettings {
    /// What a daemon with that configuration needs.
    fileprivate init(_ configuration: DaemonConfiguration) {
        self.init()
        self.storageDirectory = configuration.storage.directory
        self.minimumFree = UInt64(clamping: configuration.storage.minimumFreeBytes)
        self.mediaPorts = configuration.ice.portRange ?? self.mediaPorts
        self.interfaceHost = configuration.api.host
        self.interfacePort = UInt16(clamping: configuration.api.port)
        self.servers =
            configuration.rooms.sorted { $0.key < $1.key }.map { name, room in
                Server(purpose: "room \(name)", host: room.address.url.host)
            } + configuration.ice.servers.flatMap(\.urls).compactMap { Server(iceURL: $0) }
    }
}

extension RoomURL {
    /// The server to look up.
    fileprivate var host: String {
        switch self {
        case .socketIO(let room): room.host
        }
    }
}
