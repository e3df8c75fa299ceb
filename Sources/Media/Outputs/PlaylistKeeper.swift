// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import Storage
internal import Synchronization

/// Continues the HLS playlist of a folder from one pipeline to the next, and from one run of this program to the next.
///
/// The earlier state is read from the folder: a playlist in it is continued, whichever program began it. Segments have
/// names that none had before, because players and caches remember them. Any thread.
final class PlaylistKeeper: Sendable {
    /// Limit of a playlist that is read; ours are smaller.
    private static let longestPlaylist = 16 << 20

    private let folder: String
    private let playlist: String
    /// The part before the number in the name of a segment.
    private let beginning: String
    /// The part after it.
    private let ending: String
    private let state = Mutex(State())

    private struct State: Sendable {
        /// The playlist when the present pipeline began.
        var earlier = SegmentPlaylist()
        /// The last written playlist; nil as long as there is none.
        var written: SegmentPlaylist?
        /// Segments from before that are still there, oldest first.
        var olderFiles: [String] = []
        var segments = 0
        var files = 0
        /// The beginning of the names of the present pipeline's segments.
        var time: Int64 = 0
    }

    /// Keeps the playlist of a folder.
    ///
    /// - Parameter location: the name of a segment, with one number in the form of `printf`.
    init(folder: String, playlist: String, location: String) {
        self.folder = folder
        self.playlist = playlist
        let start = location.firstIndex(of: "%") ?? location.endIndex
        self.beginning = String(location[..<start])
        self.ending = String(location[start...].drop { $0 != "d" }.dropFirst())
    }

    /// Another pipeline begins; the path that its segments get, with `%05d` for their number.
    ///
    /// - Parameters:
    ///   - segments: how many the playlist names; 0 for all.
    ///   - files: how many are kept; 0 for all.
    ///   - milliseconds: the time; what is there has earlier ones, whatever the clock says.
    func begin(segments: Int, files: Int, milliseconds: Int64) -> String {
        self.state.withLock { state in
            (state.segments, state.files) = (segments, files)
            state.earlier = state.written ?? self.found
            // A segment that is gone is named no more.
            if let gone = state.earlier.segments.lastIndex(where: { access(self.path($0.name), F_OK) != 0 }) {
                state.earlier.dropFirst(gone + 1)
            }
            let older = self.segmentFiles
            state.olderFiles = older.map(\.name)
            state.time = max(milliseconds, (older.last?.time ?? 0) + 1, state.time + 1)
            return self.path("\(self.beginning)\(state.time)-%05d\(self.ending)")
        }
    }

    /// Takes a playlist of the present pipeline; 0 or an `errno`.
    func write(_ text: String) -> Int32 {
        self.state.withLock { state in
            let own = SegmentPlaylist(text)
            let playlist = own.continuing(state.earlier, length: state.segments)
            let number = self.put(playlist.text())
            guard number == 0 else { return number }
            state.written = playlist
            guard state.files > 0 else { return 0 }
            let ownFiles = min(own.sequence + own.segments.count, state.files)
            let surplus = max(0, min(state.olderFiles.count, state.olderFiles.count + ownFiles - state.files))
            for name in state.olderFiles.prefix(surplus) { unlink(self.path(name)) }
            state.olderFiles.removeFirst(surplus)
            return 0
        }
    }

    /// No pipeline comes any more: says so in the playlist.
    func end() {
        self.state.withLock { state in
            guard let written = state.written else { return }
            _ = self.put(written.text(isEnded: true))
        }
    }

    private func path(_ name: String) -> String { "\(self.folder)/\(name)" }

    /// The playlist in the folder; an empty one if there is none.
    private var found: SegmentPlaylist {
        let path = self.path(self.playlist)
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= Self.longestPlaylist,
            let data = try? Data(contentsOf: URL(filePath: path))
        else { return SegmentPlaylist() }
        return SegmentPlaylist(String(decoding: data, as: UTF8.self))
    }

    /// Segments in the folder, oldest first: those of versions before have their number only.
    private var segmentFiles: [(name: String, time: Int64, number: Int64)] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: self.folder)) ?? []
        var found: [(name: String, time: Int64, number: Int64)] = []
        for name in names where name.hasPrefix(self.beginning) && name.hasSuffix(self.ending) {
            let numbers = name.dropFirst(self.beginning.count).dropLast(self.ending.count).split(
                separator: "-",
                omittingEmptySubsequences: false
            ).map { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64($0) : nil }
            switch numbers.count {
            case 1: if let number = numbers[0] { found.append((name, 0, number)) }
            case 2:
                // Further than any clock is none of ours.
                if let time = numbers[0], let number = numbers[1], time < 1 << 50 { found.append((name, time, number)) }
            default: break
            }
        }
        return found.sorted { ($0.time, $0.number) < ($1.time, $1.number) }
    }

    /// Replaces the playlist, atomically; 0 or an `errno`.
    private func put(_ text: String) -> Int32 {
        let (path, partial) = (self.path(self.playlist), self.path(PartialFile.name(of: self.playlist)))
        let descriptor = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o666)
        guard descriptor >= 0 else { return errno }
        var number: Int32 = 0
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty, number == 0 {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 { bytes = bytes.dropFirst(count) } else if errno != EINTR { number = errno }
        }
        if close(descriptor) != 0, number == 0 { number = errno }
        if number == 0, rename(partial, path) != 0 { number = errno }
        if number != 0 { unlink(partial) }
        return number
    }
}
