// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Observability

/// Prometheus' own reader finds nothing to complain of.
@Suite struct PromtoolTests {
    @Test func textPassesPromtool() throws {
        let registry = PrometheusRegistry()
        let metrics = DaemonMetrics(registry: registry, version: "1.0 \"\\\n", startTime: 1_790_000_000.25)
        let now = ContinuousClock.now
        for (room, time) in [("a\"b\\c\nd", now), ("ü", now), ("ü", now + .seconds(2))] {
            let track = RoomMeasurement.Track(
                number: 1,
                participant: "p",
                kind: "video",
                codec: "vp8",
                bytes: 1,
                lostPackets: 1,
                keyframeRequests: 1,
                jitterSeconds: 0.001,
                sound: .init(decibels: -20, silentSeconds: 0)
            )
            let measurement = RoomMeasurement(
                participants: 1,
                isRecording: true,
                recordingLagSeconds: 0,
                roundTripSeconds: 0.1,
                unrecordedPackets: ["alice": ["paused": 1]],
                cameraAudio: .init(decibels: -20, silentSeconds: 0),
                cameraBitsPerSecond: 1_500_000,
                cameraReductions: 1,
                cameraFailures: 1,
                cameraDropped: 1,
                tracks: [track],
                outputs: [.init(name: "o", isFailing: true, packets: 1, bytes: 1, droppedPackets: 1)]
            )
            metrics.update(room: room, measurement, at: time)
        }
        metrics.roomsByPhase(["joined": 1])
        metrics.storage(freeBytes: 1, secondsUntilFull: .infinity)
        metrics.uploads(oldestSeconds: 1)
        metrics.cluster(ClusterMeasurement())
        var worker = WorkerMeasurement(cpuSeconds: 1, residentBytes: 1, threads: 1, descriptors: 1)
        (worker.objects, worker.allocatedBytes) = (1, 1)
        metrics.update(worker: "w", worker)
        metrics.request(.rooms, status: 200, took: .milliseconds(1))
        let shown = Set(registry.text().matches(of: #/# TYPE ([a-z_]+) /#).map { String($0.1) })
        #expect(shown == Set(DaemonMetric.all.map(\.name)).subtracting([PrometheusRegistry.droppedDescription.name]))

        let promtool = Process()
        promtool.executableURL = URL(filePath: "/usr/bin/promtool")
        promtool.arguments = ["check", "metrics"]
        let input = Pipe()
        let output = Pipe()
        promtool.standardInput = input
        promtool.standardOutput = output
        promtool.standardError = output
        try promtool.run()
        try input.fileHandleForWriting.write(contentsOf: Data(registry.text().utf8))
        try input.fileHandleForWriting.close()
        let complaints = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        promtool.waitUntilExit()
        #expect(complaints.isEmpty)
        #expect(promtool.terminationStatus == 0)
    }
}
