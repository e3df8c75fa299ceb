// SPDX-License-Identifier: Apache-2.0

import Cluster

/// Reads the lines of a watch, and holds at most one change of the store in memory.
struct EtcdWatchReader: Sendable {
    /// What a line says.
    enum Item: Sendable, Hashable {
        /// The watch is there; the member has the store's history up to this revision.
        case created(Revision)
        /// Changes, whole revisions up to this one.
        case changed([StoreEvent], Revision)
        /// What was asked for is not kept any more.
        case compacted
        /// More at a time than is taken.
        case tooLarge
        /// etcd ends the watch, in its own words: a token that has ended, or rights.
        case cancelled(String)
        /// The member has failed.
        case failed(EtcdFailure)
    }

    /// Most bytes of a line, and of the lines of one change: several times what etcd takes for one request.
    static let maximumBytes = 8 << 20

    private var line: [UInt8] = []
    /// Of a change that comes in several lines.
    private var events: [StoreEvent] = []
    private var bytes = 0

    /// Takes the next bytes and returns the news of the lines that they end; nothing is taken behind a `tooLarge`.
    mutating func take(_ bytes: some Collection<UInt8>) -> [Item] {
        var items: [Item] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            self.line += rest[..<end]
            rest = rest[rest.index(after: end)...]
            if self.bytes + self.line.count > Self.maximumBytes { return items + [.tooLarge] }
            items += self.endLine()
        }
        self.line += rest
        return self.bytes + self.line.count > Self.maximumBytes ? items + [.tooLarge] : items
    }

    private mutating func endLine() -> [Item] {
        let count = self.line.count
        defer { self.line.removeAll(keepingCapacity: count < 64 << 10) }
        guard self.line.contains(where: { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: " ") }) else { return [] }
        let nonsense = Item.failed(EtcdAnswer.nonsense)
        guard let line = try? EtcdAnswer.line(self.line) else { return [nonsense] }
        if let error = line.error { return [.failed(error.failure)] }
        guard let result = line.result else { return [nonsense] }
        guard result.canceled != true else {
            let isCompacted = (result.compactRevision?.value ?? 0) > 0
            return [isCompacted ? .compacted : .cancelled(String((result.cancelReason ?? "").prefix(300)))]
        }
        var items: [Item] = []
        if result.created == true {
            guard let revision = try? result.header?.known else { return [nonsense] }
            items.append(.created(revision))
        }
        for event in result.events ?? [] {
            let isDeletion = event.type == "DELETE"
            guard event.kv.key != nil, let revision = event.kv.modRevision?.value else { return items + [nonsense] }
            self.events.append(
                isDeletion ? .delete(key: event.kv.text, Revision(revision)) : .put(event.kv.stored)
            )
        }
        guard result.fragment != true else {
            self.bytes += count
            return items
        }
        // The header tells of the store, which may be further than what it sends.
        if let last = self.events.last { items.append(.changed(self.events, last.revision)) }
        (self.events, self.bytes) = ([], 0)
        return items
    }
}
