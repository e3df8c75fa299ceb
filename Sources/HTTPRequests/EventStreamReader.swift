// SPDX-License-Identifier: Apache-2.0

/// Reads server-sent events out of the bytes of a body (HTML, section 9.2.6), and holds at most one of them in memory.
public struct EventStreamReader: Sendable {
    /// One event.
    public struct Event: Sendable, Hashable {
        /// The id that continues the stream after this event, as `Last-Event-ID`; nil before the first one that the
        /// server named.
        public var id: String?
        /// The type of the event; `message` where the server gave none.
        public var type: String
        /// Its data; several lines with line feeds between them.
        public var data: String
    }

    /// Most bytes of an event; a larger one is left out.
    public static let maximumBytes = 1 << 20

    private var line: [UInt8] = []
    private var isLineEmpty = true
    private var wasReturn = false
    private var bytes = 0
    private var id: String?
    private var type = ""
    private var data: [String] = []

    /// A reader before the first byte.
    public init() {}

    /// Takes the next bytes and returns the events that they end.
    public mutating func take(_ bytes: some Sequence<UInt8>) -> [Event] {
        var events: [Event] = []
        for byte in bytes {
            defer { self.wasReturn = byte == UInt8(ascii: "\r") }
            switch byte {
            case UInt8(ascii: "\n") where self.wasReturn: break
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                if let event = self.endLine() { events.append(event) }
            default:
                self.isLineEmpty = false
                self.bytes += 1
                if self.bytes <= Self.maximumBytes { self.line.append(byte) }
            }
        }
        return events
    }

    /// Reads a line; returns an event if it is an empty one that ends it.
    private mutating func endLine() -> Event? {
        let line = String(decoding: self.line, as: UTF8.self)
        self.line = []
        defer { self.isLineEmpty = true }
        guard self.isLineEmpty else {
            self.take(line)
            return nil
        }
        defer { (self.type, self.data, self.bytes) = ("", [], 0) }
        guard !self.data.isEmpty, self.bytes <= Self.maximumBytes else { return nil }
        return Event(
            id: self.id,
            type: self.type.isEmpty ? "message" : self.type,
            data: self.data.joined(separator: "\n")
        )
    }

    private mutating func take(_ line: String) {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        var value = parts.count > 1 ? parts[1] : ""
        if value.first == " " { value = value.dropFirst() }
        switch parts[0] {
        case "id" where !value.unicodeScalars.contains("\0"): self.id = String(value)
        case "event": self.type = String(value)
        case "data": self.data.append(String(value))
        // A comment, how soon to come again, or what a later version of the standard has.
        default: break
        }
    }
}
