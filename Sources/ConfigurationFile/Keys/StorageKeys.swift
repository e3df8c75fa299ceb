// SPDX-License-Identifier: Apache-2.0

/// The keys of `storage`.
enum StorageKeys {
    static let directory = Key("directory", .absolutePath(example: "/var/lib/tapedeck"))
    static let minimumFree = Key("minimum_free", .bytes(0...(1 << 50), example: "2GB"))
    static let keep = Key(
        "keep",
        ValueType<Duration>.duration(.seconds(3600)...(.seconds(3650 * 86_400)), example: "30d").or("forever")
    )
    static let keepBytes = Key(
        "keep_bytes",
        ValueType<Int64>.bytes(1_000_000...(1 << 60), example: "500GB").or("unlimited")
    )
    static let synchroniseEvery = Key(
        "synchronise_every",
        .duration(.milliseconds(100)...(.seconds(60)), example: "1s")
    )

    static let table = KeyTable(
        directory.entry,
        minimumFree.entry,
        keep.entry,
        keepBytes.entry,
        synchroniseEvery.entry
    )
}

extension StorageConfiguration {
    /// Reads the section.
    init(_ reader: MappingReader) {
        self.init()
        self.directory = reader.value(StorageKeys.directory) ?? self.directory
        self.minimumFreeBytes = reader.value(StorageKeys.minimumFree) ?? self.minimumFreeBytes
        self.keep = reader.value(StorageKeys.keep) ?? self.keep
        self.keepBytes = reader.value(StorageKeys.keepBytes) ?? self.keepBytes
        self.synchroniseEvery = reader.value(StorageKeys.synchroniseEvery) ?? self.synchroniseEvery
    }
}
