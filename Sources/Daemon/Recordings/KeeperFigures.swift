// SPDX-License-Identifier: Apache-2.0

/// What the keeper of the recordings knows, in figures.
struct KeeperFigures: Sendable {
    /// Recordings that go on.
    var activeRecordings = 0
    /// Exports that wait or run.
    var pendingExports = 0
    /// How the disk is, as the housekeeper last measured; nil before it did.
    var disk: DiskFigures?
    /// When that was.
    var measured = ContinuousClock.now
}
