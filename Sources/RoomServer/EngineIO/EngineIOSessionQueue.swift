// SPDX-License-Identifier: Apache-2.0

import Signalling

/// Packets that wait for a polling client's next request, with bounds.
struct EngineIOSessionQueue: Hashable, Sendable {
    /// Limits of the data that the server holds for a client that does not fetch.
    struct Limits: Hashable, Sendable {
        /// Packets.
        var packets: Int
        /// Bytes of their text.
        var bytes: Int
    }

    private let limits: Limits
    private var packets: [EngineIOPacket] = []
    private var bytes = 0

    /// An empty queue.
    init(limits: Limits) {
        self.limits = limits
    }

    /// Whether nothing waits.
    var isEmpty: Bool { self.packets.isEmpty }

    /// Adds a packet at the end; false if it does not fit, and then nothing changes.
    mutating func append(_ packet: EngineIOPacket) -> Bool {
        let size = packet.text?.utf8.count ?? 0
        guard self.packets.count < self.limits.packets, self.bytes &+ size <= self.limits.bytes else { return false }
        self.packets.append(packet)
        self.bytes &+= size
        return true
    }

    /// Takes out the oldest, at most `count`.
    mutating func remove(first count: Int) -> [EngineIOPacket] {
        let taken = Array(self.packets.prefix(count))
        self.packets.removeFirst(taken.count)
        for packet in taken { self.bytes &-= packet.text?.utf8.count ?? 0 }
        return taken
    }

    /// Takes out everything, oldest first.
    mutating func removeAll() -> [EngineIOPacket] {
        defer {
            self.packets = []
            self.bytes = 0
        }
        return self.packets
    }
}
