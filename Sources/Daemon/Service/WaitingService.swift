// SPDX-License-Identifier: Apache-2.0

import ServiceLifecycle

/// A service that begins when something has come: a daemon whose API cannot be reached records nothing.
struct WaitingService<Base: Service>: Service {
    let service: Base
    /// Gives something when the service may begin.
    let until: AsyncStream<Void>

    func run() async throws {
        await cancelWhenGracefulShutdown { for await _ in self.until { break } }
        guard !Task.isShuttingDownGracefully, !Task.isCancelled else { return }
        try await self.service.run()
    }
}
