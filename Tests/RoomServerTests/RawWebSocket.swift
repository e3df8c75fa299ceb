// SPDX-License-Identifier: Apache-2.0

import Basics
import Signalling

/// A WebSocket client that can also do what RFC 6455 forbids.
final class RawWebSocket {
    let connection: RawConnection

    /// Opens a WebSocket.
    /// - Throws: `RawConnection.Failure.unreadable` with the body of a refusal.
    convenience init(port: Int, query: String = "EIO=4&transport=websocket") throws {
        try self.init(port: port, target: "/socket.io/?\(query)")
    }

    /// Opens a WebSocket at a separate path.
    /// - Throws: `RawConnection.Failure.unreadable` with the body of a refusal.
    init(port: Int, target: String) throws {
        self.connection = try RawConnection(port: port)
        try self.connection.request("GET \(target)", headers: Self.upgradeHeaders)
        let response = try self.connection.response()
        guard response.status == 101 else { throw RawConnection.Failure.unreadable(response.body) }
    }

    static let upgradeHeaders = [
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]

    /// A version 4 client whose namespace is connected; its socket's id.
    static func connected(port: Int) throws -> (socket: RawWebSocket, id: String) {
        let socket = try RawWebSocket(port: port)
        _ = try socket.text()
        try socket.send("40")
        let reply = try SocketIOPacket(text: try socket.text().dropFirst())
        return (socket, reply.data?["sid"]?.string ?? "")
    }

    /// A version 4 client that is in a room.
    static func member(port: Int, room: String) throws -> (socket: RawWebSocket, id: String) {
        let (socket, id) = try self.connected(port: port)
        try socket.send(#"42["join","\#(room)"]"#)
        let reply = try socket.text()
        guard reply.hasPrefix(#"42["joined""#) else { throw RawConnection.Failure.unreadable(reply) }
        return (socket, id)
    }

    /// A SkyRTC client that is in a room, and the messages that it got about it.
    static func skyRTC(port: Int, room: String) throws -> (socket: RawWebSocket, id: String, peers: SkyRTCMessage) {
        let socket = try RawWebSocket(port: port, target: "/wss")
        try socket.send(#"{"eventName":"__join","data":{"room":"\#(room)"}}"#)
        let peers = try SkyRTCMessage(.text(try socket.text()))
        return (socket, peers.peer("you")?.rawValue ?? "", peers)
    }

    func send(_ text: String) throws { try self.send(opcode: 1, [UInt8](text.utf8)) }

    func send(opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true, isMasked: Bool = true) throws {
        var frame: [UInt8] = [(isFinal ? 0x80 : 0) | opcode]
        let mask: UInt8 = isMasked ? 0x80 : 0
        switch payload.count {
        case 0...125: frame.append(mask | UInt8(payload.count))
        case 126...65535: frame += [mask | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xff)]
        default: frame += [mask | 127] + (0..<8).map { UInt8((payload.count >> (56 - 8 * $0)) & 0xff) }
        }
        // Zeros change nothing: masking what is large takes long in a debug build.
        let key: [UInt8] = payload.count > 65535 ? [0, 0, 0, 0] : [1, 2, 3, 4]
        if isMasked { frame += key }
        frame += isMasked && key[0] != 0 ? payload.enumerated().map { $1 ^ key[$0 % 4] } : payload
        try self.connection.send(frame)
    }

    /// The next frame: its opcode and payload.
    func frame() throws -> (opcode: UInt8, payload: [UInt8]) {
        let head = try self.connection.read(2)
        var length = Int(head[1] & 0x7f)
        if length == 126 { length = try self.connection.read(2).reduce(0) { $0 << 8 | Int($1) } }
        if length == 127 { length = try self.connection.read(8).reduce(0) { $0 << 8 | Int($1) } }
        return (head[0] & 0x0f, try self.connection.read(length))
    }

    /// The next text message; heartbeats are answered on the way.
    func text() throws -> String {
        while true {
            let (opcode, payload) = try self.frame()
            let text = String(decoding: payload, as: UTF8.self)
            guard opcode == 1 else { throw RawConnection.Failure.unreadable("opcode \(opcode): \(payload)") }
            if text != "2" { return text }
            try self.send("3")
        }
    }

    /// The code of the close frame that comes next, other frames skipped.
    func closeCode() throws -> Int {
        while true {
            let (opcode, payload) = try self.frame()
            if opcode == 8 { return payload.prefix(2).reduce(0) { $0 << 8 | Int($1) } }
        }
    }
}
