// SPDX-License-Identifier: Apache-2.0

/// By how many degrees a player turns the frames of a video clockwise to make them upright.
public enum VideoRotation: Int, Sendable, Hashable, Codable, CaseIterable {
    /// They are upright already.
    case upright = 0
    /// A quarter turn to the right.
    case quarter = 90
    /// They are upside down.
    case half = 180
    /// A quarter turn to the left.
    case threeQuarters = 270

    /// The rotation in the two lowest bits of `urn:3gpp:video-orientation` (3GPP TS 26.114, 7.4.5); its other bits do
    /// not matter here.
    public init(orientationByte: UInt8) {
        switch orientationByte & 3 {
        case 1: self = .quarter
        case 2: self = .half
        case 3: self = .threeQuarters
        default: self = .upright
        }
    }

    /// Whether width and height change places.
    public var isSideways: Bool { self == .quarter || self == .threeQuarters }
}
