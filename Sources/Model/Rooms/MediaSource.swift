// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import PipelineCatalogue

/// Where video or audio come from: a capture file of `Pipelines/` with what it is to open.
///
/// Written `NAME` or `NAME:ARGUMENT`, for example `test`, `v4l2:/dev/video0`, `file:PATH`, `rtsp://HOST/STREAM`; in JSON as
/// that text.
public struct MediaSource: Sendable, Hashable, CustomStringConvertible {
    /// The test pattern or the test tone.
    public static let test = MediaSource(name: "test", argument: nil)

    /// The video or the audio of a file, over and over.
    public static func file(_ path: String) -> MediaSource { MediaSource(name: "file", argument: path) }
    /// A camera: the path of a Video4Linux device, `name=…` or `serial=…`.
    public static func camera(_ device: String) -> MediaSource { MediaSource(name: "v4l2", argument: device) }

    /// The name of the capture file; never `none`, the word for no source.
    public let name: String
    /// What stands behind the name and a colon; never empty.
    public let argument: String?

    private init(name: String, argument: String?) {
        self.name = name
        self.argument = argument
    }

    /// Reads a source as it is written; `nil` if it cannot be one.
    ///
    /// Whether there is such a file shows when it is looked up.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = parts.first.map(String.init), PipelineFile.isName(name), name != "none",
            !text.utf8.contains(0)
        else { return nil }
        guard parts.count > 1 else {
            self.init(name: name, argument: nil)
            return
        }
        guard !parts[1].isEmpty else { return nil }
        // An address is its own argument.
        let isAddress = parts[1].hasPrefix("//") && (name == "rtsp" || name == "rtsps")
        self.init(name: isAddress ? "rtsp" : name, argument: isAddress ? text : String(parts[1]))
    }

    /// Reads a source as the configuration takes it: whole, and without slashes at the end of a path.
    public init?(configured text: String) {
        guard let source = MediaSource(text), source.isAbsolute else { return nil }
        guard let argument = source.argument else {
            guard source.name != "rtsp", source.name != "v4l2" else { return nil }
            self = source
            return
        }
        guard (1...1024).contains(argument.utf8.count),
            !argument.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { return nil }
        let isSelector = ["name=", "serial="].contains { argument.hasPrefix($0) && argument != $0 }
        switch source.name {
        case "file", "image", "rtp",
            "v4l2" where !isSelector:
            guard let path = AbsolutePath.parse(argument) else { return nil }
            self.init(name: source.name, argument: path)
        case "alsa" where argument.utf8.count > 128 || !argument.utf8.allSatisfy({ (0x21...0x7E).contains($0) }):
            return nil
        default:
            self = source
        }
    }

    /// Whether it is the same from every working directory: what reads a file has an absolute path.
    public var isAbsolute: Bool {
        guard ["file", "image", "rtp"].contains(self.name) else { return true }
        return self.argument?.hasPrefix("/") ?? false
    }

    /// The text that `init(_:)` reads.
    public var description: String {
        guard let argument = self.argument else { return self.name }
        return self.name == "rtsp" && argument.hasPrefix("rtsp") ? argument : "\(self.name):\(argument)"
    }
}

extension MediaSource: Codable {
    /// Reads the text.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let source = MediaSource(try container.decode(String.self)) else {
            let sentence = "takes the name of a capture, or NAME:ARGUMENT"
            throw DecodingError.dataCorruptedError(in: container, debugDescription: sentence)
        }
        self = source
    }

    /// Writes the text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.description)
    }
}
