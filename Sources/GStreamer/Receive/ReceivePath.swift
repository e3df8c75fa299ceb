// SPDX-License-Identifier: Apache-2.0

internal import CTapedeck
internal import Synchronization

/// The ways of packets through webrtcbin, in all connections of this process.
public enum ReceivePath {
    private static let longTrackCount = Atomic<UInt64>(0)

    /// Tracks whose packets take the whole way.
    ///
    /// Any thread.
    public static var longTracks: UInt64 { self.longTrackCount.load(ordering: .relaxed) }

    /// Packets of media that were dropped because they were not made with their connection's key (RFC 3711 section 3.3).
    ///
    /// Any thread.
    public static var forgedPackets: UInt64 { CTapedeck_forged_packets() }

    static func countLongTrack() {
        self.longTrackCount.wrappingAdd(1, ordering: .relaxed)
    }

    /// Packets that went around the parts of rtpbin that have nothing to do for them.
    ///
    /// Any thread.
    static var shortPackets: UInt64 { CTapedeck_path_counters().short_packets }

    /// Packets of the same connections that went through all of it.
    ///
    /// Any thread.
    static var longPackets: UInt64 { CTapedeck_path_counters().long_packets }
}
