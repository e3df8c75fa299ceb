// SPDX-License-Identifier: Apache-2.0

/// Splits the content of a block into frames (RFC 9559 section 10.3).
///
/// `Writer` never writes laces; mkvmerge does, for audio.
enum Lacing {
    /// The ranges of the frames in `content`, which begins after the block's flags; nil if the sizes do not add up.
    static func frames(flags: UInt8, content: ArraySlice<UInt8>) -> [Range<Int>]? {
        let kind = flags >> 1 & 3
        guard kind != 0 else { return [content.startIndex..<content.endIndex] }
        guard let last = content.first else { return nil }
        let count = Int(last) + 1
        var position = content.startIndex + 1
        let sizes: [Int]?
        switch kind {
        case 1: sizes = Self.xiphSizes(content, &position, count: count - 1)
        case 2:
            let total = content.endIndex - position
            guard total % count == 0 else { return nil }
            sizes = Array(repeating: total / count, count: count - 1)
        default: sizes = Self.ebmlSizes(content, &position, count: count - 1)
        }
        guard let sizes else { return nil }
        var frames: [Range<Int>] = []
        for size in sizes {
            guard size >= 0, size <= content.endIndex - position else { return nil }
            frames.append(position..<(position + size))
            position += size
        }
        frames.append(position..<content.endIndex)
        return frames
    }

    private static func xiphSizes(_ content: ArraySlice<UInt8>, _ position: inout Int, count: Int) -> [Int]? {
        var sizes: [Int] = []
        for _ in 0..<count {
            var size = 0
            while true {
                guard position < content.endIndex else { return nil }
                let byte = content[position]
                position += 1
                size += Int(byte)
                if byte < 255 { break }
            }
            sizes.append(size)
        }
        return sizes
    }

    private static func ebmlSizes(_ content: ArraySlice<UInt8>, _ position: inout Int, count: Int) -> [Int]? {
        var sizes: [Int] = []
        var size: Int64 = 0
        for index in 0..<count {
            guard let number = VariableInteger(content[position...]) else { return nil }
            position += number.width
            size = index == 0 ? Int64(number.value) : size + number.signed
            guard size >= 0, size <= Int64(content.count) else { return nil }
            sizes.append(Int(size))
        }
        return sizes
    }
}
