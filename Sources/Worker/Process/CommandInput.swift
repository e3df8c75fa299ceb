// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import Supervision
internal import Synchronization

/// Reads command lines from the supervisor's pipe as they come.
///
/// The descriptor is read when there is something to read, on a queue of its own; nothing waits in a read.
final class CommandInput: @unchecked Sendable {
    /// What came out of the pipe.
    enum Item: Sendable {
        /// A command.
        case command(WorkerCommand)
        /// A line that is none, and why.
        case garbage(String)
        /// The other end is closed: the supervisor is gone.
        case end
    }

    private static let chunkSize = 1 << 16
    private let descriptor: Int32
    // A dispatch source may be used from any thread; it only lacks the annotation.
    private let source: any DispatchSourceRead
    private let splitter = Mutex(LineSplitter())

    /// `onItem` is called on the queue, in order; after `.end` no more.
    init(descriptor: Int32, onItem: @escaping @Sendable (Item) -> Void) {
        // A descriptor of its own: it has to stay open until the source's cancellation is through.
        let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        self.descriptor = own
        let queue = DispatchQueue(label: "commands")
        self.source = DispatchSource.makeReadSource(fileDescriptor: own, queue: queue)
        self.source.setEventHandler { [weak self] in self?.read(onItem) }
        self.source.setCancelHandler { close(own) }
        self.source.activate()
    }

    /// Reads no more.
    func stop() {
        self.source.cancel()
    }

    private func read(_ onItem: (Item) -> Void) {
        var chunk = [UInt8](repeating: 0, count: Self.chunkSize)
        let count = Glibc.read(self.descriptor, &chunk, chunk.count)
        if count < 0, errno == EINTR || errno == EAGAIN { return }
        guard count > 0 else {
            self.source.cancel()
            return onItem(.end)
        }
        let lines = self.splitter.withLock { $0.take(chunk.prefix(count)) }
        for line in lines { onItem(Self.item(line)) }
    }

    private static func item(_ line: LineSplitter.Line) -> Item {
        switch line {
        case .tooLong:
            return .garbage("a line of more than \(WorkerLine.maximumLength) bytes")
        case .whole(let data):
            do {
                return .command(try WorkerLine.decode(WorkerCommand.self, from: data))
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
