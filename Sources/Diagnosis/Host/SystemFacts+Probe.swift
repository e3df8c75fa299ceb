// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import GStreamer
internal import Glibc

extension SystemFacts {
    /// Where the programs that keep the clock are in Debian.
    private static let timeDaemons = ["/lib/systemd/systemd-timesyncd", "/usr/sbin/chronyd", "/usr/sbin/ntpd"]

    /// Asks this host.
    static func probe() -> SystemFacts {
        let limits = SystemFiles.text(of: "/proc/self/limits") ?? ""
        let threads = [
            SystemFiles.text(of: "/proc/sys/kernel/threads-max").flatMap(SystemFiles.number),
            SystemFiles.text(of: "/sys/fs/cgroup/pids.max").flatMap(SystemFiles.number),
            SystemFiles.limit("Max processes", in: limits)?.soft,
        ]
        return SystemFacts(
            clockIsSynchronised: SystemClock.isSynchronised,
            hasTimeDaemon: Self.timeDaemons.contains { FileManager.default.fileExists(atPath: $0) },
            openFiles: SystemFiles.limit("Max open files", in: limits)?.soft,
            threads: threads.compactMap(\.self).min(),
            receiveBuffer: SystemFiles.text(of: "/proc/sys/net/core/rmem_max").flatMap(SystemFiles.number),
            memory: SystemFiles.availableMemory,
            processors: ProcessInfo.processInfo.activeProcessorCount,
            hasFFmpeg: ChildProgram.path(of: "ffmpeg") != nil,
            isNotTheService: geteuid() == 0 && getpwnam("tapedeck") != nil
        )
    }
}

extension SystemFiles {
    /// Bytes of memory that are free, or can be made free; `nil` if the system does not say.
    static var availableMemory: UInt64? {
        self.text(of: "/proc/meminfo").flatMap { self.memory("MemAvailable", in: $0) }
    }

    /// The text of a small file; `nil` if it cannot be read.
    static func text(of path: String) -> String? {
        try? String(contentsOfFile: path, encoding: .utf8)
    }
}
