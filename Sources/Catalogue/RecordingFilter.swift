// SPDX-License-Identifier: Apache-2.0

public import Basics

/// Which recordings a page holds.
public struct RecordingFilter: Sendable, Hashable {
    /// The most recordings of a page.
    public static let maximumLimit = 200

    /// Only of this room, exactly.
    public var room: String?
    /// Only those whose room, id, tags, notes or participants contain this text, upper and lower case alike.
    public var text: String?
    /// Only those that began at this time or later, to the microsecond.
    public var from: UTCTime?
    /// Only those that began before this time, to the microsecond.
    public var to: UTCTime?
    /// Most recordings of the page, 1 to 200.
    public var limit: Int
    /// Where the page begins, as the page before said; `nil` for the first.
    public var cursor: String?

    /// Recordings that meet every condition given.
    public init(
        room: String? = nil,
        text: String? = nil,
        from: UTCTime? = nil,
        to: UTCTime? = nil,
        limit: Int = 50,
        cursor: String? = nil
    ) {
        self.room = room
        self.text = text
        self.from = from
        self.to = to
        self.limit = limit
        self.cursor = cursor
    }
}

/// Recordings, newest first, without their tracks.
public struct RecordingListing: Sendable, Hashable {
    /// The recordings.
    public var recordings: [RecordingEntry]
    /// Where the next page begins; `nil` on the last one.
    public var next: String?

    /// Where a page begins that holds what began before a time.
    public static func cursor(before time: UTCTime) -> String { RecordingCursor(position: time.position).text }
}

/// The position of a page's last recording as text that callers hand back unread.
struct RecordingCursor {
    let position: Int64

    private static let prefix = "r"

    init(position: Int64) { self.position = position }

    /// Takes what `text` gave; `nil` for anything else.
    init?(text: String) {
        guard text.hasPrefix(Self.prefix), text.utf8.count <= 16,
            let position = Int64(text.dropFirst(Self.prefix.count), radix: 36)
        else { return nil }
        self.position = position
        guard self.text == text else { return nil }
    }

    var text: String { Self.prefix + String(self.position, radix: 36) }
}
