// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Rendering

@Suite struct GridLayoutTests {
    @Test(arguments: 1...25, [(1280, 720), (640, 360), (720, 1280), (162, 160)])
    func tilesAreEvenEqualInsideAndApart(_ count: Int, _ size: (width: Int, height: Int)) throws {
        let tiles = GridLayout.tiles(count: count, width: size.width, height: size.height)
        #expect(tiles.count == count)
        let first = try #require(tiles.first)
        for (index, tile) in tiles.enumerated() {
            #expect([tile.x, tile.y, tile.width, tile.height].allSatisfy { $0.isMultiple(of: 2) && $0 >= 0 })
            #expect(tile.width == first.width && tile.height == first.height && tile.width >= 2 && tile.height >= 2)
            #expect(tile.x + tile.width <= size.width && tile.y + tile.height <= size.height)
            for other in tiles.dropFirst(index + 1) {
                let isBeside = tile.x + tile.width <= other.x || other.x + other.width <= tile.x
                let isAbove = tile.y + tile.height <= other.y || other.y + other.height <= tile.y
                #expect(isBeside || isAbove, "tiles of \(count) in \(size) overlap")
            }
        }
    }

    @Test func oneFillsThePictureAndFourAreTwoByTwo() {
        #expect(
            GridLayout.tiles(count: 1, width: 1280, height: 720) == [Rectangle(x: 0, y: 0, width: 1280, height: 720)]
        )
        let four = GridLayout.tiles(count: 4, width: 1280, height: 720)
        #expect(four[0].y == four[1].y && four[2].y == four[3].y && four[0].x == four[2].x && four[1].x == four[3].x)
    }

    @Test(arguments: 2...25)
    func tilesAreInReadingOrder(count: Int) {
        let tiles = GridLayout.tiles(count: count, width: 1280, height: 720)
        for (tile, next) in zip(tiles, tiles.dropFirst()) {
            #expect(next.y == tile.y ? next.x >= tile.x + tile.width : next.y >= tile.y + tile.height)
        }
    }

    @Test func twoAreSideBySideInAWidePictureAndOneAboveTheOtherInATallOne() {
        let wide = GridLayout.tiles(count: 2, width: 1280, height: 720)
        #expect(wide[0].y == wide[1].y)
        let tall = GridLayout.tiles(count: 2, width: 720, height: 1280)
        #expect(tall[0].x == tall[1].x)
    }

    @Test func aRowThatIsNotFullIsInTheMiddle() {
        let three = GridLayout.tiles(count: 3, width: 1280, height: 720)
        #expect(abs(three[2].x + three[2].width / 2 - 640) <= 2)
    }

    @Test func nobodyHasNoTilesAndNoMoreThanFitAreShown() {
        #expect(GridLayout.tiles(count: 0, width: 1280, height: 720).isEmpty)
        #expect(GridLayout.tiles(count: -3, width: 1280, height: 720).isEmpty)
        #expect(GridLayout.tiles(count: 1000, width: 1280, height: 720).count == GridLayout.maximumTiles)
    }

    @Test func picturesKeepTheirShape() {
        let tile = Rectangle(x: 10, y: 20, width: 640, height: 360)
        #expect(tile.fitting(aspect: 16.0 / 9) == tile)
        #expect(tile.fitting(aspect: 4.0 / 3) == Rectangle(x: 90, y: 20, width: 480, height: 360))
        #expect(tile.fitting(aspect: 9.0 / 16).width == 202)
        for aspect in [0, -1, .infinity, .nan] { #expect(tile.fitting(aspect: aspect) == tile) }
        for aspect in [1e-9, 1e9] {
            let inside = tile.fitting(aspect: aspect)
            #expect(inside.width >= 2 && inside.height >= 2 && inside.width <= 640 && inside.height <= 360)
        }
    }
}
