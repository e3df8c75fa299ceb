// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Matroska
import Storage
public import Timeline

/// Makes the certificate of one file, of a recording or from anywhere else.
///
/// A file of a recording is compared with its entry in the manifest. Only the certificate of the recording reports
/// media that are missing in it without being torn.
public enum FileExamination {
    /// The certificate of a file: the contents of its tracks, its hash, and its faults.
    ///
    /// - Throws: `ExportError` with code `storage` if there is no such file or it cannot be read, `notMatroska` if it is of
    ///   another kind, and of no recording.
    public static func certificate(file path: String) throws(ExportError) -> Certificate {
        let hashing: HashingFile
        let place: Place
        do throws(StorageError) {
            hashing = HashingFile(try File(path, .read))
            place = try Place(path)
        } catch {
            throw ExportError(error)
        }
        var certificate = Certificate(recording: place.folder?.id.rawValue)
        if place.isMatroska {
            do {
                try Self.walk(Reader(hashing), hashing.count, place.name, &certificate)
            } catch {
                if place.isOfAnotherKind(error) {
                    let text = "\(path) is neither Matroska nor WebM: no other file is read"
                    throw ExportError(.notMatroska, text, cause: error)
                }
                let text = "it cannot be read: \((error as? MatroskaError)?.message ?? "\(error)")"
                certificate.note(.init(.damage, .fileUnreadable, file: place.name, text))
            }
        }
        do {
            certificate.files = [
                .init(name: place.name, bytes: hashing.count, sha256: try hashing.sha256())
            ]
        } catch {
            throw ExportError(.storage, "\(path) cannot be read: \(error)", cause: error)
        }
        if let earlier = place.earlier, earlier.sha256 != certificate.files.first?.sha256 {
            let text = "it was changed: its SHA-256 is not that of the manifest"
            certificate.note(.init(.damage, .fileChanged, file: place.name, text))
        } else if place.earlier == nil {
            let text =
                place.folder == nil
                ? "the file was checked alone, outside of its recording's folder, which has the hash that shows changes"
                : "the folder's manifest does not list the file, so changes of it cannot be noticed"
            certificate.note(.init(.note, .noManifest, file: place.name, text))
        }
        return certificate
    }

    /// Where a file is: in a recording's folder, or anywhere.
    private struct Place {
        var folder: RecordingFolder?
        /// Its name in the recording, or its own.
        var name: String
        var earlier: Certificate.FileDigest?

        init(_ path: String) throws(StorageError) {
            let absolute = try realPath(path)
            let parts = absolute.split(separator: "/")
            self.name = parts.last.map(String.init) ?? path
            for depth in [1, 2] where parts.count > depth {
                let parent = "/" + parts.dropLast(depth).joined(separator: "/")
                guard let folder = try? RecordingFolder.open(path: parent) else { continue }
                self.folder = folder
                self.name = parts.suffix(depth).joined(separator: "/")
                let files = ((try? Manifest.read(folder)) ?? nil)?.files
                self.earlier = files?.first { $0.name == self.name || $0.name == absolute }
                return
            }
        }

        var isMatroska: Bool {
            if self.earlier != nil { return ExportExamination.isMatroska(self.name) }
            // Files that the recorder writes in addition to media; every other file is examined as media, because the
            // caller asked for it.
            return !["json", "jsonl", "txt"].contains { self.name.hasSuffix("." + $0) }
        }

        /// Whether a file that could not be read is an export of another kind, or anything else that was never Matroska.
        func isOfAnotherKind(_ error: any Error) -> Bool {
            guard self.folder == nil, !ExportExamination.isMatroska(self.name),
                let error = error as? MatroskaError
            else { return false }
            return error.code == .notMatroska && error.offset == 0
        }
    }

    private static func walk(
        _ file: consuming Reader<HashingFile>,
        _ size: UInt64,
        _ name: String,
        _ certificate: inout Certificate
    ) throws {
        var reader = file
        var tallies: [Int: TrackTally] = [:]
        for track in reader.tracks { tallies[track.number] = tallies[track.number] ?? TrackTally(codec: track.codec) }
        if tallies.isEmpty {
            certificate.note(.init(.damage, .fileUnreadable, file: name, "it has no track that we know"))
        }
        while let block = try reader.next() {
            tallies[block.track]?.note(block, at: block.timeNanoseconds)
        }
        for track in reader.tracks {
            guard let tally = tallies.removeValue(forKey: track.number) else { continue }
            // An export's tags; the title of a track is more than a name.
            let tags = reader.tags.filter { $0.trackUID == track.uid }
            let shown = tags.first { $0.name == "PARTICIPANT" }?.value ?? track.name ?? "unknown"
            var found = Certificate.Track(
                number: track.number,
                file: name,
                participant: tags.first { $0.name == "PARTICIPANT_ID" }?.value ?? shown,
                name: shown,
                codec: track.codec
            )
            found.startNanoseconds = tally.firstNanoseconds
            found.durationNanoseconds = tally.endNanoseconds &- tally.firstNanoseconds
            found.units = tally.units
            found.keyframes = tally.keyframes
            found.bytes = tally.bytes
            for gap in tally.gaps {
                let span = Certificate.Span(
                    startNanoseconds: gap.startNanoseconds,
                    durationNanoseconds: gap.durationNanoseconds
                )
                found.gaps.note(span)
                let (start, length) = (span.startNanoseconds / 1_000_000, span.durationNanoseconds / 1_000_000)
                let text = "nothing of track \(track.number) came for \(length) ms at \(start) ms"
                certificate.note(.init(.gap, .gap, file: name, text))
            }
            certificate.durationNanoseconds = max(certificate.durationNanoseconds, tally.endNanoseconds)
            certificate.tracks.append(found)
        }
        for text in reader.damage.texts + [reader.tornText(size: size)].compactMap(\.self) {
            certificate.note(.init(.damage, .fileTorn, file: name, text))
        }
    }
}

extension Damage {
    /// The texts of its findings, a sentence for each range that is listed.
    var texts: [String] {
        let listed = self.ranges.map { range in
            range.bytes == 0
                ? "the size of what ends at byte \(range.offset) makes no sense"
                : "\(range.bytes) bytes from byte \(range.offset) on make no sense: "
                    + "\(range.durationNanoseconds / 1_000_000) ms are missing"
        }
        guard self.count > listed.count else { return listed }
        return listed + ["\(self.count) places make no sense in all, \(self.bytes) bytes together"]
    }
}

extension Reader {
    /// The text of a finding about a file whose end is torn or missing, once the walk is over; nil if it is whole.
    func tornText(size: UInt64) -> String? {
        if let torn = self.tornTailOffset, torn < size { return "from byte \(torn) of \(size) on it makes no sense" }
        if let end = self.statedEnd, end > size { return "it has \(size) of \(end) bytes: its end is missing" }
        return nil
    }
}
