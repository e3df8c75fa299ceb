// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer
internal import CTapedeck
internal import Synchronization

/// The way of one connection's received packets through webrtcbin, and the parts of it that they go around.
public final class ReceivePath: @unchecked Sendable {
    // The C path counts with atomics and locks its table; all else in it belongs to the streaming thread.
    let pointer: OpaquePointer

    /// Reports of a path, each once.
    enum Event: Hashable {
        /// A packet was refused: it is of a source beyond, or of a payload type beyond.
        case sourceRefused
        /// A packet was refused: it was not made with the key that the handshake gave.
        case keyRefused
        /// Reading the connection's sockets held up other connections.
        case heldUpOthers
    }

    /// A path of packets that nothing is known of yet.
    ///
    /// - Parameters:
    ///   - maximumSources: how many may send, for as long as the path lives.
    ///   - gatherMilliseconds: how long packets may gather in the kernel; 0 wakes a thread for each.
    ///   - packetsPerLook: how many are read from the sockets before they are looked at; 0 for as many as suit floods.
    ///   - takesWholeWay: whether packets go around nothing.
    ///   - onEvent: GStreamer's thread; must not block.
    init(
        maximumSources: Int,
        gatherMilliseconds: Int = 0,
        packetsPerLook: Int = 0,
        takesWholeWay: Bool = false,
        onEvent: @escaping @Sendable (Event) -> Void = { _ in }
    ) {
        let settings = CTapedeckReceivePathSettings(
            maximum_sources: UInt32(clamping: maximumSources),
            gather_milliseconds: UInt32(clamping: gatherMilliseconds),
            packets_per_look: UInt32(clamping: packetsPerLook),
            takes_whole_way: takesWholeWay
        )
        let box = CallbackBox<Event>(onEvent)
        self.pointer = CTapedeck_receive_path_new(settings, handleEvent, box.retained(), release)
    }

    deinit {
        CTapedeck_receive_path_unref(self.pointer)
    }

    /// Takes the path's place at an element of webrtcbin, before it gets a packet, if there is one for it.
    func met(_ element: Element) {
        CTapedeck_receive_path_met(self.pointer, element.pointer)
    }

    /// Lets the packets of a stream that is received go around what has nothing to do for them.
    ///
    /// Control thread.
    ///
    /// - Returns: false if they take the whole way through a part of webrtcbin.
    func takes(_ stream: ReceivedStream) -> Bool {
        guard let format = stream.format, let ssrc = format.ssrc, let type = UInt8(exactly: format.payloadType) else {
            return false
        }
        return CTapedeck_receive_path_takes(self.pointer, stream.pad.pointer, ssrc, type)
    }

    /// Accepts these payload types, 0 to 127, those that were accepted before, and no others; all before the first call.
    ///
    /// Any thread.
    func accept(_ payloadTypes: Set<UInt8>) {
        var bits: [UInt64] = [0, 0]
        for type in payloadTypes where type < 128 { bits[Int(type / 64)] |= 1 << UInt64(type % 64) }
        CTapedeck_receive_path_accept(self.pointer, bits[0], bits[1])
    }

    /// Lets the sender of a stream be asked for packets that are missing, or not.
    func askForMissing(of ssrc: UInt32, _ asks: Bool) {
        CTapedeck_receive_path_ask(self.pointer, ssrc, asks)
    }

    /// Lets nothing in any more, waits until what is on its way has come to its end, and passes on what waits.
    ///
    /// Control thread.
    func close() {
        CTapedeck_receive_path_close(self.pointer)
    }

    /// The present counters; any thread.
    var counters: CTapedeckPathCounters { CTapedeck_receive_path_counters(self.pointer) }

    /// Counts of the packets of each source that any came of, by SSRC; any thread.
    var sources: [SourceCounters] {
        let capacity = CTapedeck_receive_path_sources(self.pointer, nil, 0)
        var counts = [CTapedeckSourceCount](repeating: CTapedeckSourceCount(), count: capacity)
        let known = counts.withUnsafeMutableBufferPointer {
            CTapedeck_receive_path_sources(self.pointer, $0.baseAddress, capacity)
        }
        return counts.prefix(known).map(SourceCounters.init)
            .filter { $0 != SourceCounters(ssrc: $0.ssrc) }
            .sorted { $0.ssrc < $1.ssrc }
    }
}

private let handleEvent: @convention(c) (UnsafeMutableRawPointer?, CTapedeckPathEvent) -> Void = { user, event in
    let event: ReceivePath.Event? =
        switch event {
        case CTAPEDECK_PATH_SOURCE_REFUSED: .sourceRefused
        case CTAPEDECK_PATH_KEY_REFUSED: .keyRefused
        case CTAPEDECK_PATH_HELD_UP_OTHERS: .heldUpOthers
        default: nil
        }
    if let event { CallbackBox<ReceivePath.Event>.from(user)?.call(event) }
}

/// All paths of this process.
extension ReceivePath {
    private static let longTrackCount = Atomic<UInt64>(0)

    /// Tracks whose packets take the whole way.
    ///
    /// Any thread.
    public static var longTracks: UInt64 { self.longTrackCount.load(ordering: .relaxed) }

    static func countLongTrack() {
        self.longTrackCount.wrappingAdd(1, ordering: .relaxed)
    }

    /// Packets of media that were dropped because they were not made with their connection's key (RFC 3711 section 3.3).
    ///
    /// Any thread.
    public static var forgedPackets: UInt64 { CTapedeck_forged_packets() }

    /// Connections whose sockets a thread reads in turn with others'; the others have their own thread at work.
    ///
    /// Any thread.
    public static var sharedConnections: Int { Int(self.readers.connections) }

    /// Connections that held up others, since the start; each is counted once.
    ///
    /// Any thread.
    public static var slowConnections: UInt64 { self.readers.slow }

    private static var readers: CTapedeckReaderCounters { CTapedeck_reader_counters(CTapedeck_readers_of_process()) }
}
