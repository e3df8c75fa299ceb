// SPDX-License-Identifier: Apache-2.0

public import Basics

/// How large the frames in a coded unit are, by its headers: what is looked at before a decoder gets the unit.
public enum CodedSize: Sendable, Hashable {
    /// No frame is larger than a decoder may get.
    case fits
    /// The first frame that is larger, in pixels before any cropping.
    case tooLarge(width: Int, height: Int)
    /// A header that states a size cannot be read.
    case unreadable

    /// A decoder gets no frame of more pixels: as many as 4096 x 4096 have.
    public static let maximumPixels = 16_777_216

    init(width: Int, height: Int) {
        let (pixels, isOverflow) = width.multipliedReportingOverflow(by: height)
        self = isOverflow || pixels > Self.maximumPixels ? .tooLarge(width: width, height: height) : .fits
    }

    /// This one, or the next one if it fits.
    func and(_ next: @autoclosure () -> CodedSize) -> CodedSize { self == .fits ? next() : self }
}

extension Bitstream {
    /// The size of the frames in one unit; `fits` where the unit states none, as most do.
    ///
    /// Never traps, whatever the bytes. Parameters as in `inspect`.
    public static func codedSize(
        _ codec: MediaCodec,
        _ unit: UnsafeRawBufferPointer,
        framing: H264.Framing = .annexB
    ) -> CodedSize {
        switch codec {
        case .vp8:
            guard let inspection = VP8.inspect(unit) else { return .unreadable }
            guard let width = inspection.width, let height = inspection.height else { return .fits }
            return CodedSize(width: width, height: height)
        case .vp9: return VP9.codedSize(unit)
        case .h264:
            var size = CodedSize.fits
            H264.forEachUnit(unit, framing: framing) { size = size.and(H264SequenceParameters.codedSize($0)) }
            return size
        case .opus, .pcmu, .pcma: return .fits
        }
    }
}

extension H264ParameterSets {
    /// The largest frames that these sets allow.
    public var codedSize: CodedSize {
        self.sequence.reduce(.fits) { size, set in
            size.and(set.withUnsafeBytes { H264SequenceParameters.codedSize($0) })
        }
    }
}
