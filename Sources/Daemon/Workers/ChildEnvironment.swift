// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import Foundation
import Subprocess

/// What the processes that the daemon starts inherit of its environment.
///
/// Everything that GStreamer, the locale and the journal need, but no variable that a configuration took a value from:
/// what is secret reaches a worker in its orders only, and the core dump of a job holds none of it.
struct ChildEnvironment: Sendable {
    /// Variables by which the service manager speaks to the daemon itself, and secrets that only commands read.
    private static let ours: Set<String> = [
        "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "TAPEDECK_ROOM_SECRET", "TAPEDECK_XMPP_PASSWORD",
        "TAPEDECK_WHIP_TOKEN", "TAPEDECK_TURN_PASSWORD",
    ]

    /// Where the configuration's values come from.
    let values: NotedValueSource

    /// What rclone finds: it may be configured by variables, which no other process gets.
    var ofUploads: [String: String] {
        let hidden = self.values.variables.union(Self.ours)
        return ProcessInfo.processInfo.environment.filter { !hidden.contains($0.key) }
    }

    /// The environment of a process that is started now.
    var environment: Environment {
        let uploads = ProcessInfo.processInfo.environment.keys.filter { $0.hasPrefix("RCLONE_") }
        let hidden = self.values.variables.union(Self.ours).union(uploads)
        return .inherit.updating(
            Dictionary(uniqueKeysWithValues: hidden.map { (Environment.Key(stringLiteral: $0), nil) })
        )
    }
}
