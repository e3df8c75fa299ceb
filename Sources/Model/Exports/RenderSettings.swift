// SPDX-License-Identifier: Apache-2.0

public import Basics

/// How a recording is rendered, checked.
public struct RenderSettings: Sendable, Hashable {
    /// What is made.
    public enum Layout: String, Sendable, Hashable, CaseIterable {
        /// Everybody in one picture, with the sound of all.
        case grid
        /// The sound of all.
        case audio
    }

    /// How pictures are coded; sound goes with them.
    public enum Codec: String, Sendable, Hashable, CaseIterable {
        /// H.264 with AAC.
        case h264
        /// VP8 with Opus.
        case vp8
    }

    /// How sound alone is coded.
    public enum SoundFormat: String, Sendable, Hashable, CaseIterable {
        /// Opus in Ogg.
        case opus
        /// 16 bits, 48 kHz, stereo.
        case wav
    }

    /// What holds coded pictures and sound.
    public enum Container: String, Sendable, Hashable, CaseIterable {
        case mp4
        case mkv
        case webm
        case opus
        case wav
    }

    /// Why settings cannot be used.
    public struct Invalid: Error, Sendable, Hashable, CustomStringConvertible {
        /// One sentence for a person.
        public var message: String
        /// The message.
        public var description: String { self.message }
    }

    /// Picture sides that are taken, in pixels.
    public static let sides = 160...3840
    /// Frames a second that are taken.
    public static let rates = 1...60
    /// Loudness that is taken, in LUFS.
    public static let loudnessRange = -40.0 ... -9.0
    /// What speech is brought to unless said otherwise, in LUFS.
    public static let usualLoudness = -16.0

    /// What is made.
    public let layout: Layout
    /// Width of the picture, even.
    public let width: Int
    /// Height of the picture, even.
    public let height: Int
    /// Frames a second.
    public let framesPerSecond: Int
    /// How pictures are coded.
    public let codec: Codec
    /// The kind of file.
    public let container: Container
    /// What the audio is brought to, in LUFS; `nil` leaves it as it is.
    public let loudness: Double?

    /// A layout with each part checked; what is left out follows from the rest.
    ///
    /// - Parameters:
    ///   - size: of the picture, for `grid`; 1280x720 if left out.
    ///   - framesPerSecond: for `grid`; 25 if left out.
    ///   - codec: for `grid`; what the file name asks for if left out.
    ///   - format: for `audio`; what the file name asks for if left out.
    ///   - loudness: in LUFS; -16 for `audio` if left out.
    ///   - output: the file's path; its suffix names the kind of file.
    public init(
        layout: Layout,
        size: PictureSize? = nil,
        framesPerSecond: Int? = nil,
        codec: Codec? = nil,
        format: SoundFormat? = nil,
        loudness: Double? = nil,
        output: String? = nil
    ) throws(Invalid) {
        let isGrid = layout == .grid
        if !isGrid, size != nil || framesPerSecond != nil || codec != nil {
            throw Invalid(message: "size, fps and codec are of video: the audio layout has none")
        }
        if isGrid, format != nil { throw Invalid(message: "format is of the audio layout; a grid takes a codec") }
        let size = size ?? PictureSize(width: 1280, height: 720)
        for side in [size.width, size.height] where !Self.sides.contains(side) || !side.isMultiple(of: 2) {
            throw Invalid(
                message: "\(size) is not a size: even numbers from \(Self.sides.lowerBound) to "
                    + "\(Self.sides.upperBound), for example 1280x720"
            )
        }
        let rate = framesPerSecond ?? 25
        guard Self.rates.contains(rate) else {
            throw Invalid(
                message: "\(rate) frames a second are not in \(Self.rates.lowerBound)…\(Self.rates.upperBound)"
            )
        }
        if let loudness, !Self.loudnessRange.contains(loudness) {
            throw Invalid(
                message: "a loudness of \(loudness) LUFS is not in \(Self.loudnessRange.lowerBound)…"
                    + "\(Self.loudnessRange.upperBound)"
            )
        }
        self.layout = layout
        self.width = size.width
        self.height = size.height
        self.framesPerSecond = rate
        self.loudness = loudness ?? (isGrid ? nil : Self.usualLoudness)
        let suffix = try output.map { path throws(Invalid) in try Self.container(of: path, layout) }
        if isGrid {
            self.codec = codec ?? (suffix == .webm ? .vp8 : .h264)
            self.container = suffix ?? (self.codec == .vp8 ? .webm : .mp4)
            switch (self.container, self.codec) {
            case (.webm, .h264): throw Invalid(message: "WebM has no H.264: name the file .mp4 or .mkv, or take vp8")
            case (.mp4, .vp8): throw Invalid(message: "VP8 goes into .webm or .mkv, not .mp4")
            default: break
            }
        } else {
            self.codec = .h264
            let asked = format.map { $0 == .wav ? Container.wav : .opus }
            if let asked, let suffix, asked != suffix {
                throw Invalid(message: "the format is \(asked.rawValue), but the file is named .\(suffix.rawValue)")
            }
            self.container = asked ?? suffix ?? .opus
        }
    }

    /// The file's name unless somebody asks for another.
    ///
    /// - Parameter part: what tells it from other parts of the recording, such as `-alice`; empty for all of it.
    public func fileName(part: String) -> String {
        "call-\(self.layout.rawValue)\(part).\(self.container.rawValue)"
    }

    /// The media type of the file.
    public var mediaType: String {
        switch self.container {
        case .mp4: "video/mp4"
        case .mkv: "video/x-matroska"
        case .webm: "video/webm"
        case .opus: "audio/ogg"
        case .wav: "audio/wav"
        }
    }

    private static func container(of path: String, _ layout: Layout) throws(Invalid) -> Container {
        let name = path.split(separator: "/").last ?? ""
        let suffix = name.split(separator: ".").dropFirst().last.map { $0.lowercased() } ?? ""
        let fitting: [(String, Container)] =
            layout == .grid
            ? [("mp4", .mp4), ("m4v", .mp4), ("mkv", .mkv), ("webm", .webm)]
            : [("opus", .opus), ("ogg", .opus), ("oga", .opus), ("wav", .wav)]
        guard let found = fitting.first(where: { $0.0 == suffix }) else {
            let names = fitting.map { ".\($0.0)" }.joined(separator: ", ")
            throw Invalid(message: "'\(name)' does not say what kind of file it is: \(layout.rawValue) makes \(names)")
        }
        return found.1
    }
}
