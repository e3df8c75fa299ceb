// SPDX-License-Identifier: Apache-2.0

import GStreamer
import Logging
import Observability

extension ControlThread {
    /// How long something at the end of a command may take: a busy machine stops a camera in more than five seconds.
    private static let longestEnd = Duration.seconds(30)

    /// Stops something at the end of a command.
    ///
    /// What does not stop is reported in the log, and costs the command nothing of what it has done.
    func end(_ what: String, logger: Logger, _ body: @escaping @Sendable () -> Void) async {
        do {
            try await self.run(what, deadline: Self.longestEnd, body)
        } catch {
            logger.warning("something did not stop", metadata: .tagged([.errorMessage: "\(error)"]))
        }
    }
}
