// SPDX-License-Identifier: Apache-2.0

/// What the store of the recordings knows, in figures.
struct StoreFigures: Sendable {
    /// Recordings in progress.
    var activeRecordings = 0
    /// Exports that wait or run.
    var pendingExports = 0
    /// How the disk is, as the janitor last measured; nil before it did.
    var disk: DiskUsage?
    /// When that was.
    var measured = ContinuousClock.now
}
