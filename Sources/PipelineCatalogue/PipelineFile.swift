// SPDX-License-Identifier: Apache-2.0

public import Basics

/// One file of `Pipelines/`: a branch of elements, what it takes and gives, and what may be set on it.
///
/// The format is documented in `docs/pipelines.md`. A value of this type was decoded, not checked: `findings` says
/// what is wrong with it.
public struct PipelineFile: Sendable, Hashable {
    /// The kind of a file; the name of its folder.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Makes raw video, raw audio, or both.
        case capture
        /// Codes raw media.
        case encode
        /// Sends coded media on.
        case output
    }

    /// The kind of the file.
    public var kind: Kind
    /// The file's name without `.yaml`: `a` to `z`, `0` to `9` and `-`.
    public var name: String
    /// Its purpose, in one sentence.
    public var description: String
    /// Media that each port `in_video` or `in_audio` takes: `raw`, or codecs by their RTP encoding names.
    public var accepts: [MediaKind: [String]] = [:]
    /// Media that each port `out_video` or `out_audio` gives.
    public var gives: [MediaKind: [String]] = [:]
    /// Names of elements to the pad of each that is free: `sink` or `src`.
    public var ports: [String: String] = [:]
    /// Elements without which the file cannot be used on a host.
    public var requires: [String] = []
    /// The launch text; never changed, values are set on its elements.
    public var launch: String
    /// The parameters, by name.
    public var parameters: [String: PipelineParameter] = [:]
    /// The parameter that takes the text after the name and a colon, such as the path in `file:/a.mp4`.
    public var argument: String?
    /// For captures: whether media come at their own pace; others are read at the pace of the clock, over and over.
    public var isLive = true
    /// For captures: whether the machine-readable test pattern is painted into their media.
    public var hasTestPattern = false
    /// For encoders: the one with the largest rank that works is used.
    public var rank = 0
    /// For encoders: whether it must encode a frame on this host before it counts as working.
    public var isProbed = false

    /// A file with its parts set, the others at their defaults.
    public init(kind: Kind, name: String, description: String, launch: String) {
        self.kind = kind
        self.name = name
        self.description = description
        self.launch = launch
    }

    /// For messages: `capture/file`.
    public var path: String { "\(self.kind.rawValue)/\(self.name)" }

    /// The name of the port where a kind of media goes in.
    public static func input(_ media: MediaKind) -> String { "in_\(media.rawValue)" }
    /// The name of the port where a kind of media comes out.
    public static func output(_ media: MediaKind) -> String { "out_\(media.rawValue)" }

    /// The codec of an encoder, by its RTP encoding name; `nil` for other files.
    public var codec: String? {
        guard self.kind == .encode, self.gives.count == 1 else { return nil }
        return self.gives.values.first?.first
    }
}
