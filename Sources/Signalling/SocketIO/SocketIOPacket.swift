// SPDX-License-Identifier: Apache-2.0

public import Basics

/// One Socket.IO packet: the text of an Engine.IO message.
///
/// Grammar: `type [attachments "-"] [namespace ","] [ack-id] [json]`.
public struct SocketIOPacket: Sendable, Hashable {
    /// The packet types; the raw value is the digit on the wire.
    public enum Kind: UInt8, Sendable, Hashable, CaseIterable {
        /// Asks for, or grants, a namespace.
        case connect = 0
        /// Leaves a namespace.
        case disconnect = 1
        /// An array whose first element names the event.
        case event = 2
        /// The answer to an event that carried an id.
        case acknowledgement = 3
        /// A refused namespace.
        case error = 4
        /// An event followed by binary packets.
        case binaryEvent = 5
        /// An acknowledgement followed by binary packets.
        case binaryAcknowledgement = 6
    }

    /// Why a text is not a Socket.IO packet.
    public enum ParsingError: Error, Sendable, Hashable {
        /// No packet type at the start.
        case unknownKind
        /// The number of attachments or the acknowledgement id is missing or too long.
        case invalidNumber
        /// The rest is not JSON.
        case invalidJSON
        /// The JSON is beyond the limits of `JSONValue`.
        case tooLarge
        /// An event without a name.
        case invalidEvent
    }

    /// Most binary packets that may follow one event.
    public static let maximumAttachments = 64

    /// The packet type.
    public var kind: Kind
    /// How many binary Engine.IO packets follow.
    public var attachments: Int
    /// The namespace; `/` is the default one.
    public var namespace: String
    /// The id under which the sender expects an answer, or which an answer names.
    public var acknowledgementID: Int?
    /// The rest.
    public var data: JSONValue?

    /// A packet with each part given.
    public init(
        _ kind: Kind,
        attachments: Int = 0,
        namespace: String = "/",
        acknowledgementID: Int? = nil,
        data: JSONValue? = nil
    ) {
        self.kind = kind
        self.attachments = attachments
        self.namespace = namespace
        self.acknowledgementID = acknowledgementID
        self.data = data
    }

    /// An event of the default namespace.
    public static func event(_ name: String, _ arguments: [JSONValue]) -> SocketIOPacket {
        SocketIOPacket(.event, data: .array([.string(name)] + arguments))
    }

    /// The event's name and arguments, or nil if the packet is no event.
    public var event: (name: String, arguments: [JSONValue])? {
        guard self.kind == .event || self.kind == .binaryEvent, let array = self.data?.array,
            let name = array.first?.string
        else { return nil }
        return (name, [JSONValue](array.dropFirst()))
    }

    /// The packet's text.
    public var text: String {
        var text = String(self.kind.rawValue)
        if self.kind == .binaryEvent || self.kind == .binaryAcknowledgement {
            text += "\(self.attachments)-"
        }
        if self.namespace != "/" {
            text += self.namespace + ","
        }
        if let id = self.acknowledgementID {
            text += String(id)
        }
        if let data = self.data {
            text += data.text
        }
        return text
    }

    /// Reads a packet.
    ///
    /// The forms `0/,` and `1/,` are taken for the default namespace; a query behind a namespace is cut.
    public init(text: some StringProtocol) throws(ParsingError) {
        var rest = Substring(text).utf8[...]
        guard let digit = rest.popFirst(), digit >= UInt8(ascii: "0"),
            let kind = Kind(rawValue: digit - UInt8(ascii: "0"))
        else { throw .unknownKind }
        self.init(kind)
        if kind == .binaryEvent || kind == .binaryAcknowledgement {
            guard let attachments = try Self.takeNumber(from: &rest), attachments <= Self.maximumAttachments,
                rest.popFirst() == UInt8(ascii: "-")
            else { throw .invalidNumber }
            self.attachments = attachments
        }
        self.namespace = Self.takeNamespace(from: &rest)
        self.acknowledgementID = try Self.takeNumber(from: &rest)
        if !rest.isEmpty {
            self.data = try Self.json(Substring(rest))
        }
        if kind == .event || kind == .binaryEvent {
            guard self.event != nil else { throw .invalidEvent }
        }
    }

    private static func json(_ text: Substring) throws(ParsingError) -> JSONValue {
        do {
            return try JSONValue(parsing: text)
        } catch {
            throw error == .tooLarge ? .tooLarge : .invalidJSON
        }
    }

    private static func takeNamespace(from rest: inout Substring.UTF8View) -> String {
        guard rest.first == UInt8(ascii: "/") else { return "/" }
        let whole = rest.prefix { $0 != UInt8(ascii: ",") }
        rest = rest.dropFirst(whole.count).dropFirst()
        return String(Substring(whole.prefix { $0 != UInt8(ascii: "?") }))
    }

    private static func takeNumber(from rest: inout Substring.UTF8View) throws(ParsingError) -> Int? {
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard !digits.isEmpty else { return nil }
        guard let number = Int(Substring(digits)) else { throw .invalidNumber }
        rest = rest.dropFirst(digits.count)
        return number
    }
}
