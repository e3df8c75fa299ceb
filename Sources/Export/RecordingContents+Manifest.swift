// SPDX-License-Identifier: Apache-2.0

internal import Basics
import FoundationEssentials
import Matroska
import Storage
import Timeline

extension RecordingContents {
    /// The session time of the recording's first unit: an export's time zero.
    var startNanoseconds: Int64 {
        self.sources.compactMap(\.firstNanoseconds).min() ?? 0
    }

    /// The manifest of what the folder holds, with the exports that an earlier one knows.
    ///
    /// The contents that a file had when its hash was first taken stay in the manifest: an export does not make a
    /// changed file valid.
    func manifest(_ folder: RecordingFolder, _ certificate: Certificate, earlier: Manifest?) -> Manifest {
        var manifest = Manifest(
            room: self.room,
            id: folder.id,
            start: self.started?.utc,
            host: self.history.started?.host,
            verdict: certificate.verdict
        )
        manifest.displayName = self.history.started?.displayName
        manifest.series = self.series?.id
        manifest.segment = self.series?.segment
        manifest.claim = self.history.started?.claim
        manifest.tags = self.history.tags.isEmpty ? nil : self.history.tags
        manifest.notes = self.history.notes
        manifest.parts = self.history.parts.map { Manifest.Part(number: $0.number, host: $0.host, start: $0.utc) }
        manifest.participants = self.participants
        manifest.tracks = certificate.tracks.map { track in
            RecordedTrack(
                number: track.number,
                participant: track.participant,
                codec: track.codec,
                file: track.file,
                units: track.units,
                bytes: track.bytes,
                keyframes: track.keyframes,
                sizes: track.media == .video ? track.number.flatMap { self.sizes[$0] } : nil,
                bitsPerSecond: Self.bitsPerSecond(track)
            )
        }
        // A manifest that cannot be read is rebuilt: all but older exports comes from the journal and the tracks.
        manifest.exports = earlier?.exports ?? []
        manifest.speakers = earlier?.speakers
        manifest.files = self.files(certificate, earlier: earlier?.files ?? [])
        var summary = certificate
        summary.files = []
        manifest.certificate = summary
        return manifest
    }

    private static func bitsPerSecond(_ track: Certificate.Track) -> UInt64? {
        guard track.units > 1, track.durationNanoseconds > 0 else { return nil }
        return UInt64(exactly: (Double(track.bytes) * 8e9 / Double(track.durationNanoseconds)).rounded())
    }

    private func files(
        _ certificate: Certificate,
        earlier: [Certificate.FileDigest]
    ) -> [Certificate.FileDigest] {
        let before = Dictionary(earlier.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let changed = Set(certificate.findings.filter { $0.kind == .fileChanged }.compactMap(\.file))
        // Files that were not closed may still be mended, until the recording is over.
        let open =
            self.history.isFinished
            ? [] : Set(self.sources.filter { $0.number.map { self.history.closed[$0] == nil } ?? false }.map(\.file))
        let found = certificate.files.filter { !open.contains($0.name) }.map { digest in
            changed.contains(digest.name) ? before[digest.name] ?? digest : digest
        }
        let names = Set(found.map(\.name))
        return found + earlier.filter { $0.name.hasPrefix("tracks/") && !names.contains($0.name) }
    }
}

extension Manifest {
    /// Writes the manifest, and the certificate as text next to it, and removes the signature of the one before.
    func write(_ folder: RecordingFolder, with certificate: Certificate) throws(StorageError) {
        try self.write(folder)
        // Before it for a crash between the two, behind it for the daemon, which may have signed the old one since.
        try folder.removeSignature()
        try File.replace(folder.certificatePath, with: Array(certificate.text.utf8))
        try folder.removeSignature()
    }

    /// The most unreadable manifests that are kept.
    private static let mostPutAside = 100

    /// The manifest that is there; one that cannot be read gets another name, and stays.
    ///
    /// - Returns: the manifest, and the new name of the file that it replaces.
    static func readOrPutAside(_ folder: RecordingFolder) throws(StorageError) -> (manifest: Manifest?, aside: String?)
    {
        do throws(StorageError) {
            return (try Manifest.read(folder), nil)
        } catch {
            guard error.code == .invalid else { throw error }
            for number in 1...Self.mostPutAside {
                let name = "manifest.json.unreadable" + (number == 1 ? "" : "-\(number)")
                guard !FileManager.default.fileExists(atPath: folder.path + "/" + name) else { continue }
                try File.rename(folder.manifestPath, to: folder.path + "/" + name)
                return (nil, name)
            }
            throw error
        }
    }

    /// Adds an export, the new one last.
    mutating func note(_ report: ExportReport, _ folder: RecordingFolder) {
        if !report.isPart, let speakers = report.speakers { self.speakers = speakers }
        let file = folder.name(ofExport: report.output)
        self.exports.removeAll { $0.file == file }
        self.exports.append(
            Manifest.Export(
                file: file,
                layout: report.layout,
                durationNanoseconds: report.durationNanoseconds,
                bytes: report.bytes,
                isPart: report.isPart,
                recordings: report.recordings,
                joined: report.joined,
                gaps: report.gaps.isEmpty ? nil : report.gaps
            )
        )
    }
}

extension RecordingFolder {
    /// How a manifest names an exported file: relative to the folder if it is inside, else by its whole path.
    func name(ofExport output: String) -> String {
        var parts = output.split(separator: "/", omittingEmptySubsequences: false)
        guard let name = parts.popLast() else { return output }
        let parent = parts.isEmpty ? "." : parts == [""] ? "/" : parts.joined(separator: "/")
        let absolute = ((try? realPath(parent)) ?? parent) + "/" + name
        // This folder's path may be relative, or lead through links.
        let own = (try? realPath(self.path)) ?? self.path
        guard absolute.hasPrefix(own + "/") else { return absolute }
        return String(decoding: absolute.utf8.dropFirst(own.utf8.count + 1), as: UTF8.self)
    }
}

/// Contents of a track file; only the heads of its blocks are read.
struct UnitCount {
    private(set) var units: UInt64 = 0
    private(set) var bytes: UInt64 = 0
    private(set) var keyframes: UInt64 = 0
    private(set) var lastNanoseconds: Int64 = 0

    /// Counts from the beginning, if the source does not rest.
    init(_ source: TrackSource) {
        guard var reader = source.rewound else { return }
        do {
            while let head = try reader.nextHead() {
                guard head.track == source.track.number else { continue }
                self.units += 1
                self.bytes &+= UInt64(clamping: head.payloadSize)
                self.keyframes += head.isKeyframe ? 1 : 0
                self.lastNanoseconds = max(self.lastNanoseconds, head.timeNanoseconds)
            }
        } catch {
            // The count so far is used.
        }
    }
}
