// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer
internal import CTapedeck

/// Admits a number of sources (SSRC) of a peer to an `srtpdec`, drops packets of others, and decrypts media instead of
/// it where rtpsession follows.
final class SourceGuard: @unchecked Sendable {
    // The C guard counts with atomics; all else in it belongs to the streaming thread.
    private let pointer: OpaquePointer

    /// Why a packet was refused.
    enum Refusal: Hashable {
        /// It is of a source beyond, or of a payload type beyond.
        case source
        /// It was not made with the key that the handshake gave.
        case key
    }

    /// Guards an element before it gets its first packet.
    ///
    /// - Parameters:
    ///   - decrypts: whether media may go around the element.
    ///   - onRefusal: called once for each reason, with the first packet that is refused for it; GStreamer's thread, must
    ///     not block.
    init(
        of srtpdec: Element,
        maximumSources: Int,
        decrypts: Bool = true,
        onRefusal: @escaping @Sendable (Refusal) -> Void
    ) {
        let box = CallbackBox<Refusal>(onRefusal)
        self.pointer = CTapedeck_source_guard_new(
            srtpdec.pointer,
            UInt32(clamping: maximumSources),
            decrypts,
            { CallbackBox<Refusal>.from($0)?.call($1 == CTAPEDECK_REFUSED_KEY ? .key : .source) },
            box.retained(),
            release
        )
    }

    deinit {
        CTapedeck_source_guard_unref(self.pointer)
    }

    /// Lets nothing into the element any more, and waits until what is on its way has come to its end.
    ///
    /// Control thread.
    func close(_ srtpdec: Element) {
        CTapedeck_source_guard_close(self.pointer, srtpdec.pointer)
    }

    /// Sources that were let in; any thread.
    var sources: Int { Int(CTapedeck_source_guard_sources(self.pointer)) }

    /// Packets that named a source beyond; any thread.
    var refusedPackets: UInt64 { CTapedeck_source_guard_refused(self.pointer) }

    /// Authentic packets of each source; any thread.
    var counts: [CTapedeckSourceCount] {
        countsOfAll(CTapedeckSourceCount()) { CTapedeck_source_guard_counts(self.pointer, $0, $1) }
    }

    /// Whether media go through the element, as far as that is known; any thread.
    var goesThrough: Bool { CTapedeck_source_guard_goes_through(self.pointer) }

    /// Packets that went around the element; any thread.
    var decryptedPackets: UInt64 { CTapedeck_source_guard_decrypted(self.pointer) }

    /// Packets of media that were not made with the key of the handshake; any thread.
    var forgedPackets: UInt64 { CTapedeck_source_guard_forged(self.pointer) }
}
