// SPDX-License-Identifier: Apache-2.0

import Control
import Model
import Observability
import Platform
import ServiceLifecycle

/// Notifies the service manager that we are up and alive, and in one line of what we do.
///
/// The watchdog is fed only while the health check says that the daemon lives, so that a daemon that hangs is ended.
struct ServiceWatchdog: Service {
    let notifier: ServiceNotifier
    let backend: DaemonBackend
    /// How long the end of everything may take; else the service manager kills workers that still close their files.
    let stopLimit: Duration
    /// Gives something when the HTTP API listens; the catalogue is open by then.
    let listening: AsyncStream<Void>

    func run() async throws {
        guard self.notifier.isActive else {
            try? await gracefulShutdown()
            return
        }
        await cancelWhenGracefulShutdown { for await _ in self.listening { break } }
        guard !Task.isShuttingDownGracefully else { return }
        self.notifier.ready()
        await cancelWhenGracefulShutdown { await self.tell() }
        self.notifier.stopping(status: "finishing recordings and leaving rooms", within: self.stopLimit)
    }

    private func tell() async {
        var shown = ""
        repeat {
            let health = await self.backend.health()
            if health.isLive { self.notifier.watchdog() }
            let line = ([await self.backend.occupancy()] + health.problems).joined(separator: "; ")
            if line != shown { self.notifier.status(line) }
            shown = line
        } while (try? await CommonSecond.sleep()) != nil
    }
}
