// SPDX-License-Identifier: Apache-2.0

/// Something that a peer wrote into a data channel.
public struct DataChannelMessage: Sendable, Hashable {
    /// The channel's label, untrusted, cut to 128 bytes; empty for one that was opened without a message.
    public var label: String
    /// The text, cut to `DataChannelLimits.messageBytes`; untrusted.
    public var text: String
    /// When its last packet came, on the clock that packets are given with.
    public var arrivalNanoseconds: Int64

    /// A message with each part given.
    public init(label: String, text: String, arrivalNanoseconds: Int64) {
        self.label = label
        self.text = text
        self.arrivalNanoseconds = arrivalNanoseconds
    }
}

/// Counts of messages that were not passed on.
public struct DataChannelCounters: Sendable, Hashable {
    /// Messages that are no text.
    public var binary: UInt64 = 0
    /// Texts beyond the rate.
    public var tooMany: UInt64 = 0
    /// Texts that were passed on without their end.
    public var cut: UInt64 = 0
    /// Channels that were not taken.
    public var refusedChannels: UInt64 = 0
    /// Packets that are none, or not of this association.
    public var malformed: UInt64 = 0

    /// Nothing yet.
    public init() {}
}

/// Limits of a peer's data channels.
public enum DataChannelLimits {
    /// Bytes of a message that are kept; the rest is received and thrown away.
    public static let messageBytes = 65_536
    /// Texts a second that are passed on, and how many may come at once.
    public static let messagesPerSecond = 50
    /// Channels that are open at a time; more are not acknowledged.
    public static let channels = 64
    /// Bytes of a label that are kept.
    public static let labelBytes = 128
    /// Bytes of a text of ours: one packet takes it.
    public static let writtenBytes = 1_000
    /// How often one packet of ours is repeated.
    public static let repetitions = 10
}

/// The message that opens a channel (RFC 8832 section 5.1).
struct DataChannelOpen: Sendable, Hashable {
    var label: String

    static let type: UInt8 = 3
    /// The whole of the message that answers it (RFC 8832 section 5.2).
    static let acknowledgement: [UInt8] = [2]

    /// Reads the message; nil if it is another one, or not whole.
    init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes[...])
        guard reader.uint8() == Self.type, reader.bytes(7) != nil, let labelLength = reader.uint16(),
            let protocolLength = reader.uint16(), let label = reader.bytes(Int(labelLength)),
            reader.bytes(Int(protocolLength)) != nil
        else { return nil }
        self.label = String(decoding: label.prefix(DataChannelLimits.labelBytes), as: UTF8.self)
    }
}

/// The payload protocol identifier of a message (RFC 8831 section 8).
enum PayloadProtocol: UInt32 {
    case control = 50
    case text = 51
    /// Obsolete: a part of a text.
    case partialText = 54
    /// One byte that means an empty text.
    case emptyText = 57
}

/// Lets `perSecond` things a second through, and as many at once.
struct RateLimit: Sendable {
    private let perSecond: Int64
    private var credit: Int64
    private var latest: Int64?

    private static let second: Int64 = 1_000_000_000

    init(perSecond: Int) {
        self.perSecond = Int64(perSecond)
        self.credit = Int64(perSecond) * Self.second
    }

    /// Whether one more goes through now.
    mutating func allows(at nanoseconds: Int64) -> Bool {
        let passed = min(max(0, nanoseconds &- (self.latest ?? nanoseconds)), Self.second)
        self.latest = nanoseconds
        self.credit = min(self.perSecond * Self.second, self.credit + passed * self.perSecond)
        guard self.credit >= Self.second else { return false }
        self.credit -= Self.second
        return true
    }
}
