// SPDX-License-Identifier: Apache-2.0

internal import CTapedeck
internal import Foundation
internal import Glibc

/// Runs another program to its end, on this thread.
///
/// It gets our environment and nothing else: no input, no descriptor, signals as they are by default, and its
/// own process group, so that Ctrl-C in a terminal ends it only through us. It is killed when we end, whatever ends us.
public enum ChildProgram {
    /// How it ended.
    public enum End: Sendable, Hashable {
        /// With this exit code.
        case exited(Int32)
        /// Because of this signal, which was not ours.
        case signalled(Int32)
        /// It ran longer than it may, and was killed.
        case timedOut
        /// It could not be started.
        case notStarted
    }

    /// Its output is kept up to here; the rest is read and dropped.
    private static let mostWords = 4_096
    private static let stepMilliseconds: Int32 = 1_000
    private static let cannotExecute: Int32 = 127

    /// The path of a program, if it is on the PATH; nil where it is not.
    public static func path(of name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return path.split(separator: ":").map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }

    /// Runs a command.
    ///
    /// - Parameters:
    ///   - command: the program, which is looked for on the PATH, and its arguments.
    ///   - memory: bytes of address space that it may have.
    ///   - limit: after so long it is killed.
    ///   - each: called about every second; what it throws kills the program.
    /// - Returns: how it ended, and the beginning of what it wrote to its standard error.
    public static func run(
        _ command: [String],
        memory: UInt64,
        limit: Duration,
        _ each: () throws -> Void
    ) rethrows -> (end: End, words: String) {
        var pair: [Int32] = [-1, -1]
        // A pair of sockets rather than a pipe: a program that another thread starts does not inherit it.
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard let path = Self.path(of: command[0]), socketpair(AF_UNIX, kind, 0, &pair) == 0 else {
            return (.notStarted, "")
        }
        defer { close(pair[0]) }
        let process = Self.start(path, command, standardError: pair[1], memory: memory)
        close(pair[1])
        guard process > 0 else { return (.notStarted, "") }
        let deadline = ContinuousClock.now + limit
        var words: [UInt8] = []
        var isOpen = true
        do {
            while ContinuousClock.now < deadline {
                if isOpen {
                    switch Self.read(pair[0], into: &words) {
                    case .some(let hasMore): isOpen = hasMore
                    case .none: try each()
                    }
                } else if let end = Self.end(of: process, WNOHANG) {
                    let isStarted = end != .exited(Self.cannotExecute)
                    return (isStarted ? end : .notStarted, String(decoding: words, as: UTF8.self))
                } else {
                    usleep(10_000)
                }
            }
        } catch {
            Self.kill(process)
            throw error
        }
        Self.kill(process)
        return (.timedOut, String(decoding: words, as: UTF8.self))
    }

    private static func start(_ path: String, _ command: [String], standardError: Int32, memory: UInt64) -> pid_t {
        let environment = ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
        let arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        let variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
        defer { for text in arguments + variables { free(text) } }
        return CTapedeck_start_child(path, arguments, variables, standardError, memory)
    }

    /// True if it said something, false if it can say no more, nil if a second passed.
    private static func read(_ descriptor: Int32, into words: inout [UInt8]) -> Bool? {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, Self.stepMilliseconds) > 0 else { return nil }
        var chunk = [UInt8](repeating: 0, count: Self.mostWords)
        let count = Glibc.read(descriptor, &chunk, chunk.count)
        if count < 0, errno == EINTR { return true }
        guard count > 0 else { return false }
        words += chunk.prefix(min(count, Self.mostWords - words.count))
        return true
    }

    private static func end(of process: pid_t, _ options: Int32) -> End? {
        var status: Int32 = 0
        guard waitpid(process, &status, options) == process else { return nil }
        return status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .signalled(status & 0x7F)
    }

    private static func kill(_ process: pid_t) {
        _ = Glibc.kill(-process, SIGKILL)
        // The child itself creates its group: at first it may not exist.
        _ = Glibc.kill(process, SIGKILL)
        while Self.end(of: process, 0) == nil, errno == EINTR {}
    }
}
