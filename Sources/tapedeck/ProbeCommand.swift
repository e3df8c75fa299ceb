// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import Diagnosis
import Foundation
import Logging
import Media
import Model
import Observability
import PipelineCatalogue
import Signalling
import Storage
import Terminal

/// `tapedeck probe`.
struct ProbeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "probe",
        abstract: "Measure a room with a test camera: what arrives, how late, and how well video and audio match.",
        discussion: """
            Joins twice, as a camera and as its receiver, or with --echo once in a room in which another participant sends \
            back what we send. Prints a score from 0 to 100, which is that of the weakest part: start, loss, \
            lateness, freezes, sync or delay. Made for cron: ends with 6 if the score is below --threshold, with 3 if \
            the room cannot be joined and with 4 if nothing arrives.

            Example: tapedeck probe socketio+https://rtc.example.org/123123 --duration 20s --threshold 80
            Example: tapedeck probe socketio+https://rtc.example.org/123123 --prometheus \
            /var/lib/prometheus/node-exporter/room.prom
            """
    )

    @Argument(help: "The room, for example socketio+https://rtc.example.org/123123.")
    var url: String

    @Option(help: "How long to measure from the first frame on, 5s to 10m.")
    var duration = TimeArgument(.seconds(20))

    @Option(help: "The lowest score that is good enough, 0 to 100; below it the exit code is 6.")
    var threshold = 80

    @Flag(help: "Join once, and measure what another participant sends back.")
    var echo = false

    @Option(
        help: ArgumentHelp(
            "Write the result to this file, in Prometheus' text format, also if there was no call.",
            discussion: "For the textfile collector of node_exporter, which wants it to end in .prom.",
            valueName: "file"
        )
    )
    var prometheus: String?

    @Option(help: "How long to wait for the first frame, for example 30s.")
    var wait = TimeArgument(.seconds(30))

    @Option(help: "Preferred video codec, vp8, h264, vp9 or any.")
    var codec: PreferredCodec = .vp8

    @Option(help: "Video size in pixels, even numbers of at least 320x180.")
    var size = VideoSize(width: 640, height: 360)

    @Option(help: "Frames per second, 5 to 60.")
    var fps = 30

    @Option(help: "Video bit rate, for example 800k or 2M.")
    var bitrate = BitRate(bitsPerSecond: 1_000_000)

    @OptionGroup var pipelines: PipelineOptions
    @OptionGroup var network: NetworkOptions
    @OptionGroup var trace: TraceOptions
    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        let url = try RoomArgument.parse(self.url)
        try RoomArgument.check(url.checkSending)
        try RoomArgument.check(url.checkRecording)
        guard (5...60).contains(self.fps) else { throw ValidationError("--fps takes 5 to 60, not \(self.fps)") }
        guard (0...100).contains(self.threshold) else {
            throw ValidationError("--threshold takes 0 to 100, not \(self.threshold)")
        }
        guard (Duration.seconds(5)...Duration.seconds(600)).contains(self.duration.duration) else {
            throw ValidationError("--duration takes 5s to 10m")
        }
    }

    /// What came of it; printed as JSON for scripts.
    private struct Result: Encodable {
        var room: String
        var threshold: Int
        var passed: Bool
        var report: ProbeReport

        func encode(to encoder: any Encoder) throws {
            try self.report.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(self.room, forKey: .room)
            try container.encode(self.threshold, forKey: .threshold)
            try container.encode(self.passed, forKey: .passed)
        }

        private enum CodingKeys: String, CodingKey {
            case room, threshold, passed
        }
    }

    mutating func run() async throws {
        let url = try RoomArgument.parse(self.url)
        do {
            let report = try await self.job(url).run(interrupts: Interrupts())
            try self.writeMetrics(url, report)
            let passed = report.score >= self.threshold
            try self.show(Result(room: url.shown, threshold: self.threshold, passed: passed, report: report))
        } catch let failure as CommandFailure where [.notJoined, .noMedia].contains(failure.code) {
            try self.writeMetrics(url, nil)
            throw failure
        }
    }

    private func job(_ url: RoomURL) throws -> ProbeJob {
        var settings = SendSpec()
        settings.preferredCodec = self.codec
        settings.width = self.size.width
        settings.height = self.size.height
        settings.framesPerSecond = self.fps
        settings.bitsPerSecond = self.bitrate.bitsPerSecond
        // What is measured is the network, not how the camera follows it.
        settings.minimumBitsPerSecond = settings.bitsPerSecond
        var spec = RoomSpec(name: url.roomName, url: self.url, storage: "/")
        spec.ice = try self.network.settings()
        spec.secret = RoomArgument.secret(for: url).map { Secret($0) }
        return ProbeJob(
            spec: spec,
            send: settings,
            wait: self.wait.duration,
            duration: self.duration.duration,
            pipelines: try self.pipelines.catalogue(),
            isEchoed: self.echo,
            trace: self.trace.settings,
            logger: self.common.logger.forSession()
        )
    }

    /// Writes the metrics file in one go; nothing if none is wanted.
    ///
    /// - Parameter report: nil if there was no call.
    private func writeMetrics(_ url: RoomURL, _ report: ProbeReport?) throws {
        guard let path = self.prometheus else { return }
        let text = ProbeMetric.text(room: url.shown, Self.values(report, at: Date()))
        try File.replace(path, with: Array(text.utf8))
    }

    static func values(_ report: ProbeReport?, at date: Date) -> [ProbeMetric.Value] {
        var values: [ProbeMetric.Value] = [
            (ProbeMetric.success, [], report == nil ? 0 : 1), (ProbeMetric.finished, [], date.timeIntervalSince1970),
        ]
        guard let report else { return values }
        values.append((ProbeMetric.score, [], Double(report.score)))
        values += report.parts.map { (ProbeMetric.partScore, [$0.name.rawValue], Double($0.score)) }
        values.append((ProbeMetric.firstFrame, [], report.firstFrameMilliseconds / 1000))
        let frames = report.frames
        values += [
            ("expected", frames.expected), ("received", frames.received), ("lost", frames.lost), ("late", frames.late),
            ("repeated", frames.repeated), ("unreadable", frames.unreadable),
        ].map { (ProbeMetric.frames, [$0.0], Double($0.1)) }
        values += [("received", report.sound.packets), ("lost", report.sound.lost)].map {
            (ProbeMetric.audioPackets, [$0.0], Double($0.1))
        }
        values.append((ProbeMetric.freezes, [], Double(report.freezes.count)))
        values.append((ProbeMetric.frozen, [], report.freezes.milliseconds / 1000))
        if let offset = report.avOffsetMilliseconds { values.append((ProbeMetric.avOffset, [], offset / 1000)) }
        let delay = report.delay
        values += [
            ("0.5", delay.medianMilliseconds), ("0.95", delay.p95Milliseconds), ("1", delay.maximumMilliseconds),
        ].map { (ProbeMetric.delay, [$0.0], $0.1 / 1000) }
        return values
    }

    private func show(_ result: Result) throws {
        let rows = result.report.rows
        if self.common.json {
            try Output.json(result)
        } else {
            Output.result(TextTable.lines(rows).joined(separator: "\n"))
        }
        guard !result.passed else { return }
        let reason = rows.first { $0[0] == result.report.weakest?.rawValue }.map { ": \($0[0]): \($0[2])" } ?? ""
        let score = result.report.score
        throw CommandFailure(.belowThreshold, "the score is \(score), less than \(self.threshold)\(reason)")
    }
}
