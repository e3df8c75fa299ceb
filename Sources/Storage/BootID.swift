// SPDX-License-Identifier: Apache-2.0

/// This run of this host's kernel: processes with the same one share the monotonic clock of journal entries.
public enum BootID {
    /// The kernel's own name for its run; `nil` where there is none to read.
    public static let current: String? = {
        guard let file = try? File("/proc/sys/kernel/random/boot_id", .read),
            let bytes = try? file.readAll(limit: 64)
        else { return nil }
        let text = String(decoding: bytes.prefix { $0 > UInt8(ascii: " ") }, as: UTF8.self)
        return text.isEmpty ? nil : text
    }()
}
