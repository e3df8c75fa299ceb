// SPDX-License-Identifier: Apache-2.0

import Glibc

/// How log lines are written.
public enum LogFormat: String, Sendable, Hashable, CaseIterable {
    /// One human-readable line.
    case text
    /// One JSON object a line.
    case json
    /// Fields for systemd's journal.
    case journal

    /// The format that fits where standard error goes.
    ///
    /// A terminal gets text. The journal, which says by `JOURNAL_STREAM` which device and inode its end of standard
    /// error has, gets fields (systemd.exec(5)). Anything else gets text.
    public static func automatic(environment: [String: String], descriptor: Int32 = 2) -> LogFormat {
        if isatty(descriptor) == 1 { return .text }
        var information = stat()
        guard let stream = environment["JOURNAL_STREAM"], fstat(descriptor, &information) == 0 else { return .text }
        return stream == "\(information.st_dev):\(information.st_ino)" ? .journal : .text
    }
}
