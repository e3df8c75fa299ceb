// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Hummingbird
import Model
import NIOCore

/// Server-sent events (HTML, section 9.2) of a hub, piece by piece, as the body of a response.
///
/// Memory for a stream is one batch of events. A client that does not read stops the stream, and when the ring has gone
/// past it, or the connection has stalled, the stream ends. The client comes back with `Last-Event-ID` and loses
/// nothing that the ring still has; if it may have lost something, the first event is `stream.gap`.
struct EventStream {
    private let subscription: EventSubscription
    private let filter: EventFilter
    private var wakes: AsyncStream<Void>.Iterator
    private var place: UInt64
    private var isOpen = false

    init(_ subscription: EventSubscription, filter: EventFilter) {
        self.subscription = subscription
        self.filter = filter
        self.wakes = subscription.wakes.makeAsyncIterator()
        self.place = subscription.start.place
    }

    /// The next text to write; `nil` when the stream ends: the client goes or is too slow, or the server stops.
    mutating func next() async throws -> ByteBuffer? {
        guard self.isOpen else {
            self.isOpen = true
            let gap = self.subscription.start.hasGap ? "event: stream.gap\ndata: {}\n\n" : ""
            return ByteBuffer(string: "retry: 3000\n\n" + gap)
        }
        var wasWoken = false
        while case .events(let events, let next) = self.subscription.read(from: self.place) {
            self.place = next
            let wanted = events.filter { self.filter.kinds.contains($0.kind) }
            let text = try wanted.map { try self.text(of: $0) }.joined()
            if !text.isEmpty { return ByteBuffer(string: text) }
            if !events.isEmpty { continue }
            // Woken for nothing, or for what the filter leaves out: a comment shows that the stream is alive.
            if wasWoken { return ByteBuffer(string: ":\n\n") }
            guard await self.wakes.next(isolation: #isolation) != nil else { return nil }
            wasWoken = true
        }
        return nil
    }

    /// The response that writes a stream.
    static func response(
        to request: Request,
        _ subscription: EventSubscription,
        filter: EventFilter
    ) -> Response {
        let headers: HTTPFields = [
            .contentType: "text/event-stream", .cacheControl: "no-store", .accelBuffering: "no",
        ]
        return Response(
            status: .ok,
            headers: headers,
            body: ResponseBody { writer in
                try await request.body.consumeWithInboundCloseHandler { _ in
                    var stream = EventStream(subscription, filter: filter)
                    while let text = try await stream.next() { try await writer.write(text) }
                } onInboundClosed: {
                    subscription.end()
                }
                try await writer.finish(nil)
            }
        )
    }

    /// One event; its JSON has no line breaks.
    private func text(of event: DaemonEvent) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let data = String(decoding: try encoder.encode(event), as: UTF8.self)
        return "id: \(event.id)\nevent: \(event.kind.rawValue)\ndata: \(data)\n\n"
    }
}
