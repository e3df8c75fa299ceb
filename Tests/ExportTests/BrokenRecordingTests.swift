// SPDX-License-Identifier: Apache-2.0

import Basics
import Export
import Foundation
import Matroska
import Model
import Storage
import TestSupport
import Testing
import Timeline

/// One deliberate fault of a recording that was good, closed and exported.
struct BrokenRecording: Sendable, CustomTestStringConvertible {
    /// The damage done to it.
    let testDescription: String
    /// The kind that the certificate must name.
    let kind: Certificate.Finding.Kind
    /// The file that it must name.
    let file: String?
    let severity: Certificate.Severity
    /// Whether the manifest, and with it the hashes, is gone before the fault.
    let isWithoutManifest: Bool
    let apply: @Sendable (SimulatedRecording) throws -> Void

    init(
        _ description: String,
        _ kind: Certificate.Finding.Kind,
        _ file: String?,
        _ severity: Certificate.Severity = .damage,
        withoutManifest: Bool = false,
        _ apply: @escaping @Sendable (SimulatedRecording) throws -> Void
    ) {
        self.testDescription = description
        self.kind = kind
        self.file = file
        self.severity = severity
        self.isWithoutManifest = withoutManifest
        self.apply = apply
    }

    static let video = "tracks/001-Alice-video.mkv"
    static let audio = "tracks/002-Alice-audio.mka"
    static let other = "tracks/003-Bob-video.mkv"
    static let journal = "journal.jsonl"

    /// Alice's video and audio, Bob's video.
    static func recording(closed: Bool = true) throws -> SimulatedRecording {
        let media = try EncodedMedia.shared.get()
        return try SimulatedRecording(
            [
                .video("alice", .vp8, media.vp8), .audio("alice", media.opus),
                .video("bob", .h264, media.h264, capture: 1_000_000_000),
            ],
            closed: closed
        )
    }

    static let trackFiles: [BrokenRecording] =
        // Where a file of about 150 kB is cut: in its head, before its first unit is over, in a cluster, in its cues.
        [0, 300, 5_000, 70_000, -1].flatMap { length in
            [false, true].map { withoutManifest in
                BrokenRecording(
                    "a track file cut at \(length)\(withoutManifest ? ", no hashes" : "")",
                    length < 0 ? .fileTorn : length <= 5_000 ? .fileUnreadable : .unitsMissing,
                    Self.video,
                    withoutManifest: withoutManifest
                ) { try $0.change(Self.video) { Data($0.prefix(length < 0 ? $0.count + length : length)) } }
            }
        }
        + [60, 400, 20_000, 100_000].map { place in
            BrokenRecording("a bit flipped at \(place)", .fileChanged, Self.video) {
                try $0.change(Self.video) { data in
                    var data = data
                    data[place] ^= 0x10
                    return data
                }
            }
        } + [
            BrokenRecording("clusters of two tracks interleaved", .fileTorn, Self.video, withoutManifest: true) {
                let stranger = try $0.clusters(Self.other)
                try $0.change(Self.video) { data in
                    let clusters = Self.clusterOffsets(data)
                    return data.prefix(clusters[1]) + stranger + data.dropFirst(clusters[1])
                }
            },
            BrokenRecording("bytes behind the end of a track file", .fileTorn, Self.video, withoutManifest: true) {
                try $0.change(Self.video) { $0 + Data(repeating: 0x55, count: 5_000) }
            },
            BrokenRecording("a track file deleted", .fileMissing, Self.audio) { try $0.delete(Self.audio) },
            BrokenRecording("a track file deleted, no hashes", .fileMissing, Self.audio, withoutManifest: true) {
                try $0.delete(Self.audio)
            },
            BrokenRecording("all track files deleted", .fileMissing, Self.other) { recording in
                for file in [Self.video, Self.audio, Self.other] { try recording.delete(file) }
            },
            BrokenRecording("two track files swapped", .wrongFile, Self.video, withoutManifest: true) { recording in
                let (one, two) = (try recording.data(Self.video), try recording.data(Self.other))
                try recording.change(Self.video) { _ in two }
                try recording.change(Self.other) { _ in one }
            },
            BrokenRecording("the file of another recording", .wrongFile, Self.video, withoutManifest: true) {
                let media = try EncodedMedia.shared.get()
                let stranger = try SimulatedRecording([.video("alice", .vp8, media.vp8)], id: "fedcba9876543210")
                let data = try stranger.data(Self.video)
                try $0.change(Self.video) { _ in data }
            },
            BrokenRecording("a foreign media file", .foreignFile, "tracks/900-mallory-video.mkv") {
                try $0.put("tracks/900-mallory-video.mkv", $0.data(Self.video))
            },
            BrokenRecording("a foreign file that is no media", .foreignFile, "tracks/900-mallory-video.mkv") {
                try $0.put("tracks/900-mallory-video.mkv", Data(repeating: 0x1A, count: 4_000))
            },
            BrokenRecording("a foreign text", .foreignFile, "tracks/notes.txt", .note) {
                try $0.put("tracks/notes.txt", Data("hello".utf8))
            },
            BrokenRecording("an empty track file", .fileUnreadable, Self.audio) {
                try $0.change(Self.audio) { _ in Data() }
            },
            BrokenRecording("a folder in the place of a track file", .fileUnreadable, Self.audio) {
                try $0.delete(Self.audio)
                try FileManager.default.createDirectory(
                    atPath: $0.folder.path + "/" + Self.audio,
                    withIntermediateDirectories: false
                )
            },
            BrokenRecording("a link in the place of a track file", .fileUnreadable, Self.audio) {
                try $0.delete(Self.audio)
                try FileManager.default.createSymbolicLink(
                    atPath: $0.folder.path + "/" + Self.audio,
                    withDestinationPath: "/etc/passwd"
                )
            },
            BrokenRecording("a name of control characters", .foreignFile, "tracks/\u{1B}[2J?.mkv".hardened) {
                try $0.put("tracks/\u{1B}[2J\u{7}.mkv", Data("hello".utf8))
            },
            BrokenRecording("an element of an absurd size", .fileTorn, Self.video, withoutManifest: true) {
                try $0.change(Self.video) { data in
                    var data = data
                    let cluster = Self.clusterOffsets(data)[1]
                    data.replaceSubrange((cluster + 4)..<(cluster + 12), with: [1, 0x7F, 255, 255, 255, 255, 255, 254])
                    return data
                }
            },
        ]

    static let journals: [BrokenRecording] = [
        BrokenRecording("no journal", .noJournal, Self.journal) { try $0.delete(Self.journal) },
        BrokenRecording("an empty journal", .noJournal, Self.journal) { try $0.change(Self.journal) { _ in Data() } },
        BrokenRecording("a journal of noise", .noJournal, Self.journal) {
            try $0.change(Self.journal) { Data($0.map { $0 ^ 0x55 }) }
        },
        BrokenRecording("a journal cut in its middle", .notClosed, nil) {
            try $0.change(Self.journal) { $0.prefix($0.count / 2) }
        },
        BrokenRecording("a journal cut in its middle, hashes", .fileChanged, Self.journal) {
            try $0.change(Self.journal) { $0.prefix($0.count / 2) }
        },
        BrokenRecording("a line removed", .journalChanged, Self.journal, withoutManifest: true) {
            try $0.changeLines { $0.remove(at: 7) }
        },
        BrokenRecording("lines reordered", .journalChanged, Self.journal, withoutManifest: true) {
            try $0.changeLines { $0.swapAt(5, 9) }
        },
        BrokenRecording("a line twice", .journalChanged, Self.journal, withoutManifest: true) {
            try $0.changeLines { $0.insert($0[6], at: 6) }
        },
        BrokenRecording("a number changed", .journalChanged, Self.journal, withoutManifest: true) {
            try $0.changeLines { $0[8] = $0[8].replacing("\"at\":9", with: "\"at\":8") }
        },
        BrokenRecording("a line without its chain put in", .journalChanged, Self.journal, withoutManifest: true) {
            try $0.changeLines { $0.insert(#"{"at":9000000000000,"kind":"marker","name":"mark","v":1}"#, at: 4) }
        },
        BrokenRecording("the last lines removed", .fileChanged, Self.journal) {
            try $0.changeLines { $0.removeLast(2) }
        },
        BrokenRecording("lines overwritten", .journalUnreadable, Self.journal, withoutManifest: true) {
            try $0.changeLines { lines in for index in 4..<9 { lines[index] = "garbage" } }
        },
        BrokenRecording("the journal of another recording", .journalUnreadable, Self.journal) {
            let media = try EncodedMedia.shared.get()
            let stranger = try SimulatedRecording([.video("alice", .vp8, media.vp8)], id: "fedcba9876543210")
            let data = try stranger.data(Self.journal)
            try $0.change(Self.journal) { _ in data }
        },
        BrokenRecording("a journal that names a file elsewhere", .fileMissing, "tracks/passwd", withoutManifest: true) {
            try $0.changeLines { lines in
                for index in lines.indices {
                    lines[index] = lines[index].replacing(Self.audio, with: "../../../../../etc/passwd")
                }
            }
        },
        BrokenRecording("a journal with a name of 10 kB", .fileUnreadable, nil, withoutManifest: true) {
            let long = String(repeating: "x", count: 10_000)
            try $0.changeLines { lines in
                for index in lines.indices { lines[index] = lines[index].replacing("002-Alice-audio", with: long) }
            }
        },
        BrokenRecording("a track opened twice", .journalContradicts, Self.journal, withoutManifest: true) {
            try $0.changeLines { lines in
                lines += lines.filter { $0.contains("track-opened") }.prefix(1)
            }
        },
        BrokenRecording("times far back", .journalContradicts, Self.journal, withoutManifest: true) {
            try $0.changeLines { $0.append(#"{"at":5,"kind":"marker","name":"mark","v":1}"#) }
        },
        BrokenRecording("a clock that runs at twice its speed", .wallClock, Self.video, withoutManifest: true) {
            try $0.changeLines { lines in
                // The anchors' arrivals are moved away from the sender's time, as if the call had lasted longer.
                for index in lines.indices where lines[index].contains(#""kind":"clock-anchor""#) {
                    lines[index] = lines[index].replacing("\"at\":900", with: "\"at\":901")
                }
            }
        },
    ]

    static let manifests: [BrokenRecording] = [
        BrokenRecording("no manifest", .noManifest, nil, .note) { try $0.delete("manifest.json") },
        BrokenRecording("a manifest of noise", .manifestUnreadable, "manifest.json") {
            try $0.change("manifest.json") { _ in Data("{".utf8) }
        },
        BrokenRecording("a manifest of a newer version", .manifestUnreadable, "manifest.json") {
            try $0.changeManifest { $0.replacing(#""version" : 1"#, with: #""version" : 99"#) }
        },
        BrokenRecording("a manifest nested too deep", .manifestUnreadable, "manifest.json") {
            try $0.change("manifest.json") { _ in Data(String(repeating: "[", count: 200_000).utf8) }
        },
        BrokenRecording("a manifest of an older version", .noManifest, nil, .note) { recording in
            var manifest = try #require(try Manifest.read(recording.folder))
            manifest.files = nil
            manifest.certificate = nil
            try manifest.write(recording.folder)
        },
        BrokenRecording("a manifest that names a file elsewhere", .fileMissing, "../../../../etc/passwd", .note) {
            var manifest = try #require(try Manifest.read($0.folder))
            manifest.exports[0].file = "../../../../etc/passwd"
            try manifest.write($0.folder)
        },
        BrokenRecording("a manifest with another hash", .fileChanged, Self.audio) { recording in
            var manifest = try #require(try Manifest.read(recording.folder))
            let index = try #require(manifest.files?.firstIndex { $0.name == Self.audio })
            manifest.files?[index].sha256 = String(repeating: "0", count: 64)
            try manifest.write(recording.folder)
        },
    ]

    static let exports: [BrokenRecording] = [
        BrokenRecording("an export cut", .fileTorn, "call.mkv") {
            try $0.change("call.mkv") { $0.prefix($0.count / 2) }
        },
        BrokenRecording("an export cut, no hashes", .exportDiffers, "call.mkv", withoutManifest: true) {
            try $0.change("call.mkv") { $0.prefix($0.count / 2) }
        },
        BrokenRecording("an export cut where a unit ends, no hashes", .fileTorn, "call.mkv", withoutManifest: true) {
            try $0.change("call.mkv") { data in
                var reader = try Reader(MemorySource([UInt8](data)))
                var end = 0
                while end < data.count / 2, let head = try reader.nextHead() {
                    end = Int(head.payloadOffset) + head.payloadSize
                }
                return data.prefix(end)
            }
        },
        BrokenRecording("bytes behind the end of an export", .fileTorn, "call.mkv", withoutManifest: true) {
            try $0.change("call.mkv") { $0 + Data(repeating: 0x55, count: 5_000) }
        },
        BrokenRecording("an export changed", .fileChanged, "call.mkv") {
            try $0.change("call.mkv") { data in
                var data = data
                data[data.count / 2] ^= 1
                return data
            }
        },
        BrokenRecording("the export of another recording", .exportDiffers, "call.mkv", withoutManifest: true) {
            let media = try EncodedMedia.shared.get()
            let stranger = try SimulatedRecording([.video("eve", .vp9, media.vp9)], id: "fedcba9876543210")
            _ = try Exporter.run(folder: stranger.folder)
            let data = try stranger.data("call.mkv")
            try $0.change("call.mkv") { _ in data }
        },
        BrokenRecording("an export without one participant", .exportDiffers, "call.mkv", withoutManifest: true) {
            _ = try Exporter.run(
                folder: $0.folder,
                ExportSpec(participant: "alice"),
                output: $0.storagePath + "/part.mkv"
            )
            try $0.delete("manifest.json")
            let data = try Data(contentsOf: URL(filePath: $0.storagePath + "/part.mkv"))
            try $0.change("call.mkv") { _ in data }
        },
        BrokenRecording("an export that is no media", .fileUnreadable, "call.mkv") {
            try $0.change("call.mkv") { _ in Data("hello".utf8) }
        },
        BrokenRecording("an export deleted", .fileMissing, "call.mkv", .note) { try $0.delete("call.mkv") },
    ]

    /// Where the clusters of a file begin.
    static func clusterOffsets(_ data: Data) -> [Int] {
        let head: [UInt8] = [0x1F, 0x43, 0xB6, 0x75]
        let bytes = [UInt8](data)
        return (0..<(bytes.count - 4)).filter { bytes[$0] == head[0] && bytes[$0..<($0 + 4)].elementsEqual(head) }
    }
}

extension SimulatedRecording {
    func data(_ name: String) throws -> Data {
        try Data(contentsOf: URL(filePath: self.folder.path + "/" + name))
    }

    func put(_ name: String, _ data: Data) throws {
        try data.write(to: URL(filePath: self.folder.path + "/" + name))
    }

    func change(_ name: String, _ body: (Data) throws -> Data) throws {
        try self.put(name, Data(try body(self.data(name))))
    }

    func delete(_ name: String) throws {
        try FileManager.default.removeItem(atPath: self.folder.path + "/" + name)
    }

    func changeLines(_ body: (inout [String]) throws -> Void) throws {
        try self.change(BrokenRecording.journal) { data in
            var lines = String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
            try body(&lines)
            return Data((lines.joined(separator: "\n") + "\n").utf8)
        }
    }

    func changeManifest(_ body: (String) -> String) throws {
        try self.change("manifest.json") { Data(body(String(decoding: $0, as: UTF8.self)).utf8) }
    }

    /// The clusters of a track file.
    func clusters(_ name: String) throws -> Data {
        let data = try self.data(name)
        let offsets = BrokenRecording.clusterOffsets(data)
        return data[offsets[0]..<offsets[1]]
    }

    /// Every file with what it holds.
    func contents() throws -> [String: Data] {
        var files: [String: Data] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: self.folder.path) {
            files[path] = FileManager.default.contents(atPath: self.folder.path + "/" + path)
        }
        return files
    }
}

extension String {
    /// As a certificate names a file whose name could steer a terminal.
    fileprivate var hardened: String { self.replacing("\u{1B}", with: "?") }
}

/// The certificate finds every fault in a table of recordings that were broken on purpose, and none in good ones.
@Suite struct BrokenRecordingTests {
    @Test(
        arguments: BrokenRecording.trackFiles + BrokenRecording.journals + BrokenRecording.manifests
            + BrokenRecording.exports
    )
    func isFound(_ broken: BrokenRecording) throws {
        let recording = try BrokenRecording.recording()
        _ = try Exporter.run(folder: recording.folder)
        if broken.isWithoutManifest { try recording.delete("manifest.json") }
        let good = try RecordingExamination.certificate(of: recording.folder)
        #expect(good.verdict == .complete, "\(good.findings)")
        let export = try recording.data("call.mkv")
        try broken.apply(recording)
        if broken.isWithoutManifest { try? recording.delete("manifest.json") }

        let before = try recording.contents()
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        let found = certificate.findings.filter { $0.kind == broken.kind && $0.severity == broken.severity }
        #expect(
            found.contains { broken.file == nil || $0.file == broken.file },
            "\(broken.testDescription): \(certificate.findings)"
        )
        #expect(certificate.verdict == (broken.severity == .damage ? .damaged : .complete), "\(certificate.findings)")
        let isExportIntact = try recording.contents()["call.mkv"] == export
        let blamed = certificate.findings.filter { $0.file == "call.mkv" && $0.severity == .damage }
        #expect(!isExportIntact || blamed.isEmpty, "whose fault it is not: \(blamed)")
        #expect(try recording.contents() == before, "nothing is overwritten")
        #expect(!certificate.text.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\u{7}" })

        // Whatever comes of them, neither a repair nor an export makes it good or takes what cannot be read.
        _ = try? RecordingRepair.finish(recording.folder)
        try? recording.settle()
        guard let report = try? Exporter.run(folder: recording.folder, output: recording.storagePath + "/again.mkv")
        else { return }
        let after = try RecordingExamination.certificate(of: recording.folder)
        // It says of tracks what reading them once more says.
        let said = try #require(try Manifest.read(recording.folder)?.certificate)
        #expect(said.tracks == after.tracks)
        let ofTracks = { (finding: Certificate.Finding) in finding.file?.hasPrefix("tracks/") ?? false }
        #expect(said.findings.filter(ofTracks) == after.findings.filter(ofTracks))
        if broken.severity == .damage, broken.kind != .manifestUnreadable {
            let isMended = broken.file == BrokenRecording.journal || broken.kind == .notClosed
            #expect(isMended || after.verdict == .damaged, "\(after.findings), \(report.warnings)")
        }
    }

    @Test func aGapIsListed() throws {
        let media = try EncodedMedia.shared.get()
        var plan = SimulatedRecording.TrackPlan.audio("alice", media.opus)
        plan.missing = 50..<100
        let recording = try SimulatedRecording([.video("alice", .vp8, media.vp8), plan])
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        #expect(certificate.verdict == .completeWithGaps)
        #expect(certificate.findings(.gap).map(\.kind) == [.gap])
        let track = try #require(certificate.tracks.first { $0.media == .audio })
        #expect(track.gaps.count == 1 && abs(track.gaps.longestNanoseconds - 1_000_000_000) < 20_000_000)
        #expect(certificate.text.contains("nothing came for"))
    }

    @Test func whatIsEncryptedEndToEndIsAGap() throws {
        let media = try EncodedMedia.shared.get()
        let sealed = media.opus.enumerated().map { index, unit in
            unit + (0..<28).map { UInt8(truncatingIfNeeded: index &* 7 &+ $0) } + [12, 0]
        }
        let recording = try SimulatedRecording([.audio("alice", sealed), .audio("bob", media.opus)])
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        #expect(certificate.verdict == .completeWithGaps)
        let found = certificate.findings(.gap)
        #expect(found.map(\.kind) == [.payloadUndecodable] && found.first?.file?.lowercased().contains("alice") == true)
        #expect(certificate.text.contains("\(sealed.count) of its \(sealed.count) units are encrypted end to end"))
    }

    @Test func lostPacketsAndUndecodablePicturesAreCounted() throws {
        let media = try EncodedMedia.shared.get()
        let plan = SimulatedRecording.TrackPlan.video("alice", .vp8, media.vp8)
        let recording = try SimulatedRecording([plan])
        let journal = try JournalWriter(folder: recording.folder)
        let now = SimulatedRecording.startNanoseconds + 10_000_000_000
        func rtpTime(_ unit: Int64) -> Int64 { plan.firstRTPTime + unit * plan.step }
        let records: [JournalRecord] = [
            .packetsCounted(PacketsCounted(track: 1, received: 1000, lost: 3)),
            .trackDamaged(TrackDamaged(track: 1, rtpTime: rtpTime(40), lostPackets: 3)),
            .trackMended(TrackMended(track: 1, rtpTime: rtpTime(60), units: 20)),
        ]
        for record in records { try journal.append(record, monotonicNanoseconds: now) }
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        #expect(certificate.verdict == .completeWithGaps)
        #expect(certificate.tracks[0].packetsLost == 3)
        #expect(certificate.tracks[0].leftOut == 20)
        #expect(certificate.findings(.gap).map(\.kind) == [.packetsLost, .undecodable])
    }

    private static func account(
        received: UInt64 = 100,
        recorded: UInt64,
        tracks: [Int]? = nil,
        refused: [RefusalReason: UInt64] = [:]
    ) -> SourceCounted {
        SourceCounted(
            connection: 1,
            ssrc: 7,
            participant: "alice",
            media: "video",
            // A track that has no file with a figure.
            tracks: tracks ?? (recorded > 0 ? [9] : []),
            received: received,
            recorded: recorded,
            refused: refused.mapValues { RefusedPackets(packets: $0, nanoseconds: 9_300_000_000) },
            isFinal: true
        )
    }

    /// The effect of the sources' accounts on the verdict and on the exit code.
    @Test(arguments: [
        (account(recorded: 100), Certificate.Verdict.complete, nil as Certificate.Finding.Kind?, true),
        (account(recorded: 90, refused: [.late: 10]), .complete, nil, true),
        (account(recorded: 40, refused: [.paused: 60]), .complete, nil, true),
        (account(recorded: 0, refused: [.videoOff: 100]), .complete, nil, true),
        (account(recorded: 90, refused: [.noKeyframe: 10]), .completeWithGaps, .mediaRefused, false),
        (account(recorded: 0, refused: [.noParameterSets: 100]), .completeWithGaps, .mediaRefused, false),
        (account(recorded: 0, refused: [.payloadTypeNotAccepted: 100]), .completeWithGaps, .mediaRefused, false),
        (account(recorded: 99, refused: [.queueFull: 1]), .completeWithGaps, .mediaRefused, false),
        // Not a packet may be without an account, or in two.
        (account(recorded: 99), .damaged, .unbalanced, false),
        (account(recorded: 100, refused: [.late: 1]), .damaged, .unbalanced, false),
    ])
    func accountsDecide(
        account: SourceCounted,
        verdict: Certificate.Verdict,
        kind: Certificate.Finding.Kind?,
        isComplete: Bool
    ) throws {
        let media = try EncodedMedia.shared.get()
        let recording = try SimulatedRecording([.video("alice", .vp8, media.vp8)])
        try recording.note(.sourceCounted(account), after: 9_000_000_000)
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        #expect(certificate.verdict == verdict)
        let found = (certificate.findings(.gap) + certificate.findings(.damage)).map(\.kind)
        #expect(found == (kind.map { [$0] } ?? []))
        #expect(certificate.sources == [account])
        #expect(certificate.text.contains("packets:\n"))
        let report = try Exporter.run(folder: recording.folder)
        #expect(report.isComplete == isComplete)
        #expect(report.losesMedia == (kind == .mediaRefused))
        #expect(try Manifest.read(recording.folder)?.certificate?.sources == [account])
        if kind == .mediaRefused { #expect(certificate.text.contains("(9.3 s)")) }
    }

    /// Audio of a participant came on one connection up to 2.1 s, and on the next from an instant on.
    @Test(arguments: [
        (2_900_000_000 as Int64, nil as JournalRecord?, false),
        (4_100_000_000, nil, true),
        (4_100_000_000, .participantLeft(ParticipantLeft(participant: "bob")), false),
        (4_100_000_000, .participantLeft(ParticipantLeft(participant: "ann")), true),
        (4_100_000_000, .marker(Marker(name: "paused")), false),
    ])
    func nothingBetweenTwoConnectionsIsAGap(until: Int64, meanwhile: JournalRecord?, isGap: Bool) throws {
        let media = try EncodedMedia.shared.get()
        let sound = Array(repeating: media.opus, count: 4).joined().prefix(100)
        var (before, after) = (
            SimulatedRecording.TrackPlan.audio("bob", Array(sound)),
            SimulatedRecording.TrackPlan.audio("bob", Array(sound), capture: until)
        )
        (before.connection, after.connection) = (1, 2)
        let recording = try SimulatedRecording([before, after])
        if let meanwhile { try recording.note(meanwhile, after: 2_500_000_000) }
        let found = try RecordingExamination.certificate(of: recording.folder).findings(.gap)
        let told = "no audio of Bob came for 1999 ms at 2000 ms, until its next connection"
        #expect(found.filter { $0.kind == .notConnected }.map(\.text) == (isGap ? [told] : []))
    }

    /// Audio continued until the connection ended, and video had ended before.
    @Test func videoThatEndedBeforeItsConnectionIsNoGap() throws {
        let media = try EncodedMedia.shared.get()
        let sound = Array(repeating: media.opus, count: 20).joined()
        var plans = [
            SimulatedRecording.TrackPlan.audio("bob", Array(sound.prefix(250))),
            .video("bob", .vp8, Array(media.vp8.prefix(30))),
            .audio("bob", Array(sound.prefix(50)), capture: 5_500_000_000),
            .video("bob", .vp8, Array(media.vp8.prefix(30)), capture: 5_500_000_000),
        ]
        for index in plans.indices { plans[index].connection = index < 2 ? 1 : 2 }
        let recording = try SimulatedRecording(plans)
        let found = try RecordingExamination.certificate(of: recording.folder).findings(.gap)
        #expect(!found.contains { $0.kind == .notConnected })
    }

    /// Audio came up to 5.1 s, or video up to 4.2 s, and of the other medium less.
    @Test(arguments: [
        (30, 250, nil as JournalRecord?, 0 as Int64, 3.9 as Double?), (120, 50, nil, 0, 3.1), (120, 250, nil, 0, nil),
        (30, 250, .marker(Marker(name: "camera-off", participant: "bob")), 1_300_000_000, nil),
        (30, 250, .marker(Marker(name: "muted", participant: "bob")), 1_300_000_000, 3.9),
        (30, 250, .marker(Marker(name: "paused")), 1_300_000_000, nil),
        // It came again, without video.
        (30, 250, .participantLeft(ParticipantLeft(participant: "bob")), 1_300_000_000, nil),
        (30, 250, .participantLeft(ParticipantLeft(participant: "bob")), 5_000_000_000, 3.9),
        (30, 250, .participantLeft(ParticipantLeft(participant: "ann")), 1_300_000_000, 3.9),
    ])
    func mediaThatEndedBeforeTheOthersOfAParticipantAreAGap(
        frames: Int,
        packets: Int,
        meanwhile: JournalRecord?,
        at: Int64,
        seconds: Double?
    ) throws {
        let recording = try Self.call(frames: frames, packets: packets)
        if let meanwhile { try recording.note(meanwhile, after: at) }
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        let found = certificate.findings(.gap)
        #expect(found.map(\.kind) == (seconds == nil ? [] : [.gap]), "\(found)")
        let told = "until the end of the participant's \(packets > 100 ? "audio" : "video")"
        #expect(found.allSatisfy { $0.text.hasSuffix(told) && $0.file != nil }, "\(found)")
        let length = certificate.tracks.map(\.gaps.totalNanoseconds).reduce(0, +)
        #expect(abs(Double(length) / 1e9 - (seconds ?? 0)) < 0.01, "\(found)")
    }

    /// Video goes over to the next segment later than audio; what is not to be recorded any more ends when that is ordered.
    @Test(arguments: [
        (["segment", "segment"], false), (["test", "not to be recorded any more"], false), (["left", "left"], true),
    ])
    func filesThatWereClosedBeforeEndThere(reasons: [String], isGap: Bool) throws {
        let recording = try Self.call(frames: 30, packets: 250)
        let journal = recording.folder.journalPath
        var rest = reasons[...]
        let lines = try String(contentsOfFile: journal, encoding: .utf8).split(separator: "\n").map { line in
            guard line.contains("track-closed"), let reason = rest.popFirst() else { return String(line) }
            return String(line).replacing("\"reason\":\"test\"", with: "\"reason\":\"\(reason)\"")
        }
        try (lines.joined(separator: "\n") + "\n").write(toFile: journal, atomically: false, encoding: .utf8)
        let found = try RecordingExamination.certificate(of: recording.folder).findings(.gap)
        #expect(found.contains { $0.kind == .gap } == isGap, "\(found)")
    }

    /// So much audio from 0.1 s on, and video from 0.2 s on, of one connection.
    private static func call(frames: Int, packets: Int) throws -> SimulatedRecording {
        let media = try EncodedMedia.shared.get()
        var plans = [
            SimulatedRecording.TrackPlan.audio("bob", Array([media.opus, media.opus].joined().prefix(packets))),
            .video("bob", .vp8, Array(media.vp8.prefix(frames))),
        ]
        for index in plans.indices { plans[index].connection = 1 }
        return try SimulatedRecording(plans)
    }

    /// Video of the first and of the third connection, and of the second audio alone.
    @Test func aConnectionWithoutVideoDoesNotHideItsGap() throws {
        let media = try EncodedMedia.shared.get()
        let sound = Array(repeating: media.opus, count: 20).joined()
        var plans: [SimulatedRecording.TrackPlan] = []
        for (connection, start) in [(1, 100_000_000), (2, 1_300_000_000), (3, 3_300_000_000 as Int64)] {
            var audio = SimulatedRecording.TrackPlan.audio("bob", Array(sound.prefix(50)), capture: start)
            audio.connection = UInt64(connection)
            plans.append(audio)
            guard connection != 2 else { continue }
            var video = SimulatedRecording.TrackPlan.video("bob", .vp8, Array(media.vp8.prefix(30)), capture: start)
            video.connection = UInt64(connection)
            plans.append(video)
        }
        let recording = try SimulatedRecording(plans)
        let found = try RecordingExamination.certificate(of: recording.folder).findings(.gap)
        let told = found.filter { $0.kind == .notConnected && $0.text.contains("video of Bob") }
        #expect(told.count == 1 && told.allSatisfy { $0.text.contains("for 2") }, "\(found)")
    }

    /// Times at the ends of what a number holds trap nowhere.
    @Test(arguments: [Int64.min, .max])
    func connectionsAtImpossibleTimes(time: Int64) throws {
        let media = try EncodedMedia.shared.get()
        var plans = [0, 4_000_000_000 as Int64].map {
            SimulatedRecording.TrackPlan.audio("bob", Array(media.opus.prefix(50)), capture: $0)
        }
        for index in plans.indices { plans[index].connection = UInt64(index + 1) }
        let recording = try SimulatedRecording(plans)
        let journal = recording.folder.journalPath
        let text = try String(contentsOfFile: journal, encoding: .utf8)
        let hostile = text.replacing(/"at":\d+/) { _ in "\"at\":\(time)" }
        try hostile.write(toFile: journal, atomically: false, encoding: .utf8)
        #expect(try RecordingExamination.certificate(of: recording.folder).verdict == .damaged)
    }

    /// A connection that never came about, and what our answer refused, are two things.
    @Test(arguments: [(nil as Int64?, Certificate.Finding.Kind.notNegotiated), (30_000_000_000, .notConnected)])
    func mediaThatNeverCameAreAGap(awaited: Int64?, kind: Certificate.Finding.Kind) throws {
        let media = try EncodedMedia.shared.get()
        let recording = try SimulatedRecording([.video("alice", .vp8, media.vp8)])
        let refused = MediaRefused(participant: "bob", media: .video, reason: "no path", awaitedNanoseconds: awaited)
        try recording.note(.mediaRefused(refused), after: 9_000_000_000)
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        #expect(certificate.verdict == .completeWithGaps)
        #expect(certificate.findings(.gap).map(\.kind) == [kind])
    }

    /// The newest account of a source counts; another process counts its connections from 1 again.
    @Test func theNewestAccountOfASourceCounts() throws {
        let media = try EncodedMedia.shared.get()
        let recording = try SimulatedRecording([.video("alice", .vp8, media.vp8)])
        try recording.note(.sourceCounted(Self.account(recorded: 50)), after: 5_000_000_000)
        try recording.note(.sourceCounted(Self.account(received: 200, recorded: 200)), after: 6_000_000_000)
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        #expect(certificate.sources?.map(\.received) == [200])
        #expect(certificate.verdict == .complete)
    }

    /// A crash leaves an account behind that is older than the frames in the file.
    @Test(arguments: [
        (RefusalReason.late, 1 as UInt32, nil as Certificate.Finding.Kind?), (.late, 8, .mediaRefused),
        (.disk, 1, .mediaRefused),
    ])
    func anOldAccountDoesNotDenyAFile(reason: RefusalReason, ssrc: UInt32, kind: Certificate.Finding.Kind?) throws {
        let media = try EncodedMedia.shared.get()
        let recording = try SimulatedRecording([.video("alice", .vp8, media.vp8)])
        var account = Self.account(received: 2, recorded: 0, refused: [reason: 1])
        (account.waiting, account.isFinal, account.ssrc) = (1, false, ssrc)
        try recording.note(.sourceCounted(account), after: 1_000_000_000)
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        #expect(certificate.findings(.gap).map(\.kind) == (kind.map { [$0] } ?? []))
        #expect(certificate.findings(.damage).isEmpty)
    }

    /// A file that holds other packets than the account of its source says.
    @Test(arguments: [(120 as UInt64, true), (121, false)])
    func accountsAndFilesAgree(recorded: UInt64, agrees: Bool) throws {
        let media = try EncodedMedia.shared.get()
        let recording = try SimulatedRecording([.video("alice", .vp8, media.vp8)])
        var packets: [UInt64] = []
        try Journal.events(of: recording.folder) {
            if case .trackClosed(let record) = $0.record { packets += [record.packets ?? 0] }
        }
        #expect(packets == [UInt64(media.vp8.count)])
        let written = try #require(packets.first) + recorded - 120
        try recording.note(
            .sourceCounted(Self.account(received: written, recorded: written, tracks: [1])),
            after: 9_000_000_000
        )
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        #expect(certificate.findings(.damage).map(\.kind) == (agrees ? [] : [.unbalanced]))
    }

    @Test func anExportDoesNotMakeAChangedFileGood() throws {
        let recording = try BrokenRecording.recording()
        _ = try Exporter.run(folder: recording.folder)
        let hash = try Manifest.read(recording.folder)?.files?.first { $0.name == BrokenRecording.audio }?.sha256
        try recording.change(BrokenRecording.audio) { data in
            var data = data
            data[data.count / 2] ^= 1
            return data
        }
        let report = try Exporter.run(folder: recording.folder)
        #expect(report.verdict == .damaged)
        let manifest = try #require(try Manifest.read(recording.folder))
        #expect(manifest.verdict == .damaged)
        #expect(manifest.files?.first { $0.name == BrokenRecording.audio }?.sha256 == hash)
        let text = try String(contentsOfFile: recording.folder.certificatePath, encoding: .utf8)
        #expect(text.contains("damaged") && text.contains(BrokenRecording.audio))
    }

    @Test func theHashesAreThoseOfOthers() throws {
        let recording = try BrokenRecording.recording()
        _ = try Exporter.run(folder: recording.folder)
        let manifest = try #require(try Manifest.read(recording.folder))
        let files = try #require(manifest.files)
        #expect(
            files.map(\.name).sorted() == [
                "call.mkv", "journal.jsonl", BrokenRecording.video, BrokenRecording.audio, BrokenRecording.other,
            ]
        )
        for file in files {
            let output = try Command.run("sha256sum", [recording.folder.path + "/" + file.name])
            #expect(output.text.hasPrefix(file.sha256), "\(file.name)")
            #expect(UInt64(try recording.data(file.name).count) == file.bytes)
        }
    }
}
