// SPDX-License-Identifier: Apache-2.0

/// One trickled ICE candidate, as every protocol's message is normalised to.
public struct ICECandidate: Hashable, Sendable {
    /// The attribute value, beginning with `candidate:` (RFC 8839 section 5.1), without CR or LF.
    ///
    /// Never empty: end-of-candidates is `RoomEvent.endOfCandidatesReceived`.
    public var line: String
    /// Zero-based index of the m-line in the sender's description, if it was given.
    public var mLineIndex: Int?
    /// Identification tag (RFC 5888) of the m-line, if it was given and not empty.
    public var mid: String?

    /// A candidate for the m-line named by `mid` or, failing that, `mLineIndex`.
    public init(line: String, mLineIndex: Int?, mid: String?) {
        self.line = line
        self.mLineIndex = mLineIndex
        self.mid = mid
    }
}
