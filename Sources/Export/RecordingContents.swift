// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Matroska
import Storage
import Timeline

/// What a recording's folder holds, as the journal and the track files tell; either may be cut anywhere.
struct RecordingContents {
    var room: String
    var host: String?
    /// One instant on both clocks, if the journal has it.
    var started: (utc: UTCTime, monotonicNanoseconds: Int64)?
    var isFinished = false
    /// Whether it was closed by `RecordingRepair` after its process died.
    var isRepaired = false
    var parts: [JournalParts.Part] = []
    /// In order of appearance.
    var participants: [Manifest.Participant] = []
    var closed: [Int: TrackClosed] = [:]
    var packets: [Int: PacketsCounted] = [:]
    /// Usable tracks: by participant in order of appearance, video first, then by file.
    var sources: [TrackSource] = []
    var warnings: [String] = []

    /// Reads the journal and opens every track file; what cannot be used becomes a warning.
    init(_ folder: RecordingFolder) throws(ExportError) {
        let journal: Journal
        do throws(StorageError) {
            journal = try Journal.read(folder)
        } catch {
            throw ExportError(error)
        }
        self.room = folder.path.split(separator: "/").dropLast().last.map(String.init) ?? ""
        var opened: [TrackOpened] = []
        let placed = JournalParts(journal.entries)
        self.parts = placed.parts
        for entry in placed.entries {
            switch entry.record {
            case .recordingStarted(let record):
                self.room = record.room
                self.host = record.host
                self.started = self.started ?? (record.utc, entry.monotonicNanoseconds)
            case .participantJoined(let record): self.note(record.participant, name: record.name)
            case .trackOpened(let record):
                self.note(record.participant, name: nil)
                opened.append(record)
            case .trackClosed(let record): self.closed[record.track] = record
            case .packetsCounted(let record): self.packets[record.track] = record
            case .recordingFinished(let record):
                self.isFinished = true
                self.isRepaired = record.reason == RecordingRepair.reason
            case .partStarted, .participantLeft, .senderReport, .clockAnchor, .formatChanged, .marker: break
            }
        }
        if journal.skippedLines > 0 {
            self.warnings.append("the journal has \(journal.skippedLines) lines that cannot be read")
        }
        self.openKnown(opened, folder: folder, map: RTPClockMap(entries: placed.entries))
        self.openUnknown(folder: folder)
        let order = Dictionary(
            self.participants.enumerated().map { ($1.id, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        self.sources.sort { left, right in
            let (leftOrder, rightOrder) = (order[left.participant] ?? .max, order[right.participant] ?? .max)
            let (leftAudio, rightAudio) = (left.track.codec.kind == .audio, right.track.codec.kind == .audio)
            if leftOrder != rightOrder { return leftOrder < rightOrder }
            if leftAudio != rightAudio { return rightAudio }
            return left.file < right.file
        }
    }

    private mutating func note(_ participant: String, name: String?) {
        if let index = self.participants.firstIndex(where: { $0.id == participant }) {
            self.participants[index].name = name ?? self.participants[index].name
        } else {
            self.participants.append(Manifest.Participant(id: participant, name: name))
        }
    }

    /// Opens the files that the journal names.
    private mutating func openKnown(_ opened: [TrackOpened], folder: RecordingFolder, map: RTPClockMap) {
        for record in opened {
            let name = self.participants.first { $0.id == record.participant }?.name
            // Only the last component is taken: the journal is a file, and a file can say "../".
            guard let file = record.file.split(separator: "/").last, file != "..",
                !self.sources.contains(where: { $0.file == "tracks/" + file })
            else { continue }
            self.open(folder: folder, file: "tracks/" + file, participant: record.participant, name: name) { _ in
                .clock(record, map)
            }
        }
    }

    /// Opens the files that the journal does not name and places them by their dates.
    private mutating func openUnknown(folder: RecordingFolder) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.tracksPath)) ?? []
        let known = Set(self.sources.map(\.file))
        for name in names.sorted() where name.hasSuffix(".mkv") || name.hasSuffix(".mka") {
            let file = "tracks/" + name
            guard !known.contains(file), !self.warnings.contains(where: { $0.contains(file) }) else { continue }
            let started = self.started ?? self.datedSource()
            self.warnings.append("\(file) is not in the journal; it is placed by its date, about right")
            self.open(folder: folder, file: file, participant: nil, name: nil) { info in
                guard let date = info.dateUTCNanosecondsSince2001 else { return nil }
                guard let started else { return .date(firstUnitNanoseconds: date) }
                return .date(
                    firstUnitNanoseconds: started.monotonicNanoseconds
                        &+ (date &- started.utc.nanosecondsSince2001)
                )
            }
        }
    }

    /// Both clocks at the first unit of a placed track: its date is on one, its place on the other.
    private func datedSource() -> (utc: UTCTime, monotonicNanoseconds: Int64)? {
        for source in self.sources {
            guard let date = source.reader.info.dateUTCNanosecondsSince2001, let next = source.next else { continue }
            return (UTCTime(nanosecondsSince2001: date), next.sessionNanoseconds)
        }
        return nil
    }

    private mutating func open(
        folder: RecordingFolder,
        file: String,
        participant: String?,
        name: String?,
        place: (SegmentInfo) -> TrackSource.Placement?
    ) {
        do throws(ExportError) {
            let source = try TrackSource(
                folder: folder,
                file: file,
                participant: participant,
                name: name,
                place: place
            )
            guard source.next != nil else {
                self.warnings.append("\(file) has no units")
                return
            }
            self.sources.append(source)
        } catch {
            self.warnings.append("\(file) is left out: \(error.message)")
        }
    }
}
