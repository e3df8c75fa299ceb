// SPDX-License-Identifier: Apache-2.0

public import Model

/// Where recordings are kept, and for how long.
public struct StorageConfiguration: Sendable, Hashable {
    /// Absolute path of the storage directory.
    public var directory = "/var/lib/tapedeck"
    /// Bytes that stay free on the disk: below it recording stops, video first.
    public var minimumFreeBytes: Int64 = 2_000_000_000
    /// Age at which finished recordings are deleted; `nil` keeps them.
    public var keep: Duration?
    /// Bytes of all finished recordings above which the oldest finished ones are deleted; `nil` sets no limit.
    public var keepBytes: Int64?
    /// How often what is recorded is forced to the disk, 100 ms to 1 min; `SynchronisationSchedule` asks a slow disk less
    /// often.
    public var synchroniseEvery = Duration.seconds(1)
    /// The PEM file of the key that certificates are signed with; `nil` signs none.
    public var signingKey: String?
    /// Where finished recordings are uploaded to; `nil` keeps them here.
    public var upload: UploadSpec?

    /// Every key at its default.
    public init() {}
}

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
    static let signingKey = Key("signing_key", .absolutePath(example: "/etc/tapedeck/signing.pem"))

    static let table = KeyTable(
        directory.entry,
        minimumFree.entry,
        keep.entry,
        keepBytes.entry,
        synchroniseEvery.entry,
        signingKey.entry,
        KeyTable.Entry(name: "upload", shape: .mapping(UploadKeys.table))
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
        self.signingKey = reader.value(StorageKeys.signingKey)
        self.upload = reader.mapping("upload", UploadKeys.table).flatMap { UploadSpec($0) }
    }
}
