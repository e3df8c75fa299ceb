// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer
internal import CTapedeck

/// An output of a codec: a frame, or audio.
public final class MediaSample {
    let pointer: OpaquePointer

    /// Takes over a full reference.
    fileprivate init(adopting pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        CTapedeck_sample_release(self.pointer)
    }

    /// The frame's shape and time; `nil` if it is no frame that can be drawn.
    public var shape: FrameShape? {
        var picture = CTapedeckPicture()
        guard CTapedeck_sample_picture(self.pointer, &picture) else { return nil }
        return FrameShape(
            width: Int(picture.width),
            height: Int(picture.height),
            aspect: picture.aspect_numerator > 0 && picture.aspect_denominator > 0
                ? Double(picture.aspect_numerator) / Double(picture.aspect_denominator) : 1,
            nanoseconds: picture.nanoseconds < 0 ? nil : picture.nanoseconds - CodecChain.leadNanoseconds
        )
    }

    /// The content of a camera's test pattern in the frame; `nil` if this is no frame in which it could be.
    public var testPicture: TestPicture? {
        var picture = CTapedeckTestPicture()
        guard CTapedeck_sample_read_test_pattern(self.pointer, &picture) else { return nil }
        return TestPicture(counter: picture.counter < 0 ? nil : Int(picture.counter), hasFlash: picture.flash)
    }

    /// Hands over samples of 32 bits in this machine's byte order, and their time; valid during the call only.
    public func withFloats<Result>(_ body: (UnsafeBufferPointer<Float>, Int64?) -> Result) -> Result {
        var size = 0
        var nanoseconds: Int64 = -1
        let bytes = CTapedeck_sample_bytes(self.pointer, &size, &nanoseconds)
        defer { g_free(bytes) }
        let time = nanoseconds < 0 ? nil : nanoseconds - CodecChain.leadNanoseconds
        return UnsafeRawBufferPointer(start: bytes, count: size).withMemoryRebound(to: Float.self) { body($0, time) }
    }

    /// The columns of an image with transparency (AYUV) up to the last visible one.
    public var visibleWidth: Int { Int(CTapedeck_sample_visible_width(self.pointer)) }
}

/// The shape and time of a decoded frame.
public struct FrameShape: Sendable, Hashable {
    /// In pixels.
    public var width: Int
    /// In pixels.
    public var height: Int
    /// The width of a pixel divided by its height.
    public var aspect: Double
    /// As given to the decoder with the unit that it came from.
    public var nanoseconds: Int64?
}

/// The content of the test pattern in one frame (Tests/Peers/test-pattern.md).
public struct TestPicture: Sendable, Hashable {
    /// The frame counter; `nil` if it cannot be read.
    public var counter: Int?
    /// Whether the rectangle in the middle is white.
    public var hasFlash: Bool
}

/// A decoder without a clock or a thread: what a unit yields is there when `push` returns.
///
/// One thread at a time.
public final class CodecChain {
    private let pointer: OpaquePointer

    /// Time stamps of units may be negative, those of GStreamer may not.
    static let leadNanoseconds: Int64 = 360_000_000_000_000

    /// Elements in launch syntax, for units of `caps`; `codecData` is the decoder's set-up, if it takes any.
    ///
    /// - Throws: `missingElement` if an element is not installed or does not start.
    public init(launch: String, caps: String, codecData: [UInt8] = []) throws(GStreamerError) {
        let pointer =
            codecData.isEmpty
            ? CTapedeck_chain_new(launch, caps, nil, 0)
            : CTapedeck_chain_new(launch, caps, codecData, codecData.count)
        guard let pointer else {
            throw GStreamerError(.missingElement, "'\(launch)' does not take \(caps)")
        }
        self.pointer = pointer
    }

    deinit {
        CTapedeck_chain_free(self.pointer)
    }

    /// Pushes one unit; false if the elements take no more.
    public func push(_ unit: [UInt8], nanoseconds: Int64) -> Bool {
        let time = min(max(nanoseconds, -Self.leadNanoseconds), .max - Self.leadNanoseconds) + Self.leadNanoseconds
        return CTapedeck_chain_push(self.pointer, unit, unit.count, time)
    }

    /// Has the elements give what they kept back.
    public func finish() {
        CTapedeck_chain_finish(self.pointer)
    }

    /// The oldest output that was not pulled; `nil` if there is none now.
    public func pull() -> MediaSample? {
        CTapedeck_chain_pull(self.pointer).map { MediaSample(adopting: $0) }
    }
}
