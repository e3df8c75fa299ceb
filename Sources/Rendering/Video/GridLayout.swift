// SPDX-License-Identifier: Apache-2.0

/// A part of the frame, in pixels; all even.
public struct Rectangle: Sendable, Hashable {
    /// From the left edge.
    public var x: Int
    /// From the upper edge.
    public var y: Int
    /// At least 2.
    public var width: Int
    /// At least 2.
    public var height: Int

    /// A rectangle with each part given.
    public init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// The largest rectangle of that shape in the middle of this one.
    ///
    /// - Parameter aspect: width divided by height.
    public func fitting(aspect: Double) -> Rectangle {
        guard aspect > 0, aspect.isFinite else { return self }
        var width = self.width
        var height = self.height
        if Double(self.width) > Double(self.height) * aspect {
            width = Self.even(Double(self.height) * aspect, limit: self.width)
        } else {
            height = Self.even(Double(self.width) / aspect, limit: self.height)
        }
        return Rectangle(
            x: self.x + (self.width - width) / 4 * 2,
            y: self.y + (self.height - height) / 4 * 2,
            width: width,
            height: height
        )
    }

    private static func even(_ value: Double, limit: Int) -> Int {
        min(limit, max(2, Int((value / 2).rounded()) * 2))
    }
}

/// Equal tiles for a number of participants in a frame of constant size.
public enum GridLayout {
    /// More are heard, and not shown.
    public static let maximumTiles = 49
    /// The shape that tiles come near to: that of most cameras.
    private static let tileAspect = 16.0 / 9
    /// Between tiles, and around them.
    static let gap = 4

    /// A tile for each, row by row; a row that is not full is in the middle.
    ///
    /// Empty for a count of 0. Rectangles are even, equal, inside the frame and apart.
    public static func tiles(count: Int, width: Int, height: Int) -> [Rectangle] {
        let count = min(max(count, 0), Self.maximumTiles)
        guard count > 0 else { return [] }
        var best: (columns: Int, tile: Rectangle, shown: Double)?
        for columns in 1...count {
            let rows = (count + columns - 1) / columns
            let tile = Rectangle(
                x: 0,
                y: 0,
                width: Self.side(width, columns),
                height: Self.side(height, rows)
            )
            guard tile.width >= 2, tile.height >= 2 else { continue }
            let shape = tile.fitting(aspect: Self.tileAspect)
            let shown = Double(shape.width * shape.height)
            if best.map({ shown > $0.shown }) ?? true { best = (columns, tile, shown) }
        }
        guard let (columns, tile, _) = best else { return [] }
        let rows = (count + columns - 1) / columns
        return (0..<count).map { index in
            let row = index / columns
            let inRow = min(columns, count - row * columns)
            return Rectangle(
                x: Self.position(index % columns, of: inRow, tile.width, in: width),
                y: Self.position(row, of: rows, tile.height, in: height),
                width: tile.width,
                height: tile.height
            )
        }
    }

    /// The length of a side for each of `count`, with gaps around.
    private static func side(_ whole: Int, _ count: Int) -> Int {
        guard count > 1 else { return whole }
        return (whole - Self.gap * (count + 1)) / count / 2 * 2
    }

    private static func position(_ index: Int, of count: Int, _ side: Int, in whole: Int) -> Int {
        let used = count * side + (count - 1) * Self.gap
        return max(0, (whole - used) / 4 * 2) + index * (side + Self.gap)
    }
}
