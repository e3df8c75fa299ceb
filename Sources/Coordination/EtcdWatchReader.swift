// SPDX-License-Identifier: Apache-2.0

import Cluster

/// Reads the lines of a watch, and holds at most one change of the store in memory.
struct EtcdWatchReader: Sendable {
    /// The meaning of a line.
    enum Item: Sendable, Hashable {
        /// The watch has begun at a member that has the store up to this revision.
        case created(Revision)
        /// Changes, whole revisions up to this one.
        case changed([StoreEvent], Revision)
        /// The store no longer has the revision that the watch begins with.
        case compacted
        /// A change has more bytes than the client takes.
        case tooLarge
        /// etcd ends the watch, in its words: the token has ended, or rights are missing.
        case cancelled(String)
        /// The member has failed.
        case failed(EtcdFailure)
    }

    /// Most bytes of the lines of one change: four times the largest request that etcd takes.
    static let maximumBytes = 8 << 20

    private var line: [UInt8] = []
    /// The part of a change that has come, if it comes in several lines.
    private var events: [StoreEvent] = []
    private var bytes = 0

    /// Takes the next bytes and returns the items of the lines that they end; `tooLarge` is the last.
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
        // The revision of the header is the store's, which may be ahead of the events.
        if let last = self.events.last { items.append(.changed(self.events, last.revision)) }
        (self.events, self.bytes) = ([], 0)
        return items
    }
}
