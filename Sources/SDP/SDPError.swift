// SPDX-License-Identifier: Apache-2.0

/// Why a description cannot be used.
public struct SDPError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The text is not a session description.
        case garbage
        /// The text, or something it counts, is over a limit of `SDPLimits`.
        case tooLarge
        /// The offer keys its media with SDES; only DTLS-SRTP is spoken here.
        case sdesOnly
        /// A required certificate fingerprint is absent.
        case noFingerprint
        /// ICE credentials are absent or malformed (RFC 8839 section 5.4).
        case noICE
        /// The description has no audio or video that we can take.
        case noMedia
        /// Several media without BUNDLE: each would need a separate transport.
        case noBundle
        /// An answer does not fit the offer it should answer.
        case mismatchedAnswer
        /// The description came when none of its kind was awaited.
        case wrongState
        /// webrtcbin's own text is not what its input called for.
        case unexpectedInner
    }

    /// The kind of failure.
    public var code: Code
    /// One sentence for a person: where (line numbers start at 1) and what was wrong.
    public var message: String

    /// An error with each part given.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String { self.message }
}

/// Limits of a description: one beyond them is refused before it is parsed.
public enum SDPLimits {
    /// UTF-8 bytes of a whole description.
    public static let bytes = 256 * 1024
    /// Lines of a whole description.
    public static let lines = 16_384
    /// m-lines of a description, and m-lines that webrtcbin is ever given: a browser adds one for each track that was ever
    /// sent, also for those that have ended.
    public static let mediaLines = 128
    /// Lines below one m-line: 64 sources of a Plan B description have four each, and candidates come on top.
    public static let linesPerMediaLine = 2000
    /// Header extensions above the m-lines that are taken for each; later ones are ignored.
    public static let extensionsOfAll = 16
    /// Groups of a description, each of as many mids as there may be m-lines; later ones are ignored.
    public static let groups = 16
    /// Lines `fmtp`, and as many `rtcp-fb`, that are taken for one payload type; later ones are ignored.
    public static let linesPerFormat = 16
    /// Formats on one m-line, counted before duplicates are dropped.
    public static let formatsPerMediaLine = 256
    /// Synchronisation sources taken from one m-line of a description; later ones are ignored.
    public static let sourcesPerMediaLine = 64
    /// Sources that the m-lines of one connection may name in the course of a call, retransmissions included; a
    /// description that names more is worth a new connection.
    public static let sources = 256
    /// Candidates taken from one description; later ones are ignored.
    public static let candidates = 256
    /// UTF-8 bytes of one candidate line.
    public static let candidateBytes = 1024
}

extension String {
    /// The text cut to `limit` characters, without control characters, for error messages.
    func excerpt(_ limit: Int = 40) -> String {
        let clean = self.unicodeScalars.prefix(limit).map { $0.value < 0x20 || $0.value == 0x7F ? "?" : Character($0) }
        return String(clean) + (self.unicodeScalars.dropFirst(limit).isEmpty ? "" : "…")
    }
}
