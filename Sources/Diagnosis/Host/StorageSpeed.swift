// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc

/// How fast a directory's file system takes what is forced to the disk.
enum StorageSpeed {
    private static let block = 1 << 20
    private static let maximum = 64
    private static let limit = Duration.seconds(2)

    /// Writes up to 64 MB into a file that is gone at once, each megabyte forced to the disk, for two seconds at most.
    ///
    /// Blocks.
    /// - Returns: bytes a second; `nil` if the directory cannot be written.
    static func measure(directory: String) -> Int64? {
        let descriptor = NamelessFile.open(in: directory)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // Not zeros, which some file systems keep for nothing.
        let bytes = (0..<Self.block).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) }
        let start = ContinuousClock.now
        var written = 0
        for _ in 0..<Self.maximum {
            guard write(descriptor, bytes, bytes.count) == bytes.count, fdatasync(descriptor) == 0 else { return nil }
            written += bytes.count
            if ContinuousClock.now - start >= Self.limit { break }
        }
        return Int64(Double(written) / max(1e-6, (ContinuousClock.now - start) / .seconds(1)))
    }
}

extension Capacity.Host {
    /// The resources of this host, with its storage tried: up to 64 MB are written, for two seconds at most.
    ///
    /// Blocks.
    /// - Returns: `nil` if the directory cannot be written.
    public static func measured(directory: String) -> Capacity.Host? {
        guard let speed = StorageSpeed.measure(directory: directory) else { return nil }
        return Capacity.Host(
            processors: ProcessInfo.processInfo.activeProcessorCount,
            memoryBytes: Int64(clamping: SystemFiles.availableMemory ?? 0),
            storageBytesPerSecond: speed
        )
    }
}
