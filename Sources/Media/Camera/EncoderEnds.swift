// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import PipelineCatalogue
internal import Synchronization

/// Counts the ends of encoders that have not returned: where a driver hangs, each keeps a thread and a pipeline.
///
/// Pure; encoders are known by their launch texts.
struct EncoderHangs: Sendable, Hashable {
    /// With so many of them an encoder is not started.
    static let most = 2

    /// Ends that began and have not returned.
    private var ends: [String: Int] = [:]

    /// Whether an encoder is not to be started until one of its ends has returned.
    func isLeftOut(_ encoder: String) -> Bool { self.ends[encoder, default: 0] >= Self.most }

    /// Takes that an end begins; whether the encoder is left out because of that one.
    mutating func began(_ encoder: String) -> Bool {
        self.ends[encoder, default: 0] += 1
        return self.ends[encoder] == Self.most
    }

    /// Takes that an end returned.
    mutating func returned(_ encoder: String) {
        guard let count = self.ends[encoder] else { return }
        self.ends[encoder] = count > 1 ? count - 1 : nil
    }
}

/// Ends encoders that may hang, each on a thread of its own.
enum EncoderEnds {
    /// Of all cameras of the process: they have one driver.
    private static let hangs = Mutex(EncoderHangs())

    /// Whether so many ends of an encoder hang that it is not to be started.
    ///
    /// Any thread.
    static func hang(of file: PipelineFile) -> Bool {
        Self.hangs.withLock { $0.isLeftOut(file.launch) }
    }

    /// Ends an encoder without waiting for it.
    ///
    /// Any thread.
    /// - Parameter end: What may take any time.
    /// - Returns: whether the encoder is left out because of this end, until one has returned.
    static func begin(of file: PipelineFile, _ end: @escaping @Sendable () -> Void) -> Bool {
        let encoder = file.launch
        let isLeftOut = Self.hangs.withLock { $0.began(encoder) }
        ControlThread(name: "stuck encoder").enqueue {
            end()
            Self.hangs.withLock { $0.returned(encoder) }
        }
        return isLeftOut
    }
}
