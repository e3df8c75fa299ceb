// SPDX-License-Identifier: Apache-2.0

/// Properties of a whole file (RFC 9559 section 5.1.2).
public struct SegmentInfo: Sendable, Hashable {
    /// Which readers a file is for.
    public enum DocumentType: String, Sendable, Hashable {
        /// Everything that Matroska has.
        case matroska
        /// The format that browsers play: VP8, VP9 and Opus only.
        case webm
    }

    /// A human-readable title.
    public var title: String?
    /// When time zero of the file was, in nanoseconds since 2001-01-01T00:00:00 UTC.
    public var dateUTCNanosecondsSince2001: Int64?
    /// The unit of stored times, in nanoseconds, 1 000…1 000 000 000 for the writer; 1 ms is what every player expects.
    public var timestampScaleNanoseconds: UInt64
    /// The program that the user sees.
    public var writingApp: String
    /// The library that wrote the bytes.
    public var muxingApp: String
    /// 16 bytes that identify the file, if wanted.
    public var uid: [UInt8]?
    /// Which readers the file is for; the reader leaves the default.
    public var documentType = DocumentType.matroska

    /// Information with each part given.
    public init(
        title: String? = nil,
        dateUTCNanosecondsSince2001: Int64? = nil,
        timestampScaleNanoseconds: UInt64 = 1_000_000,
        writingApp: String = "tapedeck",
        muxingApp: String = "tapedeck",
        uid: [UInt8]? = nil
    ) {
        self.title = title
        self.dateUTCNanosecondsSince2001 = dateUTCNanosecondsSince2001
        self.timestampScaleNanoseconds = timestampScaleNanoseconds
        self.writingApp = writingApp
        self.muxingApp = muxingApp
        self.uid = uid
    }
}

/// A named point or span of time (RFC 9559 section 5.1.7).
public struct Chapter: Sendable, Hashable {
    /// Identifies the chapter; not zero.
    public var uid: UInt64
    /// Where it begins, in nanoseconds from the file's time zero; not negative.
    public var startNanoseconds: Int64
    /// Where it ends, if it is a span.
    public var endNanoseconds: Int64?
    /// The text that players show.
    public var title: String

    /// A chapter with each part given.
    public init(uid: UInt64, startNanoseconds: Int64, endNanoseconds: Int64? = nil, title: String) {
        self.uid = uid
        self.startNanoseconds = startNanoseconds
        self.endNanoseconds = endNanoseconds
        self.title = title
    }
}

/// One name and value about the file or one of its tracks (RFC 9559 section 5.1.8).
public struct Tag: Sendable, Hashable {
    /// The `uid` of the track that it describes; nil for the whole file.
    public var trackUID: UInt64?
    /// A tag name, upper case by custom, not empty.
    public var name: String
    /// Its value.
    public var value: String

    /// A tag with each part given.
    public init(trackUID: UInt64? = nil, name: String, value: String) {
        self.trackUID = trackUID
        self.name = name
        self.value = value
    }
}
