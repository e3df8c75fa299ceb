// SPDX-License-Identifier: Apache-2.0

internal import CTapedeck
internal import Synchronization

/// Data that a peer sends next to its media: packets of data channels, in the DTLS that keys the media.
///
/// webrtcbin never sees them. Its own SCTP starts threads for every channel that a peer opens.
extension WebRTCBin {
    /// Passes on data packets that come out of DTLS, at most this many a second; the others are lost on purpose, and
    /// SCTP repeats them.
    ///
    /// Control thread, once there is a transport.
    /// - Parameter onPacket: gets the packet and its arrival on `CLOCK_MONOTONIC`; GStreamer's thread, must not block.
    /// - Returns: false if there is no transport yet.
    public func receiveData(packetsPerSecond: UInt32, _ onPacket: @escaping @Sendable ([UInt8], Int64) -> Void) -> Bool
    {
        guard let transport = self.transports.withLock({ $0.first }) else { return false }
        let box = CallbackBox<([UInt8], Int64)> { onPacket($0.0, $0.1) }
        return CTapedeck_data_receive(transport.pointer, packetsPerSecond, handlePacket, box.retained(), release)
    }

    /// Sends one data packet; it is not waited for, and may be lost.
    ///
    /// Control thread.
    /// - Returns: whether it was taken.
    @discardableResult
    public func sendData(_ packet: [UInt8]) -> Bool {
        guard let encryptor = self.encryptors.withLock({ $0.first }) else { return false }
        return CTapedeck_data_send(encryptor.pointer, packet, packet.count)
    }
}

private let handlePacket: @convention(c) (UnsafePointer<UInt8>?, Int, Int64, UnsafeMutableRawPointer?) -> Void = {
    bytes,
    size,
    arrival,
    user in
    let packet = Array(UnsafeBufferPointer(start: bytes, count: size))
    CallbackBox<([UInt8], Int64)>.from(user)?.call((packet, arrival))
}
