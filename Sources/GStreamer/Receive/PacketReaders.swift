// SPDX-License-Identifier: Apache-2.0

internal import CTapedeck

/// The threads that read the sockets of many connections of this process in turn.
public enum PacketReaders {
    /// Counters of the readers.
    public struct Counters: Sendable, Hashable {
        /// Connections that they read; the others have their own thread at work.
        public var connections: Int
        /// Connections that held up others, since the start; each is counted once.
        public var slowConnections: UInt64
    }

    /// The present counters.
    ///
    /// Any thread.
    public static var counters: Counters {
        let counters = CTapedeck_reader_counters(CTapedeck_readers_of_process())
        return Counters(connections: Int(counters.connections), slowConnections: counters.slow)
    }
}
