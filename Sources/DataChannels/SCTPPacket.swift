// SPDX-License-Identifier: Apache-2.0

/// One SCTP packet: the common header and its chunks (RFC 9260 section 3).
struct SCTPPacket: Sendable, Hashable {
    var sourcePort: UInt16
    var destinationPort: UInt16
    var verificationTag: UInt32
    var chunks: [SCTPChunk]

    private static let headerBytes = 12

    /// A packet with each part given.
    init(sourcePort: UInt16, destinationPort: UInt16, verificationTag: UInt32, chunks: [SCTPChunk]) {
        self.sourcePort = sourcePort
        self.destinationPort = destinationPort
        self.verificationTag = verificationTag
        self.chunks = chunks
    }

    /// Reads a packet; nil if it is too short, if its checksum is wrong, or if a chunk reaches beyond its end.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.headerBytes else { return nil }
        var reader = ByteReader(bytes[...])
        guard let source = reader.uint16(), let destination = reader.uint16(), let tag = reader.uint32(),
            let sum = reader.bytes(4)
        else { return nil }
        guard Array(sum) == CRC32C.bytes(of: bytes, clearing: 8..<12) else { return nil }
        self.init(sourcePort: source, destinationPort: destination, verificationTag: tag, chunks: [])
        while !reader.isAtEnd {
            guard let type = reader.uint8(), let flags = reader.uint8(), let length = reader.uint16(), length >= 4,
                let value = reader.bytes(Int(length) - 4)
            else { return nil }
            // The last chunk need not be padded.
            _ = reader.bytes(min(reader.count, -Int(length) & 3))
            self.chunks.append(SCTPChunk(type: type, flags: flags, value: value))
        }
    }

    /// The packet as it is sent.
    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.append(self.sourcePort)
        writer.append(self.destinationPort)
        writer.append(self.verificationTag)
        writer.append(UInt32(0))
        for chunk in self.chunks {
            writer.append(chunk.type)
            writer.append(chunk.flags)
            writer.append(UInt16(clamping: chunk.value.count + 4))
            writer.append(chunk.value)
            writer.pad()
        }
        var bytes = writer.bytes
        bytes.replaceSubrange(8..<12, with: CRC32C.bytes(of: bytes, clearing: 8..<12))
        return bytes
    }
}

/// One chunk of a packet (RFC 9260 section 3.2).
struct SCTPChunk: Sendable, Hashable {
    /// The types that we know (RFC 9260 section 3.2, RFC 6525, RFC 3758).
    enum Kind: UInt8, Sendable, CaseIterable {
        case data = 0
        case initiation = 1
        case initiationAcknowledgement = 2
        case selectiveAcknowledgement = 3
        case heartbeat = 4
        case heartbeatAcknowledgement = 5
        case abort = 6
        case shutdown = 7
        case shutdownAcknowledgement = 8
        case error = 9
        case cookieEcho = 10
        case cookieAcknowledgement = 11
        case shutdownComplete = 14
        case reconfiguration = 130
        case forwardTSN = 192
    }

    var type: UInt8
    var flags: UInt8 = 0
    var value: ArraySlice<UInt8>

    /// Its kind; nil for an unknown type.
    var kind: Kind? { Kind(rawValue: self.type) }
    /// Whether what follows a chunk of an unknown type is still read (RFC 9260 section 3.2).
    var mayBeSkipped: Bool { self.type & 0x80 != 0 }

    /// A chunk as it came.
    init(type: UInt8, flags: UInt8, value: ArraySlice<UInt8>) {
        self.type = type
        self.flags = flags
        self.value = value
    }

    /// A chunk of a type that we know.
    init(_ kind: Kind, flags: UInt8 = 0, _ value: [UInt8] = []) {
        self.init(type: kind.rawValue, flags: flags, value: value[...])
    }
}

/// One parameter of a chunk (RFC 9260 section 3.2.1).
struct SCTPParameter: Sendable, Hashable {
    var type: UInt16
    var value: ArraySlice<UInt8>

    /// The state cookie of an INIT ACK.
    static let stateCookie: UInt16 = 7
    /// A request to reset streams that the sender sends on (RFC 6525 section 4.1).
    static let outgoingResetRequest: UInt16 = 13
    /// The answer to a request (RFC 6525 section 4.4).
    static let reconfigurationResponse: UInt16 = 16
    /// The chunk types of extensions that the sender takes (RFC 5061 section 4.2.7).
    static let supportedExtensions: UInt16 = 0x8008
    /// The sender takes FORWARD TSN (RFC 3758 section 3.1).
    static let forwardTSNSupported: UInt16 = 0xC000

    /// The parameters up to the first that does not fit.
    static func list(_ bytes: ArraySlice<UInt8>) -> [SCTPParameter] {
        var reader = ByteReader(bytes)
        var parameters: [SCTPParameter] = []
        while let type = reader.uint16(), let length = reader.uint16(), length >= 4,
            let value = reader.bytes(Int(length) - 4)
        {
            _ = reader.bytes(min(reader.count, -Int(length) & 3))
            parameters.append(SCTPParameter(type: type, value: value))
        }
        return parameters
    }

    /// The parameters in the form of a chunk.
    static func bytes(_ parameters: [SCTPParameter]) -> [UInt8] {
        var writer = ByteWriter()
        for parameter in parameters {
            writer.append(parameter.type)
            writer.append(UInt16(clamping: parameter.value.count + 4))
            writer.append(parameter.value)
            writer.pad()
        }
        return writer.bytes
    }
}
