// SPDX-License-Identifier: Apache-2.0

/// Clock, limits, memory and account of this host, and their effect on recording.
struct SystemFacts: Sendable, Hashable {
    /// Whether something keeps the clock in time; `nil` if unknown.
    var clockIsSynchronised: Bool?
    /// Whether a program is installed that could.
    var hasTimeDaemon: Bool
    /// Open files that this process may have; `nil` if unknown or without limit.
    var openFiles: UInt64?
    /// Threads that may be started: the least of the limits; `nil` if unknown.
    var threads: UInt64?
    /// Bytes that a socket may buffer (`net.core.rmem_max`); `nil` if unknown.
    var receiveBuffer: UInt64?
    /// Bytes of memory that programs can have; `nil` if unknown.
    var memory: UInt64?
    /// Processors.
    var processors: Int
    /// Whether ffmpeg is installed; `nil` if unknown.
    var hasFFmpeg: Bool?
    /// Whether this is root on a host that has the service's account.
    var isNotTheService = false

    /// Descriptors of a call of two peers, measured, with room for the daemon itself.
    private static let leastOpenFiles: UInt64 = 1024
    /// About 20 for each peer.
    private static let leastThreads: UInt64 = 400
    /// The kernel's default, which holds a keyframe of a 4 Mbit/s video.
    private static let leastReceiveBuffer: UInt64 = 212_992
    /// A recorder needs about 60 MB, an export or a camera as much again.
    private static let leastMemory: UInt64 = 256_000_000

    var findings: [Finding] {
        [self.clock, self.files, self.threadsFinding, self.buffer, self.memoryFinding, self.ffmpeg, self.account]
            .compactMap(\.self)
    }

    private var clock: Finding? {
        switch self.clockIsSynchronised {
        case true?: Finding(.system, "clock", .ok, "kept in time")
        case false?:
            Finding(
                .system,
                "clock",
                .warning,
                "nothing keeps it in time",
                meaning: "dates of recordings may be wrong, and certificates may look expired; tracks stay in step",
                remedy: "timedatectl set-ntp true, unless the machine around this one does it",
                packages: self.hasTimeDaemon ? [] : ["systemd-timesyncd"]
            )
        case nil: nil
        }
    }

    private var files: Finding? {
        self.openFiles.map { count in
            self.atLeast(
                "open files",
                count,
                Self.leastOpenFiles,
                meaning: "a room with many members fails with 'too many open files'",
                remedy: "ulimit -n 65536; the service sets this automatically"
            )
        }
    }

    private var threadsFinding: Finding? {
        self.threads.map { count in
            self.atLeast(
                "threads",
                count,
                Self.leastThreads,
                meaning: "few peers fit: each takes about 20",
                remedy: "raise TasksMax of the service, the container's limit of processes, or ulimit -u"
            )
        }
    }

    private var buffer: Finding? {
        self.receiveBuffer.map { bytes in
            let isEnough = bytes >= Self.leastReceiveBuffer
            return Finding(
                .system,
                "socket buffers",
                isEnough ? .ok : .warning,
                "up to \(amount(bytes))",
                meaning: isEnough ? nil : "bursts of video packets are lost in the kernel",
                remedy: isEnough ? nil : "sysctl -w net.core.rmem_max=\(Self.leastReceiveBuffer)"
            )
        }
    }

    private var memoryFinding: Finding? {
        self.memory.map { bytes in
            Finding(
                .system,
                "memory",
                bytes >= Self.leastMemory ? .ok : .warning,
                "\(amount(bytes)) free, \(self.processors) processors",
                meaning: bytes >= Self.leastMemory ? nil : "a recording takes about 60 MB, and its export as much again"
            )
        }
    }

    private var ffmpeg: Finding? {
        self.hasFFmpeg.map { isThere in
            Finding(
                .system,
                "ffmpeg",
                isThere ? .ok : .warning,
                isThere ? "installed" : "not installed",
                meaning: isThere
                    ? nil
                    : "`tapedeck export` makes no MP4 of tracks, `verify --decode` decodes nothing, and the dashboard "
                        + "plays no H.264",
                packages: isThere ? [] : ["ffmpeg"]
            )
        }
    }

    private var account: Finding? {
        self.isNotTheService
            ? Finding(.system, "account", .ok, "root; what the service may do says `sudo -u tapedeck tapedeck doctor`")
            : nil
    }

    private func atLeast(_ name: String, _ count: UInt64, _ least: UInt64, meaning: String, remedy: String) -> Finding {
        count >= least
            ? Finding(.system, name, .ok, "up to \(count)")
            : Finding(.system, name, .warning, "only \(count)", meaning: meaning, remedy: remedy)
    }
}
