// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Platform

/// A message of STUN and TURN (RFC 8489 section 5), as far as asking a server once needs it.
struct STUNMessage: Sendable, Hashable {
    /// Method and class of a message (RFC 8489 section 5, RFC 8656 section 17).
    enum Kind: UInt16, Sendable {
        case bindingRequest = 0x0001
        case bindingSuccess = 0x0101
        case bindingError = 0x0111
        case allocateRequest = 0x0003
        case allocateSuccess = 0x0103
        case allocateError = 0x0113
        case refreshRequest = 0x0004
    }

    /// The attributes that are written or read (RFC 8489 section 18.3, RFC 8656 section 18).
    enum Attribute: UInt16, Sendable {
        case username = 0x0006
        case messageIntegrity = 0x0008
        case errorCode = 0x0009
        case lifetime = 0x000D
        case realm = 0x0014
        case nonce = 0x0015
        case xorRelayedAddress = 0x0016
        case requestedTransport = 0x0019
        case xorMappedAddress = 0x0020
    }

    /// Bytes before the attributes.
    static let headerLength = 20
    /// Most bytes of attributes that are taken.
    static let maximumLength = 2048
    private static let cookie: [UInt8] = [0x21, 0x12, 0xA4, 0x42]

    var kind: Kind
    /// 12 bytes, the same in request and answer.
    var transaction: [UInt8]
    private(set) var attributes: [Attribute: [UInt8]] = [:]
    /// In the order in which they are written.
    private var order: [Attribute] = []

    /// A message without attributes.
    init(_ kind: Kind, transaction: [UInt8]) {
        self.kind = kind
        self.transaction = transaction
    }

    /// Reads a whole message; nil if it is none, or none that is known here.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.headerLength, Array(bytes[4..<8]) == Self.cookie,
            Self.length(bytes) == bytes.count, let kind = Kind(rawValue: Self.number(bytes[0...1]))
        else { return nil }
        self.init(kind, transaction: Array(bytes[8..<20]))
        var rest = bytes.dropFirst(Self.headerLength)
        while rest.count >= 4 {
            let (type, length) = (Self.number(rest.prefix(2)), Int(Self.number(rest.dropFirst(2).prefix(2))))
            rest = rest.dropFirst(4)
            guard rest.count >= length else { return nil }
            // If several have one type, only the first counts (RFC 8489 section 14).
            if let attribute = Attribute(rawValue: type), self.attributes[attribute] == nil {
                self.set(attribute, Array(rest.prefix(length)))
            }
            rest = rest.dropFirst((length + 3) & ~3)
        }
    }

    /// How long the message is that begins with these bytes; nil if they are too few or begin none.
    static func length(_ bytes: some Collection<UInt8>) -> Int? {
        guard bytes.count >= Self.headerLength, let first = bytes.first, first & 0xC0 == 0 else { return nil }
        let length = Int(Self.number(bytes.dropFirst(2).prefix(2)))
        return length & 3 == 0 && length <= Self.maximumLength ? Self.headerLength + length : nil
    }

    /// Adds an attribute, or changes one.
    mutating func set(_ attribute: Attribute, _ value: [UInt8]) {
        if self.attributes.updateValue(value, forKey: attribute) == nil { self.order.append(attribute) }
    }

    /// The bytes, unsigned.
    func bytes() -> [UInt8] {
        let body = self.body
        return self.header(length: body.count) + body
    }

    /// The bytes, signed (RFC 8489 section 14.5).
    func bytes(key: [UInt8]) throws(MissingHash) -> [UInt8] {
        var body = self.body
        let signed = self.header(length: body.count + 24) + body
        body += Self.written(.messageIntegrity, try MessageAuthentication.sha1(signed, key: key))
        return self.header(length: body.count) + body
    }

    private var body: [UInt8] { self.order.flatMap { Self.written($0, self.attributes[$0] ?? []) } }

    /// The key of a long-term credential (RFC 8489 section 9.2.2).
    static func key(username: String, realm: String, password: String) throws(MissingHash) -> [UInt8] {
        try md5(Array("\(username):\(realm):\(password)".utf8))
    }

    /// The number and the words of an error answer.
    var error: (code: Int, reason: String)? {
        guard let value = self.attributes[.errorCode], value.count >= 4, (3...6).contains(value[2] & 7),
            value[3] < 100
        else { return nil }
        return (
            Int(value[2] & 7) * 100 + Int(value[3]), String(decoding: value.dropFirst(4).prefix(128), as: UTF8.self)
        )
    }

    /// An address as `address:port`, brackets around IPv6 (RFC 8489 section 14.2).
    func address(_ attribute: Attribute) -> String? {
        guard let value = self.attributes[attribute], value.count >= 8 else { return nil }
        let mask = Self.cookie + self.transaction
        let port = Self.number(zip(value[2..<4], mask).map { $0 ^ $1 })
        guard let address = IPAddress(bytes: zip(value.dropFirst(4), mask).map { $0 ^ $1 }) else { return nil }
        switch (value[1], address.family) {
        case (1, .ipv4): return "\(address):\(port)"
        case (2, .ipv6): return "[\(address)]:\(port)"
        default: return nil
        }
    }

    private func header(length: Int) -> [UInt8] {
        Self.pair(self.kind.rawValue) + Self.pair(UInt16(truncatingIfNeeded: length)) + Self.cookie + self.transaction
    }

    private static func written(_ attribute: Attribute, _ value: [UInt8]) -> [UInt8] {
        let padding = [UInt8](repeating: 0, count: (4 - value.count & 3) & 3)
        return Self.pair(attribute.rawValue) + Self.pair(UInt16(truncatingIfNeeded: value.count)) + value + padding
    }

    private static func pair(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }

    /// A number of two bytes, the high one first.
    private static func number(_ bytes: some Sequence<UInt8>) -> UInt16 {
        bytes.prefix(2).reduce(0) { $0 << 8 | UInt16($1) }
    }
}
