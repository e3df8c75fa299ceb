// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import ConfigurationFile
import Foundation
import Model
import Observability
import Signalling

extension RoomURL {
    /// For terminals, files and logs: without what may be a secret.
    var shown: String { Redaction.url(self.description) }
}

/// A room on the command line.
enum RoomArgument {
    /// Parses a room URL; what is wrong with it is the failure's message.
    static func parse(_ text: String) throws -> RoomURL {
        try self.check { () throws(SignallingError) in try RoomURL(parsing: text) }
    }

    /// Makes what is wrong with the use of a room a failure like that of its URL.
    @discardableResult
    static func check<Result>(_ body: () throws(SignallingError) -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            throw ValidationError(error.message)
        }
    }

    /// The room's password, PIN or token from the environment, where process lists do not show it; nil without one.
    static func secret(for url: RoomURL) -> String? {
        let environment = ProcessInfo.processInfo.environment
        let names = [url.secretVariable, "TAPEDECK_ROOM_SECRET"].compactMap { $0 }
        return names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
    }
}

/// The room that a command joins: a URL, a file, or both.
struct RoomSource: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The room, for example socketio+https://rtc.example.org/123123. Default: the url of --room.",
            discussion: "A password, PIN or token of the room is read from TAPEDECK_ROOM_SECRET."
        )
    )
    var url: String?

    @Option(
        name: .customLong("room"),
        help: ArgumentHelp(
            "Read the room from this file: the YAML of one room, as in the daemon's configuration.",
            discussion: """
                A flag overrides what the file says. Only the daemon has a use for join, priority, rejoin, \
                record.automatic and record.empty_after.
                """,
            valueName: "file"
        )
    )
    var file: String?

    mutating func validate() throws {
        guard self.url != nil || self.file != nil else {
            throw ValidationError("which room? name its URL, or a file that describes it with --room")
        }
    }

    /// The room as the file describes it, without a file one that is recorded, and nothing is sent.
    ///
    /// - Parameter directory: where recordings go.
    func configuration(_ network: NetworkOptions, directory: String = ".") throws -> RoomConfiguration {
        var room: RoomConfiguration
        if let file = self.file {
            var texts: [String: String] = [:]
            if let url = self.url {
                texts["url"] = url
                texts["secret"] = RoomArgument.secret(for: try RoomArgument.parse(url))
            }
            do throws(ConfigurationError) {
                room = try RoomConfiguration.load(name: "room", path: file, replacing: texts)
            } catch {
                throw ValidationError("--room has errors\n\(error)")
            }
        } else {
            let text = self.url ?? ""
            let url = try RoomArgument.parse(text)
            let address = ConfiguredRoomURL(url: url, description: url.shown)
            room = RoomConfiguration(name: url.roomName, url: Secret(text), address: address, definition: .null)
        }
        room.spec.name = room.address.url.roomName
        (room.spec.recording, room.spec.ice) = (.on, try network.settings())
        room.spec.storage = URL(filePath: directory).absoluteURL.path(percentEncoded: false)
        if let secret = RoomArgument.secret(for: room.address.url) { room.spec.secret = Secret(secret) }
        return room
    }
}
