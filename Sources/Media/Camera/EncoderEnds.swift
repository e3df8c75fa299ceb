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
    /// Nanoseconds after the last of them began in which it is not: what held them up may be gone then.
    static let rest: UInt64 = 3_600_000_000_000

    /// Ends that have not returned, of one encoder.
    private struct Ends: Sendable, Hashable {
        var count = 0
        /// In nanoseconds of a monotonic clock.
        var lastBegan: UInt64 = 0
    }

    private var ends: [String: Ends] = [:]

    /// Whether an encoder is not to be started: until one of its ends has returned, or an hour has passed.
    func isLeftOut(_ encoder: String, at now: UInt64) -> Bool {
        guard let ends = self.ends[encoder], ends.count >= Self.most else { return false }
        return now &- ends.lastBegan < Self.rest
    }

    /// Takes that an end begins; whether the encoder is left out because of that one.
    mutating func began(_ encoder: String, at now: UInt64) -> Bool {
        let count = self.ends[encoder, default: Ends()].count + 1
        self.ends[encoder] = Ends(count: count, lastBegan: now)
        return count == Self.most
    }

    /// Takes that an end returned.
    mutating func returned(_ encoder: String) {
        self.ends[encoder]?.count -= 1
        if self.ends[encoder]?.count == 0 { self.ends[encoder] = nil }
    }
}

/// Ends encoders that may hang, each on a separate thread.
enum EncoderEnds {
    /// Of all cameras of the process: they have one driver.
    private static let hangs = Mutex(EncoderHangs())

    /// Whether so many ends of an encoder hang that it is not to be started.
    ///
    /// Any thread.
    static func hang(of file: PipelineFile) -> Bool {
        Self.hangs.withLock { $0.isLeftOut(file.launch, at: UInt64(clamping: Runtime.monotonicNanoseconds)) }
    }

    /// Ends an encoder without waiting for it.
    ///
    /// Any thread.
    /// - Parameter end: What may take any time.
    /// - Returns: whether the encoder is left out because of this end.
    static func begin(of file: PipelineFile, _ end: @escaping @Sendable () -> Void) -> Bool {
        let encoder = file.launch
        let isLeftOut = Self.hangs.withLock { $0.began(encoder, at: UInt64(clamping: Runtime.monotonicNanoseconds)) }
        ControlThread(name: "stuck encoder").enqueue {
            end()
            Self.hangs.withLock { $0.returned(encoder) }
        }
        return isLeftOut
    }
}
