// SPDX-License-Identifier: Apache-2.0

/// How an export is made, beside what of the recording it holds.
public struct ExportOptions: Sendable, Hashable {
    /// The kind of file.
    public enum Container: String, Sendable, Hashable, Codable, CaseIterable {
        /// Everything that was recorded, chapters and chat included.
        case matroska = "mkv"
        /// VP8, VP9 and Opus, with chapters.
        case webm
        /// H.264, VP9 and Opus; made by ffmpeg of a Matroska file (see `Worker`).
        case mp4

        /// The container that a path's extension names; Matroska for any other.
        public init(path: String?) {
            let name = path?.split(separator: "/").last?.lowercased() ?? ""
            self = name.hasSuffix(".webm") ? .webm : name.hasSuffix(".mp4") ? .mp4 : .matroska
        }
    }

    /// Whether pictures that cannot be decoded, because others that they refer to never came, stay in the file.
    public var keepsDamagedUnits: Bool
    /// Whether each RTP stream has its own track, also where one begins when another of the same sender is over.
    public var separatesTracks: Bool
    /// The kind of file, for the layout `tracks`; `Exporter` itself writes no MP4.
    public var container: Container
    /// The program and version that the file names as its maker.
    public var program: String

    /// Options with each part given.
    public init(
        keepsDamagedUnits: Bool = false,
        separatesTracks: Bool = false,
        container: Container = .matroska,
        program: String = "tapedeck"
    ) {
        self.keepsDamagedUnits = keepsDamagedUnits
        self.separatesTracks = separatesTracks
        self.container = container
        self.program = program
    }
}

extension ExportOptions.Container {
    /// Codecs that the container takes, as people call them.
    var codecTitles: String {
        switch self {
        case .matroska: "every codec"
        case .webm: "VP8, VP9 and Opus"
        case .mp4: "H.264, VP9 and Opus"
        }
    }

    /// The media type of its files.
    public var mediaType: String {
        switch self {
        case .matroska: "video/x-matroska"
        case .webm: "video/webm"
        case .mp4: "video/mp4"
        }
    }
}
