// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import Subprocess
internal import SystemPackage

/// Trying an encoder with a few frames, in a process of its own: a driver that crashes takes that process only.
public enum EncoderTrial {
    /// How long one may take.
    private static let deadline = Duration.seconds(4)

    /// Encodes ten frames in this process and returns when they came out.
    ///
    /// - Throws: `GStreamerError` that says what failed.
    public static func encode(with element: String) async throws {
        guard Encoders.all.contains(where: { $0.encoders.contains { $0.element == element } }) else {
            throw GStreamerError(.missingElement, "'\(element)' is not an encoder that Tapedeck uses")
        }
        try Runtime.initialise()
        let (events, continuation) = AsyncStream.makeStream(of: BusEvent.self, bufferingPolicy: .bufferingOldest(8))
        let pipeline = try Pipeline(
            launch: """
                videotestsrc num-buffers=10 ! video/x-raw,width=640,height=360,framerate=30/1 ! \(element) \
                ! fakesink sync=false
                """,
            onBus: { continuation.yield($0) }
        )
        try pipeline.play()
        defer { pipeline.stop() }
        for await event in events {
            switch event {
            case .endOfStream: return
            case .error(_, let message, _): throw GStreamerError(.stateChange, message)
            case .warning: continue
            }
        }
    }

    /// Has this program, started anew with `arguments` and the encoder's name, call `encode(with:)`.
    ///
    /// It exits with 0, or says why not.
    static func run(_ element: String, arguments: [String]) async -> Encoders.Trial {
        await withTaskGroup(of: Encoders.Trial?.self) { group in
            group.addTask {
                do {
                    let result = try await Subprocess.run(
                        .path("/proc/self/exe"),
                        arguments: .init(arguments + [element]),
                        output: .discarded,
                        error: .string(limit: 16_384)
                    )
                    return Self.judge(result.terminationStatus.isSuccess, result.standardError)
                } catch {
                    return .fails("it wrote too much, or could not be started")
                }
            }
            group.addTask {
                try? await Task.sleep(for: Self.deadline)
                return nil
            }
            let first = await group.next() ?? nil
            // Ends the process if it still runs.
            group.cancelAll()
            return first ?? .fails("took more than \(Self.deadline.components.seconds) s")
        }
    }

    /// The last line that a process wrote says what is wrong.
    static func judge(_ succeeded: Bool, _ messages: String?) -> Encoders.Trial {
        guard !succeeded else { return .works }
        let line = messages?.split(separator: "\n").last.map { String($0.prefix(200)) }
        return .fails(line ?? "its process ended without a word")
    }
}
