// SPDX-License-Identifier: Apache-2.0

internal import CTapedeck
internal import Glibc

/// Where an RTP stream of ours goes, and what it is called.
public struct RTPTarget: Sendable, Hashable {
    /// IPv4 or IPv6 address, unicast or multicast.
    public var address: String
    /// Port for RTP, up to 65 534; RTCP goes to the next one.
    public var port: UInt16
    /// Our own RTP port, RTCP being the next one; nil leaves both to the system.
    public var sourcePort: UInt16?
    /// The network interface of multicast packets; nil leaves it to the routing table.
    public var interface: String?
    /// Routers that a packet may pass, 1 to 255.
    public var timeToLive: Int
    /// Synchronisation source (RFC 3550 section 3).
    public var ssrc: UInt32
    /// Canonical name, the same for all streams that are to be synchronised; at most 63 characters of ASCII.
    public var canonicalName: String
    /// Key and salt, `keySize` bytes: packets and reports are encrypted; nil: they are not.
    ///
    /// SRTP with `AES_CM_128_HMAC_SHA1_80` (RFC 4568 section 6.2.1).
    public var key: [UInt8]?

    /// Bytes of a key with its salt.
    public static let keySize = Int(CTAPEDECK_RTP_KEY_SIZE)

    /// A target with each part given.
    public init(
        address: String,
        port: UInt16,
        sourcePort: UInt16? = nil,
        interface: String? = nil,
        timeToLive: Int = 1,
        ssrc: UInt32,
        canonicalName: String,
        key: [UInt8]? = nil
    ) {
        precondition(key.map { $0.count == Self.keySize } ?? true, "a key has \(Self.keySize) bytes")
        self.address = address
        self.port = port
        self.sourcePort = sourcePort
        self.interface = interface
        self.timeToLive = timeToLive
        self.ssrc = ssrc
        self.canonicalName = canonicalName
        self.key = key
    }
}

/// Counters of a stream so far.
public struct RTPStreamCounters: Sendable, Hashable {
    /// Packets handed to the network.
    public var packets: UInt64 = 0
    /// Their bytes, RTP headers included.
    public var bytes: UInt64 = 0
    /// Packets that could not be sent: no receiver, no route, no room in the socket.
    public var droppedPackets: UInt64 = 0
    /// Keyframes that receivers needed: those that asked, and those that came.
    public var keyframeRequests: UInt64 = 0
    /// RTCP sender reports.
    public var reports: UInt64 = 0

    /// Nothing.
    public init() {}

    /// The sum of two streams.
    public static func + (left: RTPStreamCounters, right: RTPStreamCounters) -> RTPStreamCounters {
        var sum = left
        sum.packets += right.packets
        sum.bytes += right.bytes
        sum.droppedPackets += right.droppedPackets
        sum.keyframeRequests += right.keyframeRequests
        sum.reports += right.reports
        return sum
    }
}

/// An RTP stream that goes out over separate sockets; its numbers and times continue across sources.
///
/// Any thread. Nothing here waits for the network.
public final class RTPStream: @unchecked Sendable {
    // The C object locks for itself.
    let pointer: OpaquePointer

    /// Opens the sockets.
    ///
    /// - Throws: `GStreamerError.Code.socket` with the system's words.
    public init(_ target: RTPTarget) throws(GStreamerError) {
        var error: Int32 = 0
        let pointer = target.address.withCString { address in
            target.canonicalName.withCString { name in
                Self.withOptionalCString(target.interface) { interface in
                    Self.withOptionalBytes(target.key) { key in
                        var target = CTapedeckRTPTarget(
                            address: address,
                            port: target.port,
                            source_port: target.sourcePort ?? 0,
                            interface: interface,
                            time_to_live: Int32(clamping: target.timeToLive),
                            ssrc: target.ssrc,
                            cname: name,
                            key: key
                        )
                        return CTapedeck_rtp_stream_new(&target, &error)
                    }
                }
            }
        }
        guard let pointer else {
            throw GStreamerError(.socket, "sockets for \(target.address):\(target.port): \(Self.words(for: error))")
        }
        self.pointer = pointer
    }

    deinit {
        CTapedeck_rtp_stream_unref(self.pointer)
    }

    /// Says goodbye to the receivers and closes the sockets.
    public func close() {
        CTapedeck_rtp_stream_close(self.pointer)
    }

    /// The counters now.
    public var counters: RTPStreamCounters {
        let found = CTapedeck_rtp_stream_counters(self.pointer)
        var counters = RTPStreamCounters()
        counters.packets = found.packets
        counters.bytes = found.bytes
        counters.droppedPackets = found.dropped
        counters.keyframeRequests = found.keyframe_requests
        counters.reports = found.reports
        return counters
    }

    /// Our own RTP port; RTCP comes from the next one, or from the group's if the target is multicast.
    public var sourcePort: UInt16 { CTapedeck_rtp_stream_counters(self.pointer).source_port }

    /// Why the last packet that was dropped could not be sent; nil if none was.
    public var lastError: String? {
        let error = CTapedeck_rtp_stream_counters(self.pointer).last_error
        return error == 0 ? nil : Self.words(for: error)
    }

    /// Whether the last packet that was dropped says that no one listens there.
    public var isRefused: Bool { CTapedeck_rtp_stream_counters(self.pointer).last_error == ECONNREFUSED }

    /// Whether there is no receiver, and a new one may not be able to decrypt: half of the sequence numbers were taken.
    ///
    /// A receiver does not learn how often they wrapped. Always false if packets are not encrypted.
    public var isWorn: Bool { CTapedeck_rtp_stream_counters(self.pointer).is_worn }

    private static func withOptionalCString<Result>(
        _ text: String?,
        _ body: (UnsafePointer<CChar>?) -> Result
    ) -> Result {
        guard let text else { return body(nil) }
        return text.withCString { body($0) }
    }

    private static func withOptionalBytes<Result>(
        _ bytes: [UInt8]?,
        _ body: (UnsafePointer<UInt8>?) -> Result
    ) -> Result {
        guard let bytes else { return body(nil) }
        return bytes.withUnsafeBufferPointer { body($0.baseAddress) }
    }

    private static func words(for error: Int32) -> String {
        if error == ECONNREFUSED { return "no one listens there" }
        return strerror(error).map { String(cString: $0) } ?? "error \(error)"
    }
}
