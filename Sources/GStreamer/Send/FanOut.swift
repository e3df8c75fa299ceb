// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import CGStreamer
internal import CTapedeck

/// Counters of one consumer of a fan-out.
public struct ConsumerCounters: Sendable, Hashable {
    /// Buffers passed on.
    public var pushed: UInt64
    /// Buffers that did not fit because the consumer was too slow; those left out until the next keyframe come on top.
    public var dropped: UInt64

    init(_ counters: CTapedeckConsumerCounters) {
        self.pushed = counters.pushed
        self.dropped = counters.dropped
    }
}

/// Copies what one pipeline makes to any number of others: encode once, send to every peer.
public final class FanOut: @unchecked Sendable {
    // The C object locks for itself.
    private let pointer: OpaquePointer

    /// `startsAtKeyframe`: for encoded video, whose consumers can only start there.
    public init(startsAtKeyframe: Bool) {
        self.pointer = CTapedeck_fan_out_new(startsAtKeyframe)
    }

    deinit {
        CTapedeck_fan_out_unref(self.pointer)
    }

    /// Feeds from the appsink of that name of a pipeline that has its base time already, or will get the given one.
    ///
    /// May be called again for the pipeline that takes the place of another, which is not listened to any more:
    /// consumers stay, and raw media that begin before what they have already are left out.
    public func attach(
        to pipeline: Pipeline,
        sink: String,
        baseTimeNanoseconds: UInt64? = nil
    ) throws(GStreamerError) {
        let appsink = try pipeline.element(named: sink)
        let base = baseTimeNanoseconds ?? pipeline.baseTimeNanoseconds
        CTapedeck_fan_out_attach(self.pointer, appsink.pointer, GstClockTime(base))
    }

    /// Adds an appsrc of another pipeline that has its base time already; keyframe requests that arrive at it go to
    /// our encoder until the consumer is removed.
    public func add(_ appsrc: Element, of pipeline: Pipeline, maximumQueued: Int = 60) throws(GStreamerError)
        -> Consumer
    {
        let pad = try appsrc.staticPad("src")
        let id = CTapedeck_fan_out_add(
            self.pointer,
            appsrc.pointer,
            pad.pointer,
            GstClockTime(pipeline.baseTimeNanoseconds),
            UInt32(clamping: maximumQueued)
        )
        return Consumer(fanOut: self, id: id)
    }

    /// How many consumers there are.
    public var consumerCount: Int { Int(CTapedeck_fan_out_consumers(self.pointer)) }

    /// Buffers that the source has made.
    public var count: UInt64 {
        CTapedeck_fan_out_count(self.pointer)
    }

    /// Where the newest buffer ends, in nanoseconds of the pipelines' clock; 0 before the first.
    public var endNanoseconds: UInt64 {
        UInt64(CTapedeck_fan_out_end(self.pointer))
    }

    /// Asks the encoder for a keyframe; at most one in 200 ms reaches it, or in what `spaceKeyframes` said.
    public func requestKeyframe() {
        CTapedeck_fan_out_request_keyframe(self.pointer)
    }

    /// At most one request in so long reaches the encoder from now on; 200 ms at least.
    public func spaceKeyframes(_ spacing: Duration) {
        CTapedeck_fan_out_space_keyframes(self.pointer, spacing.boundedNanoseconds)
    }

    /// One attached appsrc.
    public final class Consumer: Sendable {
        private let fanOut: FanOut
        private let id: UInt64

        fileprivate init(fanOut: FanOut, id: UInt64) {
            self.fanOut = fanOut
            self.id = id
        }

        /// The counters until now; zeros after `remove()`.
        public var counters: ConsumerCounters {
            ConsumerCounters(CTapedeck_fan_out_counters(self.fanOut.pointer, self.id))
        }

        /// Takes one of this many raw frames, 1 to 64, from now on.
        ///
        /// Not for coded ones, which need each other.
        public func takeOneOf(_ divisor: Int) {
            CTapedeck_fan_out_thin(self.fanOut.pointer, self.id, UInt32(clamping: divisor))
        }

        /// Leaves out all raw frames for this time from now on, 400 ms at most.
        public func hold(_ duration: Duration) {
            CTapedeck_fan_out_hold(self.fanOut.pointer, self.id, duration.boundedNanoseconds)
        }

        /// Ends the flow; after it returned nothing more is pushed.
        ///
        /// Returns what it got.
        @discardableResult
        public func remove() -> ConsumerCounters {
            ConsumerCounters(CTapedeck_fan_out_remove(self.fanOut.pointer, self.id))
        }
    }
}

extension Duration {
    /// Nanoseconds, a minute at most.
    fileprivate var boundedNanoseconds: Int64 { min(max(self, .zero), .seconds(60)).nanoseconds }
}

extension Pipeline {
    /// Draws the machine-readable test pattern into the I420 frames that leave the element's `src` pad.
    public func paintTestPattern(on name: String, framesPerSecond: Int) throws(GStreamerError) {
        let pad = try self.element(named: name).staticPad("src")
        CTapedeck_paint_test_pattern(pad.pointer, UInt32(clamping: framesPerSecond))
    }

    /// Writes the beep of the test pattern into the 48 kHz stereo S16LE audio that leaves the element's `src` pad.
    ///
    /// - Parameters:
    ///   - framesPerSecond: 1 to 255; a beep lasts one frame.
    ///   - hertz: The beep's pitch.
    public func paintTestSound(on name: String, framesPerSecond: Int, hertz: Int = 1000) throws(GStreamerError) {
        let pad = try self.element(named: name).staticPad("src")
        CTapedeck_paint_test_sound(pad.pointer, UInt32(clamping: framesPerSecond), UInt32(clamping: hertz))
    }
}
