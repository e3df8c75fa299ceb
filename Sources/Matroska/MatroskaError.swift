// SPDX-License-Identifier: Apache-2.0

/// Why a Matroska file could not be written or read.
public struct MatroskaError: Error, Sendable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// A track, chapter, tag or segment description that cannot be written.
        case invalidDescription
        /// A block names a track that was not declared.
        case unknownTrack
        /// A block time is negative or beyond what the file can hold.
        case timeOutOfRange
        /// A payload is larger than `Writer.maximumPayloadSize`.
        case payloadTooLarge
        /// The bytes are not a Matroska file, or its head is torn.
        case notMatroska
        /// The source failed to deliver bytes that it claims to have; `cause` says why.
        case sourceFailed
    }

    /// The kind of failure.
    public var code: Code
    /// One sentence for a person.
    public var message: String
    /// Where in the file, in bytes from its start, if that is known.
    public var offset: UInt64?
    /// The error of the source, for `Code.sourceFailed`.
    public var cause: (any Error)?

    /// An error with each part given.
    public init(_ code: Code, _ message: String, offset: UInt64? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.offset = offset
        self.cause = cause
    }

    /// The message, with the offset and the cause where they are known.
    public var description: String {
        var text = self.message
        if let offset = self.offset { text += " (at byte \(offset))" }
        if let cause = self.cause { text += ": \(cause)" }
        return text
    }
}
