// SPDX-License-Identifier: Apache-2.0

import CGStreamer
import CTapedeck
import Dispatch
import Synchronization

@testable import GStreamer

/// Entries from foreign threads, in order.
final class Log<Entry: Sendable>: Sendable {
    private let entries = Mutex<[Entry]>([])

    func append(_ entry: Entry) {
        self.entries.withLock { $0.append(entry) }
    }

    var all: [Entry] { self.entries.withLock { $0 } }
    var count: Int { self.entries.withLock { $0.count } }
}

/// Waits until the condition holds, at most `limit`; the last verdict is the result.
func eventually(within limit: Duration = .seconds(60), _ condition: () -> Bool) async -> Bool {
    let deadline = ContinuousClock.now + limit
    while !condition() {
        guard ContinuousClock.now < deadline else { return condition() }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return true
}

/// Runs `body` on a separate thread, outside Swift's pool, and waits for its result.
func onForeignThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        DispatchQueue(label: "foreign").async { continuation.resume(returning: body()) }
    }
}

/// A buffer that passed a pad.
struct SeenBuffer: Sendable, Hashable {
    var bytes: [UInt8]
    var timeNanoseconds: UInt64
    var isKeyframe: Bool

    init(_ buffer: UnsafeMutablePointer<GstBuffer>) {
        let size = gst_buffer_get_size(buffer)
        self.bytes = [UInt8](unsafeUninitializedCapacity: Int(size)) { bytes, count in
            count = Int(gst_buffer_extract(buffer, 0, bytes.baseAddress, size))
        }
        self.timeNanoseconds = UInt64(buffer.pointee.pts)
        self.isKeyframe = buffer.pointee.mini_object.flags & GST_BUFFER_FLAG_DELTA_UNIT.rawValue == 0
    }

    /// The number that `HandFeed.push(number:)` wrote.
    var number: UInt64 { self.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }
}

/// User data of the probes below.
private final class ProbeBox: Sendable {
    let call: @Sendable (UnsafeMutablePointer<GstPadProbeInfo>) -> GstPadProbeReturn

    init(_ call: @escaping @Sendable (UnsafeMutablePointer<GstPadProbeInfo>) -> GstPadProbeReturn) {
        self.call = call
    }
}

private func handleProbe(
    _ pad: UnsafeMutablePointer<GstPad>?,
    _ info: UnsafeMutablePointer<GstPadProbeInfo>?,
    _ user: gpointer?
) -> GstPadProbeReturn {
    guard let info, let user else { return GST_PAD_PROBE_OK }
    return Unmanaged<ProbeBox>.fromOpaque(user).takeUnretainedValue().call(info)
}

extension Pad {
    private func probe(
        _ type: UInt32,
        _ call: @escaping @Sendable (UnsafeMutablePointer<GstPadProbeInfo>) -> GstPadProbeReturn
    ) {
        let user = Unmanaged.passRetained(ProbeBox(call)).toOpaque()
        gst_pad_add_probe(self.pointer, GstPadProbeType(type), handleProbe, user, release)
    }

    /// Shows every buffer, those of lists as well; a buffer for which `keep` says no is dropped (never one of a list).
    func observe(_ keep: @escaping @Sendable (SeenBuffer) -> Bool) {
        self.probe(GST_PAD_PROBE_TYPE_BUFFER.rawValue | GST_PAD_PROBE_TYPE_BUFFER_LIST.rawValue) { info in
            if info.pointee.type.rawValue & GST_PAD_PROBE_TYPE_BUFFER_LIST.rawValue != 0 {
                guard let list = gst_pad_probe_info_get_buffer_list(info) else { return GST_PAD_PROBE_OK }
                for index in 0..<gst_buffer_list_length(list) {
                    if let buffer = gst_buffer_list_get(list, index) { _ = keep(SeenBuffer(buffer)) }
                }
                return GST_PAD_PROBE_OK
            }
            guard let buffer = gst_pad_probe_info_get_buffer(info) else { return GST_PAD_PROBE_OK }
            return keep(SeenBuffer(buffer)) ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP
        }
    }

    /// Calls at each keyframe request that passes upstream.
    func observeKeyframeRequests(_ call: @escaping @Sendable () -> Void) {
        self.probe(GST_PAD_PROBE_TYPE_EVENT_UPSTREAM.rawValue) { info in
            if let event = gst_pad_probe_info_get_event(info), let structure = gst_event_get_structure(event),
                let name = gst_structure_get_name(structure), String(cString: name) == "GstForceKeyUnit"
            {
                call()
            }
            return GST_PAD_PROBE_OK
        }
    }
}

/// A pipeline without a source: buffers made by hand go in on the caller's thread.
final class HandFeed: Sendable {
    let pipeline: Pipeline
    private let sink: Pad

    /// Feeds the pad `pad` of the element named `element`.
    convenience init(
        launch: String,
        into element: String,
        pad: String = "sink",
        caps: String,
        baseTimeNanoseconds: UInt64? = nil
    ) throws {
        try Runtime.initialise()
        let pipeline = try Pipeline(launch: launch) { _ in }
        try self.init(
            feeding: pipeline,
            into: element,
            pad: pad,
            caps: caps,
            baseTimeNanoseconds: baseTimeNanoseconds
        )
    }

    /// Feeds packets of H.264 to the element named `in`.
    convenience init(ofH264 launch: String) throws {
        try self.init(
            launch: launch,
            into: "in",
            caps: "application/x-rtp,media=video,clock-rate=90000,encoding-name=H264,payload=96"
        )
    }

    /// The first one with a pipeline that does not run yet.
    init(
        feeding pipeline: Pipeline,
        into element: String,
        pad: String = "sink",
        caps: String,
        baseTimeNanoseconds: UInt64? = nil
    ) throws {
        self.pipeline = pipeline
        self.sink = try self.pipeline.element(named: element).staticPad(pad)
        try self.pipeline.play(baseTimeNanoseconds: baseTimeNanoseconds)
        gst_pad_send_event(self.sink.pointer, gst_event_new_stream_start("test"))
        let parsed = gst_caps_from_string(caps)
        gst_pad_send_event(self.sink.pointer, gst_event_new_caps(parsed))
        gst_caps_unref(parsed)
        var segment = GstSegment()
        gst_segment_init(&segment, GST_FORMAT_TIME)
        gst_pad_send_event(self.sink.pointer, gst_event_new_segment(&segment))
    }

    /// The pad that is fed.
    var pad: Pad { self.sink }

    /// Pushes bytes and returns when the last element has seen them; true if no element refused them.
    @discardableResult
    func push(_ bytes: [UInt8], timeNanoseconds: UInt64 = .max, isKeyframe: Bool = true) -> Bool {
        let made = bytes.isEmpty ? gst_buffer_new() : gst_buffer_new_memdup(bytes, gsize(bytes.count))
        guard let buffer = made else { return false }
        return self.push(buffer, timeNanoseconds: timeNanoseconds, isKeyframe: isKeyframe)
    }

    /// Takes the buffer over.
    func push(
        _ buffer: UnsafeMutablePointer<GstBuffer>,
        timeNanoseconds: UInt64 = .max,
        isKeyframe: Bool = true
    ) -> Bool {
        buffer.pointee.pts = GstClockTime(timeNanoseconds)
        if !isKeyframe { buffer.pointee.mini_object.flags |= GST_BUFFER_FLAG_DELTA_UNIT.rawValue }
        return gst_pad_chain(self.sink.pointer, buffer) == GST_FLOW_OK
    }

    /// Pushes a buffer that says its own number.
    @discardableResult
    func push(number: UInt64, timeNanoseconds: UInt64, isKeyframe: Bool) -> Bool {
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
        return self.push(bytes, timeNanoseconds: timeNanoseconds, isKeyframe: isKeyframe)
    }

    func stop() {
        self.pipeline.stop()
    }
}

/// G.711 packets made by hand, through a tap into a queue.
final class PacketFeed: Sendable {
    static let headerBytes = 12
    let tap: TrackTap
    private let feed: HandFeed

    init(id: UInt64, queue: UnitQueue, besides other: PacketFeed? = nil) throws {
        self.feed = try HandFeed(
            launch: "rtppcmudepay name=depay ! appsink name=units sync=false max-buffers=8",
            into: "depay",
            caps: "application/x-rtp,media=audio,clock-rate=8000,encoding-name=PCMU,payload=0"
        )
        self.tap = TrackTap(id: id, ssrc: 7, queue: queue, besides: other?.tap)
        self.tap.attach(to: self.feed.pad)
        self.tap.attach(toSink: try self.feed.pipeline.element(named: "units"))
    }

    /// Pushes a packet with a header extension of one byte (RFC 8285 section 4.2).
    func push(_ sequence: UInt16, _ timestamp: UInt32, extensionID: UInt8, value: UInt8) {
        var packet = Self.packet(sequence, timestamp, payload: [])
        packet[0] |= 0x10
        self.feed.push(packet + [0xBE, 0xDE, 0, 1, extensionID << 4, value, 0, 0, 1, 2, 3, 4])
    }

    static func packet(
        _ sequence: UInt16,
        _ timestamp: UInt32,
        payload: [UInt8],
        isH264: Bool = false,
        isMarked: Bool = false
    ) -> [UInt8] {
        [0x80, (isH264 ? 96 : 0) | (isMarked ? 0x80 : 0), UInt8(sequence >> 8), UInt8(truncatingIfNeeded: sequence)]
            + (0..<4).map { UInt8(truncatingIfNeeded: timestamp >> (24 - 8 * UInt32($0))) } + [0, 0, 0, 7] + payload
    }

    /// True if no element refused the packet.
    @discardableResult
    func push(_ sequence: UInt16, _ timestamp: UInt32, payload: [UInt8] = [1, 2, 3, 4]) -> Bool {
        self.feed.push(Self.packet(sequence, timestamp, payload: payload))
    }

    /// Pushes a packet that came over RTX.
    @discardableResult
    func pushAgain(_ sequence: UInt16, _ timestamp: UInt32) -> Bool {
        let packet = Self.packet(sequence, timestamp, payload: [1, 2, 3, 4])
        guard let buffer = gst_buffer_new_memdup(packet, gsize(packet.count)) else { return false }
        // GST_RTP_BUFFER_FLAG_RETRANSMISSION is the first of the flags that are left to formats.
        buffer.pointee.mini_object.flags |= GST_BUFFER_FLAG_LAST.rawValue
        return self.feed.push(buffer)
    }

    /// The same in memory that reports when the last reference to it is gone.
    func push(_ sequence: UInt16, _ timestamp: UInt32, payload: [UInt8], onFree: @escaping @Sendable () -> Void) -> Bool
    {
        let packet = Self.packet(sequence, timestamp, payload: payload)
        let memory = UnsafeMutableRawPointer.allocate(byteCount: packet.count, alignment: 16)
        memory.copyMemory(from: packet, byteCount: packet.count)
        nonisolated(unsafe) let owned = memory
        let box = CallbackBox<Void> {
            owned.deallocate()
            onFree()
        }
        let buffer = gst_buffer_new_wrapped_full(
            GstMemoryFlags(0),
            memory,
            gsize(packet.count),
            0,
            gsize(packet.count),
            box.retained(),
            { user in
                CallbackBox<Void>.from(user)?.call(())
                release(user)
            }
        )
        return buffer.map { self.feed.push($0) } ?? false
    }

    func stop() {
        self.feed.stop()
    }
}

extension UnitQueue {
    /// Everything that is queued now.
    func drain() -> [(unit: ReceivedItem.Unit, bytes: [UInt8])] {
        let units = Mutex<[(unit: ReceivedItem.Unit, bytes: [UInt8])]>([])
        while self.next(
            timeout: .zero,
            { item, bytes in
                guard case .unit(let unit) = item else { return }
                units.withLock { $0.append((unit, Array(bytes))) }
            }
        ) {}
        return units.withLock { $0 }
    }
}

extension Pad {
    /// Lets the streaming thread wait in the pad until the block is removed.
    func block() -> PadBlock {
        let id = gst_pad_add_probe(
            self.pointer,
            GstPadProbeType(GST_PAD_PROBE_TYPE_BLOCK_DOWNSTREAM.rawValue),
            { _, _, _ in GST_PAD_PROBE_OK },
            nil,
            nil
        )
        return PadBlock(pad: self, id: id)
    }
}

/// A pad whose streaming thread waits.
struct PadBlock {
    let pad: Pad
    let id: gulong

    func remove() {
        gst_pad_remove_probe(self.pad.pointer, self.id)
    }
}
