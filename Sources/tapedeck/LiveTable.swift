// SPDX-License-Identifier: Apache-2.0

import Basics
import Dispatch
import Media
import Model
import Recording
import Signalling
import Storage
import Synchronization
import Terminal

/// Draws what a person watches while a call is recorded: once a second, and when the terminal's size changes.
struct LiveTable {
    private let lines: LiveLines
    private let disk: FreeSpace
    private var table = CallTable(state: "joining", stop: "Ctrl-C stops")
    private var lastTaken: ContinuousClock.Instant?
    private var lastBytes: [UInt64: UInt64] = [:]
    private var lastSize = LiveLines.size

    /// - Parameter directory: where the recording is stored.
    init(_ lines: LiveLines, directory: String) {
        self.lines = lines
        self.disk = FreeSpace(directory)
    }

    /// Draws the state of a recording.
    ///
    /// - Parameters:
    ///   - elapsed: since the first media.
    ///   - duration: how long the recording is to be.
    ///   - level: how loud the audio of a track is.
    mutating func draw(
        _ tracks: [TrackStatus],
        _ status: RoomSessionStatus,
        elapsed: Duration?,
        of duration: Duration?,
        at now: ContinuousClock.Instant,
        level: (TrackStatus) -> CallTable.Audio
    ) {
        let size = LiveLines.size
        let since = self.lastTaken.map { now - $0 }
        guard since.map({ $0 >= .seconds(1) }) ?? true || size != self.lastSize else { return }
        self.lastSize = size
        if since.map({ $0 >= .seconds(1) }) ?? true {
            self.lastTaken = now
            self.table.people = self.people(tracks, status, since, level)
        }
        self.table.state = status.hasJoined ? elapsed == nil ? "waiting for media" : "recording" : "joining"
        self.table.elapsedSeconds = elapsed?.seconds
        self.table.remainingSeconds = elapsed.flatMap { elapsed in duration.map { max(0, ($0 - elapsed).seconds) } }
        self.table.bytes = Int64(clamping: tracks.reduce(0) { $0 &+ $1.bytes })
        self.table.freeBytes = self.disk.look()
        self.lines.draw(self.table.lines)
    }

    /// Draws that the recording is being completed.
    mutating func finish() {
        self.table.state = "completing the files"
        self.table.stop = "Ctrl-C again abandons them"
        (self.table.remainingSeconds, self.table.people) = (nil, [])
        self.lines.draw(self.table.lines)
    }

    private mutating func people(
        _ tracks: [TrackStatus],
        _ status: RoomSessionStatus,
        _ since: Duration?,
        _ level: (TrackStatus) -> CallTable.Audio
    ) -> [CallTable.Person] {
        var people: [CallTable.Person] = []
        var places: [String: Int] = [:]
        for track in tracks.sorted(by: { $0.id < $1.id }) {
            let place = places[track.participant] ?? people.count
            if place == people.count { people.append(.init(name: track.shownName, isHere: false)) }
            places[track.participant] = place
            let bytes = track.bytes - min(track.bytes, self.lastBytes[track.id] ?? 0)
            self.lastBytes[track.id] = track.bytes
            people[place].add(track, bitsPerSecond: since.map { Double(bytes) * 8 / $0.seconds } ?? 0, level)
        }
        let known = Set(tracks.map(\.id))
        self.lastBytes = self.lastBytes.filter { known.contains($0.key) }
        for peer in status.presentPeers.sorted(by: { $0.rawValue < $1.rawValue }) {
            if let place = places[peer.rawValue] {
                people[place].isHere = true
            } else {
                people.append(.init(name: status.names[peer] ?? peer.rawValue, isHere: true))
            }
        }
        return people
    }
}

extension CallTable.Person {
    fileprivate mutating func add(
        _ track: TrackStatus,
        bitsPerSecond: Double,
        _ level: (TrackStatus) -> CallTable.Audio
    ) {
        self.lostPackets &+= track.lostPackets
        self.bitsPerSecond = (self.bitsPerSecond ?? 0) + bitsPerSecond
        // A track that is over says nothing of the present, unless all are.
        guard track.isOpen || !self.isHere else { return }
        if track.isOpen, !self.isHere { (self.isHere, self.codecs, self.size, self.audio) = (true, [], nil, .none) }
        if !self.codecs.contains(track.codec.rawValue) {
            // Video first, whichever came first.
            self.codecs.insert(track.codec.rawValue, at: track.codec.kind == .video ? 0 : self.codecs.count)
        }
        if let size = track.size { self.size = "\(size.width)x\(size.height)" }
        if track.isOpen, track.codec.kind == .audio { self.audio = level(track) }
    }
}

/// The free space of a disk, measured on a separate thread: a disk may hang.
private final class FreeSpace: Sendable {
    private let path: String
    private let queue = DispatchQueue(label: "tapedeck.free-space")
    private let state = Mutex((bytes: nil as Int64?, isMeasuring: false))

    init(_ path: String) {
        self.path = path
    }

    /// The last measurement; begins the next one; nil while nothing is known.
    func look() -> Int64? {
        let (bytes, isMeasuring) = self.state.withLock { state in
            defer { state.isMeasuring = true }
            return state
        }
        if !isMeasuring {
            self.queue.async {
                let found = try? DiskSpace.measure(self.path).freeBytes
                self.state.withLock { $0 = (found, false) }
            }
        }
        return bytes
    }
}
