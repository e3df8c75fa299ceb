// SPDX-License-Identifier: Apache-2.0

/// One WebSocket message carries one Engine.IO packet.
extension WebSocketMessage {
    /// Encodes a packet: version 3 puts the type in the first byte of a binary message, version 4 sends the data alone.
    public init(_ packet: EngineIOPacket, version: EngineIOVersion) {
        switch packet.body {
        case .text:
            self = .text(packet.encodedText(version: version))
        case .binary(let bytes):
            self = .binary(version == .three ? [packet.kind.rawValue] + bytes : bytes)
        }
    }

    /// Reads the packet.
    /// - Throws: `EngineIOError.empty`, `.oversize`, `.unknownPacketType` or `.invalidBase64`.
    public func packet(version: EngineIOVersion) throws(EngineIOError) -> EngineIOPacket {
        switch self {
        case .text(let text):
            return try EngineIOPacket(text: text[...], version: version)
        case .binary(let bytes):
            guard bytes.count <= EngineIOLimits.maximumPayloadBytes else { throw .oversize }
            guard version == .three else { return EngineIOPacket(binaryMessage: bytes) }
            return try EngineIOPacket(binaryVersionThree: bytes[...])
        }
    }
}

extension EngineIOPacket {
    /// Reads version 3's binary form: one byte of type value, not ASCII, then the data.
    init(binaryVersionThree bytes: ArraySlice<UInt8>) throws(EngineIOError) {
        guard let first = bytes.first else { throw .empty }
        guard first == Kind.message.rawValue else { throw .unknownPacketType }
        self.init(binaryMessage: [UInt8](bytes.dropFirst()))
    }
}
