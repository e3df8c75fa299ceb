// SPDX-License-Identifier: Apache-2.0

internal import CTapedeck

/// Keeps what comes out of a ghost pad until somebody takes it; the streaming thread does not wait.
final class PadHold: @unchecked Sendable {
    // The C hold is changed under the stream lock only.
    private let pointer: OpaquePointer
    private let pad: Pad

    /// Before the pad's first packet.
    init(_ pad: Pad) {
        self.pointer = CTapedeck_hold_new(pad.pointer)
        self.pad = pad
    }

    deinit {
        CTapedeck_hold_unref(self.pointer)
    }

    /// Links the pad to `sink`, gives it what was kept, and lets the rest follow.
    func release(to sink: Pad) throws(GStreamerError) {
        try Pad.check(CTapedeck_hold_release(self.pointer, sink.pointer))
    }
}
