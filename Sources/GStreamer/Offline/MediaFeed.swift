// SPDX-License-Identifier: Apache-2.0

internal import CTapedeck

/// Gives video or audio to an `appsrc` of a pipeline, no faster than the pipeline takes it.
///
/// One thread at a time.
public final class MediaFeed {
    private let pointer: OpaquePointer
    /// How long a pipeline may take nothing before it counts as stuck.
    private static let patienceNanoseconds: Int64 = 60_000_000_000

    /// Feeds the element, of which at most `maximumBuffers` wait.
    public init(_ appsrc: Element, maximumBuffers: Int) {
        self.pointer = CTapedeck_feed_new(appsrc.pointer, UInt32(clamping: maximumBuffers))
    }

    deinit {
        CTapedeck_feed_free(self.pointer)
    }

    /// Pushes what is on the canvas now; false if the pipeline takes no more.
    ///
    /// Blocks while the queue is full.
    public func push(_ canvas: Canvas, nanoseconds: Int64, duration: Int64) -> Bool {
        CTapedeck_feed_push_canvas(self.pointer, canvas.pointer, nanoseconds, duration, Self.patienceNanoseconds)
    }

    /// Pushes interleaved audio; false if the pipeline takes no more.
    ///
    /// Blocks while the queue is full.
    public func push(_ samples: [Float], nanoseconds: Int64, duration: Int64) -> Bool {
        samples.withUnsafeBytes {
            CTapedeck_feed_push_bytes(
                self.pointer,
                $0.baseAddress,
                $0.count,
                nanoseconds,
                duration,
                Self.patienceNanoseconds
            )
        }
    }

    /// Says that nothing more comes.
    public func finish() {
        CTapedeck_feed_finish(self.pointer)
    }
}
