// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A Unix datagram socket that sends to one address and never waits.
final class DatagramSocket: Sendable {
    private let descriptor: Int32
    private let path: [UInt8]
    private let isAbstract: Bool

    /// A socket for a path, absolute or, with `@` in front, abstract; `nil` for a path that is none, or without
    /// descriptors left.
    init?(path: String) {
        var bytes = Array(path.utf8)
        self.isAbstract = bytes.first == UInt8(ascii: "@")
        if self.isAbstract { bytes[0] = 0 }
        guard bytes.count > 1, self.isAbstract || bytes[0] == UInt8(ascii: "/"), !bytes.dropFirst().contains(0),
            bytes.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path)
        else { return nil }
        self.path = bytes
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
    }

    deinit {
        close(self.descriptor)
    }

    /// Sends one datagram; the system's error number if it was not taken.
    func send(_ bytes: [UInt8]) -> Int32? {
        self.transmit { message in
            var bytes = bytes
            return bytes.withUnsafeMutableBytes { buffer in
                var vector = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
                return withUnsafeMutablePointer(to: &vector) { vector in
                    message.msg_iov = vector
                    message.msg_iovlen = 1
                    return sendmsg(self.descriptor, &message, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
                }
            }
        }
    }

    /// Sends a descriptor without bytes beside it (SCM_RIGHTS); the system's error number if it was not taken.
    func send(descriptor: Int32) -> Int32? {
        // A control message (cmsg(3)) on a 64-bit Linux: length, level and type, data padded to a word.
        let headerLength = 16
        var control = [UInt8](repeating: 0, count: headerLength + 8)
        return control.withUnsafeMutableBytes { buffer in
            buffer.storeBytes(of: headerLength + MemoryLayout<Int32>.size, as: Int.self)
            buffer.storeBytes(of: SOL_SOCKET, toByteOffset: 8, as: Int32.self)
            buffer.storeBytes(of: Int32(SCM_RIGHTS), toByteOffset: 12, as: Int32.self)
            buffer.storeBytes(of: descriptor, toByteOffset: headerLength, as: Int32.self)
            return self.transmit { message in
                message.msg_control = buffer.baseAddress
                message.msg_controllen = buffer.count
                return sendmsg(self.descriptor, &message, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
        }
    }

    private func transmit(_ body: (inout msghdr) -> Int) -> Int32? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: self.path) }
        // An abstract name ends where the address ends; a path ends with a zero byte.
        let length = MemoryLayout<sa_family_t>.size + self.path.count + (self.isAbstract ? 0 : 1)
        return withUnsafeMutablePointer(to: &address) { address in
            var message = msghdr()
            message.msg_name = UnsafeMutableRawPointer(address)
            message.msg_namelen = socklen_t(length)
            while true {
                if body(&message) >= 0 { return nil }
                if errno != EINTR { return errno }
            }
        }
    }
}
