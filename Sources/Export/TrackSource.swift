// SPDX-License-Identifier: Apache-2.0

import Matroska
import Storage
import Timeline

/// One track file that goes into an export, read unit by unit.
struct TrackSource {
    /// Where a track's file time goes on the session clock.
    enum Placement {
        /// Through its RTP time: what the journal says of the track, and the map.
        case clock(TrackOpened, RTPClockMap)
        /// Through the date in the file: the journal does not know the track.
        case date(firstUnitNanoseconds: Int64)
    }

    /// The recording's number of the track, if the journal knows it.
    let number: Int?
    /// The file, relative to the recording's folder.
    let file: String
    let participant: String
    let name: String
    /// The track entry of the file.
    let track: Track
    let size: UInt64
    private(set) var reader: Reader<File>
    private let placement: Placement
    /// The unit that comes next, and its time on the session clock.
    private(set) var next: (block: Block, sessionNanoseconds: Int64)?

    /// Opens the file and reads its first unit; throws what makes the file unusable.
    init(
        folder: RecordingFolder,
        file: String,
        participant: String?,
        name: String?,
        place: (SegmentInfo) -> Placement?
    ) throws(ExportError) {
        let reader: Reader<File>
        let size: UInt64
        do throws(StorageError) {
            let source = try File(folder.path + "/" + file, .read)
            size = source.count
            do throws(MatroskaError) {
                reader = try Reader(source)
            } catch {
                throw StorageError(.invalid, "\(file): \(error.message)", path: source.path)
            }
        } catch {
            throw ExportError(error)
        }
        guard let track = reader.tracks.first, let placement = place(reader.info) else {
            throw ExportError(.storage, "\(file) has no track that can be placed")
        }
        self.file = file
        self.track = track
        self.size = size
        self.placement = placement
        self.participant = participant ?? track.name ?? "unknown"
        self.name = name ?? track.name ?? self.participant
        self.reader = reader
        if case .clock(let opened, _) = placement { self.number = opened.track } else { self.number = nil }
        try self.advance()
    }

    /// What the journal says of the track; nil if it does not know it.
    var opened: TrackOpened? {
        switch self.placement {
        case .clock(let opened, _): opened
        case .date: nil
        }
    }

    /// What the track's place in time rests on.
    var basis: RTPClockMap.Basis? {
        switch self.placement {
        case .clock(let opened, let map): map.basis(track: opened.track)
        case .date: nil
        }
    }

    /// Reads the unit after `next`; a damaged rest of the file counts as its end.
    mutating func advance() throws(ExportError) {
        do throws(MatroskaError) {
            while let block = try self.reader.next() {
                guard block.track == self.track.number else { continue }
                self.next = (block, self.sessionTime(block.timeNanoseconds))
                return
            }
            self.next = nil
        } catch {
            throw ExportError(error, file: self.file)
        }
    }

    /// Leaves out what is not later than that time; pictures go on with a keyframe.
    mutating func skip(beyond sessionNanoseconds: Int64) throws(ExportError) {
        while let next = self.next {
            let isEntry = self.track.codec.kind == .audio || next.block.isKeyframe
            if isEntry, next.sessionNanoseconds > sessionNanoseconds { return }
            try self.advance()
        }
    }

    /// Leaves out what comes before that time, but for pictures from the last keyframe before it.
    mutating func skip(to sessionNanoseconds: Int64) throws(ExportError) {
        var entry: TrackSource?
        while let next = self.next, next.sessionNanoseconds < sessionNanoseconds {
            if self.track.codec.kind == .video, next.block.isKeyframe { entry = self }
            try self.advance()
        }
        // A track that ended before has nothing in the selection, and one that goes on needs its keyframe.
        if let entry, self.next?.block.isKeyframe == false { self = entry }
    }

    private func sessionTime(_ fileNanoseconds: Int64) -> Int64 {
        switch self.placement {
        case .clock(let opened, let map):
            let ticks = RTPClock(rateHz: opened.clockRateHz).ticks(nanoseconds: fileNanoseconds)
            return map.sessionTimeNanoseconds(track: opened.track, rtpTime: opened.firstRTPTime &+ ticks)
                ?? fileNanoseconds
        case .date(let firstUnitNanoseconds):
            return firstUnitNanoseconds &+ fileNanoseconds
        }
    }
}
