// SPDX-License-Identifier: Apache-2.0

internal import CTapedeck
internal import Glibc

/// Limits that this process has set for itself on the host's resources: the process of a job, before it decodes
/// anything.
///
/// A limit cannot be raised afterwards, whatever a decoder does.
public enum ProcessLimits {
    /// Has recordings go first: at the processor (nice 19), at the disk (the idle class), and when the host is short of
    /// memory (`oom_score_adj` 900).
    public static func yieldToRecordings() {
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
        Runtime.useIdleDiskTime()
        _ = CTapedeck_be_ended_first()
    }

    /// Limits the address space (`RLIMIT_AS`); malloc keeps to two heaps.
    public static func limitMemory(bytes: UInt64) { _ = CTapedeck_limit_memory(bytes) }

    /// Limits the processor time from now on (`RLIMIT_CPU`).
    public static func limitProcessorTime(_ time: Duration) {
        _ = CTapedeck_limit_processor_time(UInt64(clamping: time.components.seconds))
    }

    /// Whether a large frame would find no memory: time to end in order.
    public static var isOutOfMemory: Bool { !CTapedeck_has_address_space(64 << 20) }

    /// Has a text written at a limit, before the process ends with exit code 5: one when there is no memory left, one when the
    /// processor time is used up.
    ///
    /// Once, at the start of a process.
    public static func report(memory: String, processor: String, to descriptor: Int32) {
        CTapedeck_at_limit(descriptor, memory, processor)
    }

    /// Names files that are removed before that; eight at most.
    public static func removeAtLimit(_ paths: [String]) {
        for path in paths { _ = CTapedeck_remove_at_limit(path) }
    }
}
