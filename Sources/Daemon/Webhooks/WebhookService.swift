// SPDX-License-Identifier: Apache-2.0

import Catalogue
import Logging
import Observability
import ServiceLifecycle

/// The webhooks as a service, and their figures.
struct WebhookService: Service {
    private static let interval = Duration.seconds(5)

    let dispatcher: WebhookDispatcher
    let metrics: DaemonMetrics
    let logger: Logger

    func run() async throws {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.measure() }
                await self.dispatcher.run()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.dispatcher.shutdown()
        }
    }

    private func measure() async {
        var known = (delivered: 0, failed: 0, dead: 0)
        var hasFailed = false
        while (try? await Task.sleep(for: Self.interval)) != nil {
            do {
                let status = try await self.dispatcher.status()
                let dead = status.reduce(0) { $0 + $1.deliveries.dead }
                self.metrics.webhooks(pending: status.reduce(0) { $0 + $1.deliveries.queued }, deadLetters: dead)
                let delivered = status.reduce(0) { $0 + $1.counters.delivered }
                let failed = status.reduce(0) { $0 + $1.counters.failedAttempts }
                // Counters of a webhook that is gone are gone as well: only what grew counts.
                for _ in 0..<max(0, delivered - known.delivered) { self.metrics.webhookDelivery(.delivered) }
                for _ in 0..<max(0, failed - known.failed) { self.metrics.webhookDelivery(.retried) }
                for _ in 0..<max(0, dead - known.dead) { self.metrics.webhookDelivery(.dead) }
                known = (delivered, failed, dead)
                hasFailed = false
            } catch {
                if !hasFailed {
                    self.logger.error("webhook figures failed", metadata: .tagged([.errorMessage: "\(error)"]))
                }
                hasFailed = true
            }
        }
    }
}
