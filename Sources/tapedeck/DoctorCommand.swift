// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import ConfigurationFile
import Diagnosis
import Foundation
import GStreamer
import Logging
import Media
import Model
import PipelineCatalogue
import Signalling
import Terminal

/// `tapedeck doctor`.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check this host: what works, what is missing, what to install.",
        discussion: """
            Looks at GStreamer and its plugins, encoders, devices, ports, storage, clock and limits, in less than ten \
            seconds. With --config it looks at the storage, the ports and the servers that the configuration names, tries \
            the remote of storage.upload with a small file, and asks each STUN and TURN server for what a call needs: whether it is reached, takes user name and password, \
            and lends an address. --ice-server asks one without a configuration. --capacity measures instead how many \
            rooms can be recorded at a time: it fills some for about twenty seconds. Exits with 0 if rooms can be recorded, whatever else is missing, and with 2 if they cannot.

            Example: sudo -u tapedeck tapedeck doctor --config /etc/tapedeck/tapedeck.yaml
            Example: sudo -u tapedeck tapedeck doctor --capacity --directory /var/lib/tapedeck
            """
    )

    @OptionGroup var file: ConfigurationOptions

    @Option(help: "The storage directory. Default: the configuration's, else the current one.")
    var directory: String?

    @Option(help: "Local UDP ports for media. Default: the configuration's, else 40000-49999.")
    var portRange: PortRange?

    @OptionGroup var iceServers: ICEServerOptions

    @Flag(help: "Only measure how many rooms this host can record at a time; takes about twenty seconds.")
    var capacity = false

    /// What the doctor runs itself again with, so that a driver that crashes takes no more than that process.
    @Option(help: .hidden)
    var tryEncoder: String?

    @OptionGroup var common: CommonOptions

    mutating func run() async throws {
        if let encoder = self.tryEncoder {
            guard let file = try self.pipelines(try self.configuration()).file(.encode, encoder) else {
                throw CommandFailure(.usage, "there is no pipeline file encode/\(encoder)")
            }
            try Runtime.initialise()
            if let reason = EncoderProbe.failure(of: file) { throw CommandFailure(.unavailable, reason) }
            return
        }
        if self.capacity { return try await self.measure() }
        let report = await Doctor(settings: try self.settings()).examine()
        if self.common.json {
            try Output.json(report)
        } else {
            Output.result(report.table)
        }
        guard report.works else { throw CommandFailure(.usage, "something that recording needs is missing; see above") }
    }

    private func measure() async throws {
        let configuration = try self.configuration()
        var logger = self.common.logger
        // Who joins what is no news here.
        logger.logLevel = max(logger.logLevel, .warning)
        let job = CapacityJob(
            directory: try self.settings().storageDirectory,
            roomsPerWorker: configuration?.workers.roomsPerWorker ?? 1,
            showsProgress: !self.common.json,
            logger: logger
        )
        let capacity = try await job.run(interrupts: Interrupts())
        if self.common.json { return try Output.json(capacity) }
        for line in TextTable.lines(capacity.table) + capacity.remarks { Output.result(line) }
    }

    private func configuration() throws -> DaemonConfiguration? {
        try self.file.path.map { try DaemonConfiguration.load(path: $0) }
    }

    /// Every pipeline file, those of the configuration's folder before ours.
    private func pipelines(_ configuration: DaemonConfiguration?) throws -> PipelineCatalogue {
        try PipelineCatalogue.load(directory: configuration?.pipelines.directory)
    }

    private func settings() throws -> DoctorSettings {
        let configuration = try self.configuration()
        var settings = configuration.map { DoctorSettings($0) } ?? DoctorSettings()
        settings.pipelines = try self.pipelines(configuration)
        settings.storageDirectory = self.directory ?? settings.storageDirectory
        settings.mediaPorts = self.portRange?.ports ?? settings.mediaPorts
        settings.encoderTrial = .init(
            arguments: ["doctor"] + (self.file.path.map { ["--config", $0] } ?? []) + ["--try-encoder"],
            limit: EncoderProbe.processLimit
        )
        settings.iceServers += try self.serversToAsk()
        return settings
    }

    /// The servers of the options; the password comes from the environment.
    private func serversToAsk() throws -> [DoctorSettings.ICEServer] {
        do {
            return try self.iceServers.urls.map { text in
                DoctorSettings.ICEServer(
                    url: try ICEServerURL(parsing: text),
                    username: self.iceServers.username() ?? "",
                    credential: ICEServerOptions.password() ?? ""
                )
            }
        } catch let error as SignallingError {
            throw ValidationError("--ice-server: \(error.message)")
        }
    }
}

extension DoctorSettings {
    /// What a daemon with that configuration needs.
    fileprivate init(_ configuration: DaemonConfiguration) {
        self.init()
        self.storageDirectory = configuration.storage.directory
        self.signingKey = configuration.storage.signingKey
        self.upload = configuration.storage.upload
        self.minimumFree = UInt64(clamping: configuration.storage.minimumFreeBytes)
        self.mediaPorts = configuration.ice.portRange ?? self.mediaPorts
        self.interfaceHost = configuration.api.host
        self.interfacePort = UInt16(clamping: configuration.api.port)
        self.interfaceHasTLS = configuration.api.tls != nil
        self.servers = configuration.rooms.sorted { $0.key < $1.key }.map { name, room in
            Server(purpose: "room \(name)", host: room.address.url.host)
        }
        // The configuration takes no URL that cannot be read.
        self.iceServers = configuration.ice.servers.flatMap { server in
            server.urls.compactMap { try? ICEServerURL(parsing: $0) }.map { url in
                ICEServer(url: url, username: server.username ?? "", credential: server.credential?.value ?? "")
            }
        }
    }
}
