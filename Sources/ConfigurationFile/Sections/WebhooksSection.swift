// SPDX-License-Identifier: Apache-2.0

public import Basics
internal import Model

/// One receiver of events.
public struct WebhookConfiguration: Sendable, Hashable {
    /// Where events are posted: an absolute `http` or `https` URL without user information.
    ///
    /// It may hold a secret in its path or query: show `target`, not this.
    public var url: Secret
    /// Scheme, host and port of the URL, human-readable.
    public var target: String
    /// The key of the signature.
    public var secret: Secret
    /// Which events are sent.
    public var events: [EventPattern]

    /// A receiver with each part given.
    public init(url: Secret, target: String, secret: Secret, events: [EventPattern]) {
        self.url = url
        self.target = target
        self.secret = secret
        self.events = events
    }

    /// Whether an event of this kind is sent.
    public func wants(_ kind: String) -> Bool {
        self.events.contains { $0.matches(kind) }
    }
}

/// Which kinds of events are meant: `recording.finished`, `recording.*` or `*`.
public struct EventPattern: Sendable, Hashable, CustomStringConvertible {
    /// The pattern as it was written.
    public let description: String

    /// Reads a pattern; `nil` unless it is `*`, a kind such as `room.joined`, or a group such as `room.*`.
    public init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let isWord = { (part: Substring) in
            !part.isEmpty && part.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "_") }
        }
        switch parts.count {
        case 1 where text == "*": break
        case 2 where isWord(parts[0]) && (parts[1] == "*" || isWord(parts[1])): break
        default: return nil
        }
        self.description = text
    }

    /// Whether the pattern means this kind.
    public func matches(_ kind: String) -> Bool {
        guard self.description.hasSuffix("*") else { return kind == self.description }
        return kind.hasPrefix(self.description.dropLast())
    }
}

/// Receivers of events.
public struct WebhooksConfiguration: Sendable, Hashable {
    /// The receivers.
    public var targets: [WebhookConfiguration] = []
    /// Hosts that targets may have, as `hooks.example.org` or `*.example.org`; empty: any, by `https` but for this host.
    public var allowedHosts: [String] = []

    /// No event is sent.
    public init() {}

    /// Whether a target may have this host (a name in lower case or an address).
    public func allows(host: String) -> Bool {
        guard !self.allowedHosts.isEmpty else { return true }
        return self.allowedHosts.contains { allowed in
            allowed.hasPrefix("*.") ? host.hasSuffix(allowed.dropFirst()) : host == allowed
        }
    }
}

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
        accepted: "an event such as recording.finished, a group such as recording.*, or *"
    ) { scalar throws(WrongValue) in
        let kinds = DaemonEvent.Kind.allCases.map(\.rawValue)
        guard scalar.form == .string, let pattern = EventPattern(scalar.text), kinds.contains(where: pattern.matches)
        else {
            let isShown = !scalar.isSubstituted
            throw WrongValue(suggestion: isShown ? Spelling.suggestion(for: scalar.text, among: kinds) : nil)
        }
        return pattern
    }
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
            } else if let url, url.scheme == "http", self.allowedHosts.isEmpty, !IPAddress.isLoopback(host: url.host) {
                webhook.add(
                    WebhookKeys.url.name,
                    "plain http is only for this host and for webhook_hosts",
                    accepted: "https, or the host in webhook_hosts"
                )
            }
            guard let url, let secret, let events else { continue }
            self.targets.append(
                WebhookConfiguration(url: Secret(url.text), target: url.origin, secret: secret, events: events)
            )
        }
    }
}
