// SPDX-License-Identifier: Apache-2.0

internal import CTapedeck
internal import Synchronization

/// Keeps the output of a ghost pad until a consumer takes it; the streaming thread does not wait.
final class PadHold: @unchecked Sendable {
    // The C hold is changed under the stream lock only.
    private let pointer: OpaquePointer
    private let pad: Pad
    /// Whether a tap takes what comes out of the pad.
    let hasTap = Atomic(false)

    /// Before the pad's first packet.
    ///
    /// - Parameter source: where packets are counted that no tap takes, and for which source.
    init(_ pad: Pad, counting source: (path: ReceivePath, ssrc: UInt32)? = nil) {
        self.pointer = CTapedeck_hold_new(pad.pointer, source?.path.pointer, source?.ssrc ?? 0)
        self.pad = pad
    }

    deinit {
        CTapedeck_hold_unref(self.pointer)
    }

    /// The text of a header extension, 1 to 14, in the first packets that were kept; nil if they have none.
    func headerExtension(_ id: UInt8) -> String? {
        var value = [UInt8](repeating: 0, count: 64)
        let size = CTapedeck_hold_extension(self.pointer, id, &value, value.count)
        return size > 0 ? String(decoding: value.prefix(size), as: UTF8.self) : nil
    }

    /// Links the pad to `sink`, gives it what was kept, and lets the rest follow.
    func release(to sink: Pad) throws(GStreamerError) {
        try Pad.check(CTapedeck_hold_release(self.pointer, sink.pointer, self.hasTap.load(ordering: .relaxed)))
    }
}
