// SPDX-License-Identifier: Apache-2.0

internal import PipelineCatalogue

/// Where pictures or sound come from: a capture file of `Pipelines/` with what it is to open.
///
/// Written `NAME` or `NAME:ARGUMENT`, for example `test`, `v4l2:/dev/video0`, `file:PATH`, `rtsp://HOST/STREAM`.
public struct CaptureInput: Sendable, Hashable, CustomStringConvertible {
    /// Nothing.
    public static let none = CaptureInput(name: "none", argument: nil)
    /// The test picture or the test beep.
    public static let test = CaptureInput(name: "test", argument: nil)

    /// The pictures or the sound of a file, over and over.
    public static func file(_ path: String) -> CaptureInput { CaptureInput(name: "file", argument: path) }
    /// A camera: the path of a Video4Linux device, `name=…` or `serial=…`.
    public static func camera(_ device: String) -> CaptureInput { CaptureInput(name: "v4l2", argument: device) }

    /// The name of the capture file.
    public var name: String
    /// What stands behind the name and a colon; never empty.
    public var argument: String?

    private init(name: String, argument: String?) {
        self.name = name
        self.argument = argument
    }

    /// Reads a source as it is written; `nil` if it cannot be one.
    ///
    /// Whether there is such a file shows when it is looked up.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = parts.first.map(String.init), PipelineFile.isName(name), !text.utf8.contains(0) else {
            return nil
        }
        guard parts.count > 1 else {
            self.init(name: name, argument: nil)
            return
        }
        guard !parts[1].isEmpty, name != "none" else { return nil }
        // An address is its own argument.
        let isAddress = parts[1].hasPrefix("//") && (name == "rtsp" || name == "rtsps")
        self.init(name: isAddress ? "rtsp" : name, argument: isAddress ? text : String(parts[1]))
    }

    /// The text that `init(_:)` reads.
    public var description: String {
        guard let argument = self.argument else { return self.name }
        return self.name == "rtsp" && argument.hasPrefix("rtsp") ? argument : "\(self.name):\(argument)"
    }
}
