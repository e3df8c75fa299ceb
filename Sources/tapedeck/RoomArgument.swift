// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Observability
import Signalling

extension RoomURL {
    /// For people, files and logs: without what may be a secret.
    var shown: String { Redaction.url(self.description) }
}

/// A room on the command line.
enum RoomArgument {
    /// Parses a room URL; what is wrong with it is the failure's message.
    static func parse(_ text: String) throws -> RoomURL {
        do {
            return try RoomURL(parsing: text)
        } catch {
            throw ValidationError(error.message)
        }
    }

    /// Makes what is wrong with the use of a room a failure like that of its URL.
    static func check(_ body: () throws(SignallingError) -> Void) throws {
        do {
            try body()
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
