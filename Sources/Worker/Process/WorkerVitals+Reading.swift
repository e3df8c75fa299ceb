// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Supervision

extension WorkerVitals {
    /// How this process is, now; zero for what the system does not tell.
    static func now() -> WorkerVitals {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        let seconds = [usage.ru_utime, usage.ru_stime].reduce(0.0) {
            $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6
        }
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))
            .flatMap { $0.split(separator: " ").dropFirst().first }.flatMap { Int64($0) }
        return WorkerVitals(
            cpuSeconds: seconds,
            residentBytes: (pages ?? 0) * Int64(sysconf(Int32(_SC_PAGESIZE))),
            threads: Self.entries(of: "/proc/self/task"),
            descriptors: Self.entries(of: "/proc/self/fd")
        )
    }

    private static func entries(of directory: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: directory).count) ?? 0
    }
}
