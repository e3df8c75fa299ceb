// SPDX-License-Identifier: Apache-2.0

/// Where an export's life is.
public enum ExportState: String, Sendable, Hashable, Codable, CaseIterable {
    /// It waits for its turn.
    case queued
    /// It runs.
    case running
    /// The file is there.
    case done
    /// It failed.
    case failed
}
