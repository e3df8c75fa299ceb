// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Export
internal import GStreamer
internal import Matroska

/// Draws the tiles of all participants present in the call.
final class GridPainter {
    /// The frame in its present state.
    let canvas: Canvas
    private let width: Int
    private let height: Int
    private let tiles: [Tile]
    private let labels = NameLabels()
    /// Indices of the tiles in the frame, and where they are.
    private var shown: [Int] = []
    private var places: [Rectangle] = []
    private var speaker: Int?
    private var mostPresent = 0

    private static let background = CanvasColour(luma: 24, cb: 128, cr: 128)
    private static let plain = CanvasColour(luma: 52, cb: 132, cr: 126)
    private static let bars = CanvasColour(luma: 16, cb: 128, cr: 128)
    /// Green.
    private static let highlight = CanvasColour(luma: 150, cb: 60, cr: 70)

    init(_ input: RenderInput, width: Int, height: Int) throws {
        self.width = width
        self.height = height
        self.canvas = try Canvas(width: width, height: height)
        self.tiles = try Tile.all(input)
        self.canvas.fill(x: 0, y: 0, width: width, height: height, Self.background)
    }

    /// Draws what changed up to a time.
    ///
    /// - Parameter speaker: index of the participant who speaks.
    func draw(at nanoseconds: Int64, speaker: Int?) {
        var isChanged = self.tiles.map { $0.advance(to: nanoseconds) }
        let present = self.tiles.indices.filter { self.tiles[$0].isPresent(at: nanoseconds) }
        self.mostPresent = max(self.mostPresent, present.count)
        let visible = Array(present.prefix(GridLayout.maximumTiles))
        if visible != self.shown {
            self.shown = visible
            self.places = GridLayout.tiles(count: visible.count, width: self.width, height: self.height)
            self.canvas.fill(x: 0, y: 0, width: self.width, height: self.height, Self.background)
            isChanged = isChanged.map { _ in true }
        }
        let changedSpeakers = speaker == self.speaker ? [] : [speaker, self.speaker]
        self.speaker = speaker
        for (slot, (index, place)) in zip(self.shown, self.places).enumerated() {
            let tile = self.tiles[index]
            guard isChanged[index] || (tile.isMain && changedSpeakers.contains(tile.participant)) else { continue }
            self.draw(tile, slot, in: place)
        }
    }

    /// Content that could not be shown, a sentence each.
    var warnings: [String] {
        var warnings = self.tiles.flatMap(\.warnings)
        if self.mostPresent > GridLayout.maximumTiles {
            warnings.append("only \(GridLayout.maximumTiles) of \(self.mostPresent) at a time are shown; all are heard")
        }
        if self.labels.isMissing {
            warnings.append("names are not shown: textrender is missing, which gstreamer1.0-x brings")
        }
        return warnings
    }

    private func draw(_ tile: Tile, _ slot: Int, in place: Rectangle) {
        if let frame = tile.frame {
            let shape = Double(frame.shape.width) * frame.shape.aspect / Double(frame.shape.height)
            let inside = place.fitting(aspect: frame.rotation.isSideways ? 1 / shape : shape)
            if inside != place { self.fill(place, Self.bars) }
            self.canvas.draw(
                frame.sample,
                slot: slot,
                rotation: frame.rotation,
                x: inside.x,
                y: inside.y,
                width: inside.width,
                height: inside.height
            )
        } else {
            self.fill(place, Self.plain)
        }
        self.drawName(tile, in: place)
        if tile.isMain, tile.participant == self.speaker { self.drawFrame(place) }
    }

    /// In the lower left corner; in the middle where there is no video.
    private func drawName(_ tile: Tile, in place: Rectangle) {
        guard
            let label = self.labels.label(
                tile.name,
                width: place.width - 2 * Self.line(place),
                tileHeight: place.height
            ),
            label.height + 2 * Self.line(place) <= place.height
        else { return }
        let isPlain = tile.frame == nil
        let inset = Self.line(place)
        let x = place.x + (isPlain ? (place.width - label.width) / 4 * 2 : inset)
        let y = place.y + (isPlain ? (place.height - label.height) / 4 * 2 : place.height - label.height - inset)
        if !isPlain { self.canvas.shade(x: x, y: y, width: label.width, height: label.height) }
        self.canvas.blend(label.sample, x: x, y: y, maximumWidth: label.width)
    }

    private func drawFrame(_ place: Rectangle) {
        let line = Self.line(place)
        self.fill(Rectangle(x: place.x, y: place.y, width: place.width, height: line), Self.highlight)
        self.fill(
            Rectangle(x: place.x, y: place.y + place.height - line, width: place.width, height: line),
            Self.highlight
        )
        self.fill(Rectangle(x: place.x, y: place.y, width: line, height: place.height), Self.highlight)
        self.fill(
            Rectangle(x: place.x + place.width - line, y: place.y, width: line, height: place.height),
            Self.highlight
        )
    }

    /// How thick a frame around a tile is.
    private static func line(_ place: Rectangle) -> Int { min(max(place.height / 90 * 2, 4), 12) }

    private func fill(_ place: Rectangle, _ colour: CanvasColour) {
        self.canvas.fill(x: place.x, y: place.y, width: place.width, height: place.height, colour)
    }
}
