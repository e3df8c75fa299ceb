// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Diagnosis

/// `tapedeck doctor`.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Looks at this host: what works, what is missing, what to install.",
        discussion: """
            Looks at GStreamer and its plugins, encoders, devices, ports, storage, clock and limits, in less than ten \
            seconds. Exits with 0 if rooms can be recorded, whatever else is missing, and with 2 if they cannot.

            Example: tapedeck doctor --directory /var/lib/tapedeck
            """
    )

    @Option(help: "The storage directory.")
    var directory = "."

    @Option(help: "Local UDP ports for media.")
    var portRange = PortRange(ports: DoctorSettings().mediaPorts)

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
        var settings = DoctorSettings()
        settings.storageDirectory = self.directory
        settings.mediaPorts = self.portRange.ports
        settings.encoderTrial = ["doctor", "--try-encoder"]
        let report = await Doctor(settings: settings).examine()
        if self.common.json {
            try Output.json(report)
        } else {
            Output.result(report.table)
        }
        guard report.works else { throw CommandFailure(.usage, "something that recording needs is missing; see above") }
    }
}
