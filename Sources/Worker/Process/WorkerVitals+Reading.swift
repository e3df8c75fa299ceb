// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GStreamer
internal import Model

extension WorkerVitals {
    /// How this process is, now; zero for what the system does not say.
    ///
    /// - Parameter countsObjects: whether `Runtime.startCountingObjects` was called.
    static func now(countsObjects: Bool) -> WorkerVitals {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        let microseconds = usage.ru_utime.tv_usec + usage.ru_stime.tv_usec
        let seconds = Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + Double(microseconds) / 1_000_000
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))
            .flatMap { $0.split(separator: " ").dropFirst().first }.flatMap { Int64($0) }
        return WorkerVitals(
            cpuSeconds: seconds,
            residentBytes: (pages ?? 0) * Int64(sysconf(Int32(_SC_PAGESIZE))),
            threads: Self.entries(of: "/proc/self/task"),
            descriptors: Self.entries(of: "/proc/self/fd"),
            sharedConnections: ReceivePath.sharedConnections,
            slowConnections: ReceivePath.slowConnections,
            longTracks: ReceivePath.longTracks,
            forgedPackets: ReceivePath.forgedPackets,
            objects: countsObjects ? Runtime.liveObjectCount : nil,
            allocatedBytes: countsObjects ? Runtime.allocatedBytes : nil
        )
    }

    private static func entries(of directory: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: directory).count) ?? 0
    }
}
