// SPDX-License-Identifier: Apache-2.0

/// Metrics that `tapedeck probe --prometheus` writes for node_exporter's textfile collector; docs/probe.md has the same
/// list.
public enum ProbeMetric {
    /// A value of a metric, with the values of its labels after the room.
    public typealias Value = (metric: MetricDescription, labels: [String], value: Double)

    /// Whether there was a call to measure.
    public static let success = gauge(
        "success",
        help: "1 if there was a call to measure, else 0 and only finished_seconds is there, too."
    )
    /// When it ended.
    public static let finished = gauge("finished_seconds", .seconds, help: "When the probe ended, in Unix time.")
    /// The score.
    public static let score = gauge("score", help: "The score of the weakest part, 0 to 100.")
    /// The scores of the parts.
    public static let partScore = gauge("part_score", help: "The score of each part, 0 to 100.", ["part"])
    /// The wait for the first frame.
    public static let firstFrame = gauge(
        "first_frame_seconds",
        .seconds,
        help: "From the camera's joining to its first frame in a file."
    )
    /// Frames by what became of them.
    public static let frames = gauge(
        "frames",
        help: "Frames of the call: expected, received, lost, late, repeated, unreadable.",
        ["state"]
    )
    /// Audio packets by their fate.
    public static let audioPackets = gauge("sound_packets", help: "Audio packets: received, lost.", ["state"])
    /// How often the video froze.
    public static let freezes = gauge("freezes", help: "How often the video froze.")
    /// How long the video was frozen.
    public static let frozen = gauge("frozen_seconds", .seconds, help: "How long the video was frozen in all.")
    /// Between video and audio.
    public static let avOffset = gauge(
        "av_offset_seconds",
        .seconds,
        help: "How much later than the video its audio is; missing if no flash has a beep."
    )
    /// From capture to file.
    public static let delay = gauge(
        "delay_seconds",
        .seconds,
        help: "From a frame's capture to its arrival in the file: the median, 95 of 100, the slowest.",
        ["share"]
    )

    /// Each of them, in the order of the documentation.
    public static let all = [
        success, finished, score, partScore, firstFrame, frames, audioPackets, freezes, frozen, avOffset, delay,
    ]

    /// The text of a file of one room.
    public static func text(room: String, _ values: [Value]) -> String {
        let registry = PrometheusRegistry()
        for value in values {
            registry.family(value.metric).set(
                value.value,
                .init(names: value.metric.labels, values: [room] + value.labels)
            )
        }
        return registry.text()
    }

    private static func gauge(
        _ name: String,
        _ unit: MetricDescription.Unit = .one,
        help: String,
        _ labels: [String] = []
    ) -> MetricDescription {
        MetricDescription("tapedeck_probe_\(name)", .gauge, unit: unit, help: help, labels: ["room"] + labels)
    }
}
