// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RoomServer
import Worker

/// `tapedeck serve`.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the built-in room server: Socket.IO and SkyRTC rooms and a browser page.",
        discussion: """
            For demos, tests and small networks. Open the printed address in a browser to join with a camera.
            SkyRTC apps join the same rooms by WebSocket, on any path: ws://HOST:PORT/wss.

            Example: tapedeck serve --listen 127.0.0.1:3000 --room-size 4
            """
    )

    @Option(help: "Address and port; port 0 chooses a free one.")
    var listen = ListenAddress(host: "127.0.0.1", port: 3000)

    @Option(help: "How many members a room holds, 2 or more; more than two form a mesh.")
    var roomSize = 2

    @OptionGroup var common: CommonOptions

    /// Printed when clients can connect, for scripts.
    private struct Listening: Encodable {
        var host: String
        var port: Int
        var url: String
    }

    mutating func validate() throws {
        guard self.roomSize >= 2 else { throw ValidationError("--room-size takes 2 or more, not \(self.roomSize)") }
    }

    mutating func run() async throws {
        let configuration = RoomServerConfiguration(
            host: self.listen.host,
            port: self.listen.port,
            roomCapacity: self.roomSize
        )
        let server = RoomServer(configuration: configuration, logger: self.common.logger)
        let json = self.common.json
        let interrupts = Interrupts()
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await server.run { address in
                        let url = address.description
                        if json {
                            try? Output.json(Listening(host: address.host, port: address.port, url: url))
                        } else {
                            Output.result("rooms at \(url)")
                        }
                    }
                }
                group.addTask {
                    _ = await interrupts.bell.wait { interrupts.came ? true : nil }
                }
                try await group.next()
                group.cancelAll()
                try await group.waitForAll()
            }
        } catch is CancellationError {}
    }
}

/// `127.0.0.1:3000`, `[::1]:3000`, or a port alone on loopback.
struct ListenAddress: ExpressibleByArgument {
    var host: String
    var port: Int

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    init?(argument: String) {
        let colon = argument.lastIndex(of: ":")
        let host = colon.map { String(argument[..<$0]) } ?? "127.0.0.1"
        let port = colon.map { argument[argument.index(after: $0)...] } ?? argument[...]
        guard let number = Int(port), (0...65535).contains(number), !host.isEmpty else { return nil }
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        guard isBracketed || !host.contains(":") else { return nil }
        self.init(host: isBracketed ? String(host.dropFirst().dropLast()) : host, port: number)
    }

    var defaultValueDescription: String { "\(self.host):\(self.port)" }
}
