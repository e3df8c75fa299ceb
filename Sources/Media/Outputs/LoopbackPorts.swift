// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore

/// Ports of this host for packets that do not leave it.
enum LoopbackPorts {
    /// Below those that the system gives to sockets that want any.
    private static let range: ClosedRange<UInt16> = 20_500...32_000
    private static let attempts = 50

    /// The first, even one of four UDP ports of 127.0.0.1 that follow each other and are free now; nil if none was found.
    static func four() -> UInt16? {
        for _ in 0..<Self.attempts {
            let first = UInt16.random(in: Self.range) & ~1
            var sockets: [Int32] = []
            defer { for socket in sockets { close(socket) } }
            for port in first..<(first + 4) {
                guard let socket = Self.bound(to: port) else { break }
                sockets.append(socket)
            }
            if sockets.count == 4 { return first }
        }
        return nil
    }

    private static func bound(to port: UInt16) -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        let address = try? SocketAddress(ipAddress: "127.0.0.1", port: Int(port))
        let isBound = address?.withSockAddr { bind(descriptor, $0, socklen_t($1)) == 0 } ?? false
        guard isBound else {
            close(descriptor)
            return nil
        }
        return descriptor
    }
}
