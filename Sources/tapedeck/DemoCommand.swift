// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Export
import Foundation
import GStreamer
import Logging
import Media
import Observability
import RoomServer
import Session
import Signalling
import Worker

/// `tapedeck demo`.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Shows the main job: a room server, two test cameras, and a recording of their call.",
        discussion: """
            Ends by itself after --duration with an exported MKV. Nothing leaves this machine.

            Example: tapedeck demo --directory /tmp/tapedeck-demo
            """
    )

    @Option(help: "How long the call is.")
    var duration = TimeArgument(.seconds(12))

    @Option(help: "Storage directory.")
    var directory = "."

    @Option(help: "Where the exported file goes; beside the recording if left out.")
    var output: String?

    @OptionGroup var common: CommonOptions

    mutating func run() async throws {
        do {
            let result = try await self.call()
            if self.common.json {
                try Output.json(result)
            } else {
                Output.result(result.output)
                Output.result(result.report.table())
            }
            try result.check()
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Server, cameras and recorder, each ended before the one that it needs.
    private func call() async throws -> RecordResult {
        try Runtime.initialise()
        let logger = self.common.logger
        let server = RoomServer(
            configuration: RoomServerConfiguration(host: "127.0.0.1", port: 0, roomCapacity: 3),
            logger: logger
        )
        let (addresses, listening) = AsyncStream.makeStream(of: RoomServer.Address.self)
        let interrupts = Interrupts()
        return try await withThrowingTaskGroup(of: RecordResult?.self) { group in
            group.addTask {
                do {
                    try await server.run { listening.yield($0) }
                } catch is CancellationError {}
                return nil
            }
            group.addTask {
                for await address in addresses {
                    return try await self.record(at: address, interrupts, logger)
                }
                return nil
            }
            var result: RecordResult?
            while result == nil, let next = try await group.next() { result = next }
            group.cancelAll()
            try await group.waitForAll()
            guard let result else { throw CommandFailure(.notJoined, "the room server ended before the call") }
            return result
        }
    }

    private func record(
        at address: RoomServer.Address,
        _ interrupts: Interrupts,
        _ logger: Logger
    ) async throws -> RecordResult {
        let url = try RoomArgument.parse("socketio+http://\(address.host):\(address.port)/demo")
        let network = try NetworkOptions.parse(["--host-address", "127.0.0.1"])
        let job = RecordJob(
            url: url,
            duration: self.duration.duration,
            untilEmpty: false,
            output: self.output,
            directory: self.directory,
            wait: .seconds(20),
            network: network,
            showsProgress: !self.common.json,
            logger: logger.forSession()
        )
        let control = ControlThread(name: "cameras")
        let cameras = [CameraCodec.vp8, .h264].map { ($0, CameraSource(settings: CameraSettings(), logger: logger)) }
        let sessions = try cameras.map { codec, camera in
            let logger = logger.forSession()
            return RoomSession(
                signaller: RoomConnection.signaller(for: url, policy: .oneShot, logger: logger),
                context: try RoomConnection.context(
                    url: url,
                    network: network.settings,
                    control: control,
                    recorder: nil,
                    camera: camera,
                    preferred: codec
                ),
                logger: logger
            )
        }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            for session in sessions { group.addTask { _ = await session.run() } }
            let result = await Result { try await job.run(interrupts: interrupts) }
            for session in sessions { session.stop() }
            try await group.waitForAll()
            for (_, camera) in cameras { try await control.run("stopping a camera") { camera.stop() } }
            return try result.get()
        }
    }
}

extension Result where Failure == any Error {
    /// The outcome of an asynchronous body.
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
