// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import FoundationEssentials
internal import Glibc
internal import Signalling
internal import Synchronization

/// Why a trace cannot be written, in a sentence for a person.
public struct TraceFileError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The sentence.
    public var message: String

    /// The sentence.
    public var description: String { self.message }
}

/// The file of one trace: bounded, readable for its owner and group only.
///
/// An existing file is kept as `FILE.1`. Lines go to the kernel as they come; callable from any thread.
public final class TraceFile: Sendable {
    /// Largest file, in bytes; then one line says that the trace stops.
    public static let maximumBytes = 32_000_000

    private struct State {
        var descriptor: Int32
        var bytes = 0
        var trace: SignallingTrace?
        var begun = ContinuousClock.now
    }

    /// The file.
    public let path: String
    private let program: String
    private let limit: Int
    private let state: Mutex<State>

    /// Makes the file.
    ///
    /// - Parameters:
    ///   - program: Name and version of what writes it.
    ///   - limit: Largest file, in bytes.
    /// - Throws: `TraceFileError` if it cannot be made.
    public init(path: String, program: String, limit: Int = TraceFile.maximumBytes) throws(TraceFileError) {
        self.path = path
        self.program = program
        self.limit = limit
        // An earlier trace is worth keeping, and a file that was named by mistake even more.
        rename(path, path + ".1")
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o640)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw TraceFileError(
                message:
                    "the trace \(path) cannot be written: \(reason); --trace-signalling takes a file in a folder of yours"
            )
        }
        // Whatever the process's mask says.
        _ = fchmod(descriptor, 0o640)
        self.state = Mutex(State(descriptor: descriptor))
    }

    deinit {
        self.state.withLock { state in
            if state.descriptor >= 0 { close(state.descriptor) }
        }
    }

    /// Writes the first line.
    func begin(_ address: any RoomAddress, options: SignallingOptions) {
        self.state.withLock { state in
            let trace = SignallingTrace(address, options: options)
            state.trace = trace
            self.write(trace.header(program: self.program, utc: Self.utc), &state)
        }
    }

    /// Writes an input and what the machine said to it.
    func write(_ input: SignallingInput, _ actions: [SignallingAction]) {
        self.state.withLock { state in
            guard state.descriptor >= 0, var trace = state.trace else { return }
            let (seconds, utc) = (Self.seconds(since: state.begun), Self.utc)
            self.write(trace.line(input, at: seconds, utc: utc), &state)
            for action in actions { self.write(trace.line(action, at: seconds, utc: utc), &state) }
            state.trace = trace
        }
    }

    /// Writes a step that the driver took without the machine.
    func write(note: String) {
        self.state.withLock { state in
            guard let trace = state.trace else { return }
            self.write(trace.line(note: note, at: Self.seconds(since: state.begun), utc: Self.utc), &state)
        }
    }

    private func write(_ line: String, _ state: inout State) {
        guard state.descriptor >= 0 else { return }
        var bytes = Array(line.utf8) + [UInt8(ascii: "\n")]
        let isLast = state.bytes + bytes.count > self.limit
        if isLast {
            let note = "{\"cut\":true,\"direction\":\"driver\",\"note\":\"the trace stops at \(self.limit) bytes\"}\n"
            bytes = Array(note.utf8)
        }
        state.bytes += bytes.count
        // A disk that is full ends the trace, not the call.
        let written = bytes.withUnsafeBytes { Glibc.write(state.descriptor, $0.baseAddress, $0.count) }
        if isLast || written != bytes.count {
            close(state.descriptor)
            state.descriptor = -1
        }
    }

    private static var utc: String {
        Date.now.ISO8601Format(.iso8601(timeZone: .gmt, includingFractionalSeconds: true))
    }

    private static func seconds(since begun: ContinuousClock.Instant) -> Double {
        (ContinuousClock.now - begun) / .seconds(1)
    }
}
