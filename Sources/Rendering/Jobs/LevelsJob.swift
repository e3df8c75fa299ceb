// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import GStreamer
internal import Matroska
public import Model
public import Storage
internal import Timeline

/// Finds how loud each participant of a recording is, in a process that knows nothing else.
public enum LevelsJob {
    /// More than reading and decoding audio takes.
    static let memoryBytes: UInt64 = 1 << 30
    /// Ten minutes of audio take a few seconds, walking through the files of a long day some more.
    static let processorTime = Duration.seconds(60)
    /// A track that fails more often is left as it is.
    private static let maximumFailures = 100
    private static let rateHz = 16_000

    /// Decodes audio of a recording, ten minutes at most, with limits for this process; `nil` if it has none, or if nothing
    /// was exported of it yet.
    ///
    /// A track that cannot be read or decoded is silent from there on, and its participant is marked. Blocks.
    ///
    /// - Throws: `StorageError` for a manifest that cannot be read, `GStreamerError` where there is no GStreamer.
    public static func run(_ folder: RecordingFolder) throws -> RecordingLevels? {
        ProcessLimits.yieldToRecordings()
        // The registry of plugins, which it may write, is nothing of a peer's.
        try Runtime.initialise()
        ProcessLimits.limitMemory(bytes: Self.memoryBytes)
        ProcessLimits.limitProcessorTime(Self.processorTime)
        guard let certificate = try Manifest.read(folder)?.certificate else { return nil }
        let tracks = certificate.tracks.filter { $0.media == .audio }
        guard !tracks.isEmpty else { return nil }
        let length = certificate.durationNanoseconds
        let sampling = PacketSampling(audio: tracks.reduce(0) { $0 &+ max(0, $1.durationNanoseconds) })
        var ids: [String] = []
        var curves: [String: LevelCurve] = [:]
        let damagedFiles = Set(certificate.findings(.damage).compactMap(\.file))
        var damaged: Set<String> = []
        for track in tracks {
            if curves[track.participant] == nil {
                guard ids.count < RecordingLevels.maximumParticipants else { continue }
                ids.append(track.participant)
            }
            var curve = curves[track.participant] ?? LevelCurve(length: length)
            let units = try? Self.measure(folder.path(of: track.file), sampling) { power, time in
                curve.note(power: power, at: track.startNanoseconds &+ time)
            }
            if (units ?? 0) < track.units || damagedFiles.contains(track.file) { damaged.insert(track.participant) }
            curves[track.participant] = curve
        }
        return RecordingLevels(
            stepSeconds: Double(LevelCurve.step(ofLength: length)) / 1e9,
            participants: ids.map {
                .init(id: $0, levels: curves[$0]?.levels ?? [], isDamaged: damaged.contains($0) ? true : nil)
            }
        )
    }

    /// Gives the mean square of each packet that is decoded, and its time from the file's first unit.
    ///
    /// - Returns: how many units could be read.
    private static func measure(
        _ path: String,
        _ sampling: PacketSampling,
        _ note: (_ power: Double, _ nanoseconds: Int64) -> Void
    ) throws -> UInt64 {
        var reader = try Reader(File(path, .read))
        guard let track = reader.tracks.first(where: { $0.codec.kind == .audio }) else { return 0 }
        var chain: CodecChain?
        var failures = 0
        var units: UInt64 = 0
        while failures < Self.maximumFailures, let head = try reader.nextHead() {
            guard head.track == track.number else { continue }
            units += 1
            guard sampling.takes(head.timeNanoseconds) else { continue }
            let payload = try reader.payload(of: head)
            let decoder = try chain ?? Decoders.audio(track, rateHz: Self.rateHz, channels: 1)
            chain = decoder
            if !decoder.push(payload, nanoseconds: head.timeNanoseconds) {
                chain = nil
                failures += 1
            }
            while let sample = decoder.pull() {
                sample.withFloats { samples, _ in
                    guard !samples.isEmpty else { return }
                    let squares = samples.reduce(0.0) { $0 + Double($1) * Double($1) }
                    note(squares / Double(samples.count), head.timeNanoseconds)
                }
            }
        }
        return units
    }
}
