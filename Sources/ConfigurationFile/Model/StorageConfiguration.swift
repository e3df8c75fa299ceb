// SPDX-License-Identifier: Apache-2.0

/// Where recordings are kept, and for how long.
public struct StorageConfiguration: Sendable, Hashable {
    /// Absolute path of the storage directory.
    public var directory = "/var/lib/tapedeck"
    /// Bytes that stay free on the disk: below it recording stops, video first.
    public var minimumFreeBytes: Int64 = 2_000_000_000
    /// Age at which finished recordings are deleted; `nil` keeps them.
    public var keep: Duration?
    /// Bytes of finished recordings above which the oldest are deleted; `nil` sets no limit.
    public var keepBytes: Int64?
    /// How often what is recorded is forced to the disk, 100 ms to 1 min; `SynchronisationSchedule` asks a slow disk less
    /// often.
    public var synchroniseEvery = Duration.seconds(1)

    /// Every key at its default.
    public init() {}
}
