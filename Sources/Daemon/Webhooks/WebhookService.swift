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
        var known = WebhookStatus.Counters()
        var hasFailed = false
        while (try? await Task.sleep(for: Self.interval)) != nil {
            do {
                let status = try await self.dispatcher.status()
                self.metrics.webhooks(
                    pending: status.reduce(0) { $0 + $1.deliveries.queued },
                    deadLetters: status.reduce(0) { $0 + $1.deliveries.dead }
                )
                let counters = status.map(\.counters).reduce(WebhookStatus.Counters(), +)
                // Counters of a webhook that is gone are gone as well: only what grew counts.
                for (result, growth) in counters.attempts(since: known) {
                    for _ in 0..<growth { self.metrics.webhookDelivery(result) }
                }
                known = counters
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
