// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Dispatch
internal import Foundation
internal import Platform
internal import Synchronization

/// Asks the host's resolver for addresses, on separate threads, which it blocks: a few at a time.
final class HostResolver: Sendable {
    /// All sessions of a process share its few threads.
    static let shared = HostResolver(
        knowsMulticastNames: (try? String(contentsOfFile: "/etc/nsswitch.conf", encoding: .utf8))
            .map(HostResolver.namesMulticast) ?? false,
        ask: HostResolver.lookUp
    )

    /// Whether multicast names can be asked for; otherwise a `.local` name would go to name servers that cannot know it.
    let knowsMulticastNames: Bool
    private let ask: @Sendable (String) -> [String]
    private let threads = BlockingThreads(name: "resolver", most: 4, mostWaiting: 64)

    /// The caller that waits for an answer; the first of several is passed on.
    private final class Reply: Sendable {
        private let body: Mutex<(@Sendable ([String]) -> Void)?>

        init(_ body: @escaping @Sendable ([String]) -> Void) {
            self.body = Mutex(body)
        }

        func give(_ addresses: [String]) {
            let body = self.body.withLock { stored in
                defer { stored = nil }
                return stored
            }
            body?(addresses)
        }
    }

    /// `ask` may block; it returns IPv4 and IPv6 addresses, the best first.
    init(knowsMulticastNames: Bool, ask: @escaping @Sendable (String) -> [String]) {
        self.knowsMulticastNames = knowsMulticastNames
        self.ask = ask
    }

    /// The addresses of a host; none if there are none, if the answer takes longer than `limit`, or if too many others
    /// are being asked for.
    func addresses(of host: String, limit: Duration) async -> [String] {
        await withCheckedContinuation { continuation in
            self.lookUp(host, limit: limit) { continuation.resume(returning: $0) }
        }
    }

    /// The same for those who cannot wait; `body` is called once, on a thread of Dispatch or at once.
    func lookUp(_ host: String, limit: Duration, _ body: @escaping @Sendable ([String]) -> Void) {
        let reply = Reply(body)
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: limit.nanoseconds))) {
            reply.give([])
        }
        if !self.threads.run({ reply.give(self.ask(host)) }) { reply.give([]) }
    }

    /// Whether a nsswitch.conf has a service for `hosts` that knows multicast names.
    static func namesMulticast(_ configuration: String) -> Bool {
        configuration.split(separator: "\n").contains { line in
            let words = line.prefix { $0 != "#" }.split(whereSeparator: { $0 == " " || $0 == "\t" })
            return words.first == "hosts:" && words.contains { $0.hasPrefix("mdns") }
        }
    }

    private static func lookUp(_ host: String) -> [String] {
        let found = try? HostName.addresses(of: host, isForDatagrams: true, ofUsedFamilies: true)
        return Array((found ?? []).filter { !$0.contains("%") }.prefix(16))
    }
}

extension [String] {
    /// The first IPv4 address and the first IPv6 address among addresses.
    var oneOfEachFamily: [String] {
        [self.first { !$0.contains(":") }, self.first { $0.contains(":") }].compactMap { $0 }
    }
}
