// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// Cuts a stream of bytes into lines, and holds at most one line in memory.
public struct LineSplitter: Sendable {
    /// A piece of the stream.
    public enum Line: Sendable, Hashable {
        /// A line without its line feed.
        case whole(Data)
        /// A line longer than the limit was left out.
        case tooLong
    }

    private let maximumLength: Int
    private var partial = Data()
    private var isTooLong = false

    /// A splitter before the first byte.
    public init(maximumLength: Int = WorkerLine.maximumLength) {
        self.maximumLength = maximumLength
    }

    /// Takes the next bytes and returns the lines that they end; empty lines are left out.
    public mutating func take(_ bytes: some Sequence<UInt8>) -> [Line] {
        var lines: [Line] = []
        for byte in bytes {
            guard byte == UInt8(ascii: "\n") else {
                if self.partial.count < self.maximumLength {
                    self.partial.append(byte)
                } else {
                    self.isTooLong = true
                }
                continue
            }
            if self.isTooLong {
                lines.append(.tooLong)
            } else if !self.partial.isEmpty {
                lines.append(.whole(self.partial))
            }
            self.partial = Data()
            self.isTooLong = false
        }
        return lines
    }
}
