// SPDX-License-Identifier: Apache-2.0

internal import CTapedeck

/// The place where a received track is sent on through RTP streams of ours, packet by packet as it comes.
///
/// Any thread. The work for each packet is done in C on the streaming thread, and never waits.
public final class RTPFork: @unchecked Sendable {
    // The C object locks for itself.
    private let pointer: OpaquePointer

    /// `watcher` knows the sender's clock.
    init(watcher: RTCPWatcher, ssrc: UInt32, isVideo: Bool) {
        self.pointer = CTapedeck_fork_new(watcher.pointer, ssrc, isVideo)
    }

    deinit {
        CTapedeck_fork_unref(self.pointer)
    }

    func attach(to rtpPad: Pad) {
        CTapedeck_fork_attach(self.pointer, rtpPad.pointer)
    }

    /// Sends the track through a stream from now on, with a payload type from 0 to 127.
    ///
    /// - Returns: false if 18 streams carry it already.
    public func add(_ stream: RTPStream, payloadType: UInt8, clockRateHz: Int) -> Bool {
        CTapedeck_fork_add(self.pointer, stream.pointer, payloadType & 0x7F, UInt32(clamping: clockRateHz))
    }

    /// Ends it: nothing of the track is sent through the stream after this.
    public func remove(_ stream: RTPStream) {
        CTapedeck_fork_remove(self.pointer, stream.pointer)
    }

    /// `CLOCK_MONOTONIC` of the last packet; nil before the first.
    public var lastPacketNanoseconds: Int64? {
        let time = CTapedeck_fork_last_packet_nanoseconds(self.pointer)
        return time == 0 ? nil : time
    }

    /// Notes the parameter sets of H.264 in what is sent on, for `parameterSets`.
    public func noteParameterSets() { CTapedeck_fork_note_sets(self.pointer) }

    /// The last SPS and PPS of H.264 that were sent on, as NAL units; nil before
    /// there are both.
    public var parameterSets: [[UInt8]]? {
        let sets = [7, 8].map { (type: UInt8) in
            var bytes = [UInt8](repeating: 0, count: 512)
            let size = CTapedeck_fork_copy_set(self.pointer, type, &bytes, bytes.count)
            return Array(bytes.prefix(size))
        }
        return sets.contains(where: \.isEmpty) ? nil : sets
    }

    /// Bytes of the track's packets so far, sent on or not.
    public var bytes: UInt64 { CTapedeck_fork_bytes(self.pointer) }
}
