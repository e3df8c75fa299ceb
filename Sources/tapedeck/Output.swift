// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Observability
import Terminal

/// Results go to standard output, messages and logs to standard error.
enum Output {
    static var errorsGoToTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    static var resultsGoToTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Text may quote names that come from anybody: what could steer a terminal is shown as `?`.
    static func message(_ text: String) {
        // The reader of messages may have gone, as in `2>&1 | head`: the command works on all the same.
        try? FileHandle.standardError.write(contentsOf: Data((Self.harmless(text) + "\n").utf8))
    }

    /// The last message before the program ends, whether it is taken or not.
    static func lastMessage(_ text: String) {
        var asked = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
        if poll(&asked, 1, 500) == 1 { Self.message(text) }
    }

    /// Text without what could steer a terminal, or turn its direction; lines and tabs stay.
    static func harmless(_ text: String) -> String {
        let scalars = text.unicodeScalars.map { $0.steersText && $0 != "\n" && $0 != "\t" ? "?" : $0 }
        return String(String.UnicodeScalarView(scalars))
    }

    /// Prints one JSON object on a line.
    static func json(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        print(String(decoding: try encoder.encode(value), as: UTF8.self))
        fflush(nil)
    }

    /// Prints text as it is: it may be a path that a script continues with.
    static func result(_ text: String) {
        print(text)
        fflush(nil)
    }
}

/// Lines that are drawn over themselves on a terminal, below the log; nothing where there is no terminal, or one that
/// cannot move its cursor.
struct LiveLines: Sendable {
    private let output: LogOutput
    /// Whether anything is drawn: on a terminal that takes it.
    let isShown: Bool
    private let hasColour: Bool

    /// - Parameter isWanted: whether to draw at all.
    init(
        _ output: LogOutput,
        isWanted: Bool = true,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        self.output = output
        let terminal = environment["TERM"] ?? ""
        self.isShown = isWanted && Output.errorsGoToTerminal && !["", "dumb"].contains(terminal)
        // https://no-color.org
        self.hasColour = environment["NO_COLOR", default: ""].isEmpty
    }

    /// Columns and rows of the terminal; 80 and 24 where it does not say.
    static var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Draws what fits a terminal of so many columns and rows.
    func draw(_ lines: (_ columns: Int, _ rows: Int) -> [TerminalLine]) {
        guard self.isShown else { return }
        let size = Self.size
        self.output.draw(lines(size.columns, size.rows).map { ($0.text(inColour: self.hasColour), $0.columns) })
    }

    /// Removes what was drawn.
    func end() {
        if self.isShown { self.output.endDrawing() }
    }
}
