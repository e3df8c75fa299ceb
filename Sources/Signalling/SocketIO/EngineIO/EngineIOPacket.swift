// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// One Engine.IO packet, independent of its transport.
public struct EngineIOPacket: Sendable, Hashable {
    /// The packet types of both revisions; the raw value is the digit on the wire.
    public enum Kind: UInt8, Sendable, Hashable, CaseIterable {
        /// The server's handshake.
        case open = 0
        /// The session ends.
        case close = 1
        /// A heartbeat's question.
        case ping = 2
        /// A heartbeat's answer.
        case pong = 3
        /// A Socket.IO packet.
        case message = 4
        /// The client moves to the WebSocket.
        case upgrade = 5
        /// Nothing: ends a pending poll.
        case noop = 6
    }

    /// The content after the type.
    public enum Body: Sendable, Hashable {
        /// Text, possibly empty.
        case text(String)
        /// Bytes; only messages have them.
        case binary([UInt8])
    }

    /// The packet type.
    public var kind: Kind
    /// The content after the type.
    public var body: Body

    /// A packet with text.
    public init(_ kind: Kind, _ text: String = "") {
        self.kind = kind
        self.body = .text(text)
    }

    /// A message with bytes.
    public init(binaryMessage bytes: [UInt8]) {
        self.kind = .message
        self.body = .binary(bytes)
    }

    /// The text, or nil if the packet is binary.
    public var text: String? {
        switch self.body {
        case .text(let text): text
        case .binary: nil
        }
    }

    /// The packet as text: the type's digit and the text; binary as `b4…` in version 3 and `b…` in version 4.
    public func encodedText(version: EngineIOVersion) -> String {
        switch self.body {
        case .text(let text):
            return "\(self.kind.rawValue)\(text)"
        case .binary(let bytes):
            let base64 = Base64.encode(bytes)
            return version == .three ? "b\(self.kind.rawValue)\(base64)" : "b\(base64)"
        }
    }

    /// Reads a packet from text: a WebSocket text frame, or one element of a polling payload.
    /// - Throws: `EngineIOError.empty`, `.oversize`, `.unknownPacketType` or `.invalidBase64`.
    public init(text: Substring, version: EngineIOVersion) throws(EngineIOError) {
        guard text.utf8.count <= EngineIOLimits.maximumPayloadBytes else { throw .oversize }
        guard let first = text.utf8.first else { throw .empty }
        guard first == UInt8(ascii: "b") else {
            self.init(try Kind(digit: first), String(text.unicodeScalars.dropFirst()))
            return
        }
        var base64 = text.utf8.dropFirst()
        if version == .three {
            guard let digit = base64.popFirst() else { throw .empty }
            guard try Kind(digit: digit) == .message else { throw .unknownPacketType }
        }
        guard let bytes = Base64.decode(base64) else { throw .invalidBase64 }
        self.init(binaryMessage: bytes)
    }
}

extension EngineIOPacket.Kind {
    /// Reads the ASCII digit of a packet type.
    init(digit: UInt8) throws(EngineIOError) {
        guard digit >= UInt8(ascii: "0"), let kind = Self(rawValue: digit - UInt8(ascii: "0")) else {
            throw .unknownPacketType
        }
        self = kind
    }
}
