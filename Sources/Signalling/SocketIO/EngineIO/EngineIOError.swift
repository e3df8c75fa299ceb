// SPDX-License-Identifier: Apache-2.0

/// Why bytes are not Engine.IO.
public enum EngineIOError: Error, Sendable, Hashable {
    /// The body, frame or packet is larger than `EngineIOLimits.maximumPayloadBytes`.
    case oversize
    /// The body holds more packets than `EngineIOLimits.maximumPacketsPerPayload`.
    case tooManyPackets
    /// A packet or body has no bytes where at least one is needed.
    case empty
    /// The first character of a packet is not a packet type.
    case unknownPacketType
    /// Text is not UTF-8.
    case invalidUTF8
    /// A binary packet's text is not Base64.
    case invalidBase64
    /// A length prefix is missing, is not a number, or does not end between two characters.
    case invalidLength
    /// The body ends before the length prefix says so.
    case truncated
    /// The open packet is not an object with a usable `sid`.
    case invalidOpenPacket
}
