// SPDX-License-Identifier: Apache-2.0

/// The receiving end of a peer's data channels: SCTP as far as a listener needs it (RFC 9260, RFC 8831, RFC 8832).
///
/// The peer begins the association and opens the channels. It only ever sends replies: acknowledgements, heartbeats,
/// the byte that confirms to a peer that its channel is open, the reset of a channel that it closed; and rarely a short
/// text (`write`). There are therefore no windows, no paths and no timers on this side, but the one that repeats what
/// is not acknowledged yet.
///
///          INIT ► INIT ACK      COOKIE ECHO ► COOKIE ACK
///     listening ───────────────────────────► established ─── ABORT, SHUTDOWN COMPLETE ──► listening
///
/// A peer may start again at any time: only the right cookie replaces an established association. Packets come out of
/// DTLS, from a peer whose certificate is known; they are still not trusted. Not thread-safe.
public struct DataChannelReceiver: Sendable {
    /// The result of one call.
    public struct Output: Sendable, Hashable {
        /// Packets for the peer.
        public var packets: [[UInt8]] = []
        /// The peer's messages.
        public var messages: [DataChannelMessage] = []

        /// Nothing.
        public init() {}
    }

    /// Counts of messages that were not passed on so far.
    public internal(set) var counters = DataChannelCounters()

    /// The port that our description names (RFC 8841 section 5.1).
    private let port: UInt16
    private let seed: UInt32
    private var generation: UInt32 = 0
    /// The association that is begun, until the peer shows its cookie.
    private var begun: Association?
    private var established: Association?
    private var limit = RateLimit(perSecond: DataChannelLimits.messagesPerSecond)

    /// A receiver without a peer so far.
    /// - Parameters:
    ///   - port: our SCTP port.
    ///   - seed: makes our tags differ between connections; it need not be secret, as DTLS is around it.
    public init(port: UInt16, seed: UInt32 = .random(in: 1...UInt32.max)) {
        self.port = port
        self.seed = seed
    }

    /// Labels of the channels that are open.
    public var channels: [String] {
        (self.established?.labels ?? [:]).sorted { $0.key < $1.key }.map(\.value)
    }

    /// Whether something of ours is not acknowledged, so that `repeatUnacknowledged` should be called after a second.
    public var awaitsAcknowledgement: Bool { self.established?.awaitsAcknowledgement ?? false }

    /// Takes a packet that came out of DTLS.
    /// - Parameter nanoseconds: when it came, on a clock that does not go back.
    public mutating func received(_ bytes: [UInt8], at nanoseconds: Int64) -> Output {
        guard let packet = SCTPPacket(bytes), packet.destinationPort == self.port, let first = packet.chunks.first
        else {
            self.counters.malformed += 1
            return Output()
        }
        var reply: [SCTPChunk] = []
        var output = Output()
        switch first.kind {
        case .initiation:
            // It is alone in its packet (RFC 9260 section 3.3.2).
            guard packet.verificationTag == 0, packet.chunks.count == 1 else { break }
            if let answer = self.begin(first, of: packet) { output.packets.append(answer) }
            return output
        case .cookieEcho:
            guard let association = self.association(showing: first, of: packet) else { break }
            self.established = association
            reply.append(SCTPChunk(.cookieAcknowledgement))
        default:
            break
        }
        guard var association = self.established, association.accepts(packet) else {
            self.counters.malformed += 1
            return output
        }
        self.established = nil
        association.now = nanoseconds
        let isOver = association.take(packet.chunks, &reply, &self.counters)
        for message in association.takeMessages() {
            guard self.limit.allows(at: nanoseconds) else {
                self.counters.tooMany += 1
                continue
            }
            output.messages.append(message)
        }
        output.packets += association.packets(reply, port: self.port)
        if !isOver { self.established = association }
        return output
    }

    /// Writes a text of at most `DataChannelLimits.writtenBytes` into one channel of the peer's: the first whose label
    /// has the word chat in it, else the first of all.
    ///
    /// - Returns: packets for the peer; nil, with nothing done, if there is no channel, or the text is too long.
    public mutating func write(_ text: String) -> [[UInt8]]? {
        guard var association = self.established else { return nil }
        self.established = nil
        defer { self.established = association }
        return association.write(text).map { association.packets($0, port: self.port) }
    }

    /// Repeats unacknowledged chunks; those repeated often enough are abandoned.
    public mutating func repeatUnacknowledged() -> [[UInt8]] {
        guard var association = self.established else { return [] }
        self.established = nil
        defer { self.established = association }
        return association.packets(association.unacknowledged(), port: self.port)
    }

    /// Answers an INIT (RFC 9260 section 3.3.2).
    private mutating func begin(_ chunk: SCTPChunk, of packet: SCTPPacket) -> [UInt8]? {
        var reader = ByteReader(chunk.value)
        guard let peerTag = reader.uint32(), peerTag != 0, reader.uint32() != nil, let outgoing = reader.uint16(),
            outgoing != 0, let incoming = reader.uint16(), incoming != 0, let initial = reader.uint32()
        else {
            self.counters.malformed += 1
            return nil
        }
        // A peer that did not hear our answer asks again, and gets the same.
        if self.begun?.peerTag != peerTag || self.begun?.peerPort != packet.sourcePort {
            self.generation &+= 1
            // An odd factor: no two generations have the same tag. Zero is no tag.
            let tag = max(1, self.seed &+ self.generation &* 0x9E37_79B1)
            self.begun = Association(
                peerTag: peerTag,
                peerPort: packet.sourcePort,
                ownTag: tag,
                window: ReceiveWindow(initial: initial)
            )
        }
        guard let association = self.begun else { return nil }
        var writer = ByteWriter()
        writer.append(association.ownTag)
        writer.append(ReceiveWindow.maximumBytes)
        // As many streams as there are numbers for (RFC 8831 section 6.2): the number of open channels has a separate
        // limit.
        writer.append(UInt16.max)
        writer.append(UInt16.max)
        writer.append(association.ownTag)
        let extensions = [SCTPChunk.Kind.reconfiguration.rawValue, SCTPChunk.Kind.forwardTSN.rawValue]
        writer.append(
            SCTPParameter.bytes([
                SCTPParameter(type: SCTPParameter.stateCookie, value: association.cookie[...]),
                SCTPParameter(type: SCTPParameter.forwardTSNSupported, value: []),
                SCTPParameter(type: SCTPParameter.supportedExtensions, value: extensions[...]),
            ])
        )
        return SCTPPacket(
            sourcePort: self.port,
            destinationPort: association.peerPort,
            verificationTag: association.peerTag,
            chunks: [SCTPChunk(.initiationAcknowledgement, writer.bytes)]
        ).bytes
    }

    /// The association whose cookie a peer shows: the one that is begun, or the present one if our reply was lost.
    private mutating func association(showing chunk: SCTPChunk, of packet: SCTPPacket) -> Association? {
        for known in [self.established, self.begun] {
            guard let known, known.accepts(packet), known.cookie[...] == chunk.value else { continue }
            if known.ownTag == self.begun?.ownTag { self.begun = nil }
            return known
        }
        return nil
    }
}
