// SPDX-License-Identifier: Apache-2.0

/// What an export job (`tapedeck worker --export`) tells: one JSON object a line on its standard output.
public enum ExportJobEvent: Sendable, Hashable, Codable {
    /// How far it is, 0 to 1; at most once a second.
    case progress(Double)
    /// The last line of a job that made a file: its name relative to the recording's folder, if it is in there.
    case finished(file: String, warnings: [String])
    /// The last line of a job that failed.
    case failed(reason: String)
}
