// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation

/// Results go to standard output, messages and logs to standard error.
enum Output {
    static var errorsGoToTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    static var resultsGoToTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Text may quote names that come from anybody: what could steer a terminal is shown as `?`.
    static func message(_ text: String) {
        Self.writeToStandardError(Self.harmless(text) + "\n")
    }

    /// Who reads messages may have gone, as `2>&1 | head` does: what there is to do is done all the same.
    fileprivate static func writeToStandardError(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
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

    /// Prints text as it is: it may be a path that a script goes on with.
    static func result(_ text: String) {
        print(text)
        fflush(nil)
    }
}

/// Lines that are drawn over themselves on a terminal; nothing anywhere else.
struct LiveLines {
    private var drawn = 0

    mutating func draw(_ lines: [String]) {
        guard Output.errorsGoToTerminal else { return }
        let up = self.drawn > 0 ? "\u{1B}[\(self.drawn)A" : ""
        let text = lines.map { "\u{1B}[2K\($0)\n" }.joined()
        Output.writeToStandardError(up + text)
        self.drawn = lines.count
    }
}
