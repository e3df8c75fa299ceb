// SPDX-License-Identifier: Apache-2.0

internal import CTapedeck

/// Counts of the buffers that passed a pad.
public struct PassageCount: Sendable, Hashable {
    /// Buffers: coded frames, packets.
    public var units: UInt64
    /// Those at which decoding can start.
    public var keyframes: UInt64
    /// Their bytes.
    public var bytes: UInt64
    /// When the first begins, in nanoseconds of running time; `nil` if none came.
    public var firstNanoseconds: Int64?
    /// When the last ends.
    public var endNanoseconds: Int64?
}

/// Counts the buffers that reach an element.
public final class MediaPassage {
    private let pointer: OpaquePointer

    /// Counts at the `sink` pad of an element of a pipeline that does not run yet.
    public init(into element: Element) throws(GStreamerError) {
        self.pointer = CTapedeck_passage_new(try element.staticPad("sink").pointer)
    }

    /// The counts, after the pipeline was stopped.
    public func count() -> PassageCount {
        let count = CTapedeck_passage_count(self.pointer)
        return PassageCount(
            units: count.units,
            keyframes: count.keyframes,
            bytes: count.bytes,
            firstNanoseconds: count.first_nanoseconds < 0 ? nil : count.first_nanoseconds,
            endNanoseconds: count.end_nanoseconds < 0 ? nil : count.end_nanoseconds
        )
    }

    deinit {
        CTapedeck_passage_free(self.pointer)
    }
}
