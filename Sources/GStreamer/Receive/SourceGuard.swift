// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer
internal import CTapedeck

/// Lets so many sources (SSRC) of a peer into an `srtpdec`, drops what comes of others, and decrypts media in its place where
/// rtpsession follows.
final class SourceGuard: @unchecked Sendable {
    // The C guard counts with atomics; all else in it belongs to the streaming thread.
    private let pointer: OpaquePointer

    /// Guards an element before it gets its first packet.
    ///
    /// - Parameter onRefusal: called once, with the first packet that is refused; GStreamer's thread, must not block.
    init(of srtpdec: Element, maximumSources: Int, onRefusal: @escaping @Sendable () -> Void) {
        let box = CallbackBox<Void>(onRefusal)
        self.pointer = CTapedeck_source_guard_new(
            srtpdec.pointer,
            UInt32(clamping: maximumSources),
            { CallbackBox<Void>.from($0)?.call(()) },
            box.retained(),
            release
        )
    }

    deinit {
        CTapedeck_source_guard_unref(self.pointer)
    }

    /// Sources that were let in; any thread.
    var sources: Int { Int(CTapedeck_source_guard_sources(self.pointer)) }

    /// Packets that named a source beyond; any thread.
    var refusedPackets: UInt64 { CTapedeck_source_guard_refused(self.pointer) }

    /// Whether media go through the element, as far as that is known; any thread.
    var goesThrough: Bool { CTapedeck_source_guard_goes_through(self.pointer) }

    /// Packets that went around the element; any thread.
    var decryptedPackets: UInt64 { CTapedeck_source_guard_decrypted(self.pointer) }
}
