// SPDX-License-Identifier: Apache-2.0

/// Where pictures come from.
public enum VideoInput: Sendable, Hashable, CustomStringConvertible {
    /// No pictures.
    case none
    /// The test pattern.
    case test
    /// A camera: the path of a Video4Linux device, for example `/dev/video0`.
    case device(String)
    /// The pictures of a file, over and over.
    case file(String)

    /// Reads `test`, `v4l2:/dev/video0`, `file:PATH` or `none`; `nil` for anything else.
    public init?(_ text: String) {
        switch text {
        case "none": self = .none
        case "test": self = .test
        default:
            if let path = argument(of: "file:", in: text) {
                self = .file(path)
            } else if let device = argument(of: "v4l2:", in: text) {
                self = .device(device)
            } else {
                return nil
            }
        }
    }

    /// The text that `init(_:)` reads.
    public var description: String {
        switch self {
        case .none: "none"
        case .test: "test"
        case .device(let device): "v4l2:\(device)"
        case .file(let path): "file:\(path)"
        }
    }
}

/// Where sound comes from.
public enum AudioInput: Sendable, Hashable, CustomStringConvertible {
    /// No sound.
    case none
    /// The test beep.
    case test
    /// A microphone: the name of an ALSA device, for example `default` or `hw:1,0`.
    case device(String)
    /// The sound of a file, over and over.
    case file(String)

    /// Reads `test`, `alsa:default`, `file:PATH` or `none`; `nil` for anything else.
    public init?(_ text: String) {
        switch text {
        case "none": self = .none
        case "test": self = .test
        default:
            if let path = argument(of: "file:", in: text) {
                self = .file(path)
            } else if let device = argument(of: "alsa:", in: text) {
                self = .device(device)
            } else {
                return nil
            }
        }
    }

    /// The text that `init(_:)` reads.
    public var description: String {
        switch self {
        case .none: "none"
        case .test: "test"
        case .device(let device): "alsa:\(device)"
        case .file(let path): "file:\(path)"
        }
    }
}

/// What follows a prefix, if there is something.
private func argument(of prefix: String, in text: String) -> String? {
    guard text.hasPrefix(prefix), text.utf8.count > prefix.utf8.count else { return nil }
    return String(text.dropFirst(prefix.count))
}

/// One thing that is opened once: its pictures, its sound, or both.
struct CaptureSource: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Sendable, Hashable {
        case test
        case camera(String)
        case microphone(String)
        case file(String)
    }

    var kind: Kind
    var hasVideo: Bool
    var hasAudio: Bool

    /// What has to be opened; a file that gives both is opened once, so that lips match.
    static func all(_ video: VideoInput, _ audio: AudioInput) -> [CaptureSource] {
        let picture: Kind? =
            switch video {
            case .none: nil
            case .test: .test
            case .device(let device): .camera(device)
            case .file(let path): .file(path)
            }
        let sound: Kind? =
            switch audio {
            case .none: nil
            case .test: .test
            case .device(let device): .microphone(device)
            case .file(let path): .file(path)
            }
        if let picture, picture == sound { return [CaptureSource(kind: picture, hasVideo: true, hasAudio: true)] }
        return [
            picture.map { CaptureSource(kind: $0, hasVideo: true, hasAudio: false) },
            sound.map { CaptureSource(kind: $0, hasVideo: false, hasAudio: true) },
        ].compactMap { $0 }
    }

    /// For messages, for example `camera /dev/video0`.
    var description: String {
        switch self.kind {
        case .test: "test source"
        case .camera(let device): "camera \(device)"
        case .microphone(let device): "microphone \(device)"
        case .file(let path): "file \(path)"
        }
    }
}
