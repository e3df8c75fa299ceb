// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A blocking TCP connection to the server under test, with a limit of 60 s on every wait.
final class RawConnection {
    /// Why a test's connection failed.
    enum Failure: Error, Equatable {
        case notConnected(Int32)
        case timedOut
        case closed
        case unreadable(String)
    }

    /// A response as it came, its body without chunking.
    struct Response {
        var status: Int
        var headers: [String: String]
        var body: String
    }

    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private var isOpen = true

    init(port: Int) throws {
        self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        let limitSize = socklen_t(MemoryLayout<timeval>.size)
        _ = setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, limitSize)
        _ = setsockopt(self.descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, limitSize)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if status != 0 {
            let code = errno
            self.close()
            throw Failure.notConnected(code)
        }
    }

    deinit { self.close() }

    /// Closes at once, as a process that dies does.
    func close() {
        if self.isOpen { _ = Glibc.close(self.descriptor) }
        self.isOpen = false
    }

    func send(_ bytes: some Sequence<UInt8>) throws {
        var rest = [UInt8](bytes)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(self.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0 { throw errno == EAGAIN ? Failure.timedOut : Failure.closed }
            rest = rest.dropFirst(count)
        }
    }

    func send(_ text: String) throws { try self.send(text.utf8) }

    /// Sends a request; `body` sets its length.
    func request(_ line: String, headers: [String] = [], body: String? = nil) throws {
        var lines = ["\(line) HTTP/1.1", "Host: localhost"] + headers
        if let body { lines.append("Content-Length: \(body.utf8.count)") }
        try self.send(lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""))
    }

    /// Exactly `count` bytes.
    func read(_ count: Int) throws -> [UInt8] {
        while self.buffer.count < count { try self.fill() }
        defer { self.buffer.removeFirst(count) }
        return [UInt8](self.buffer.prefix(count))
    }

    /// One response.
    ///
    /// A response to HEAD has no body.
    func response(isHEAD: Bool = false) throws -> Response {
        while !self.buffer.indices.contains(where: { self.buffer[$0...].starts(with: [13, 10, 13, 10]) }) {
            try self.fill()
        }
        let end = self.buffer.indices.first { self.buffer[$0...].starts(with: [13, 10, 13, 10]) } ?? 0
        let head = String(decoding: try self.read(end + 4), as: UTF8.self)
        let lines = head.split(separator: "\r\n")
        guard let first = lines.first, let status = Int(first.split(separator: " ").dropFirst().first ?? "") else {
            throw Failure.unreadable(head)
        }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
        }
        let length = isHEAD ? 0 : Int(headers["content-length"] ?? "0") ?? 0
        let body = String(decoding: try self.read(length), as: UTF8.self)
        return Response(status: status, headers: headers, body: body)
    }

    /// Reads until the server closes; what came before.
    @discardableResult
    func readUntilClosed() throws -> [UInt8] {
        do {
            while true { try self.fill() }
        } catch Failure.closed {
            return self.buffer
        }
    }

    private func fill() throws {
        var chunk = [UInt8](repeating: 0, count: 65536)
        let count = recv(self.descriptor, &chunk, chunk.count, 0)
        if count > 0 {
            self.buffer += chunk.prefix(count)
        } else {
            throw count < 0 && errno == EAGAIN ? Failure.timedOut : Failure.closed
        }
    }
}
