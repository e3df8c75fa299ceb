// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Foundation
internal import Matroska
internal import Recording
internal import Timeline

@testable internal import Export
@testable internal import Storage

/// The folder of a recording with a journal and a manifest of anybody's: verified, listed, repaired and exported.
///
/// A line `~` divides an input into the journal and the manifest. The track files are good, and the journal may name
/// them; nothing may trap, no track file may change, and a second repair does nothing.
enum JournalTarget {
    private struct Bench: Sendable {
        let folder: RecordingFolder
        let tracks: [String: Data]
    }

    private static let bench: Bench? = try? makeBench()

    @Sendable static func run(_ bytes: [UInt8]) {
        guard let bench else { fatalError("no folder for the journal") }
        let text = String(decoding: bytes, as: UTF8.self)
        let parts = text.split(separator: "\n~\n", maxSplits: 1, omittingEmptySubsequences: false)
        let folder = bench.folder
        self.clear(bench)
        put(folder.journalPath, parts.first.map { Data($0.utf8) } ?? Data())
        if parts.count > 1 { put(folder.manifestPath, Data(parts[1].utf8)) }

        if let certificate = try? RecordingExamination.certificate(of: folder) {
            require(!certificate.text.unicodeScalars.contains("\u{1B}"), "a certificate that steers a terminal")
            if let data = try? JSONEncoder().encode(certificate) {
                require(
                    (try? JSONDecoder().decode(Certificate.self, from: data)) == certificate,
                    "a certificate changes"
                )
            } else {
                fatalError("a certificate cannot be written")
            }
        }
        _ = try? RecordingSummary.read(folder)
        _ = try? Exporter.run(folder: folder, output: folder.path + "/../fuzz.mkv")
        if (try? RecordingRepair.finish(folder)) != nil {
            let before = contents(folder)
            _ = try? RecordingRepair.finish(folder)
            require(contents(folder) == before, "a second repair changes something")
        }
        for (name, data) in bench.tracks {
            require(FileManager.default.contents(atPath: folder.path + "/" + name) == data, "a track file changed")
        }
    }

    private static func makeBench() throws -> Bench {
        let storage = FileManager.default.temporaryDirectory.path + "/fuzz-journal-\(getpid())"
        let folder = try RecordingFolder.create(
            storage: storage,
            room: "room",
            start: UTCTime(nanosecondsSince1970: 1_795_230_746_000_000_000),
            id: RecordingID(rawValue: "0123456789abcdef") ?? .random()
        )
        let journal = try JournalWriter(folder: folder)
        var tracks: [String: Data] = [:]
        for (number, codec) in [(1, MediaCodec.opus), (2, .pcmu)] {
            let writer = TrackFileWriter(
                folder: folder,
                journal: journal,
                track: TrackDescription(number: number, participant: "a", codec: codec, clockRateHz: 48_000)
            )
            for unit in 0..<5 as Range<Int64> {
                _ = try [UInt8](repeating: 0x78, count: 20).withUnsafeBytes {
                    try writer.gather(
                        $0,
                        Bitstream.inspect(codec, $0),
                        rtpTime: 960 * unit,
                        arrivalNanoseconds: 20_000_000 * unit
                    )
                }
            }
            try writer.close(reason: "end", monotonicNanoseconds: 100_000_000)
            tracks[writer.relativePath] = FileManager.default.contents(atPath: folder.path + "/" + writer.relativePath)
        }
        return Bench(folder: folder, tracks: tracks)
    }

    /// Takes away what the input before left.
    private static func clear(_ bench: Bench) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: bench.folder.path)) ?? []
        where name != "tracks" {
            try? FileManager.default.removeItem(atPath: bench.folder.path + "/" + name)
        }
    }

    private static func put(_ path: String, _ data: Data) {
        guard FileManager.default.createFile(atPath: path, contents: data) else { fatalError("cannot write \(path)") }
    }

    private static func contents(_ folder: RecordingFolder) -> [String: Data?] {
        var found: [String: Data?] = [:]
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] {
            found[name] = FileManager.default.contents(atPath: folder.path + "/" + name)
        }
        return found
    }
}
