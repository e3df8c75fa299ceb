// SPDX-License-Identifier: Apache-2.0

import Basics
import Export
import Foundation
import Matroska
import Media
import Recording

/// The table that a person watches while a call is recorded: a line per track, drawn once a second on a terminal.
struct LiveTable {
    private var lines = LiveLines()
    private var lastDrawn: ContinuousClock.Instant?
    private var lastBytes: [Int: UInt64] = [:]

    mutating func draw(_ tracks: [TrackStatus], _ status: RoomSessionStatus, at now: ContinuousClock.Instant) {
        let elapsed = self.lastDrawn.map { now - $0 } ?? .seconds(1)
        guard self.lastDrawn == nil || elapsed >= .seconds(1) else { return }
        self.lastDrawn = now
        var rows = [Self.row("peer", "codec", "size", "kbit/s", "lost", "duration")]
        if tracks.isEmpty {
            rows.append(status.hasJoined ? "waiting for media" : "joining")
        }
        let seconds = elapsed.seconds
        for track in tracks {
            let bytes = track.bytes - min(track.bytes, self.lastBytes[track.number] ?? 0)
            self.lastBytes[track.number] = track.bytes
            rows.append(
                Self.row(
                    track.shownName,
                    track.codec.rawValue,
                    track.size.map { "\($0.width)x\($0.height)" } ?? "-",
                    track.isOpen ? String(Int(Double(bytes) * 8 / 1000 / seconds)) : "ended",
                    String(track.lostPackets),
                    "\(track.duration.components.seconds) s"
                )
            )
        }
        self.lines.draw(rows)
    }

    private static func row(_ columns: String...) -> String {
        zip(columns, [22, 6, 10, 8, 6, 9]).map { text, width in
            let shown = text.prefix(width).map { $0.isNewline || $0.isWhitespace ? " " : $0 }
            return String(shown) + String(repeating: " ", count: width - shown.count)
        }.joined(separator: " ")
    }
}
