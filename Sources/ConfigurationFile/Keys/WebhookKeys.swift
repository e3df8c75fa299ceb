// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The keys of one of `webhooks`.
enum WebhookKeys {
    static let url = Key("url", .webURL, isSecret: true)
    static let secret = Key("secret", .secret(16...512), isSecret: true)
    static let events = Key("events", ValueType<EventPattern>.event)

    static let table = KeyTable(url.entry, secret.entry, events.entry)

    /// `webhook_hosts`.
    static let allowedHosts = Key("webhook_hosts", .hostPattern)
}

extension ValueType where Value == EventPattern {
    /// Which events are meant.
    fileprivate static let event = ValueType(
        accepted: "an event such as recording.finished, a group such as recording.*, or *",
        text: { EventPattern($0) }
    )
}

extension WebhooksConfiguration {
    /// Reads what the whole configuration says about webhooks.
    init(root reader: MappingReader) {
        self.init()
        self.allowedHosts = reader.values(WebhookKeys.allowedHosts, count: 0...256) ?? []
        for webhook in reader.list("webhooks", WebhookKeys.table, maximum: 64) ?? [] {
            let url = webhook.required(WebhookKeys.url)
            let secret = webhook.required(WebhookKeys.secret)
            let events =
                webhook.has(WebhookKeys.events.name)
                ? webhook.values(WebhookKeys.events, count: 1...64) : EventPattern("*").map { [$0] }
            if let url, !self.allows(host: url.host) {
                webhook.add(WebhookKeys.url.name, "its host is not one of webhook_hosts")
            }
            guard let url, let secret, let events else { continue }
            self.targets.append(
                WebhookConfiguration(url: Secret(url.text), target: url.origin, secret: secret, events: events)
            )
        }
    }
}
