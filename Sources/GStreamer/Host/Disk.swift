// SPDX-License-Identifier: Apache-2.0

internal import CTapedeck

/// Forces files to a disk, many at a time.
public final class Disk: @unchecked Sendable {
    // It has no state but the kernel's.
    private let pointer: OpaquePointer

    /// One for files of the same disk.
    public init() { self.pointer = CTapedeck_disk_new() }

    deinit { CTapedeck_disk_free(self.pointer) }

    /// Returns when the content of each file is on the disk, or cannot be: its error number, or 0.
    ///
    /// One thread at a time.
    public func force(_ descriptors: [Int32]) -> [Int32] {
        [Int32](unsafeUninitializedCapacity: descriptors.count) { errors, count in
            count = descriptors.count
            guard let first = errors.baseAddress else { return }
            CTapedeck_disk_force(self.pointer, descriptors, first, count)
        }
    }
}
