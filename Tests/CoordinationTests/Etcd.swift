// SPDX-License-Identifier: Apache-2.0

import Basics
import Cluster
import Coordination
import Foundation
import HTTPRequests
import Synchronization
import TestSupport

/// A real etcd of some members on a loopback address of its own, and what one can do to it.
///
/// It ends with `end`, with this object or with the process of the tests.
final class Etcd: Sendable {
    let urls: [String]
    private let folder: URL
    private let arguments: [[String]]
    private let tls: SelfSignedCertificate?
    private let running: Mutex<[Int: Running]>

    /// A shell that kills its etcd when its standard input ends.
    ///
    /// It is bash, since other shells wait for a signal that threads of ours block.
    private struct Running: @unchecked Sendable {
        let pid: pid_t
        // `Process` is not marked as what may change threads; only one at a time has it, by the lock.
        let shell: Process
        let input: Pipe
    }

    /// Starts the members and waits until all know their leader.
    ///
    /// - Parameters:
    ///   - options: more arguments for each.
    ///   - secure: whether clients have to show `certificate`.
    init(members: Int = 1, _ options: [String] = [], secure: Bool = false) async throws {
        let address = "127.\((0..<3).map { _ in "\(Int.random(in: 1...254))" }.joined(separator: "."))"
        self.tls = secure ? try SelfSignedCertificate(address: address) : nil
        let folder = FileManager.default.temporaryDirectory.appending(path: "etcd-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.folder = folder
        let peers = (0..<members).map { "http://\(address):\(2380 + 2 * $0)" }
        let urls = (0..<members).map { "\(secure ? "https" : "http")://\(address):\(2379 + 2 * $0)" }
        self.urls = urls
        var common = ["--unsafe-no-fsync", "--initial-cluster-state", "new", "--initial-cluster"]
        common.append(peers.enumerated().map { "m\($0.offset)=\($0.element)" }.joined(separator: ","))
        if let tls = self.tls {
            common += ["--cert-file", tls.certificate, "--key-file", tls.key]
            common += ["--client-cert-auth", "--trusted-ca-file", tls.certificate]
        }
        self.arguments = (0..<members).map { [common, options] member in
            common + options + [
                "--name", "m\(member)", "--data-dir", folder.appending(path: "m\(member)").path,
                "--listen-client-urls", urls[member], "--advertise-client-urls", urls[member],
                "--listen-peer-urls", peers[member], "--initial-advertise-peer-urls", peers[member],
            ]
        }
        self.running = Mutex([:])
        for member in 0..<members { try self.start(member) }
        try await self.ready()
    }

    deinit { self.end() }

    func end() {
        for member in self.urls.indices { self.kill(member) }
        try? FileManager.default.removeItem(at: self.folder)
    }

    /// How clients reach it, with the members in this order.
    func configuration(_ order: [Int]? = nil, user: EtcdConfiguration.User? = nil) -> EtcdConfiguration {
        EtcdConfiguration(
            members: (order ?? Array(self.urls.indices)).map { self.urls[$0] },
            user: user,
            authorityFile: self.tls?.certificate,
            identity: self.tls.map { .init(certificateFile: $0.certificate, keyFile: $0.key) }
        )
    }

    func client(_ order: [Int]? = nil, user: EtcdConfiguration.User? = nil) -> EtcdClient {
        EtcdClient(self.configuration(order, user: user))
    }

    // MARK: - Members

    func start(_ member: Int) throws {
        let shell = Process()
        let (input, output) = (Pipe(), Pipe())
        shell.executableURL = URL(filePath: "/bin/bash")
        let log = self.folder.appending(path: "m\(member).log").path
        let script = #"log=$1; shift; "$@" >>"$log" 2>&1 & echo $!; read -r _; kill -9 $!; wait $! 2>/dev/null"#
        let program = ProcessInfo.processInfo.environment["TAPEDECK_ETCD"] ?? "etcd"
        shell.arguments = ["-c", script, "bash", log, program] + self.arguments[member]
        shell.standardInput = input
        shell.standardOutput = output
        shell.standardError = FileHandle.nullDevice
        try shell.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let pid = pid_t(line.trimmingCharacters(in: .whitespacesAndNewlines)) else { throw POSIXError(.ESRCH) }
        self.running.withLock { $0[member] = Running(pid: pid, shell: shell, input: input) }
    }

    /// Waits until every member knows its leader.
    func ready() async throws {
        while await !self.client().status().allSatisfy({ (try? $0.status.get().leader) != nil }) {
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// `kill -9`; returns when it is gone.
    func kill(_ member: Int) {
        guard let running = self.running.withLock({ $0.removeValue(forKey: member) }) else { return }
        Self.end(running)
    }

    func stop(_ member: Int) { self.signal(SIGSTOP, member) }
    func `continue`(_ member: Int) { self.signal(SIGCONT, member) }

    /// Forgets everything that a member had; after `kill`.
    func wipe(_ member: Int) throws {
        try FileManager.default.removeItem(at: self.folder.appending(path: "m\(member)"))
    }

    /// Which one leads.
    func leader() async throws -> Int {
        while true {
            let all = await self.client().status().map { try? $0.status.get() }
            if let leader = all.firstIndex(where: { $0.map { $0.member == $0.leader } ?? false }) { return leader }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    private func signal(_ number: Int32, _ member: Int) {
        guard let running = self.running.withLock({ $0[member] }) else { return }
        _ = Foundation.kill(running.pid, number)
    }

    private static func end(_ running: Running) {
        try? running.input.fileHandleForWriting.close()
        running.shell.waitUntilExit()
    }

    // MARK: - As its administrator

    /// A call of the first member, whatever it answers.
    @discardableResult
    func call(_ path: String, _ body: [String: JSONValue], token: String? = nil) async throws -> JSONValue {
        var request = HTTPClient.Request("POST", self.urls[0] + path)
        request.body = Array(JSONValue.object(body).text.utf8)
        if let token { request.headers = [HTTPClient.Header("Authorization", token)] }
        let answer = try await HTTPClient().send(request)
        return try JSONValue(parsing: String(decoding: answer.body, as: UTF8.self))
    }
}

/// What a watch told; it ends with this object.
final class WatchLog: Sendable {
    private struct State {
        var updates: [StoreWatchUpdate] = []
        var end: Result<Void, StoreError>?
        var isHeld: Bool
    }

    /// Outlives the object, as its task does for a while.
    private final class Notes: Sendable {
        let state: Mutex<State>

        init(isHeld: Bool) { self.state = Mutex(State(isHeld: isHeld)) }
    }

    private let notes: Notes
    private let task: Task<Void, Never>

    /// - Parameter holds: whether the reader takes nothing more until `release`.
    init(_ client: EtcdClient, prefix: String, from revision: Revision, holds: Bool = false) {
        let notes = Notes(isHeld: holds)
        self.notes = notes
        self.task = Task {
            let end: Result<Void, StoreError>
            do throws(StoreError) {
                try await client.watch(prefix: prefix, from: revision) { update in
                    notes.state.withLock { $0.updates.append(update) }
                    while notes.state.withLock({ $0.isHeld }), !Task.isCancelled {
                        try? await Task.sleep(for: .milliseconds(5))
                    }
                }
                end = .success(())
            } catch {
                end = .failure(error)
            }
            notes.state.withLock { $0.end = end }
        }
    }

    deinit {
        self.task.cancel()
    }

    func release() { self.notes.state.withLock { $0.isHeld = false } }

    var updates: [StoreWatchUpdate] { self.notes.state.withLock { $0.updates } }

    /// `+key=value` and `-key`, in order.
    var changes: [String] {
        self.updates.flatMap { update -> [String] in
            guard case .events(let events, _) = update else { return ["\(update)"] }
            return events.map { event in
                switch event {
                case .put(let value): "+\(value.key)=\(value.value)"
                case .delete(let key, _): "-\(key)"
                }
            }
        }
    }

    /// Waits until it told so many changes.
    func changes(_ count: Int) async throws -> [String] {
        while self.changes.count < count { try await Task.sleep(for: .milliseconds(5)) }
        return self.changes
    }

    /// Waits for its end, and cancels it first if it has none of its own; nil: it was no error.
    func end(cancels: Bool = false) async -> StoreError? {
        if cancels { self.task.cancel() }
        await self.task.value
        guard case .failure(let error)? = self.notes.state.withLock({ $0.end }) else { return nil }
        return error
    }
}

extension EtcdClient {
    func list(_ prefix: String) async throws -> ([StoredValue], Revision) {
        guard case .listed(let values, let revision) = try await self.perform(.list(prefix: prefix)) else {
            throw StoreError.refused("another answer")
        }
        return (values, revision)
    }

    @discardableResult
    func transact(
        if conditions: [StoreTransaction.Condition] = [],
        then success: [StoreTransaction.Operation],
        else failure: [StoreTransaction.Operation] = []
    ) async throws -> StoreTransactionResult {
        let transaction = StoreTransaction(if: conditions, then: success, else: failure)
        guard case .transacted(let result) = try await self.perform(.transact(transaction)) else {
            throw StoreError.refused("another answer")
        }
        return result
    }

    func grant(_ duration: Duration) async throws -> LeaseID {
        guard case .granted(let lease, let granted) = try await self.perform(.grant(duration: duration)),
            granted >= duration
        else { throw StoreError.refused("another answer") }
        return lease
    }

    /// Writes keys that do not exist, each once, however often it has to be repeated.
    func write(_ keys: [String]) async throws {
        for key in keys {
            while true {
                do {
                    try await self.transact(if: [.created(key: key, .none)], then: [.put(key: key, value: "")])
                    break
                } catch StoreError.unreachable {
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
        }
    }

    /// Renews until the store answers, whatever it says.
    func renew(_ lease: LeaseID) async throws -> Duration? {
        while true {
            do {
                guard case .renewed(let duration) = try await self.perform(.keepAlive(lease)) else {
                    throw StoreError.refused("another answer")
                }
                return duration
            } catch StoreError.unreachable {
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }
}
