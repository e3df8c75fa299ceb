// SPDX-License-Identifier: Apache-2.0

/// The body of one polling request or response: several packets in one text or byte string.
public enum EngineIOPayload {
    private static let separator: UInt8 = 0x1e

    /// Joins packets as text: `length:packet` with the length in UTF-16 code units in version 3, packets separated by
    /// 0x1e in version 4.
    ///
    /// Binary packets become Base64.
    public static func encode(_ packets: [EngineIOPacket], version: EngineIOVersion) -> String {
        let texts = packets.map { $0.encodedText(version: version) }
        switch version {
        case .three: return texts.map { "\($0.utf16.count):\($0)" }.joined()
        case .four: return texts.joined(separator: "\u{1e}")
        }
    }

    /// Joins packets in version 3's byte form, `application/octet-stream`: for each packet one byte of kind (0 text,
    /// 1 binary), the decimal digits of its length in bytes, 0xff, the packet.
    public static func encodeOctets(_ packets: [EngineIOPacket]) -> [UInt8] {
        var octets: [UInt8] = []
        for packet in packets {
            let bytes: [UInt8]
            switch packet.body {
            case .text:
                octets.append(0)
                bytes = [UInt8](packet.encodedText(version: .three).utf8)
            case .binary(let data):
                octets.append(1)
                bytes = [packet.kind.rawValue] + data
            }
            octets += String(bytes.count).utf8.map { $0 - UInt8(ascii: "0") }
            octets.append(0xff)
            octets += bytes
        }
        return octets
    }

    /// Splits a body into packets.
    ///
    /// The first byte distinguishes the byte form of version 3: 0 or 1 never begins text.
    /// - Throws: `EngineIOError`; the body is then unusable as a whole.
    public static func decode(_ bytes: [UInt8], version: EngineIOVersion) throws(EngineIOError) -> [EngineIOPacket] {
        guard bytes.count <= EngineIOLimits.maximumPayloadBytes else { throw .oversize }
        guard let first = bytes.first else { throw .empty }
        if version == .three, first <= 1 {
            return try self.decodeOctets(bytes)
        }
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .invalidUTF8 }
        switch version {
        case .three: return try self.decodeLengths(bytes)
        case .four: return try self.decodeSeparated(bytes)
        }
    }

    private static func decodeSeparated(_ bytes: [UInt8]) throws(EngineIOError) -> [EngineIOPacket] {
        var packets: [EngineIOPacket] = []
        for element in bytes.split(separator: self.separator, omittingEmptySubsequences: false) {
            try self.append(String(decoding: element, as: UTF8.self), version: .four, to: &packets)
        }
        return packets
    }

    private static func decodeLengths(_ bytes: [UInt8]) throws(EngineIOError) -> [EngineIOPacket] {
        var packets: [EngineIOPacket] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let length = try self.takeLength(from: &rest, terminator: UInt8(ascii: ":"), zero: UInt8(ascii: "0"))
            let element = try self.take(utf16Count: length, from: &rest)
            try self.append(String(decoding: element, as: UTF8.self), version: .three, to: &packets)
        }
        return packets
    }

    private static func decodeOctets(_ bytes: [UInt8]) throws(EngineIOError) -> [EngineIOPacket] {
        var packets: [EngineIOPacket] = []
        var rest = bytes[...]
        while let kind = rest.popFirst() {
            let length = try self.takeLength(from: &rest, terminator: 0xff, zero: 0)
            guard length <= rest.count else { throw .truncated }
            let element = rest.prefix(length)
            rest = rest.dropFirst(length)
            switch kind {
            case 0:
                guard let text = String(validating: element, as: UTF8.self) else { throw .invalidUTF8 }
                try self.append(text, version: .three, to: &packets)
            case 1:
                packets.append(try EngineIOPacket(binaryVersionThree: element))
            default:
                throw .invalidLength
            }
            guard packets.count <= EngineIOLimits.maximumPacketsPerPayload else { throw .tooManyPackets }
        }
        return packets
    }

    private static func append(
        _ text: String,
        version: EngineIOVersion,
        to packets: inout [EngineIOPacket]
    ) throws(EngineIOError) {
        guard packets.count < EngineIOLimits.maximumPacketsPerPayload else { throw .tooManyPackets }
        packets.append(try EngineIOPacket(text: text[...], version: version))
    }

    /// Takes decimal digits and their terminator.
    private static func takeLength(
        from rest: inout ArraySlice<UInt8>,
        terminator: UInt8,
        zero: UInt8
    ) throws(EngineIOError) -> Int {
        var length = 0
        var digits = 0
        while let byte = rest.popFirst() {
            if byte == terminator {
                guard digits > 0 else { throw .invalidLength }
                return length
            }
            guard byte >= zero, byte - zero <= 9, digits < 9 else { throw .invalidLength }
            length = length * 10 + Int(byte - zero)
            digits += 1
        }
        throw .truncated
    }

    /// Takes whole characters of valid UTF-8 that make up `count` UTF-16 code units.
    private static func take(
        utf16Count count: Int,
        from rest: inout ArraySlice<UInt8>
    ) throws(EngineIOError) -> ArraySlice<UInt8> {
        var units = 0
        var end = rest.startIndex
        while end < rest.endIndex {
            let (bytes, width) = self.widths(lead: rest[end])
            if units + width > count { break }
            units += width
            end += bytes
        }
        guard end <= rest.endIndex else { throw .truncated }
        guard units == count else { throw end < rest.endIndex ? .invalidLength : .truncated }
        let element = rest[..<end]
        rest = rest[end...]
        return element
    }

    /// Bytes of UTF-8 and code units of UTF-16 of the character that begins with `lead` (RFC 3629 section 3).
    private static func widths(lead: UInt8) -> (bytes: Int, units: Int) {
        switch lead {
        case 0xf0...: (4, 2)
        case 0xe0...: (3, 1)
        case 0xc0...: (2, 1)
        default: (1, 1)
        }
    }
}
