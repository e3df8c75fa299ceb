// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Matroska
public import Storage
import Timeline

/// Finishes recordings whose process died.
public enum RecordingRepair {
    /// A torn end that is longer than any unit of a call is damage of another kind: then the file is left as it is.
    private static let longestTornEnd: UInt64 = 4 << 20

    /// The result.
    public struct Report: Sendable, Hashable {
        /// Whether the recording had been finished before; then only a missing manifest was written.
        public var wasFinished: Bool
        /// Whether it was closed by a repair, now or before, and no export holds all of it.
        public var needsExport = false
        /// Track files that were completed, relative to the folder.
        public var repaired: [String] = []
        /// Files that were left as they are because they cannot be read, and why.
        public var unreadable: [String: String] = [:]
    }

    /// Closes an unfinished recording: torn ends are cut off, files get their index, the journal its end, and the
    /// manifest is written.
    ///
    /// Running it again changes nothing. Files that cannot be read are left unchanged. Blocks.
    ///
    /// - Parameter onlyUnfinished: whether a recording that its recorder finished stays without a manifest, for which
    ///   all of it must be read.
    /// - Throws: `ExportError` with code `busy` while a process records into the folder, or `storage`.
    public static func finish(_ folder: RecordingFolder, onlyUnfinished: Bool = false) throws(ExportError) -> Report {
        do throws(StorageError) {
            // Most of what is kept is in order, and has journals that take minutes to read.
            if case .recordingFinished(let end) = Journal.end(of: folder)?.record {
                let known = (try? Manifest.read(folder)) ?? nil
                if known?.hasWholeExport == true || onlyUnfinished && end.reason != RecordingFinished.repaired {
                    return Report(wasFinished: true)
                }
            }
            let journal = try Journal.history(of: folder)
            var report = Report(wasFinished: journal.isFinished)
            let earlier = report.wasFinished ? try Manifest.read(folder) : try Manifest.readOrPutAside(folder).manifest
            report.needsExport = earlier?.hasWholeExport != true
            if report.wasFinished {
                report.needsExport = report.needsExport && journal.isRepaired
                if let earlier {
                    report.needsExport = report.needsExport && !earlier.tracks.isEmpty
                    return report
                }
            } else {
                let writer = try JournalWriter(folder: folder)
                guard try writer.lock() else {
                    throw StorageError(.exists, "a process records into \(folder.path)", path: folder.path)
                }
                for file in Self.trackFiles(folder) { Self.complete(file, folder, &report) }
                try Self.close(folder, writer, at: journal.lastNanoseconds ?? 0)
            }
            let contents: RecordingContents
            do throws(ExportError) {
                contents = try RecordingContents(folder)
            } catch {
                throw StorageError(.invalid, error.message, path: folder.path)
            }
            report.needsExport = report.needsExport && !contents.sources.isEmpty
            let certificate = RecordingExamination.certificate(contents, folder, earlier: earlier)
            try contents.manifest(folder, certificate, earlier: earlier).write(folder, with: certificate)
            return report
        } catch {
            throw error.code == .exists ? ExportError(.busy, error.message, cause: error) : ExportError(error)
        }
    }

    /// Adds the index to those files of a finished recording that have none: a write to them failed, and the recording
    /// continued with others.
    ///
    /// Files whose hashes the manifest knows stay as they are. Does nothing while a process records into the folder, nor to
    /// what cannot be read or written. Blocks.
    ///
    /// - Returns: the files that were completed, relative to the folder.
    @discardableResult
    public static func completeFiles(of folder: RecordingFolder) -> [String] {
        let known = Set(((try? Manifest.read(folder)) ?? nil)?.files?.map(\.name) ?? [])
        let files = Self.trackFiles(folder).filter { !known.contains($0) && Self.hasNoIndex($0, folder) }
        guard !files.isEmpty, let journal = try? File(folder.journalPath, .read), (try? journal.lock()) == true,
            (try? Journal.history(of: folder))?.isFinished == true
        else { return [] }
        var report = Report(wasFinished: true)
        // The lock is held until here, to keep other processes from continuing the recording.
        withExtendedLifetime(journal) {
            for file in files { Self.complete(file, folder, &report) }
        }
        return report.repaired
    }

    private static func hasNoIndex(_ name: String, _ folder: RecordingFolder) -> Bool {
        let path = folder.path + "/" + name
        // A pipe under such a name would never answer.
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        guard attributes?[.type] as? FileAttributeType == .typeRegular else { return false }
        return (try? Repair.isNeeded(File(path, .read))) ?? false
    }

    private static func trackFiles(_ folder: RecordingFolder) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.tracksPath)) ?? []
        return names.sorted().filter { $0.hasSuffix(".mkv") || $0.hasSuffix(".mka") }.map { "tracks/" + $0 }
    }

    /// Completes one track file, or notes why not.
    private static func complete(_ name: String, _ folder: RecordingFolder, _ report: inout Report) {
        let path = folder.path + "/" + name
        do {
            // A link would lead out of the folder.
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            guard attributes[.type] as? FileAttributeType == .typeRegular else {
                report.unreadable[name] = "it is no regular file"
                return
            }
            let file = try File(path, .overwrite)
            let plan = try Repair.plan(file)
            guard !plan.isEmpty else { return }
            guard plan.originalSize - min(plan.truncateTo, plan.originalSize) <= Self.longestTornEnd else {
                report.unreadable[name] = "most of it is damaged"
                return
            }
            try file.truncate(to: plan.truncateTo)
            try file.write(plan.append, at: plan.truncateTo)
            // The last patch marks the file as finished: everything else is on the disk before it.
            for patch in plan.patches.dropLast() { try file.write(patch.bytes, at: patch.offset) }
            try file.synchronise()
            for patch in plan.patches.suffix(1) { try file.write(patch.bytes, at: patch.offset) }
            try file.synchronise()
            report.repaired.append(name)
        } catch let error as StorageError {
            report.unreadable[name] = error.message
        } catch let error as MatroskaError {
            report.unreadable[name] = error.message
        } catch {
            report.unreadable[name] = "it is gone, or the system does not let this account see it"
        }
    }

    /// Journals the end of each track that has none, and of the recording.
    ///
    /// The time is that of the last record: this process may run under another kernel, whose clock says nothing here.
    private static func close(
        _ folder: RecordingFolder,
        _ writer: JournalWriter,
        at now: Int64
    ) throws(StorageError) {
        let contents: RecordingContents
        do throws(ExportError) {
            contents = try RecordingContents(folder)
        } catch {
            throw StorageError(.invalid, error.message, path: folder.path)
        }
        for source in contents.sources {
            guard let number = source.number, contents.history.closed[number] == nil, let opened = source.opened else {
                continue
            }
            let count = UnitCount(source)
            let elapsed = RTPClock(rateHz: opened.clockRateHz).ticks(nanoseconds: count.lastNanoseconds)
            let record = TrackClosed(
                track: number,
                units: count.units,
                bytes: count.bytes,
                keyframes: count.keyframes,
                lastRTPTime: opened.firstRTPTime &+ elapsed,
                reason: RecordingFinished.repaired
            )
            try writer.append(.trackClosed(record), monotonicNanoseconds: now)
        }
        let finished = RecordingFinished(reason: RecordingFinished.repaired)
        try writer.append(.recordingFinished(finished), monotonicNanoseconds: now)
        try writer.synchronise()
    }
}
