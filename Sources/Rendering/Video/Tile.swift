// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Export
internal import GStreamer
internal import Matroska

/// The tile of one participant: the tracks of a camera one after the other, or those of a screen next to it.
final class Tile {
    /// Tracks that overlap for less follow each other, for example when a connection is replaced.
    private static let overlap: Int64 = 2_000_000_000

    /// Index of the participant.
    let participant: Int
    /// Its label.
    let name: String
    /// Whether it is shown as long as the participant is present, and not only while there is video.
    let isMain: Bool
    private let presence: [Range<Int64>]
    private var tracks: [DecodedVideo]
    /// The frame that it shows.
    private(set) var frame: Decoded?
    private var shownNanoseconds = Int64.min
    /// Hold of the track whose frame is shown.
    private var hold: FrameHold?

    private init(_ tracks: [DecodedVideo], participant: Int, name: String, presence: [Range<Int64>], isMain: Bool) {
        self.tracks = tracks
        self.participant = participant
        self.name = name
        self.presence = presence
        self.isMain = isMain
    }

    /// The tiles of a recording: one for each participant, and one more for each simultaneous track.
    static func all(_ input: RenderInput) throws(ExportError) -> [Tile] {
        var tiles: [Tile] = []
        for (index, participant) in input.participants.enumerated() {
            var rows: [[DecodedVideo]] = [[]]
            let mine = input.tracks.filter { $0.participant == participant.id && $0.codec.kind == .video }
            for track in mine.sorted(by: { $0.firstNanoseconds < $1.firstNanoseconds }) {
                let fitting = rows.firstIndex { row in
                    row.allSatisfy { $0.endNanoseconds - Self.overlap <= track.firstNanoseconds }
                }
                if fitting == nil { rows.append([]) }
                rows[fitting ?? rows.count - 1].append(try DecodedVideo(track))
            }
            for (number, row) in rows.enumerated() {
                let isMain = number == 0
                tiles.append(
                    Tile(
                        row,
                        participant: index,
                        name: isMain ? participant.name : "\(participant.name) (\(number + 1))",
                        presence: isMain
                            ? participant.presence : row.map { $0.firstNanoseconds..<$0.endNanoseconds },
                        isMain: isMain
                    )
                )
            }
        }
        return tiles
    }

    /// Whether it is in the frame at that time.
    func isPresent(at nanoseconds: Int64) -> Bool {
        self.presence.contains { $0.contains(nanoseconds) }
    }

    /// Moves to a time; true if it looks different now.
    func advance(to nanoseconds: Int64) -> Bool {
        var isChanged = false
        for track in self.tracks {
            guard let newest = track.newest(at: nanoseconds), newest.nanoseconds >= self.shownNanoseconds else {
                continue
            }
            self.frame = newest
            self.shownNanoseconds = newest.nanoseconds
            self.hold = track.hold
            isChanged = true
        }
        if self.frame != nil, self.hold?.holds(self.shownNanoseconds, at: nanoseconds) == false {
            self.frame = nil
            isChanged = true
        }
        return isChanged
    }

    /// Warnings about units that could not be decoded, a sentence for each track.
    var warnings: [String] { self.tracks.compactMap { $0.warning(of: self.name) } }
}
