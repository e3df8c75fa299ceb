// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Matroska
import Model
import Storage
import Timeline

/// Reads one exported file from beginning to end: whether it is whole, what it was, and what the tracks give.
struct ExportExamination {
    /// File name of an export of the whole recording by default.
    static let defaultName = "call.mkv"

    private(set) var export: Certificate.Export?
    private(set) var digest: Certificate.FileDigest?
    private(set) var findings: [Certificate.Finding] = []
    private let file: String

    /// The last frame's duration is an estimate; a difference of a tick is no error.
    private static let durationTolerance: UInt64 = 50_000_000

    /// - Parameters:
    ///   - file: its name in the manifest, which may be anything.
    ///   - layout: how it was made, as the manifest says.
    ///   - earlier: what it held when it was made, or looked at first.
    ///   - isOfManifest: whether the manifest lists it as made of the recording; then `earlier` is what was made.
    ///   - expected: what the tracks give to the whole of a recording, if that is known.
    init(
        _ file: String,
        layout: String,
        in folder: RecordingFolder,
        earlier: Certificate.FileDigest?,
        isOfManifest: Bool,
        expected: ExpectedExport?
    ) {
        self.file = file
        let isInside = !file.hasPrefix("/")
        guard let path = isInside ? try? folder.path(of: file) : file else {
            self.note(.note, .fileMissing, "the export is not there")
            return
        }
        let hashing: HashingFile
        do throws(StorageError) {
            hashing = HashingFile(try File(path, .read))
        } catch {
            // Exports to a path outside the folder are not the recording's responsibility.
            if isInside || error.code != .notFound { self.note(.note, .fileMissing, error.message) }
            return
        }
        self.export = Certificate.Export(file: file)
        // Outside the folder another export may have taken its place.
        let severity = isInside ? Certificate.Severity.damage : .note
        do {
            if Self.isMatroska(file) { try self.walk(Reader(hashing), hashing.count, severity, layout, expected) }
        } catch {
            self.note(severity, .fileUnreadable, "it cannot be read: \(error)")
        }
        do {
            let digest = Certificate.FileDigest(name: file, bytes: hashing.count, sha256: try hashing.sha256())
            self.digest = digest
            guard let earlier else { return }
            if earlier.sha256 != digest.sha256 {
                self.note(severity, .fileChanged, "it was changed: its SHA-256 is not that of the manifest")
            } else if isOfManifest {
                self.excuseDifferences()
            }
        } catch {
            self.note(severity, .fileUnreadable, "it cannot be read: \(error)")
        }
    }

    private mutating func note(_ severity: Certificate.Severity, _ kind: Certificate.Finding.Kind, _ text: String) {
        self.findings.append(Certificate.Finding(severity, kind, file: self.file, text))
    }

    /// An export that is unchanged since it was made may hold less than the recording, which continued after it.
    private mutating func excuseDifferences() {
        for index in self.findings.indices where self.findings[index].kind == .exportDiffers {
            self.findings[index].severity = .note
            self.findings[index].text += ": it was made before the recording ended"
        }
    }

    /// Whether a file of that name is read; any other is compared by its hash.
    static func isMatroska(_ file: String) -> Bool {
        ["mkv", "mka", "webm"].contains { file.hasSuffix("." + $0) }
    }

    private struct Count {
        var units: UInt64 = 0
        var bytes: UInt64 = 0
    }

    private mutating func walk(
        _ file: consuming Reader<HashingFile>,
        _ size: UInt64,
        _ severity: Certificate.Severity,
        _ layout: String,
        _ expected: ExpectedExport?
    ) throws {
        var reader = file
        let codecs = Dictionary(
            reader.tracks.map { ($0.number, $0.codec.rawValue) },
            uniquingKeysWith: { first, _ in first }
        )
        var counts: [String: Count] = [:]
        var units: UInt64 = 0
        while let head = try reader.nextHead() {
            guard let codec = codecs[head.track] else { continue }
            units += 1
            counts[codec, default: Count()].units += 1
            counts[codec, default: Count()].bytes &+= UInt64(clamping: head.payloadSize)
        }
        self.export?.units = units
        self.export?.durationNanoseconds = reader.durationNanoseconds
        if let text = reader.tornText(size: size) { self.note(severity, .fileTorn, text) }
        if self.file == Self.defaultName, layout == ExportSpec.Layout.Name.tracks.rawValue, let expected {
            self.compare(counts, with: expected)
        }
    }

    /// Whether this many bytes may be in an export of tracks that have `bytes`: keyframes of H.264 get the parameter
    /// sets that were sent once (`FrameSets`).
    private static func fits(_ has: Count, _ codec: String, bytes: UInt64) -> Bool {
        guard codec == MediaCodec.h264.rawValue, has.bytes >= bytes else { return has.bytes == bytes }
        return has.bytes - bytes <= has.units.multipliedReportingOverflow(by: Self.mostBytesOfSets).partialValue
    }

    /// Parameter sets have a hundred bytes or so; a sender may have several.
    private static let mostBytesOfSets: UInt64 = 4_096

    /// Whether it holds what the tracks give.
    private mutating func compare(_ counts: [String: Count], with expected: ExpectedExport) {
        for codec in Set(counts.keys).union(expected.codecs.keys).sorted() {
            let (has, gives) = (counts[codec] ?? Count(), expected.codecs[codec] ?? ExpectedExport.Codec())
            let isWhole = has.units < gives.most || gives.bytes.map { Self.fits(has, codec, bytes: $0) } ?? true
            if !(gives.least...gives.most).contains(has.units) || !isWhole {
                let units = gives.most == .max ? gives.least : gives.most
                let tracks = "the tracks have \(units)\(gives.bytes.map { " in \($0)" } ?? "")"
                self.note(
                    .damage,
                    .exportDiffers,
                    "it has \(has.units) units of \(codec) in \(has.bytes) bytes, \(tracks)"
                )
            }
        }
        let states = self.export?.durationNanoseconds ?? 0
        guard let lasts = expected.durationNanoseconds,
            states.distanceMagnitude(to: lasts) > Self.durationTolerance
        else { return }
        self.note(
            .damage,
            .exportDiffers,
            "it lasts \(states / 1_000_000) ms, the recording \(lasts / 1_000_000) ms"
        )
    }
}
