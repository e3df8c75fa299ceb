// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOPosix

/// A TCP connection on which a test says exactly what it likes, byte by byte.
final class RawConnection: Sendable {
    private let descriptor: Int32

    /// Connects to a port of this host.
    init(port: Int) throws {
        self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(truncatingIfNeeded: port)).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure.cannotConnect(errno) }
        // A test that waits for what never comes fails instead of hanging.
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { _ = close(self.descriptor) }

    enum Failure: Error {
        case cannotConnect(Int32)
        case silent
    }

    /// Sends text; what the server does not take any more is not an error here.
    func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes {
            Glibc.send(self.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
    }

    /// Receives until the server closes, or until a text has come.
    func receive(until text: String? = nil) async throws -> String {
        try await NIOThreadPool.singleton.runIfActive {
            var all: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while text.map({ !String(decoding: all, as: UTF8.self).contains($0) }) ?? true {
                let count = recv(self.descriptor, &buffer, buffer.count, 0)
                if count < 0, errno == EAGAIN { throw Failure.silent }
                // A reset is an end too.
                guard count > 0 else { break }
                all += buffer[..<count]
            }
            return String(decoding: all, as: UTF8.self)
        }
    }
}
