// SPDX-License-Identifier: Apache-2.0

import Basics
import ConfigurationFile
import Foundation
import GStreamer
import PipelineCatalogue
import Synchronization
import Testing

@testable import Media

extension CaptureTests {
    /// After the captures, one at a time: encoders want a core.
    @Suite(.serialized)
    struct OutputFileTests {
        private static let control = ControlThread(name: "output file tests")

        private static var files: [PipelineFile] { ((try? PipelineCatalogue.load()) ?? .init([])).files(.output) }

        /// The messages of a pipeline's bus.
        private final class Said: Sendable {
            private let events = Mutex<[BusEvent]>([])

            func append(_ event: BusEvent) { self.events.withLock { $0.append(event) } }

            var error: String? {
                self.events.withLock { events in
                    for case .error(_, let message, _) in events { return message }
                    return nil
                }
            }

            var hasEnded: Bool { self.events.withLock { $0.contains(.endOfStream) } }
        }

        /// Waits for up to 20 s.
        private static func wait(_ isThere: () -> Bool) async throws {
            let deadline = ContinuousClock.now + .seconds(20)
            while !isThere(), ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(20)) }
        }

        /// Black and silence into every file, by its name: the output is complete, nothing waits for a participant, and
        /// a missing server is an error.
        @Test(arguments: Self.files.map(\.name).filter { $0 != Self.loopback })
        func everyOutputFileRuns(name: String) async throws {
            try await Self.run(name)
        }

        @Test(.enabled(if: Self.loopbackDevice != nil, "there is no device of the kernel module v4l2loopback"))
        func theFileOfLoopbackDevicesRuns() async throws {
            try await Self.run(Self.loopback)
        }

        private static let loopback = "v4l2loopback"
        /// The first of the devices that no hardware is behind.
        private static var loopbackDevice: String? {
            let names = try? FileManager.default.contentsOfDirectory(atPath: "/sys/devices/virtual/video4linux")
            return names?.min().map { "/dev/\($0)" }
        }

        private static func run(_ name: String) async throws {
            try Runtime.initialise()
            let file = try #require(Self.files.first { $0.name == name })
            guard file.missingElements.isEmpty else {
                try Test.cancel("output/\(name) needs \(file.missingElements.joined(separator: ", "))")
            }
            let folder = FileManager.default.temporaryDirectory.appending(path: "output-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let port = try #require(LoopbackPorts.four())
            var plan = PipelinePlan(file)
            let values = [
                "folder": folder.path, "segment": "1", "uri": "srt://127.0.0.1:\(port)?mode=listener",
                "location": "rtmp://127.0.0.1:\(port)/live/key", "socket": folder.appending(path: "socket").path,
                "device": Self.loopbackDevice ?? "",
                "picture": "video/x-raw,format=I420,width=160,height=90,framerate=10/1,pixel-aspect-ratio=1/1",
            ]
            for (parameter, value) in values where plan.has(parameter) { try plan.set(parameter, value) }
            let said = Said()
            let pipeline = try await Self.control.run("starting \(name)") { [plan] in
                let pipeline = try PipelineReceiver.make(plan, PipelineSource(participant: "nobody")) {
                    said.append($0)
                }
                try pipeline.play()
                return pipeline
            }
            defer { Self.control.enqueue { pipeline.stop() } }
            if name == "rtmp" {
                try await Self.wait { said.error != nil }
                #expect(said.error != nil, "output/\(name) does not miss its server")
                return
            }
            let playlist = folder.appending(path: "index.m3u8")
            let socket = folder.appending(path: "socket")
            if plan.has("folder") { try await Self.wait { FileManager.default.fileExists(atPath: playlist.path) } }
            if plan.has("socket") { try await Self.wait { FileManager.default.fileExists(atPath: socket.path) } }
            try await Task.sleep(for: .seconds(1))
            #expect(said.error == nil, "output/\(name)")
            try await Self.control.run("ending \(name)") { pipeline.sendEndOfStream() }
            try await Self.wait { said.hasEnded || said.error != nil }
            #expect(said.hasEnded && said.error == nil, "output/\(name): \(said.error ?? "does not end")")
            guard plan.has("folder") else { return }
            let text = try String(contentsOf: playlist, encoding: .utf8)
            #expect(text.contains("segment00000.ts") && text.contains("#EXT-X-ENDLIST"), "output/\(name): \(text)")
        }

        /// The signs of a stuck sink.
        @Test(arguments: [
            ("identity name=in_video sleep-time=1000000 ! fakesink", true), ("fakesink name=in_video", false),
        ])
        func aQueueInFrontOfWhatIsStuckIsFull(launch: String, isStuck: Bool) async throws {
            try Runtime.initialise()
            var file = PipelineFile(kind: .output, name: "x", description: "X.", launch: launch)
            file.accepts = [.video: ["raw"]]
            let pipeline = try await Self.control.run("starting") { [file] in
                let pipeline = try PipelineReceiver.make(PipelinePlan(file), PipelineSource(participant: "nobody")) {
                    _ in
                }
                try pipeline.play()
                return pipeline
            }
            defer { Self.control.enqueue { pipeline.stop() } }
            let queue = PipelineReceiver.queues[0]
            if isStuck {
                try await Self.wait { pipeline.isFull(queue: queue) }
            } else {
                try await Task.sleep(for: .seconds(2))
            }
            #expect(pipeline.isFull(queue: queue) == isStuck)
        }
    }
}
