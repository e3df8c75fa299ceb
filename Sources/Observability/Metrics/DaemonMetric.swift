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
        help:
            "Longest time from a unit's arrival to the end of its write, in the last seconds; missing while nothing is written.",
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
    static let refusedPackets = counter(
        "room_refused_packets_total",
        help: "Packets that were dropped because their participant sends from too many sources or payload types.",
        [.room]
    )
    static let droppedReports = counter(
        "room_dropped_reports_total",
        help: "Sender reports that were left out because their participant sends too many.",
        [.room]
    )
    static let droppedUnits = counter(
        "room_dropped_units_total",
        help: "Units that were not written: the disk was too slow, or their participant sends too many.",
        [.room]
    )
    static let unrecordedPackets = counter(
        "room_unrecorded_packets_total",
        help: "Packets that came while a recording was made and are in no file of it.",
        [.room, .reason]
    )
    static let cameraTarget = gauge(
        "room_camera_target_bytes_per_second",
        .bytesPerSecond,
        help: "Target of the camera's video encoder, times 8 for the bitrate; missing while none runs.",
        [.room]
    )
    static let cameraReductions = counter(
        "room_camera_reductions_total",
        help: "How often the camera's video encoder was asked for less, because a network took no more.",
        [.room]
    )
    static let cameraFailures = counter(
        "room_camera_failures_total",
        help: "How often a source of the camera failed, gave nothing or did not open; once until it gives something.",
        [.room]
    )
    static let cameraDropped = counter(
        "room_camera_dropped_total",
        help: "Video and audio frames of the camera that were dropped because an encoder did not keep up.",
        [.room]
    )
    static let keyframeRequests = counter(
        "room_keyframe_requests_total",
        help: "Requests for keyframes (PLI) that were sent.",
        [.room]
    )
    static let audioLevel = gauge(
        "room_sound_decibels",
        .decibels,
        help: "Level of the loudest track received, in dBov over a second; missing if no sender reports it (RFC 6464).",
        [.room]
    )
    static let silentTracks = gauge(
        "room_silent_tracks",
        help: "Audio tracks that have been no louder than -60 dBov for 10 s; missing if no sender reports it.",
        [.room]
    )
    static let cameraLevel = gauge(
        "room_camera_sound_decibels",
        .decibels,
        help: "Level of the audio that we send, in dBov over a second; missing if no one receives it.",
        [.room]
    )
    static let cameraSilence = gauge(
        "room_camera_silent_seconds",
        .seconds,
        help: "How long the audio that we send has been no louder than -60 dBov; missing if no one receives it.",
        [.room]
    )
    static let outputPackets = counter(
        "room_output_packets_total",
        help: "RTP packets sent on to outputs.",
        [.room]
    )
    static let outputBytes = counter(
        "room_output_bytes_total",
        .bytes,
        help: "Bytes sent on to outputs, RTP headers included.",
        [.room]
    )
    static let outputDropped = counter(
        "room_output_dropped_packets_total",
        help: "RTP packets that did not get away to an output: no one listens, no route, no room.",
        [.room]
    )
    static let failingOutputs = gauge("room_outputs_failing", help: "Outputs that do not work at present.", [.room])
    static let firstUnitWait = histogram(
        "first_unit_wait_seconds",
        MetricDescription.mediaWaitSeconds,
        help: "From a participant's offer to the first unit of a track in the file; for video that is a keyframe.",
        [.kind]
    )
    static let firstUnitWaitPart = histogram(
        "first_unit_wait_part_seconds",
        MetricDescription.setupSeconds,
        help: "The steps of first_unit_wait_seconds; they add up to it.",
        [.kind, .part]
    )
    static let joinToFirstFrame = histogram(
        "join_to_first_frame_seconds",
        MetricDescription.mediaWaitSeconds,
        help: "From joining a room with a participant to the first frame in a file."
    )

    // Storage and exports
    static let freeBytes = gauge("storage_free_bytes", .bytes, help: "Bytes free for the daemon in the storage.")
    static let fullIn = gauge(
        "storage_full_in_seconds",
        .seconds,
        help:
            "Time until the storage is full if its free space shrinks as it did in the last five minutes, whichever program wrote; "
            + "missing while the daemon records and exports nothing."
    )
    static let heldBack = gauge(
        "storage_held_back_recordings",
        help: "Recordings whose time has come and that retention keeps: not exported, not uploaded, or unreadable."
    )
    static let exportQueue = gauge("export_queue_length", help: "Exports that wait or run.")
    static let uploadedBytes = counter(
        "upload_bytes_total",
        .bytes,
        help: "Bytes of files that were sent to the remote, again after an attempt that failed.",
        []
    )
    static let uploadFailures = counter("upload_failures_total", help: "Attempts to upload a file that failed.", [])
    static let uploadAge = gauge(
        "upload_oldest_seconds",
        .seconds,
        help:
            "Since the end of the oldest recording that is not uploaded; 0 if none waits, missing without storage.upload."
    )
    static let clusterHosts = gauge(
        "cluster_hosts",
        help: "Hosts of the cluster that live, as this host sees them; missing without a section cluster."
    )
    static let clusterUnclaimed = gauge(
        "cluster_unclaimed_rooms",
        help: "Rooms of the cluster that no host has, as this host sees them; missing without a section cluster."
    )
    static let clusterClaims = gauge(
        "cluster_claims",
        help: "Rooms that this host has in its cluster: held, or uncertain while the etcd does not confirm that.",
        [.phase]
    )
    static let clusterRenewal = gauge(
        "cluster_renewal_age_seconds",
        .seconds,
        help:
            "Since the etcd last confirmed that this host lives, or since the start; missing without a section cluster."
    )
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
    static let refusedEvents = counter(
        "worker_refused_events_total",
        help: "Lines of workers that were dropped: unreadable, or of a room or recording that is not the worker's.",
        []
    )
    static let workerCPU = counter(
        "worker_cpu_seconds_total",
        .seconds,
        help: "CPU time of a worker, user and system; from zero again with each process.",
        [.worker]
    )
    static let workerMemory = gauge("worker_resident_bytes", .bytes, help: "Resident memory of a worker.", [.worker])
    static let workerThreads = gauge("worker_threads", help: "Threads of a worker.", [.worker])
    static let workerDescriptors = gauge(
        "worker_open_descriptors",
        help: "Open file descriptors of a worker.",
        [.worker]
    )
    static let workerSharedConnections = gauge(
        "worker_shared_connections",
        help: "Peer connections of a worker whose packets one thread reads for several.",
        [.worker]
    )
    static let workerSlowConnections = counter(
        "worker_slow_connections_total",
        help: "Peer connections of a worker that held up others; from zero again with each process.",
        [.worker]
    )
    static let workerLongTracks = counter(
        "worker_long_way_tracks_total",
        help: "Tracks of a worker whose packets go through all of webrtcbin; from zero again with each process.",
        [.worker]
    )
    static let workerForgedPackets = counter(
        "worker_forged_packets_total",
        help: "Packets of media that a worker dropped as forged; from zero again with each process.",
        [.worker]
    )
    static let workerObjects = gauge(
        "worker_gstreamer_objects",
        help: "GStreamer objects alive in a worker; missing but for `TAPEDECK_COUNT_OBJECTS=1`.",
        [.worker]
    )
    static let workerAllocation = gauge(
        "worker_allocated_bytes",
        .bytes,
        help: "Bytes that a worker allocated and did not free; missing but for `TAPEDECK_COUNT_OBJECTS=1`.",
        [.worker]
    )

    // Interfaces
    static let deliveries = counter(
        "webhook_deliveries_total",
        help: "Attempts to deliver an event to a webhook, by what came of them.",
        [.result]
    )
    static let pendingDeliveries = gauge("webhook_pending", help: "Events that wait for delivery.")
    static let deadLetters = gauge("webhook_dead_letters", help: "Events that could not be delivered and are kept.")
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

    /// Every metric that the daemon adds, in the order of the documentation.
    public static let all: [MetricDescription] = [
        build, startTime,
        rooms, participants, tracks, recording, lag, receivedBytes, receivedRate, lostPackets, jitter, roundTrip,
        refusedPackets, droppedReports, droppedUnits, unrecordedPackets, cameraTarget, cameraReductions, cameraFailures,
        cameraDropped,
        keyframeRequests, audioLevel, silentTracks, cameraLevel, cameraSilence,
        outputPackets, outputBytes, outputDropped, failingOutputs, firstUnitWait, firstUnitWaitPart, joinToFirstFrame,
        freeBytes, fullIn, heldBack, exportQueue, exportDuration, uploadedBytes, uploadFailures, uploadAge,
        clusterHosts, clusterUnclaimed, clusterClaims, clusterRenewal,
        workers, workerRestarts, refusedEvents, workerCPU, workerMemory, workerThreads, workerDescriptors,
        workerSharedConnections, workerSlowConnections, workerLongTracks, workerForgedPackets, workerObjects,
        workerAllocation,
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
