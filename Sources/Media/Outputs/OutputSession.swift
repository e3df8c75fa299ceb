// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import GStreamer
internal import Matroska
internal import Model

/// The streams of one participant at its slot of an output.
///
/// They outlive the tracks for a while: a participant whose call is redialled continues in the same streams.
struct OutputSession {
    /// How long the streams of a participant without tracks are kept.
    static let patience: Int64 = 10_000_000_000
    /// How long the first description waits for the other kind: readers take what they find at first.
    private static let completion: Int64 = 1_000_000_000
    /// How long it waits for the parameter sets of H.264, which some readers take from it alone.
    private static let setsPatience: Int64 = 3_000_000_000

    let participant: String
    let place: Int
    let sessionID = UInt64.random(in: 1..<(1 << 62))
    let canonicalName: String
    private let began: Int64
    private(set) var lines: [MediaKind: Line] = [:]
    /// Where the streams go; nil before the first.
    private var address: String?
    /// Counters of streams that were opened again.
    private var ended = RTPStreamCounters()
    private var version = 0
    /// Lines of the last description.
    private var described: [OutputDescription.Line] = []
    /// For those who receive, with keys if packets are encrypted.
    private(set) var description = ""
    /// The same for the public, without keys.
    private(set) var publicDescription = ""
    /// The file that holds the one with keys.
    var file: String?
    /// Since when there are no tracks.
    var emptySince: Int64?

    struct Line {
        let stream: RTPStream
        let ssrc: UInt32
        let port: UInt16
        let key: [UInt8]?
        var payloadType: UInt8
        var format: OutputFormat
        var track: OutputTrack?
        var watch = StreamWatch()
        var silence = StreamSilence()
    }

    init(participant: String, place: Int, now: Int64) {
        self.began = now
        self.participant = participant
        self.place = place
        self.canonicalName = "tapedeck-" + String(UInt64.random(in: .min ... .max), radix: 36)
    }

    /// The tracks that are sent.
    var tracks: [UInt64] { self.lines.values.compactMap { $0.track?.id } }

    /// The sum over its streams, those before them as well.
    var counters: RTPStreamCounters {
        self.lines.values.map(\.stream.counters).reduce(self.ended, +)
    }

    /// Closes streams that must be opened again, which `send` does; once a second.
    ///
    /// - Returns: whether packets of one have not got away for long: then all are closed.
    mutating func look(now: Int64) -> Bool {
        var isStuck = false
        for kind in [MediaKind.video, .audio] {
            guard let line = self.lines[kind], line.track != nil else { continue }
            // A new receiver could not decrypt: it needs another key, whose numbers start again.
            guard !line.stream.isWorn else {
                self.close(kind)
                continue
            }
            let counters = line.stream.counters
            var watch = line.watch
            let isLineStuck = watch.isStuck(
                packets: counters.packets,
                dropped: counters.droppedPackets,
                isRefused: line.stream.isRefused,
                now: now
            )
            self.lines[kind]?.watch = watch
            isStuck = isStuck || isLineStuck
        }
        if isStuck { self.close() }
        return isStuck
    }

    /// Sends these tracks from now on, all of them the participant's; streams to another address are opened again.
    ///
    /// - Throws: if sockets cannot be opened.
    mutating func send(
        _ tracks: [OutputTrack],
        _ settings: OutputSpec,
        to address: String,
        now: Int64
    ) throws(GStreamerError) {
        defer { self.noteSilence(now) }
        if self.address != address { self.close() }
        self.address = address
        for (kind, first) in [(MediaKind.video, settings.videoPort), (.audio, settings.audioPort)] {
            guard let first else { continue }
            let candidates = tracks.filter { $0.format.codec.kind == kind }
            let chosen = OutputSourceChoice.choose(
                current: self.lines[kind]?.track?.id,
                among: candidates.map { track in
                    OutputSourceChoice.Candidate(
                        id: track.id,
                        mid: track.mid,
                        lastPacketNanoseconds: track.fork.lastPacketNanoseconds
                    )
                },
                now: now
            )
            let track = candidates.first { $0.id == chosen }
            guard track?.id != self.lines[kind]?.track?.id else { continue }
            if let line = self.lines[kind] {
                line.track?.fork.remove(line.stream)
                self.lines[kind]?.track = nil
            }
            guard let track else { continue }
            let type = kind == .video ? settings.videoPayloadType : settings.audioPayloadType
            let payloadType = type ?? track.format.codec.usualPayloadType
            var line: Line
            if let open = self.lines[kind] {
                line = open
            } else {
                line = try self.open(kind, track, settings, address, first, payloadType)
            }
            line.payloadType = payloadType
            line.format = track.format
            if track.fork.add(line.stream, payloadType: payloadType, clockRateHz: track.format.clockRateHz) {
                line.track = track
            }
            self.lines[kind] = line
        }
        if self.tracks.isEmpty {
            self.emptySince = self.emptySince ?? now
        } else {
            self.emptySince = nil
        }
    }

    /// Notes which kind sends nothing while the other one continues.
    private mutating func noteSilence(_ now: Int64) {
        for (kind, line) in self.lines {
            self.lines[kind]?.silence.note(line.track?.fork.lastPacketNanoseconds, now: now)
        }
        let before = self.lines.mapValues(\.silence)
        for kind in before.keys {
            self.lines[kind]?.silence.decide(beside: before[kind == .video ? .audio : .video], now: now)
        }
    }

    private func open(
        _ kind: MediaKind,
        _ track: OutputTrack,
        _ settings: OutputSpec,
        _ address: String,
        _ first: UInt16,
        _ payloadType: UInt8
    ) throws(GStreamerError) -> Line {
        let ssrc = UInt32.random(in: 1...(.max))
        let port = UInt16(clamping: Int(first) + self.place * settings.portStep)
        // Each slot has four ports of ours: RTP and RTCP of video, then of audio.
        let source = settings.sourcePort.map {
            UInt16(clamping: Int($0) + self.place * 4 + (kind == .video ? 0 : 2))
        }
        let key = settings.isEncrypted ? (0..<RTPTarget.keySize).map { _ in UInt8.random(in: .min ... .max) } : nil
        let stream = try RTPStream(
            RTPTarget(
                address: address,
                port: port,
                sourcePort: source,
                interface: settings.interface,
                timeToLive: settings.timeToLive(to: address),
                ssrc: ssrc,
                canonicalName: self.canonicalName,
                key: key
            )
        )
        return Line(
            stream: stream,
            ssrc: ssrc,
            port: port,
            key: key,
            payloadType: payloadType,
            format: track.format,
            track: nil
        )
    }

    /// Describes the streams; returns whether the description changed.
    ///
    /// The first one has video and audio if both come within a second, and for receivers other than our own pipelines
    /// the parameter sets of H.264 if they come within three. It is not changed for these alone: receivers find others
    /// in the packets.
    mutating func describe(_ settings: OutputSpec, at address: String, title: String, now: Int64) -> Bool {
        let wanted = [settings.videoPort, settings.audioPort].count { $0 != nil }
        guard self.version > 0 || self.lines.count == wanted || now - self.began >= Self.completion else {
            return false
        }
        let present = [MediaKind.video, .audio].compactMap { self.lines[$0] }
        let sets = present.map { $0.format.lacksSets ? $0.track?.fork.parameterSets : nil }
        let lacksSets = zip(present, sets).contains { $0.format.lacksSets && $0.track != nil && $1 == nil }
        guard self.version > 0 || !lacksSets || settings.pipeline != nil || now - self.began >= Self.setsPatience else {
            return false
        }
        var lines = present.map { line in
            OutputDescription.Line(
                port: line.port,
                payloadType: line.payloadType,
                format: line.format,
                ssrc: line.ssrc,
                key: line.key
            )
        }
        // Those that could not be opened again will be.
        guard lines != self.described, !lines.isEmpty else { return false }
        self.described = lines
        for index in lines.indices { lines[index].format = lines[index].format.stating(sets[index]) }
        self.version += 1
        let description = OutputDescription(
            sessionID: self.sessionID,
            version: self.version,
            address: address,
            timeToLive: settings.timeToLive(to: address),
            title: title,
            canonicalName: self.canonicalName,
            lines: lines
        )
        self.description = description.text(withKeys: true)
        self.publicDescription = description.text(withKeys: false)
        return true
    }

    /// Ends every stream.
    mutating func close() {
        for kind in [MediaKind.video, .audio] { self.close(kind) }
    }

    private mutating func close(_ kind: MediaKind) {
        guard let line = self.lines.removeValue(forKey: kind) else { return }
        line.track?.fork.remove(line.stream)
        line.stream.close()
        self.ended = self.ended + line.stream.counters
    }
}

extension OutputSpec {
    /// Routers that a packet may pass.
    fileprivate func timeToLive(to address: String) -> Int {
        self.timeToLive ?? (IPAddress(address)?.isMulticast ?? false ? 1 : 64)
    }
}
