// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
public import Logging
internal import Model
internal import Observability

/// The process in which the RTSP server runs: commands as JSON lines come in, events go out, until the input ends.
///
/// It is not the supervisor's, so that what strangers send is parsed elsewhere, and no worker's, since one port serves
/// every room. Whatever becomes of it, rooms and recordings do not notice.
public struct RTSPProcess: ~Copyable {
    /// How long a command is waited for before the next heartbeat, in milliseconds.
    private static let turn: Int32 = 1000

    private let input: Int32
    private let output: Int32
    private let logger: Logger
    private var server: RTSPServer?
    private var watch: CertificateWatch?
    /// By room.
    private var wanted: [String: [RTSPMountSpec]] = [:]
    private var mounts: [RTSPMountSpec: RTSPMount] = [:]
    private var refused: Set<RTSPMountSpec> = []
    private var isOver = false

    /// A process that has not begun; the descriptors stay the caller's.
    public init(input: Int32, output: Int32, logger: Logger) {
        self.input = input
        self.output = output
        self.logger = logger
    }

    /// Serves until it is asked to end or its parent is gone.
    public mutating func run() {
        // Some kilobytes for each participant of as many rooms as one command names.
        var splitter = LineSplitter(maximumLength: 16 << 20)
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        var lastBeat = ContinuousClock.now - .seconds(1)
        while !self.isOver {
            var poll = pollfd(fd: self.input, events: Int16(POLLIN), revents: 0)
            let ready = Glibc.poll(&poll, 1, Self.turn)
            if ready > 0 {
                let count = read(self.input, &chunk, chunk.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                for line in splitter.take(chunk.prefix(count)) { self.take(line) }
            } else if ready < 0, errno != EINTR {
                break
            }
            self.settle()
            if ContinuousClock.now - lastBeat >= .milliseconds(900) {
                lastBeat = .now
                // Without heartbeats the supervisor ends this process.
                if let server, server.answers { self.send(.heartbeat(clients: server.clients)) }
            }
        }
        self.watch = nil
        self.wanted = [:]
        self.settle()
        // Clients are closed half a second after their goodbye.
        let deadline = ContinuousClock.now + .seconds(1)
        while let server = self.server, server.clients > 0, ContinuousClock.now < deadline { usleep(20_000) }
        self.server = nil
    }

    private mutating func take(_ line: LineSplitter.Line) {
        guard case .whole(let data) = line, let command = try? WorkerLine.decode(RTSPCommand.self, from: data) else {
            self.logger.error("a line that is no command")
            return
        }
        switch command {
        case .serve(let order):
            guard self.server == nil else { return }
            do throws(RTSPServerError) {
                let (certificate, key) = (order.certificate ?? "", order.key ?? "")
                let used = CertificateWatch.Files(certificate: certificate, key: key)
                let server = try RTSPServer(order)
                self.server = server
                if order.certificate != nil {
                    self.watch = CertificateWatch(
                        server,
                        certificate: certificate,
                        key: key,
                        used: used,
                        logger: self.logger
                    )
                }
                self.send(.listening(port: server.port))
            } catch {
                self.send(.failed(reason: error.message))
                self.isOver = true
            }
        case .mounts(let rooms):
            for (room, orders) in rooms { self.wanted[room] = orders.isEmpty ? nil : orders }
            self.refused.formIntersection(self.wanted.values.joined())
        case .shutDown:
            self.isOver = true
        }
    }

    /// Ends what is not wanted any more, then mounts what is new.
    private mutating func settle() {
        guard let server = self.server else { return }
        let wanted = Set(self.wanted.values.joined())
        self.mounts = self.mounts.filter { wanted.contains($0.key) }
        for order in self.wanted.values.joined() where self.mounts[order] == nil {
            do throws(RTSPServerError) {
                self.mounts[order] = try server.mount(order)
                self.refused.remove(order)
            } catch {
                // The sockets of a mount before it may be in use for a moment.
                guard self.refused.insert(order).inserted else { continue }
                self.send(.notMounted(path: order.paths.first ?? "", reason: error.message))
            }
        }
    }

    /// Blocks while the supervisor does not read; when it is gone, the input ends.
    private func send(_ event: RTSPEvent) {
        guard let line = try? WorkerLine.encode(event) else { return }
        line.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                let count = write(self.output, bytes.baseAddress?.advanced(by: offset), bytes.count - offset)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                offset += count
            }
        }
    }
}
