// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization

/// Log lines, and below them what a command draws on a terminal again and again.
///
/// Safe to use from any thread; like its writer it never waits for the terminal.
final class FootedLines: Sendable {
    private struct Foot {
        /// With line ends.
        var text = ""
        /// The columns of each line.
        var widths: [Int] = []
    }

    private let descriptor: Int32
    private let writer: LineWriter
    private let foot = Mutex<Foot?>(nil)

    /// Lines to a descriptor that stays open for as long as they are written.
    init(descriptor: Int32, lossLine: @escaping @Sendable (Int) -> String) {
        self.descriptor = descriptor
        self.writer = LineWriter(descriptor: descriptor, lossLine: lossLine)
    }

    /// Writes a line with its end above what is drawn.
    ///
    /// - Parameter line: gets whether anything is drawn.
    func write(_ line: (Bool) -> String) {
        self.foot.withLock { foot in
            guard let drawn = foot else { return self.writer.write(line(false)) }
            self.writer.write(self.erasure(of: drawn) + line(true) + drawn.text)
        }
    }

    /// Draws lines over those before; nil for none.
    func draw(_ lines: [(text: String, columns: Int)]?) {
        self.foot.withLock { foot in
            guard self.writer.isIdle || lines == nil else { return }
            let before = foot.map { self.erasure(of: $0) } ?? ""
            foot = lines.map { lines in
                Foot(text: lines.map { "\($0.text)\n" }.joined(), widths: lines.map(\.columns))
            }
            let text = before + (foot?.text ?? "")
            if !text.isEmpty { self.writer.write(text) }
        }
    }

    /// Moves to where the first line begins, and clears from there to the end of the screen.
    ///
    /// The terminal may have become narrower since, and have broken lines that were drawn as one.
    private func erasure(of foot: Foot) -> String {
        var size = winsize()
        let columns = ioctl(self.descriptor, UInt(TIOCGWINSZ), &size) == 0 ? Int(size.ws_col) : 0
        let rows = foot.widths.reduce(0) { $0 + (columns > 0 ? max(1, ($1 + columns - 1) / columns) : 1) }
        return "\(rows > 0 ? "\u{1B}[\(rows)A" : "")\r\u{1B}[J"
    }
}
