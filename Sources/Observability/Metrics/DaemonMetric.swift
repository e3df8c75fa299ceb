// SPDX-License-Identifier: Apache-2.0

/// Every metric of the daemon, declared once; `docs/metrics.md` lists the same.
public enum DaemonMetric {
    static let build = gauge("build_info", help: "Always 1; the label says which version runs.", [.version])
    static let startTime = gauge("start_time_seconds", .seconds, help: "When the daemon started, in Unix time.")

    // Rooms
    static let rooms = gauge("rooms", help: "Rooms by where their life is.", [.phase])
    static let participants = gauge("room_participants", help: "Others in the room.", [.room])
    static let tracks = gauge("room_tracks", help: "Tracks that are received.", [.room, .kind, .codec])
    static let recording = gauge("room_recording", help: "1 while media of the room are written, else 0.", [.room])
    static let lag = gauge(
        "room_recording_lag_seconds",
        .seconds,
        help: "Age of the oldest received unit that is not yet written; missing while nothing is recorded.",
        [.room]
    )
    static let receivedBytes = counter(
        "room_received_bytes_total",
        .bytes,
        help: "Bytes of media received, without headers and containers.",
        [.room, .kind, .codec]
    )
    static let receivedRate = gauge(
        "room_received_bytes_per_second",
        .bytesPerSecond,
        help: "Bytes of media received a second, over the last second or more; times 8 for the bitrate.",
        [.room, .kind]
    )
    static let lostPackets = counter(
        "room_lost_packets_total",
        help: "Packets that never came.",
        [.room, .kind]
    )
    static let jitter = gauge(
        "room_jitter_seconds",
        .seconds,
        help: "Interarrival jitter (RFC 3550) of the worst track; missing while unknown.",
        [.room, .kind]
    )
    static let roundTrip = gauge(
        "room_round_trip_seconds",
        .seconds,
        help: "Round trip time to the farthest participant; missing while unknown.",
        [.room]
    )
    static let keyframeRequests = counter(
        "room_keyframe_requests_total",
        help: "Picture loss indications that were sent.",
        [.room]
    )
    static let firstUnitWait = histogram(
        "first_unit_wait_seconds",
        MetricDescription.mediaWaitSeconds,
        help: "From a participant's offer to the first unit of a track in the file; for video that is a keyframe.",
        [.kind]
    )
    static let joinToFirstFrame = histogram(
        "join_to_first_frame_seconds",
        MetricDescription.mediaWaitSeconds,
        help: "From being a member of a room where somebody is to the first frame in a file."
    )

    // Storage and exports
    static let freeBytes = gauge("storage_free_bytes", .bytes, help: "Bytes free for the daemon in the storage.")
    static let fullIn = gauge(
        "storage_full_in_seconds",
        .seconds,
        help: "Time until the storage is full at the present rate; missing while nothing is written."
    )
    static let exportQueue = gauge("export_queue_length", help: "Exports that wait or run.")
    static let exportDuration = histogram(
        "export_duration_seconds",
        MetricDescription.jobSeconds,
        help: "How long an export ran, without the wait before it.",
        [.result]
    )

    // Workers
    static let workers = gauge("workers", help: "Worker processes that run.")
    static let workerRestarts = counter(
        "worker_restarts_total",
        help: "Worker processes that were replaced.",
        [.reason]
    )
    static let workerCPU = counter(
        "worker_cpu_seconds_total",
        .seconds,
        help: "CPU time of a worker, user and system; from zero again with each process.",
        [.worker]
    )
    static let workerMemory = gauge("worker_resident_bytes", .bytes, help: "Resident memory of a worker.", [.worker])

    // Interfaces
    static let deliveries = counter(
        "webhook_deliveries_total",
        help: "Attempts to deliver an event to a webhook, by what came of them.",
        [.result]
    )
    static let pendingDeliveries = gauge("webhook_pending", help: "Events that wait for delivery.")
    static let deadLetters = gauge("webhook_dead_letters", help: "Events that were given up and are kept.")
    static let requests = histogram(
        "http_request_duration_seconds",
        MetricDescription.requestSeconds,
        help: "From a request's head to the head of its answer.",
        [.route, .status]
    )
    static let subscribers = gauge("event_stream_subscribers", help: "Clients that listen to the event stream.")
    static let reloads = counter(
        "configuration_reloads_total",
        help: "Configurations that were read again, by what became of them.",
        [.result]
    )
    static let logLines = counter(
        "log_lines_total",
        help: "Log lines of the supervisor; workers write theirs themselves.",
        [.level]
    )

    /// Every metric that the daemon shows by itself, in the order of the documentation.
    public static let all: [MetricDescription] = [
        build, startTime,
        rooms, participants, tracks, recording, lag, receivedBytes, receivedRate, lostPackets, jitter, roundTrip,
        keyframeRequests, firstUnitWait, joinToFirstFrame,
        freeBytes, fullIn, exportQueue, exportDuration,
        workers, workerRestarts, workerCPU, workerMemory,
        deliveries, pendingDeliveries, deadLetters, requests, subscribers, reloads, logLines,
        PrometheusRegistry.droppedDescription,
    ]

    private static func gauge(
        _ name: String,
        _ unit: MetricDescription.Unit = .one,
        help: String,
        _ labels: [MetricLabel] = []
    ) -> MetricDescription {
        MetricDescription("tapedeck_\(name)", .gauge, unit: unit, help: help, labels: labels.map(\.rawValue))
    }

    private static func counter(
        _ name: String,
        _ unit: MetricDescription.Unit = .one,
        help: String,
        _ labels: [MetricLabel]
    ) -> MetricDescription {
        MetricDescription("tapedeck_\(name)", .counter, unit: unit, help: help, labels: labels.map(\.rawValue))
    }

    private static func histogram(
        _ name: String,
        _ buckets: [Double],
        help: String,
        _ labels: [MetricLabel] = []
    ) -> MetricDescription {
        MetricDescription(
            "tapedeck_\(name)",
            .histogram,
            unit: .seconds,
            help: help,
            labels: labels.map(\.rawValue),
            buckets: buckets
        )
    }
}
