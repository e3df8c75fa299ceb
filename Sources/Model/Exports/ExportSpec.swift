// SPDX-License-Identifier: Apache-2.0

public import Basics

/// One export: which part of a recording goes into a file, and how the file is made.
///
/// Pure. A configuration, an HTTP body and flags are read into it, the catalogue keeps it, and a job reads it. Its JSON has the
/// keys of the HTTP body; what is missing there has its default. `problems` are the rules for all of them.
public struct ExportSpec: Sendable, Hashable {
    /// How the file is made, and what only this layout takes.
    public enum Layout: Sendable, Hashable {
        /// Every track of every participant, side by side on one clock.
        case tracks(Tracks)
        /// One participant's video and audio, one track each, for a player in a browser: WebM, or MP4 for H.264.
        case browser
        /// All participants in one video, with mixed audio.
        case grid(Grid)
        /// The mixed audio of all participants.
        case audio(Audio)

        /// A layout's name.
        public enum Name: String, Sendable, Hashable, Codable, CaseIterable {
            case tracks, browser, grid, audio
        }

        /// The layout of a name with its defaults.
        public init(_ name: Name) {
            switch name {
            case .tracks: self = .tracks(Tracks())
            case .browser: self = .browser
            case .grid: self = .grid(Grid())
            case .audio: self = .audio(Audio())
            }
        }

        /// Its name.
        public var name: Name {
            switch self {
            case .tracks: .tracks
            case .browser: .browser
            case .grid: .grid
            case .audio: .audio
            }
        }

        /// What the layout `tracks` takes; nil for any other.
        public var tracks: Tracks? { if case .tracks(let tracks) = self { tracks } else { nil } }
    }

    /// What holds coded video and audio.
    public enum Container: String, Sendable, Hashable, Codable, CaseIterable {
        /// Everything that was recorded, chapters and chat included.
        case mkv
        /// VP8, VP9 and Opus, with chapters.
        case webm
        /// H.264, VP9 and Opus.
        case mp4

        /// By the extensions of a grid's file.
        public static let extensions: KeyValuePairs<String, Self> = [
            "mp4": .mp4, "m4v": .mp4, "mkv": .mkv, "webm": .webm,
        ]

        /// By the extensions of a file of all tracks.
        public static let extensionsOfTracks: KeyValuePairs<String, Self> = [
            "mkv": .mkv, "webm": .webm, "mp4": .mp4,
        ]
    }

    /// What the layout `tracks` takes.
    public struct Tracks: Sendable, Hashable {
        /// What is done only where it is asked for, by its name in JSON.
        public enum Switch: String, Sendable, Hashable, CodingKey, CaseIterable {
            /// Frames stay in the file that cannot be decoded, because others that they refer to never came.
            case keepDamaged
            /// Each RTP stream has its own track, also where one begins when another of the same sender is over.
            case separateTracks
            /// A project of OpenTimelineIO is written next to the file.
            case project

            /// Its name, of which the flag is made.
            public var description: String { self.rawValue }
        }

        /// The kind of file; with codecs that it does not take, the export fails.
        public var container: Container
        /// What is asked for.
        public var switches: Set<Switch>

        /// Every track in one MKV, unless something else is asked for.
        public init(container: Container = .mkv, switches: Set<Switch> = []) {
            self.container = container
            self.switches = switches
        }
    }

    /// What a grid takes.
    public struct Grid: Sendable, Hashable {
        /// How its video is coded; its audio goes with it.
        public enum Codec: String, Sendable, Hashable, Codable, CaseIterable {
            /// H.264 with AAC.
            case h264
            /// VP8 with Opus.
            case vp8
        }

        /// Sides of the video that are taken, in pixels; even.
        public static let sides = 160...3840
        /// Frames a second that are taken.
        public static let rates = 1...60

        /// The video's size.
        public var size: VideoSize
        /// Frames a second.
        public var framesPerSecond: Int
        /// How video is coded.
        public var codec: Codec
        /// The kind of file.
        public var container: Container
        /// What the audio is brought to, in LUFS; nil leaves it as it is.
        public var loudness: Double?

        /// A grid; what is left out follows from the rest: 1280x720 at 25 frames a second, H.264 in MP4, VP8 in WebM.
        public init(
            size: VideoSize? = nil,
            framesPerSecond: Int? = nil,
            codec: Codec? = nil,
            container: Container? = nil,
            loudness: Double? = nil
        ) {
            self.size = size ?? VideoSize(width: 1280, height: 720)
            self.framesPerSecond = framesPerSecond ?? 25
            self.codec = codec ?? (container == .webm ? .vp8 : .h264)
            self.container = container ?? (codec == .vp8 ? .webm : .mp4)
            self.loudness = loudness
        }
    }

    /// What the layout `audio` takes.
    public struct Audio: Sendable, Hashable {
        /// How it is coded.
        public enum Format: String, Sendable, Hashable, Codable, CaseIterable {
            /// Opus in Ogg.
            case opus
            /// 16 bits, 48 kHz, stereo.
            case wav

            /// By the extensions of its file.
            public static let extensions: KeyValuePairs<String, Self> = [
                "opus": .opus, "ogg": .opus, "oga": .opus, "wav": .wav,
            ]
        }

        /// The kind of file.
        public var format: Format
        /// What it is brought to, in LUFS.
        public var loudness: Double

        /// Opus at -16 LUFS, unless something else is asked for.
        public init(format: Format? = nil, loudness: Double? = nil) {
            self.format = format ?? .opus
            self.loudness = loudness ?? -16
        }
    }

    /// Loudness that is taken, in LUFS.
    public static let loudnessRange = -40.0 ... -9.0

    /// The layouts that take an option, by its name in JSON; every layout takes the others.
    private static let layouts: [String: [Layout.Name]] = [
        "size": [.grid], "fps": [.grid], "codec": [.grid], "format": [.audio], "loudness": [.grid, .audio],
        "series": [.tracks], "container": [.tracks],
    ].merging(Tracks.Switch.allCases.map { ($0.rawValue, [.tracks]) }) { $1 }

    /// The options that not every layout takes, by their names in JSON, in alphabetical order.
    public static let optionsOfLayouts = Self.layouts.keys.sorted()

    /// Why a layout does not take an option: the rest of a sentence that begins with its name; nil if it takes it.
    public static func refusal(of option: String, by layout: Layout.Name) -> String? {
        guard let layouts = Self.layouts[option], !layouts.contains(layout) else { return nil }
        let reason = option == "series" ? ": grid and audio are made of one segment at a time" : ""
        return "is of the layout \(layouts.map(\.rawValue).joined(separator: " and "))\(reason)"
    }

    /// How the file is made.
    public var layout: Layout
    /// Only this participant's tracks: an id or a name, or the beginning of one that no other has; nil for those of all.
    public var participant: String?
    /// From here on, counted from the recording's first unit, to the millisecond; video from the last keyframe before.
    public var from: Duration?
    /// Up to here, counted from the recording's first unit, to the millisecond.
    public var to: Duration?
    /// Whether all recordings of the series are exported of which the recording is a segment.
    public var series: Bool

    /// Every track of all of the recording, unless something else is asked for.
    public init(
        _ layout: Layout = .tracks(Tracks()),
        participant: String? = nil,
        from: Duration? = nil,
        to: Duration? = nil,
        series: Bool = false
    ) {
        self.layout = layout
        self.participant = participant
        self.from = from
        self.to = to
        self.series = series
    }

    /// A time of a recording, of seconds to the millisecond; within a year.
    public static func time(seconds: Double) -> Duration {
        .milliseconds(Int64((min(max(seconds, 0), 31_536_000) * 1000).rounded()))
    }

    /// Whether a range is asked for.
    var isOfRange: Bool { self.to != nil || (self.from ?? .zero) != .zero }
    /// Whether nothing of the recording is left out.
    public var isOfWhole: Bool { self.participant == nil && !self.isOfRange }
    /// Whether the file is made of another one as large, which is removed then.
    public var isRemuxed: Bool { self.layout == .browser || self.layout.tracks?.container == .mp4 }

    /// The name of its file without the extension: as `call-alice-from-90s-to-100.5s`, so that no part takes the place of another.
    public var stem: String {
        let head =
            switch self.layout {
            case .tracks: self.series ? "call-series" : "call"
            case .browser: "browser"
            case .grid, .audio: "call-\(self.layout.name.rawValue)"
            }
        guard !self.isOfWhole else { return head }
        var parts = [head]
        if let participant = self.participant {
            parts.append(Sanitiser.pathComponent(participant, fallback: "participant"))
        }
        if let from = self.from { parts += ["from", Self.text(from)] }
        if let to = self.to { parts += ["to", Self.text(to)] }
        return parts.joined(separator: "-")
    }

    /// The name of its file unless another one is asked for; of `browser`, whose codecs decide on the container, its stem.
    public var fileName: String {
        switch self.layout {
        case .tracks(let tracks): "\(self.stem).\(tracks.container.rawValue)"
        case .browser: self.stem
        case .grid(let grid): "\(self.stem).\(grid.container.rawValue)"
        case .audio(let audio): "\(self.stem).\(audio.format.rawValue)"
        }
    }

    /// Seconds with as many decimals as are needed, to the millisecond.
    private static func text(_ time: Duration) -> String {
        let milliseconds = max(time, .zero).milliseconds
        var decimals = String(String(milliseconds % 1000 + 1000).dropFirst())
        while decimals.last == "0" { decimals.removeLast() }
        return "\(milliseconds / 1000)\(decimals.isEmpty ? "" : "." + decimals)s"
    }
}
