// SPDX-License-Identifier: Apache-2.0

/// One association with a peer that showed its cookie, and the channels in it.
struct Association: Sendable {
    let peerTag: UInt32
    let peerPort: UInt16
    /// Also the number of our first DATA chunk, and of our first request.
    let ownTag: UInt32
    /// The time of the packet that is being taken.
    var now: Int64 = 0
    private(set) var labels: [UInt16: String] = [:]

    private var window: ReceiveWindow
    private var partial: PartialMessage?
    private var messages: [DataChannelMessage] = []
    /// The next number of a DATA chunk of ours.
    private var nextNumber: UInt32
    private var sequences: [UInt16: UInt16] = [:]
    private var sent: [(number: UInt32, chunk: SCTPChunk)] = []
    /// Chunks of it that were never sent.
    private var fresh: [SCTPChunk] = []
    /// Streams of closed channels, on which our side is still open.
    private var closing: Set<UInt16> = []
    /// Our request to reset some of them, until it is answered.
    private var request: (number: UInt32, parameter: SCTPParameter)?
    private var nextRequest: UInt32
    private var repetitions = 0

    /// Bytes of chunks in one packet, so that it passes every path (RFC 8831 section 5).
    private static let packetBytes = 1_100

    /// A message of which not everything is there.
    private struct PartialMessage: Sendable {
        var stream: UInt16
        var protocolIdentifier: UInt32
        var bytes: [UInt8] = []
        var isCut = false

        mutating func append(_ more: [UInt8]) {
            let room = DataChannelLimits.messageBytes - self.bytes.count
            self.bytes += more.prefix(room)
            if more.count > room { self.isCut = true }
        }
    }

    /// An association in which nothing was sent yet.
    init(peerTag: UInt32, peerPort: UInt16, ownTag: UInt32, window: ReceiveWindow) {
        self.peerTag = peerTag
        self.peerPort = peerPort
        self.ownTag = ownTag
        self.window = window
        self.nextNumber = ownTag
        self.nextRequest = ownTag
    }

    /// The cookie that a peer must show; DTLS keeps others from showing it.
    var cookie: [UInt8] {
        var writer = ByteWriter()
        writer.append(self.ownTag)
        writer.append(self.peerTag)
        return writer.bytes
    }

    var awaitsAcknowledgement: Bool { !self.sent.isEmpty || self.request != nil }

    /// Whether a packet belongs to this association (RFC 9260 section 8.5).
    func accepts(_ packet: SCTPPacket) -> Bool {
        packet.sourcePort == self.peerPort && packet.verificationTag == self.ownTag
    }

    /// Takes the chunks of a packet; true if the association is over.
    mutating func take(
        _ chunks: [SCTPChunk],
        _ reply: inout [SCTPChunk],
        _ counters: inout DataChannelCounters
    ) -> Bool {
        var hasData = false
        chunks: for chunk in chunks {
            switch chunk.kind {
            case .data:
                hasData = true
                self.takeData(chunk, &counters)
            case .forwardTSN:
                hasData = true
                var reader = ByteReader(chunk.value)
                if let number = reader.uint32() { self.handle(self.window.forward(to: number), &counters) }
            case .selectiveAcknowledgement:
                self.takeAcknowledgement(chunk)
            case .heartbeat:
                reply.append(SCTPChunk(.heartbeatAcknowledgement, Array(chunk.value)))
            case .reconfiguration:
                if let answer = self.takeReconfiguration(chunk) { reply.append(answer) }
            case .shutdown:
                reply.append(SCTPChunk(.shutdownAcknowledgement))
            case .abort, .shutdownComplete:
                return true
            case .initiation, .initiationAcknowledgement, .heartbeatAcknowledgement, .shutdownAcknowledgement, .error,
                .cookieEcho, .cookieAcknowledgement:
                break
            case nil:
                guard chunk.mayBeSkipped else { break chunks }
            }
        }
        if hasData { reply.append(self.window.acknowledgement) }
        reply += self.fresh
        self.fresh = []
        return false
    }

    /// The peer's messages since the last call.
    mutating func takeMessages() -> [DataChannelMessage] {
        defer { self.messages = [] }
        return self.messages
    }

    /// Packets with these chunks.
    func packets(_ chunks: [SCTPChunk], port: UInt16) -> [[UInt8]] {
        var groups: [[SCTPChunk]] = []
        var room = 0
        for chunk in chunks {
            let size = chunk.value.count + 7
            if size > room {
                groups.append([])
                room = Self.packetBytes
            }
            groups[groups.count - 1].append(chunk)
            room -= size
        }
        return groups.map { group in
            SCTPPacket(sourcePort: port, destinationPort: self.peerPort, verificationTag: self.peerTag, chunks: group)
                .bytes
        }
    }

    /// The chunks that must be repeated now.
    mutating func unacknowledged() -> [SCTPChunk] {
        guard self.awaitsAcknowledgement else { return [] }
        self.repetitions += 1
        guard self.repetitions <= DataChannelLimits.repetitions else {
            self.sent = []
            self.request = nil
            return []
        }
        return self.sent.map(\.chunk) + [self.requestChunk].compactMap { $0 }
    }

    // MARK: Data

    /// RFC 9260 section 3.3.1.
    private mutating func takeData(_ chunk: SCTPChunk, _ counters: inout DataChannelCounters) {
        var reader = ByteReader(chunk.value)
        guard let number = reader.uint32(), let stream = reader.uint16(), reader.uint16() != nil,
            let identifier = reader.uint32(), !reader.isAtEnd
        else {
            counters.malformed += 1
            return
        }
        let fragment = ReceiveWindow.Fragment(
            stream: stream,
            protocolIdentifier: identifier,
            isFirst: chunk.flags & 2 != 0,
            isLast: chunk.flags & 1 != 0,
            bytes: Array(reader.remaining),
            arrivalNanoseconds: self.now
        )
        self.window.take(number, fragment)
        self.handle(self.window.drain(), &counters)
    }

    private mutating func handle(_ pieces: [ReceiveWindow.Piece], _ counters: inout DataChannelCounters) {
        for piece in pieces {
            guard case .fragment(let fragment) = piece else {
                self.partial = nil
                continue
            }
            if fragment.isFirst {
                self.partial = PartialMessage(
                    stream: fragment.stream,
                    protocolIdentifier: fragment.protocolIdentifier
                )
            }
            guard self.partial?.stream == fragment.stream else {
                self.partial = nil
                continue
            }
            self.partial?.append(fragment.bytes)
            if fragment.isLast, let message = self.partial {
                self.partial = nil
                self.takeMessage(message, at: fragment.arrivalNanoseconds, &counters)
            }
        }
    }

    private mutating func takeMessage(
        _ message: PartialMessage,
        at nanoseconds: Int64,
        _ counters: inout DataChannelCounters
    ) {
        switch PayloadProtocol(rawValue: message.protocolIdentifier) {
        case .control:
            self.takeControl(message, &counters)
        case .text, .partialText:
            if message.isCut { counters.cut += 1 }
            self.messages.append(
                DataChannelMessage(
                    label: self.labels[message.stream] ?? "",
                    text: String(decoding: message.bytes, as: UTF8.self),
                    arrivalNanoseconds: nanoseconds
                )
            )
        case .emptyText:
            break
        case nil:
            counters.binary += 1
        }
    }

    /// Opens a channel; the reply confirms it to the peer (RFC 8832 section 6).
    private mutating func takeControl(_ message: PartialMessage, _ counters: inout DataChannelCounters) {
        // Everything else is the acknowledgement of something that we never say.
        guard let open = DataChannelOpen(message.bytes) else { return }
        guard self.labels.count < DataChannelLimits.channels || self.labels[message.stream] != nil else {
            counters.refusedChannels += 1
            return
        }
        self.labels[message.stream] = open.label
        self.send(DataChannelOpen.acknowledgement, .control, on: message.stream)
    }

    // MARK: Sending

    /// The chunks of a text of ours, into the channel that people most likely read.
    mutating func write(_ text: String) -> [SCTPChunk]? {
        let bytes = Array(text.utf8)
        let streams = self.labels.keys.sorted()
        let chat = streams.first { self.labels[$0]?.lowercased().contains("chat") == true }
        guard let stream = chat ?? streams.first, (1...DataChannelLimits.writtenBytes).contains(bytes.count),
            self.sent.count < DataChannelLimits.channels
        else { return nil }
        self.send(bytes, .text, on: stream)
        defer { self.fresh = [] }
        return self.fresh
    }

    private mutating func send(_ bytes: [UInt8], _ kind: PayloadProtocol, on stream: UInt16) {
        guard self.sent.count < DataChannelLimits.channels else { return }
        var writer = ByteWriter()
        writer.append(self.nextNumber)
        writer.append(stream)
        writer.append(self.sequences[stream] ?? 0)
        writer.append(kind.rawValue)
        writer.append(bytes)
        // First and last fragment, and not to be delayed.
        let chunk = SCTPChunk(.data, flags: 3, writer.bytes)
        self.sent.append((self.nextNumber, chunk))
        self.fresh.append(chunk)
        self.sequences[stream, default: 0] &+= 1
        self.nextNumber &+= 1
        self.repetitions = 0
    }

    /// RFC 9260 section 3.3.4; what lies behind a gap is simply repeated.
    private mutating func takeAcknowledgement(_ chunk: SCTPChunk) {
        var reader = ByteReader(chunk.value)
        guard let number = reader.uint32() else { return }
        self.sent.removeAll { !$0.number.isBehind(number) }
    }

    // MARK: Channels that are closed

    private var requestChunk: SCTPChunk? {
        self.request.map { SCTPChunk(.reconfiguration, SCTPParameter.bytes([$0.parameter])) }
    }

    /// A peer closes a channel by resetting its stream, and waits until we have reset ours (RFC 8831 section 6.7).
    private mutating func takeReconfiguration(_ chunk: SCTPChunk) -> SCTPChunk? {
        var reply: [SCTPParameter] = []
        var asks = false
        // There are no more in one chunk (RFC 6525 section 3.1), and the reply must fit one, too.
        for parameter in SCTPParameter.list(chunk.value).prefix(2) {
            var reader = ByteReader(parameter.value)
            guard let number = reader.uint32() else { continue }
            switch parameter.type {
            case SCTPParameter.outgoingResetRequest:
                guard reader.uint32() != nil, let last = reader.uint32() else { continue }
                var streams: Set<UInt16> = []
                while let stream = reader.uint16() { streams.insert(stream) }
                let isEarly = last.isBehind(self.window.cumulative)
                if !isEarly { self.close(streams.isEmpty ? Set(self.labels.keys) : streams) }
                // Done, or to be asked again when everything before it has come (RFC 6525 section 4.4).
                reply.append(Self.response(to: number, isEarly ? 6 : 1))
                self.prepareRequest(answering: number)
                asks = true
            case SCTPParameter.reconfigurationResponse:
                guard number == self.request?.number, let result = reader.uint32(), result != 6 else { continue }
                self.request = nil
                self.prepareRequest(answering: number)
                asks = true
            default:
                continue
            }
        }
        if asks, let request = self.request { reply.append(request.parameter) }
        return reply.isEmpty ? nil : SCTPChunk(.reconfiguration, SCTPParameter.bytes(reply))
    }

    private static func response(to number: UInt32, _ result: UInt32) -> SCTPParameter {
        var writer = ByteWriter()
        writer.append(number)
        writer.append(result)
        return SCTPParameter(type: SCTPParameter.reconfigurationResponse, value: writer.bytes[...])
    }

    private mutating func close(_ streams: Set<UInt16>) {
        for stream in streams where self.labels.removeValue(forKey: stream) != nil { self.closing.insert(stream) }
    }

    /// Asks for the reset of our side of what is closed, one request at a time (RFC 6525 section 5.1.2).
    ///
    /// A request names no more streams than may be open: a peer that leaves requests unanswered may have closed thousands,
    /// and neither a chunk nor a record of DTLS takes all of them.
    private mutating func prepareRequest(answering number: UInt32) {
        guard self.request == nil, !self.closing.isEmpty else { return }
        var writer = ByteWriter()
        writer.append(self.nextRequest)
        writer.append(number)
        writer.append(self.nextNumber &- 1)
        let streams = self.closing.prefix(DataChannelLimits.channels)
        for stream in streams.sorted() {
            writer.append(stream)
            // A stream that was reset begins with its first message again.
            self.sequences[stream] = nil
        }
        let parameter = SCTPParameter(type: SCTPParameter.outgoingResetRequest, value: writer.bytes[...])
        self.request = (self.nextRequest, parameter)
        self.nextRequest &+= 1
        self.closing.subtract(streams)
        self.repetitions = 0
    }
}
