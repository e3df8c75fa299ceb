// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Glibc
internal import Model
internal import Synchronization

/// Reads command lines from the supervisor's pipe as they come, on a separate thread.
///
/// The thread ends when the pipe does. After `stop` it hands nothing over any more; a worker that was ordered to shut down
/// ends without waiting for it.
final class CommandInput: Sendable {
    /// What came out of the pipe.
    enum Item: Sendable {
        /// A command.
        case command(NumberedCommand)
        /// A line that is none, and why.
        case garbage(String)
        /// The other end is closed: the supervisor is gone.
        case end
    }

    private static let chunkSize = 1 << 16
    private let isStopped = Atomic(false)

    /// `onItem` is called on the thread, in order; after `.end` no more.
    init(descriptor: Int32, onItem: @escaping @Sendable (Item) -> Void) {
        // A separate descriptor: no other code closes it under the thread.
        let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        let thread = Thread {
            self.read(own, onItem)
            close(own)
        }
        thread.name = "commands"
        thread.start()
    }

    /// Hands nothing over any more.
    func stop() {
        self.isStopped.store(true, ordering: .relaxed)
    }

    private func read(_ descriptor: Int32, _ onItem: (Item) -> Void) {
        var splitter = LineSplitter()
        var chunk = [UInt8](repeating: 0, count: Self.chunkSize)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard !self.isStopped.load(ordering: .relaxed) else { return }
            guard count > 0 else { return onItem(.end) }
            for line in splitter.take(chunk.prefix(count)) { onItem(Self.item(line)) }
        }
    }

    private static func item(_ line: LineSplitter.Line) -> Item {
        switch line {
        case .tooLong:
            return .garbage("a line of more than \(WorkerLine.maximumLength) bytes")
        case .whole(let data):
            do {
                return .command(try WorkerLine.decode(NumberedCommand.self, from: data))
            } catch {
                let what = "a line that is no command of version \(WorkerLine.protocolVersion)"
                return .garbage("\(what): \(Self.reason(error))")
            }
        }
    }

    /// What is wrong with a line, without its content, which may hold secrets.
    private static func reason(_ error: any Error) -> String {
        guard let error = error as? DecodingError else { return "it is no JSON object" }
        let path = { (context: DecodingError.Context) in
            context.codingPath.isEmpty ? "" : " at " + context.codingPath.map(\.stringValue).joined(separator: ".")
        }
        return switch error {
        case .keyNotFound(let key, let context): "the key \(key.stringValue) is missing\(path(context))"
        case .typeMismatch(_, let context), .valueNotFound(_, let context): "a value has a wrong type\(path(context))"
        case .dataCorrupted(let context): "it cannot be read\(path(context))"
        @unknown default: "it cannot be read"
        }
    }
}
