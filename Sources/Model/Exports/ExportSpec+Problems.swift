// SPDX-License-Identifier: Apache-2.0

public import Basics

extension ExportSpec {
    /// Why an export cannot be made.
    public enum Problem: Sendable, Hashable {
        /// `to` is not later than `from`.
        case emptyRange
        /// A layout that is made of one recording is to be made of a series.
        case seriesOfLayout
        /// A project is to be written of a series.
        case projectOfSeries
        /// A project is to be written of a range.
        case projectOfRange
        /// A grid has this size.
        case size(PictureSize)
        /// A grid has so many frames a second.
        case framesPerSecond(Int)
        /// The audio is to be so loud, in LUFS.
        case loudness(Double)
        /// A grid has a codec that its container does not take.
        case codec(Grid.Codec, Container)

        /// The option that is wrong, by its name in JSON.
        public var option: String {
            switch self {
            case .emptyRange: "to"
            case .seriesOfLayout: "series"
            case .projectOfSeries, .projectOfRange: Tracks.Switch.project.rawValue
            case .size: "size"
            case .framesPerSecond: "fps"
            case .loudness: "loudness"
            case .codec: "codec"
            }
        }

        /// What is wrong with the option: the rest of a sentence that begins with its name.
        ///
        /// - Parameter name: what options are called where the sentence is shown, by their names in JSON.
        public func text(_ name: (String) -> String = { $0 }) -> String {
            switch self {
            case .emptyRange: "must be later than \(name("from"))"
            case .seriesOfLayout: "is of the layout tracks: the others are made of one recording at a time"
            case .projectOfSeries: "is of one recording: leave \(name("series")) out"
            case .projectOfRange: "is of a whole recording: leave \(name("from")) and \(name("to")) out"
            case .size(let size):
                "takes even numbers from \(Grid.sides.lowerBound) to \(Grid.sides.upperBound), for example 1280x720, "
                    + "not \(size)"
            case .framesPerSecond(let rate):
                "takes \(Grid.rates.lowerBound) to \(Grid.rates.upperBound) frames a second, not \(rate)"
            case .loudness(let loudness):
                "takes \(loudnessRange.lowerBound) to \(loudnessRange.upperBound) LUFS, not \(loudness)"
            case .codec(.h264, _): "h264 does not go into WebM: name the file .mp4 or .mkv, or take vp8"
            case .codec(.vp8, let container): "vp8 goes into .webm or .mkv, not .\(container.rawValue)"
            }
        }
    }

    /// Everything that is wrong.
    public var problems: [Problem] {
        var problems: [Problem] = []
        if let to = self.to, to <= self.from ?? .zero { problems.append(.emptyRange) }
        switch self.layout {
        case .tracks(let tracks) where tracks.switches.contains(.project):
            if self.series { problems.append(.projectOfSeries) }
            if self.isOfRange { problems.append(.projectOfRange) }
        case .tracks: break
        case .browser, .grid, .audio:
            if self.series { problems.append(.seriesOfLayout) }
        }
        var loudness: Double?
        switch self.layout {
        case .tracks, .browser: break
        case .grid(let grid):
            loudness = grid.loudness
            let isSize = [grid.size.width, grid.size.height].allSatisfy {
                Grid.sides.contains($0) && $0.isMultiple(of: 2)
            }
            if !isSize { problems.append(.size(grid.size)) }
            if !Grid.rates.contains(grid.framesPerSecond) { problems.append(.framesPerSecond(grid.framesPerSecond)) }
            switch (grid.codec, grid.container) {
            case (.h264, .webm), (.vp8, .mp4): problems.append(.codec(grid.codec, grid.container))
            default: break
            }
        case .audio(let audio): loudness = audio.loudness
        }
        if let loudness, !Self.loudnessRange.contains(loudness) { problems.append(.loudness(loudness)) }
        return problems
    }
}
