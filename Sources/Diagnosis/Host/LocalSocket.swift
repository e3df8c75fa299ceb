// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Sockets of this host, opened to see whether they can be, and closed at once.
enum LocalSocket {
    /// How long a server on this host may take to answer.
    private static let patience = timeval(tv_sec: 1, tv_usec: 0)

    /// A ClientHello without anything in it (RFC 8446): every server that speaks TLS answers with an alert, and some do not
    /// answer plain HTTP at all.
    private static let emptyHello: [UInt8] = [0x16, 3, 1, 0, 4, 1, 0, 0, 0]
    /// First bytes of TLS records that hold an alert or a handshake.
    private static let recordTypes: ClosedRange<UInt8> = 0x15...0x16

    /// Whether a UDP port can be taken on every address.
    static func canBind(udp port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    /// The state of a TCP port of this host.
    ///
    /// Blocks as long as the system's resolver does if `host` is a name; a name means its first address, as to the server.
    /// - Parameter hasTLS: whether our server there speaks TLS; then it cannot be recognised as ours.
    static func state(host: String, port: UInt16, hasTLS: Bool = false) -> NetworkFacts.PortState {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &found) == 0, let found else {
            return .taken("'\(host)' has no address")
        }
        defer { freeaddrinfo(found) }
        guard let error = Self.bindError(found.pointee) else { return .free }
        let taken = NetworkFacts.PortState.taken(String(cString: strerror(error)))
        guard error == EADDRINUSE else { return taken }
        if hasTLS { return Self.answersAsTLS(found.pointee) ? .perhapsOurs : taken }
        return Self.answersAsTapedeck(found.pointee) ? .ours : taken
    }

    /// Opens a stream socket for `address` and gives it to `body`; `nil` if none can be opened.
    private static func withSocket<Result>(_ address: addrinfo, _ body: (Int32) -> Result) -> Result? {
        let descriptor = socket(address.ai_family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return body(descriptor)
    }

    private static func bindError(_ address: addrinfo) -> Int32? {
        withSocket(address) { descriptor -> Int32? in
            // As a server does, so that connections that ended a moment ago do not count.
            var yes: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
            let isBound = bind(descriptor, address.ai_addr, address.ai_addrlen) == 0 && listen(descriptor, 1) == 0
            return isBound ? nil : errno
        } ?? errno
    }

    /// Whether the server there has Tapedeck's health check.
    private static func answersAsTapedeck(_ address: addrinfo) -> Bool {
        let request = Array("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
        let head = String(decoding: Self.answer(of: address, to: request), as: UTF8.self)
        return head.hasPrefix("HTTP/1.1 200") || head.hasPrefix("HTTP/1.1 503")
    }

    /// Whether the server there speaks TLS.
    private static func answersAsTLS(_ address: addrinfo) -> Bool {
        Self.answer(of: address, to: Self.emptyHello).first.map { Self.recordTypes.contains($0) } ?? false
    }

    /// The beginning of what the server there answers; empty if it does not.
    private static func answer(of address: addrinfo, to request: [UInt8]) -> [UInt8] {
        withSocket(address) { descriptor -> [UInt8] in
            var patience = Self.patience
            for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
                setsockopt(descriptor, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
            }
            guard connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 else { return [] }
            guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else { return [] }
            var answer = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &answer, answer.count, 0)
            return Array(answer.prefix(max(0, count)))
        } ?? []
    }
}
