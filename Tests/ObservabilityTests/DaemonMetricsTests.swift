// SPDX-License-Identifier: Apache-2.0

import Logging
import Testing

@testable import Observability

@Suite struct DaemonMetricsTests {
    private let metrics = DaemonMetrics(registry: PrometheusRegistry(), version: "1.2.3", startTime: 1_790_000_000.5)

    /// The value of a series; `nil` if a scrape does not show it.
    private func value(_ series: String) -> String? {
        self.metrics.registry.text().split(separator: "\n").first { $0.hasPrefix("tapedeck_\(series) ") }
            .map { String($0.dropFirst("tapedeck_\(series) ".count)) }
    }

    private func series(of room: String) -> [String] {
        self.metrics.registry.text().split(separator: "\n").filter { $0.contains("room=\"\(room)\"") }.map(String.init)
    }

    @Test func fixedSeriesAreThereFromTheStart() {
        #expect(self.value("build_info{version=\"1.2.3\"}") == "1")
        #expect(self.value("start_time_seconds") == "1790000000.5")
        #expect(self.value("worker_restarts_total{reason=\"hung\"}") == "0")
        #expect(self.value("webhook_deliveries_total{result=\"dead\"}") == "0")
        #expect(self.value("log_lines_total{level=\"warning\"}") == "0")
        #expect(self.value("export_duration_seconds_count{result=\"failed\"}") == "0")
        #expect(self.value("storage_full_in_seconds") == nil)
    }

    @Test func aClusterIsShownWhereThereIsOne() {
        #expect(self.value("cluster_hosts") == nil && self.value("cluster_renewal_age_seconds") == nil)
        self.metrics.cluster(
            ClusterMeasurement(
                hosts: 3,
                unclaimedRooms: 2,
                heldClaims: 7,
                uncertainClaims: 1,
                renewalAgeSeconds: 0.5
            )
        )
        #expect(self.value("cluster_hosts") == "3" && self.value("cluster_unclaimed_rooms") == "2")
        #expect(self.value("cluster_claims{phase=\"held\"}") == "7")
        #expect(self.value("cluster_claims{phase=\"uncertain\"}") == "1")
        #expect(self.value("cluster_renewal_age_seconds") == "0.5")
    }

    @Test func roomIsShownAndGoes() {
        let now = ContinuousClock.now
        var measurement = RoomMeasurement(participants: 2, isRecording: true, recordingLagSeconds: 0.25)
        measurement.roundTripSeconds = 0.03
        measurement.cameraBitsPerSecond = 400_000
        measurement.tracks = [
            .init(number: 1, participant: "a", kind: "video", codec: "vp8", bytes: 1000, jitterSeconds: 0.001),
            .init(number: 2, participant: "b", kind: "video", codec: "vp8", bytes: 3000, jitterSeconds: 0.002),
            .init(number: 3, participant: "b", kind: "audio", codec: "opus", isOpen: false, bytes: 10),
        ]
        self.metrics.update(room: "standup", measurement, at: now)
        measurement.tracks[0].bytes = 2000
        measurement.tracks[1].lostPackets = 7
        measurement.tracks[1].keyframeRequests = 2
        self.metrics.update(room: "standup", measurement, at: now + .seconds(2))
        #expect(self.value("room_participants{room=\"standup\"}") == "2")
        #expect(self.value("room_recording{room=\"standup\"}") == "1")
        #expect(self.value("room_recording_lag_seconds{room=\"standup\"}") == "0.25")
        #expect(self.value("room_round_trip_seconds{room=\"standup\"}") == "0.03")
        #expect(self.value("room_camera_target_bytes_per_second{room=\"standup\"}") == "50000")
        #expect(self.value("room_tracks{room=\"standup\",kind=\"video\",codec=\"vp8\"}") == "2")
        #expect(self.value("room_tracks{room=\"standup\",kind=\"audio\",codec=\"opus\"}") == nil)
        #expect(self.value("room_jitter_seconds{room=\"standup\",kind=\"video\"}") == "0.002")
        #expect(self.value("room_received_bytes_total{room=\"standup\",kind=\"video\",codec=\"vp8\"}") == "5000")
        #expect(self.value("room_received_bytes_per_second{room=\"standup\",kind=\"video\"}") == "2500")
        #expect(self.value("room_lost_packets_total{room=\"standup\",kind=\"video\"}") == "7")
        #expect(self.value("room_keyframe_requests_total{room=\"standup\"}") == "2")
        // No participant's id may be seen.
        #expect(!self.series(of: "standup").contains { $0.contains("\"a\"") || $0.contains("\"b\"") })

        self.metrics.left(room: "standup")
        #expect(self.value("room_participants{room=\"standup\"}") == nil)
        #expect(self.value("room_received_bytes_per_second{room=\"standup\",kind=\"video\"}") == nil)
        #expect(self.value("room_received_bytes_total{room=\"standup\",kind=\"video\",codec=\"vp8\"}") == "5000")
        self.metrics.remove(room: "standup")
        #expect(self.series(of: "standup").isEmpty)
    }

    @Test func soundIsShownWhereItIsKnown() {
        var measurement = RoomMeasurement(participants: 2, isRecording: true)
        self.metrics.update(room: "r", measurement)
        for name in ["sound_decibels", "silent_tracks", "camera_sound_decibels", "camera_silent_seconds"] {
            #expect(self.value("room_\(name){room=\"r\"}") == nil)
        }
        func track(_ decibels: Double?, _ silence: Double, isOpen: Bool = true) -> RoomMeasurement.Track {
            var track = RoomMeasurement.Track(number: 1, participant: "a", kind: "audio", codec: "opus", isOpen: isOpen)
            track.sound = .init(decibels: decibels, silentSeconds: silence)
            return track
        }
        measurement.tracks = [track(-30, 0), track(-20, 9.9), track(nil, 10), track(0, 99, isOpen: false)]
        measurement.cameraAudio = .init(decibels: -127, silentSeconds: 12)
        self.metrics.update(room: "r", measurement)
        #expect(self.value("room_sound_decibels{room=\"r\"}") == "-20")
        #expect(self.value("room_silent_tracks{room=\"r\"}") == "1")
        #expect(self.value("room_camera_sound_decibels{room=\"r\"}") == "-127")
        #expect(self.value("room_camera_silent_seconds{room=\"r\"}") == "12")
        self.metrics.left(room: "r")
        #expect(!self.series(of: "r").contains { $0.contains("sound") || $0.contains("silent") })
    }

    private static let cameraCounts: [(any WritableKeyPath<RoomMeasurement, UInt64?> & Sendable, String)] = [
        (\.cameraReductions, "room_camera_reductions_total{room=\"r\"}"),
        (\.cameraFailures, "room_camera_failures_total{room=\"r\"}"),
        (\.cameraDropped, "room_camera_dropped_total{room=\"r\"}"),
    ]

    @Test(arguments: Self.cameraCounts)
    func whatEveryCameraCountsIsCounted(
        count: any WritableKeyPath<RoomMeasurement, UInt64?> & Sendable,
        series: String
    ) {
        func update(_ value: UInt64?) {
            var measurement = RoomMeasurement(participants: 1, isRecording: false)
            measurement[keyPath: count] = value
            self.metrics.update(room: "r", measurement)
        }
        update(nil)
        #expect(self.value(series) == nil)
        update(0)
        #expect(self.value(series) == "0")
        update(2)
        update(5)
        #expect(self.value(series) == "5")
        // Another camera, and one that comes after none.
        update(1)
        update(nil)
        update(3)
        #expect(self.value(series) == "9")
    }

    @Test func refusedPacketsOfEveryParticipantAreCounted() {
        func update(_ refused: [String: UInt64]) {
            var measurement = RoomMeasurement(participants: refused.count, isRecording: false)
            measurement.refusedPackets = refused
            self.metrics.update(room: "r", measurement)
        }
        update(["a": 0])
        #expect(self.value("room_refused_packets_total{room=\"r\"}") == "0")
        update(["a": 2, "b": 1])
        update(["a": 5, "b": 1])
        #expect(self.value("room_refused_packets_total{room=\"r\"}") == "6")
        // One who is away for a while, and comes again by another connection.
        update(["a": 5])
        update(["a": 5, "b": 1])
        #expect(self.value("room_refused_packets_total{room=\"r\"}") == "6")
        update(["a": 5, "b": 2])
        #expect(self.value("room_refused_packets_total{room=\"r\"}") == "7")
        // Another worker.
        update(["a": 3])
        update(["a": 3, "b": 1])
        #expect(self.value("room_refused_packets_total{room=\"r\"}") == "11")
    }

    @Test func whatOfEveryParticipantWasDroppedIsCounted() {
        func update(reports: [String: UInt64], units: [String: UInt64]) {
            var measurement = RoomMeasurement(participants: reports.count, isRecording: false)
            (measurement.droppedReports, measurement.droppedUnits) = (reports, units)
            self.metrics.update(room: "r", measurement)
        }
        update(reports: ["a": 0], units: ["a": 0])
        update(reports: ["a": 2, "b": 1], units: ["a": 0, "b": 7])
        update(reports: ["a": 5, "b": 1], units: ["a": 0, "b": 9])
        #expect(self.value("room_dropped_reports_total{room=\"r\"}") == "6")
        #expect(self.value("room_dropped_units_total{room=\"r\"}") == "9")
    }

    @Test func whatIsInNoFileIsCountedByReason() {
        func update(_ packets: [String: [String: UInt64]]) {
            var measurement = RoomMeasurement(participants: packets.count, isRecording: true)
            measurement.unrecordedPackets = packets
            self.metrics.update(room: "r", measurement)
        }
        func value(_ reason: String) -> String? {
            self.value("room_unrecorded_packets_total{room=\"r\",reason=\"\(reason)\"}")
        }
        update([:])
        #expect(value("paused") == nil)
        update(["a": ["paused": 2], "b": ["paused": 1, "queue-full": 4]])
        update(["a": ["paused": 5], "b": ["paused": 1, "queue-full": 4]])
        #expect(value("paused") == "6")
        #expect(value("queue-full") == "4")
        // One who is away for a while.
        update(["a": ["paused": 5]])
        update(["a": ["paused": 5], "b": ["paused": 2, "queue-full": 4]])
        #expect(value("paused") == "7")
        #expect(value("queue-full") == "4")
    }

    @Test func rateFallsToZeroWithoutMedia() {
        let now = ContinuousClock.now
        var measurement = RoomMeasurement(participants: 1, isRecording: true)
        measurement.tracks = [.init(number: 1, participant: "a", kind: "audio", codec: "opus", bytes: 100)]
        self.metrics.update(room: "r", measurement, at: now)
        #expect(self.value("room_received_bytes_per_second{room=\"r\",kind=\"audio\"}") == nil)
        measurement.tracks[0].bytes = 600
        self.metrics.update(room: "r", measurement, at: now + .milliseconds(500))
        #expect(self.value("room_received_bytes_per_second{room=\"r\",kind=\"audio\"}") == nil)
        self.metrics.update(room: "r", measurement, at: now + .seconds(1))
        #expect(self.value("room_received_bytes_per_second{room=\"r\",kind=\"audio\"}") == "600")
        measurement.tracks = []
        self.metrics.update(room: "r", measurement, at: now + .seconds(2))
        #expect(self.value("room_received_bytes_per_second{room=\"r\",kind=\"audio\"}") == "0")
    }

    @Test func everythingElseIsCounted() {
        self.metrics.roomsByPhase(["joined": 3, "failed": 1])
        self.metrics.roomsByPhase(["joined": 4])
        self.metrics.firstUnit(kind: "video", after: 0.35, parts: [.answer: 0.05, .file: 0.3])
        self.metrics.firstFrame(afterJoin: 1.25)
        self.metrics.storage(freeBytes: 1 << 40, secondsUntilFull: 3600)
        self.metrics.heldBack(recordings: 3)
        self.metrics.exportQueue(length: 2)
        self.metrics.exportEnded(.done, after: .seconds(20))
        self.metrics.workers(8)
        var worker = WorkerMeasurement(cpuSeconds: 12.5, residentBytes: 61_000_000, threads: 20, descriptors: 30)
        self.metrics.update(worker: "standup", worker)
        for name in ["worker_gstreamer_objects", "worker_allocated_bytes"] {
            #expect(self.value("\(name){worker=\"standup\"}") == nil)
        }
        (worker.cpuSeconds, worker.residentBytes) = (0.5, 50_000_000)
        (worker.sharedConnections, worker.slowConnections, worker.longTracks) = (6, 2, 3)
        worker.forgedPackets = 12
        (worker.objects, worker.allocatedBytes) = (7, 40_000_000)
        self.metrics.update(worker: "standup", worker)
        self.metrics.workerRestarted(.crashed)
        self.metrics.webhookDelivery(.retried)
        self.metrics.webhooks(pending: 4, deadLetters: 1)
        self.metrics.request(.rooms, status: 204, took: .milliseconds(3))
        self.metrics.request(.other, status: 9999, took: .milliseconds(3))
        self.metrics.eventSubscribers(5)
        self.metrics.reloaded(.refused)
        self.metrics.logLine(.error)
        for (series, value) in [
            ("rooms{phase=\"joined\"}", "4"), ("first_unit_wait_seconds_sum{kind=\"video\"}", "0.35"),
            ("first_unit_wait_part_seconds_sum{kind=\"video\",part=\"file\"}", "0.3"),
            ("first_unit_wait_part_seconds_bucket{kind=\"video\",part=\"answer\",le=\"0.02\"}", "0"),
            ("first_unit_wait_part_seconds_bucket{kind=\"video\",part=\"answer\",le=\"0.05\"}", "1"),
            ("first_unit_wait_part_seconds_count{kind=\"audio\",part=\"ice\"}", "0"),
            ("join_to_first_frame_seconds_bucket{le=\"1\"}", "0"),
            ("join_to_first_frame_seconds_bucket{le=\"1.5\"}", "1"), ("storage_free_bytes", "1099511627776"),
            ("storage_full_in_seconds", "3600"), ("storage_held_back_recordings", "3"), ("export_queue_length", "2"),
            ("export_duration_seconds_sum{result=\"done\"}", "20"), ("workers", "8"),
            ("worker_cpu_seconds_total{worker=\"standup\"}", "0.5"),
            ("worker_resident_bytes{worker=\"standup\"}", "50000000"), ("worker_threads{worker=\"standup\"}", "20"),
            ("worker_open_descriptors{worker=\"standup\"}", "30"),
            ("worker_shared_connections{worker=\"standup\"}", "6"),
            ("worker_slow_connections_total{worker=\"standup\"}", "2"),
            ("worker_long_way_tracks_total{worker=\"standup\"}", "3"),
            ("worker_forged_packets_total{worker=\"standup\"}", "12"),
            ("worker_gstreamer_objects{worker=\"standup\"}", "7"),
            ("worker_allocated_bytes{worker=\"standup\"}", "40000000"),
            ("worker_restarts_total{reason=\"crashed\"}", "1"),
            ("webhook_deliveries_total{result=\"retried\"}", "1"), ("webhook_pending", "4"),
            ("webhook_dead_letters", "1"),
            ("http_request_duration_seconds_count{route=\"rooms\",status=\"2xx\"}", "1"),
            ("http_request_duration_seconds_count{route=\"other\",status=\"5xx\"}", "1"),
            ("event_stream_subscribers", "5"), ("configuration_reloads_total{result=\"refused\"}", "1"),
            ("log_lines_total{level=\"error\"}", "1"),
        ] { #expect(self.value(series) == value, "\(series)") }
        #expect(self.value("rooms{phase=\"failed\"}") == nil)
        self.metrics.remove(worker: "standup")
        #expect(self.value("worker_resident_bytes{worker=\"standup\"}") == nil)
    }
}

@Suite struct OutputGrowthTests {
    private func output(_ name: String, packets: UInt64, dropped: UInt64 = 0) -> RoomMeasurement.Output {
        .init(name: name, isFailing: false, packets: packets, bytes: packets * 10, droppedPackets: dropped)
    }

    @Test func onlyWhatIsNewCounts() {
        var growth = OutputGrowth()
        let first = growth.advance(to: [self.output("a", packets: 5), self.output("b", packets: 7, dropped: 2)])
        #expect(first == OutputGrowth.Counts(packets: 12, bytes: 120, droppedPackets: 2))
        #expect(growth.advance(to: [self.output("a", packets: 6)]) == OutputGrowth.Counts(packets: 1, bytes: 10))
        // Another worker counts from zero.
        #expect(growth.advance(to: [self.output("a", packets: 4)]) == OutputGrowth.Counts(packets: 4, bytes: 40))
        #expect(growth.advance(to: []) == OutputGrowth.Counts())
    }
}

@Suite struct RoomGrowthTests {
    private func track(
        _ number: Int,
        bytes: UInt64,
        lost: UInt64 = 0,
        requests: UInt64 = 0
    ) -> RoomMeasurement.Track {
        .init(
            number: number,
            participant: "p",
            kind: "video",
            codec: "vp8",
            bytes: bytes,
            lostPackets: lost,
            keyframeRequests: requests
        )
    }

    private let group = RoomGrowth.Group(kind: "video", codec: "vp8")

    @Test func onlyWhatIsNewCounts() {
        var growth = RoomGrowth()
        #expect(growth.advance(to: [self.track(1, bytes: 100), self.track(2, bytes: 5)])[self.group]?.bytes == 105)
        #expect(growth.advance(to: [self.track(1, bytes: 150), self.track(2, bytes: 5)])[self.group]?.bytes == 50)
        // A track goes: that is no growth, and no fall.
        #expect(growth.advance(to: [self.track(2, bytes: 6)])[self.group]?.bytes == 1)
        #expect(growth.advance(to: []).isEmpty)
    }

    @Test func trackThatBeginsAgainCountsFromZero() {
        var growth = RoomGrowth()
        _ = growth.advance(to: [self.track(1, bytes: 100, lost: 9)])
        let counts = growth.advance(to: [self.track(1, bytes: 30, lost: 2)])[self.group]
        #expect(counts?.bytes == 30)
        #expect(counts?.lostPackets == 2)
    }

    @Test func whatWasCountedBeforeTheFileCountsOnce() {
        var growth = RoomGrowth()
        let waiting = growth.advance(to: [self.track(0, bytes: 0, lost: 5, requests: 3)])[self.group]
        #expect(waiting == RoomGrowth.Counts(bytes: 0, lostPackets: 5, keyframeRequests: 3))
        let begun = growth.advance(to: [self.track(1, bytes: 100, lost: 6, requests: 4)])[self.group]
        #expect(begun == RoomGrowth.Counts(bytes: 100, lostPackets: 1, keyframeRequests: 1))
        // A track that lost its file counts from zero; so does another track's file next to it.
        let next = growth.advance(
            to: [self.track(0, bytes: 0, lost: 9), self.track(1, bytes: 100, lost: 6, requests: 4)]
        )[self.group]
        #expect(next == RoomGrowth.Counts(bytes: 0, lostPackets: 9, keyframeRequests: 0))
        let other = growth.advance(
            to: [
                self.track(0, bytes: 0, lost: 9), self.track(1, bytes: 100, lost: 6, requests: 4),
                self.track(2, bytes: 10, lost: 2, requests: 1),
            ]
        )[self.group]
        #expect(other == RoomGrowth.Counts(bytes: 10, lostPackets: 2, keyframeRequests: 1))
    }

    @Test func lostPacketsThatCameAfterAllAreNoFall() {
        var growth = RoomGrowth()
        _ = growth.advance(to: [self.track(1, bytes: 100, lost: 9)])
        #expect(growth.advance(to: [self.track(1, bytes: 200, lost: 7)])[self.group]?.lostPackets == 0)
        #expect(growth.advance(to: [self.track(1, bytes: 300, lost: 10)])[self.group]?.lostPackets == 1)
    }

    @Test func extremeCountsDoNotTrap() {
        var growth = RoomGrowth()
        _ = growth.advance(to: [self.track(1, bytes: .max, lost: .max), self.track(2, bytes: .max, lost: .max)])
        _ = growth.advance(to: [self.track(1, bytes: 0), self.track(1, bytes: .max)])
    }
}
