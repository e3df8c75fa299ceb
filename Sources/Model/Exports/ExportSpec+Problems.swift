// SPDX-License-Identifier: Apache-2.0

internal import Basics

extension ExportSpec {
    /// Why an export cannot be made.
    public struct Problem: Sendable {
        /// The option that is wrong, by its name in JSON.
        public let option: String
        /// What is wrong with it: the rest of a sentence that begins with its name.
        ///
        /// It is given what options are called where the sentence is shown, by their names in JSON.
        public let text: @Sendable (_ name: (String) -> String) -> String
    }

    /// Everything that is wrong.
    public var problems: [Problem] {
        var problems: [Problem] = []
        func add(_ option: String, _ text: @escaping @Sendable (_ name: (String) -> String) -> String) {
            problems.append(Problem(option: option, text: text))
        }
        func check(_ loudness: Double) {
            let range = Self.loudnessRange
            guard !range.contains(loudness) else { return }
            add("loudness") { _ in "takes \(range.lowerBound) to \(range.upperBound) LUFS, not \(loudness)" }
        }
        if let to = self.to, to <= self.from ?? .zero { add("to") { "must be later than \($0("from"))" } }
        if self.series, let refusal = Self.refusal(of: "series", by: self.layout.name) {
            add("series") { _ in refusal }
        }
        switch self.layout {
        case .tracks(let tracks):
            guard tracks.switches.contains(.project) else { break }
            if self.series { add("project") { "is of one recording: leave \($0("series")) out" } }
            guard self.isOfRange else { break }
            add("project") { "is of a whole recording: leave \($0("from")) and \($0("to")) out" }
        case .browser: break
        case .grid(let grid):
            let (sides, rates) = (Grid.sides, Grid.rates)
            if ![grid.size.width, grid.size.height].allSatisfy({ sides.contains($0) && $0.isMultiple(of: 2) }) {
                add("size") { _ in
                    "takes even numbers from \(sides.lowerBound) to \(sides.upperBound), for example 1280x720, not \(grid.size)"
                }
            }
            if !rates.contains(grid.framesPerSecond) {
                add("fps") { _ in
                    "takes \(rates.lowerBound) to \(rates.upperBound) frames a second, not \(grid.framesPerSecond)"
                }
            }
            switch (grid.codec, grid.container) {
            case (.h264, .webm):
                add("codec") { _ in "h264 does not go into WebM: name the file .mp4 or .mkv, or take vp8" }
            case (.vp8, .mp4): add("codec") { _ in "vp8 goes into .webm or .mkv, not .mp4" }
            default: break
            }
            if let loudness = grid.loudness { check(loudness) }
        case .audio(let audio): check(audio.loudness)
        }
        return problems
    }
}
