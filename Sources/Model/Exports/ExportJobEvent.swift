// SPDX-License-Identifier: Apache-2.0

/// The reports of an export job on its standard output: one JSON object a line, as a worker does.
///
/// The last line is `.finished` with exit code 0, or `.failed` with the code of the command's failure.
public enum ExportJobEvent: Sendable, Hashable, Codable {
    /// How far it is, at most ten times a second; the same again while it only reads, hashes or remuxes.
    case progress(bytesDone: UInt64, bytesTotal: UInt64)
    /// The file is in its place.
    case finished(ExportJobResult)
    /// There is no file; an older one at that place is still there.
    case failed(message: String, retriable: Bool)
}

/// A file that an export job made.
public struct ExportJobResult: Sendable, Hashable, Codable {
    /// More warnings are only counted: there may be one for each time at which nothing came, and a line has a bound.
    public static let maximumWarnings = 200

    /// Its path.
    public var output: String
    /// The layout's name.
    public var layout: String
    /// Its media type, such as `video/webm`.
    public var mediaType: String
    /// Its size.
    public var bytes: UInt64
    /// Its duration in nanoseconds.
    public var durationNanoseconds: Int64
    /// Whether everything that came is in it.
    public var isComplete: Bool
    /// What is missing or doubtful, a sentence each; after `maximumWarnings` how many more there are.
    public var warnings: [String]

    /// A result with each part given.
    public init(
        output: String,
        layout: String,
        mediaType: String,
        bytes: UInt64,
        durationNanoseconds: Int64,
        isComplete: Bool,
        warnings: [String]
    ) {
        self.output = output
        self.layout = layout
        self.mediaType = mediaType
        self.bytes = bytes
        self.durationNanoseconds = durationNanoseconds
        self.isComplete = isComplete
        self.warnings = Array(warnings.prefix(Self.maximumWarnings))
        let more = warnings.count - self.warnings.count
        if more > 0 { self.warnings.append("\(more) more; the recording's certificate has all of them") }
    }

    private enum CodingKeys: String, CodingKey {
        case output, layout, mediaType, bytes, warnings
        case durationNanoseconds = "duration_ns"
        case isComplete = "complete"
    }
}
