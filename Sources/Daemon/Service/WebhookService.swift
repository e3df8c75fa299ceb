// SPDX-License-Identifier: Apache-2.0

import Logging
import Observability
import ServiceLifecycle
import Webhooks

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
        var known = WebhookStatus.Counters()
        var hasFailed = false
        while (try? await Task.sleep(for: Self.interval)) != nil {
            do {
                let status = try await self.dispatcher.status()
                self.metrics.webhooks(
                    pending: status.reduce(0) { $0 + $1.deliveries.queued },
                    deadLetters: status.reduce(0) { $0 + $1.deliveries.dead }
                )
                let now = status.reduce(into: WebhookStatus.Counters()) { sum, webhook in
                    sum.delivered += webhook.counters.delivered
                    sum.failedAttempts += webhook.counters.failedAttempts
                }
                // Counters of a webhook that is gone are gone as well: only what grew counts.
                for _ in 0..<max(0, now.delivered - known.delivered) { self.metrics.webhookDelivery(.delivered) }
                for _ in 0..<max(0, now.failedAttempts - known.failedAttempts) { self.metrics.webhookDelivery(.retried) }
                known = now
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
