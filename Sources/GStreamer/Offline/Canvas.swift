// SPDX-License-Identifier: Apache-2.0

public import Basics
internal import CTapedeck

/// A colour in BT.601, limited range.
public struct CanvasColour: Sendable, Hashable {
    /// 16 black … 235 white.
    public var luma: UInt8
    /// 128 is none.
    public var cb: UInt8
    /// 128 is none.
    public var cr: UInt8

    /// A colour with each part given.
    public init(luma: UInt8, cb: UInt8, cr: UInt8) {
        self.luma = luma
        self.cb = cb
        self.cr = cr
    }
}

/// A frame that others are drawn on.
///
/// Coordinates are pixels from the upper left corner, and even. One thread at a time.
public final class Canvas {
    let pointer: OpaquePointer

    /// The most slots that keep what scaling needs.
    public static let slots = 256

    /// A black canvas of even width and height.
    public init(width: Int, height: Int) throws(GStreamerError) {
        guard let pointer = CTapedeck_canvas_new(Int32(clamping: width), Int32(clamping: height)) else {
            throw GStreamerError(.initialisation, "there is no memory for a frame of \(width)x\(height)")
        }
        self.pointer = pointer
    }

    deinit {
        CTapedeck_canvas_free(self.pointer)
    }

    /// Fills a rectangle.
    public func fill(x: Int, y: Int, width: Int, height: Int, _ colour: CanvasColour) {
        CTapedeck_canvas_fill(
            self.pointer,
            Int32(clamping: x),
            Int32(clamping: y),
            Int32(clamping: width),
            Int32(clamping: height),
            colour.luma,
            colour.cb,
            colour.cr
        )
    }

    /// Darkens a rectangle, so that text on it can be read.
    public func shade(x: Int, y: Int, width: Int, height: Int) {
        CTapedeck_canvas_shade(
            self.pointer,
            Int32(clamping: x),
            Int32(clamping: y),
            Int32(clamping: width),
            Int32(clamping: height)
        )
    }

    /// Turns a frame upright and scales it into a rectangle inside the canvas; false if it cannot be drawn.
    ///
    /// - Parameter slot: keeps the scaler for the next frame of the same shape.
    @discardableResult
    public func draw(
        _ sample: MediaSample,
        slot: Int,
        rotation: VideoRotation = .upright,
        x: Int,
        y: Int,
        width: Int,
        height: Int
    ) -> Bool {
        CTapedeck_canvas_draw(
            self.pointer,
            UInt32(clamping: slot),
            sample.pointer,
            UInt32(rotation.rawValue / 90),
            Int32(clamping: x),
            Int32(clamping: y),
            Int32(clamping: width),
            Int32(clamping: height)
        )
    }

    /// Draws an image with transparency, its right part cut off beyond the width.
    @discardableResult
    public func blend(_ sample: MediaSample, x: Int, y: Int, maximumWidth: Int) -> Bool {
        CTapedeck_canvas_blend(
            self.pointer,
            sample.pointer,
            Int32(clamping: x),
            Int32(clamping: y),
            Int32(clamping: maximumWidth)
        )
    }
}
