// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Model

/// A room of the running daemon that gets an order.
struct RoomOptions: ParsableArguments {
    @Argument(help: "The room's name in the configuration.")
    var room: String

    @OptionGroup var daemon: DaemonOptions
    @OptionGroup var common: CommonOptions

    /// Sends the order, and prints the room as it is then.
    ///
    /// - Parameters:
    ///   - endpoint: behind the room's path.
    ///   - done: what was done; what the room does by default.
    func tell(
        _ endpoint: String,
        _ body: (any Encodable)? = nil,
        method: String = "POST",
        done: String? = nil
    ) async throws {
        let room = try await self.daemon.client().tell(self.room, endpoint, body, method: method)
        if self.common.json {
            try Output.json(room)
        } else {
            Output.result(Output.harmless("\(room.name): \(done ?? room.activity)"))
        }
    }
}

extension RoomResource {
    /// What the daemon does in the room, in words.
    var activity: String {
        guard self.phase == .joined else {
            return self.phase.rawValue + (self.reason.map { ", \($0)" } ?? "")
        }
        return switch self.status.recordingState {
        case .off: "not recording"
        case .waiting: "waiting for media, then recording"
        case .recording: "recording" + (self.status.recording.map { " \($0.id)" } ?? "")
        case .paused: "recording paused"
        }
    }
}
