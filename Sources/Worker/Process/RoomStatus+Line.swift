// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Model

extension RoomStatus {
    /// The counter that says how many tracks a status leaves out.
    static let cutTracks = "cut_tracks"

    /// The same, with as many closed tracks left out, oldest first, as makes it shorter by so many bytes; if that is not enough
    /// without all the tracks, and without what outputs send.
    ///
    /// How many tracks are missing is one of its counters: who reads it is not to believe that there were no others.
    func cut(by bytes: Int) -> RoomStatus {
        var status = self
        // The counter takes some, too.
        var left = bytes + Self.cutTracks.utf8.count + 16
        var tracks: [Track] = []
        for track in self.tracks {
            guard left > 0, !track.isOpen, let line = try? WorkerLine.encode(track) else {
                tracks.append(track)
                continue
            }
            // A comma where that has its line feed.
            left -= line.count
        }
        if left > 0 {
            tracks = []
            for index in (status.outputs ?? []).indices { status.outputs?[index].sessions = [] }
        }
        status.tracks = tracks
        status.counters[Self.cutTracks] = self.tracks.count - tracks.count
        return status
    }
}
