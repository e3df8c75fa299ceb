// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import Synchronization

/// Writes lines to a descriptor and never waits for its reader.
///
/// Bytes that are not taken at once wait in memory, up to `maximumPending` of them, and go out as soon as the
/// descriptor takes them. Lines beyond that are lost, and a line in their place says how many. The descriptor itself
/// may be a blocking one, because standard error is shared with other processes: it is asked before each piece.
///
/// Safe to use from any thread; lines are never mixed.
final class LineWriter: Sendable {
    /// Most bytes that wait.
    static let maximumPending = 256 * 1024
    /// A pipe that can be written at all takes this much without waiting (pipe(7)).
    private static let pieceBytes = 4096

    private struct State {
        var pending: [UInt8] = []
        var lostLines = 0
        /// Fires when the descriptor takes more, while something waits.
        var source: (any DispatchSourceWrite)?
    }

    private let descriptor: Int32
    /// The line that reports lost ones.
    private let lossLine: @Sendable (Int) -> String
    private let state = Mutex(State())

    /// A writer to a descriptor that stays open for as long as the writer lives.
    init(descriptor: Int32, lossLine: @escaping @Sendable (Int) -> String) {
        self.descriptor = descriptor
        self.lossLine = lossLine
    }

    deinit {
        self.state.withLock { $0.source?.cancel() }
    }

    /// Whether everything was taken.
    var isIdle: Bool { self.state.withLock { $0.pending.isEmpty } }

    /// Writes a line with its end.
    func write(_ line: String) {
        var line = line
        self.state.withLock { state in
            line.withUTF8 { bytes in
                guard state.pending.isEmpty else {
                    if state.lostLines == 0, state.pending.count + bytes.count <= Self.maximumPending {
                        state.pending += bytes
                    } else {
                        state.lostLines += 1
                    }
                    return
                }
                state.pending += bytes.dropFirst(self.take(bytes))
            }
            if !state.pending.isEmpty, state.source == nil { state.source = self.makeSource() }
        }
    }

    private func makeSource() -> any DispatchSourceWrite {
        let source = DispatchSource.makeWriteSource(fileDescriptor: self.descriptor, queue: .global(qos: .utility))
        source.setEventHandler { [weak self] in self?.goOn() }
        source.activate()
        return source
    }

    /// Writes what waits, as far as it is taken.
    private func goOn() {
        self.state.withLock { state in
            let count = state.pending.withUnsafeBytes { self.take($0.bindMemory(to: UInt8.self)) }
            state.pending.removeFirst(count)
            if state.pending.isEmpty, state.lostLines > 0 {
                state.pending = Array(self.lossLine(state.lostLines).utf8)
                state.lostLines = 0
            }
            guard state.pending.isEmpty else { return }
            state.source?.cancel()
            state.source = nil
        }
    }

    /// Writes as much as is taken without waiting; returns how much that is.
    private func take(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        var written = 0
        while written < bytes.count {
            var asked = pollfd(fd: self.descriptor, events: Int16(POLLOUT), revents: 0)
            let isReady = poll(&asked, 1, 0)
            if isReady < 0, errno == EINTR { continue }
            guard isReady == 1 else { return written }
            let count = Glibc.write(
                self.descriptor,
                bytes.baseAddress?.advanced(by: written),
                min(bytes.count - written, Self.pieceBytes)
            )
            if count > 0 {
                written += count
            } else if count == 0 || errno != EINTR {
                // There is no reader any more: the rest is dropped. Else the descriptor is asked again.
                return errno == EAGAIN ? written : bytes.count
            }
        }
        return written
    }
}
