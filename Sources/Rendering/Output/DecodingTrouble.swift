// SPDX-License-Identifier: Apache-2.0

internal import Matroska

/// Failures in decoding one track, counted.
struct DecodingTrouble {
    /// A decoder that fails this often is not set up again.
    private static let mostFailures = 50

    private var units = 0
    private var outputs = 0
    private var failures = 0
    private var reason: String?
    /// The first frame that is larger than a decoder may get.
    private var oversized: (width: Int, height: Int)?

    /// Whether further decoding is useless.
    var isHopeless: Bool { self.reason != nil || self.failures >= Self.mostFailures }

    /// A unit went in.
    mutating func pushed() { self.units += 1 }

    /// Something came out.
    mutating func pulled() { self.outputs += 1 }

    /// The decoder refused a unit and had to be set up again.
    mutating func failed() { self.failures += 1 }

    /// Whether a decoder may have a unit whose frames are so large.
    mutating func mayDecode(_ size: CodedSize) -> Bool {
        if case .tooLarge(let width, let height) = size { self.oversized = self.oversized ?? (width, height) }
        return size == .fits
    }

    /// Nothing more of the track can be decoded.
    mutating func stop(_ reason: String) { self.reason = self.reason ?? reason }

    /// One sentence that names a participant whose frames are too large; `nil` if none is.
    func sizeWarning(_ file: String, of participant: String) -> String? {
        guard let (width, height) = self.oversized else { return nil }
        return "\(participant) is not always shown: \(file) has frames of \(width) x \(height) pixels, "
            + "and none of more than \(CodedSize.maximumPixels) is decoded"
    }

    /// One sentence that names the track; `nil` if all went well.
    func warning(_ file: String, _ what: String) -> String? {
        if let reason = self.reason { return "\(file) is not shown or heard to its end: \(reason)" }
        if self.failures >= Self.mostFailures {
            return "\(file) is not shown or heard to its end: its decoder failed \(self.failures) times"
        }
        let missing = self.units - self.outputs
        return missing > 0 ? "\(missing) of \(self.units) \(what) of \(file) could not be decoded" : nil
    }
}
