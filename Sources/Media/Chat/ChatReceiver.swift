// SPDX-License-Identifier: Apache-2.0

internal import DataChannels
internal import Synchronization

/// The data channels of one peer connection: packets in, what the peer wrote out.
///
/// Packets wait until the control thread takes them, a few at most: what does not fit is lost, and SCTP repeats it.
final class ChatReceiver: Sendable {
    /// The rate at which packets are taken from the network: some 200 kB/s of whatever a peer sends.
    static let packetsPerSecond: UInt32 = 200
    /// How long a packet of ours may be under way.
    static let repetition = Duration.seconds(1)
    private static let maximumWaiting = 64

    private struct State {
        var receiver: DataChannelReceiver
        var waiting: [(packet: [UInt8], arrivalNanoseconds: Int64)] = []
        var isRepeating = false
        /// The recording that was announced last, by its number.
        var announced: UInt64 = 0
    }

    private let state: Mutex<State>

    /// A receiver for what comes to an SCTP port of ours.
    init(port: UInt16) {
        self.state = Mutex(State(receiver: DataChannelReceiver(port: port)))
    }

    /// Counters of messages that were not written.
    var counters: DataChannelCounters { self.state.withLock { $0.receiver.counters } }

    /// Keeps a packet; true if the control thread must be notified.
    ///
    /// Any thread.
    func came(_ packet: [UInt8], at nanoseconds: Int64) -> Bool {
        self.state.withLock { state in
            guard state.waiting.count < Self.maximumWaiting else { return false }
            state.waiting.append((packet, nanoseconds))
            return state.waiting.count == 1
        }
    }

    /// Takes what waits.
    func take() -> DataChannelReceiver.Output {
        self.state.withLock { state in
            var output = DataChannelReceiver.Output()
            for (packet, nanoseconds) in state.waiting {
                let more = state.receiver.received(packet, at: nanoseconds)
                output.packets += more.packets
                output.messages += more.messages
            }
            state.waiting = []
            return output
        }
    }

    /// Packets that post a text about a recording, once for its number; nil if it was, or if the peer has no channel yet.
    func announce(_ text: String, of recording: UInt64) -> [[UInt8]]? {
        self.state.withLock { state in
            guard state.announced != recording else { return nil }
            let packets = state.receiver.write(text)
            if packets != nil { state.announced = recording }
            return packets
        }
    }

    /// Whether a timer must be started, which calls `repeated` after `repetition`.
    func beginsToRepeat() -> Bool {
        self.state.withLock { state in
            guard !state.isRepeating, state.receiver.awaitsAcknowledgement else { return false }
            state.isRepeating = true
            return true
        }
    }

    /// Packets that go out once more.
    func repeated() -> [[UInt8]] {
        self.state.withLock { state in
            state.isRepeating = false
            return state.receiver.repeatUnacknowledged()
        }
    }
}
