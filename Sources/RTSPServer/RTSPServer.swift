// SPDX-License-Identifier: Apache-2.0

internal import CTapedeckRTSP
public import Model

/// Why a server or a mount cannot be had.
public struct RTSPServerError: Error, Sendable, Hashable {
    /// A human-readable message.
    public var message: String
}

/// An RTSP server of what workers send to loopback (RFC 2326): passthrough, nothing is decoded.
///
/// Any thread. GStreamer must be initialised, and mounts must end before their server.
public final class RTSPServer: @unchecked Sendable {
    // The C object locks for itself.
    private let pointer: OpaquePointer

    /// Listens.
    public init(_ order: RTSPServerSpec) throws(RTSPServerError) {
        var error: UnsafeMutablePointer<CChar>?
        var settings = CTapedeckRTSPSettings()
        settings.port = order.port
        settings.maximum_clients = UInt32(clamping: order.maximumClients)
        let strings = CStrings()
        settings.host = strings.add(order.host)
        settings.certificate = order.certificate.flatMap { strings.add($0) }
        settings.key = order.key.flatMap { strings.add($0) }
        let users = order.users.flatMap { [$0.name, $0.password] }
        let pointer = strings.withList(users) { list in
            settings.users = order.users.isEmpty ? nil : list
            settings.user_count = UInt32(order.users.count)
            return CTapedeck_rtsp_server_new(&settings, &error)
        }
        guard let pointer else { throw RTSPServerError(taking: error) }
        self.pointer = pointer
    }

    deinit {
        CTapedeck_rtsp_server_free(self.pointer)
    }

    /// The port that it listens on.
    public var port: UInt16 { CTapedeck_rtsp_server_port(self.pointer) }

    /// Clients that are connected.
    public var clients: Int { Int(CTapedeck_rtsp_server_clients(self.pointer)) }

    /// Whether the server's thread answers within a second; waits so long.
    public var answers: Bool { CTapedeck_rtsp_server_answers(self.pointer) }

    /// Shows clients that come from now on the certificate of these files; those that are connected stay.
    ///
    /// - Throws: if it cannot be read; then the one before stays.
    func use(certificate: String, key: String) throws(RTSPServerError) {
        var error: UnsafeMutablePointer<CChar>?
        guard CTapedeck_rtsp_server_use_certificate(self.pointer, certificate, key, &error) else {
            throw RTSPServerError(taking: error)
        }
    }

    /// Lets clients in to what a worker sends.
    public func mount(_ order: RTSPMountSpec) throws(RTSPServerError) -> RTSPMount {
        var error: UnsafeMutablePointer<CChar>?
        var settings = CTapedeckRTSPMountSettings()
        let strings = CStrings()
        settings.address = strings.add(order.address)
        settings.description = strings.add(order.sdp)
        settings.path_count = UInt32(order.paths.count)
        settings.user_count = UInt32(order.users.count)
        settings.line_count = UInt32(order.lines.count)
        let lines = order.lines.map {
            CTapedeckRTSPLine(port: $0.port, source_port: $0.sourcePort, ssrc: $0.ssrc)
        }
        let pointer = strings.withList(order.paths) { paths in
            strings.withList(order.users) { users in
                lines.withUnsafeBufferPointer { lines in
                    settings.paths = paths
                    settings.users = users
                    settings.lines = lines.baseAddress
                    return CTapedeck_rtsp_mount_new(self.pointer, &settings, &error)
                }
            }
        }
        guard let pointer else { throw RTSPServerError(taking: error) }
        return RTSPMount(pointer, on: self)
    }
}

/// Media for clients at some paths, until it is released: then clients get a goodbye.
public final class RTSPMount: @unchecked Sendable {
    // The C object locks for itself.
    private let pointer: OpaquePointer
    // It must live longer.
    private let server: RTSPServer

    fileprivate init(_ pointer: OpaquePointer, on server: RTSPServer) {
        self.pointer = pointer
        self.server = server
    }

    deinit {
        CTapedeck_rtsp_mount_free(self.pointer)
    }
}

extension RTSPServerError {
    /// Takes the words of C, and frees them.
    fileprivate init(taking error: UnsafeMutablePointer<CChar>?) {
        self.message = error.map { String(cString: $0) } ?? "it is refused"
        CTapedeck_rtsp_free_words(error)
    }
}
