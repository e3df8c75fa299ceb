// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import HTTPRequests
import Synchronization
import Terminal

/// `tapedeck events`.
struct EventsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "Follow the events of the running daemon, one a line, until Ctrl-C.",
        discussion: """
            Begins with the next event. After a break of the connection it continues where it was. docs/events.md \
            explains every kind.

            Example: tapedeck events --json
            """
    )

    @OptionGroup var daemon: DaemonOptions
    @OptionGroup var common: CommonOptions

    /// What a line shows of an event; of a later daemon too.
    private struct Event: Decodable {
        var time: String
        var kind: String
        var room: String?
        var recording: String?
        var details: [String: String]
    }

    mutating func run() async throws {
        let client = try self.daemon.client()
        let isJSON = self.common.json
        let last = Mutex<String?>(nil)
        while true {
            try await client.follow(after: last.withLock { $0 }) { event in
                last.withLock { $0 = event.id ?? $0 }
                Self.show(event, isJSON: isJSON)
            }
            try await Task.sleep(for: .seconds(1))
        }
    }

    private static func show(_ event: EventStreamReader.Event, isJSON: Bool) {
        guard event.type != "stream.gap" else {
            return Output.message("events may be missing here: the daemon was started again, or had too many of them")
        }
        guard isJSON else {
            guard let shown = try? JSONDecoder().decode(Event.self, from: Data(event.data.utf8)) else { return }
            let details = shown.details.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            let parts = [String(shown.time.prefix(19)) + "Z", shown.kind, shown.room, shown.recording] + details
            return Self.print(TextTable.lines([[parts.compactMap { $0 }.joined(separator: "  ")]]).joined())
        }
        Self.print(event.data)
    }

    /// Prints a line, and ends the program if its reader is gone.
    private static func print(_ line: String) {
        guard (try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))) == nil else { return }
        Program.end(.success)
    }
}
