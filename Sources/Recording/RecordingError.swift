// SPDX-License-Identifier: Apache-2.0

public import Storage

/// Why something of a recording could not be stored, and of which part of it.
public struct RecordingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The parts that can fail.
    public enum Part: Sendable, Hashable {
        /// The file of the track of that number, from 1.
        case track(Int)
        /// The journal.
        case journal
        /// The recording's folder, or another part of it that must exist before anything can be recorded.
        case folder
    }

    /// The part that failed.
    public var part: Part
    /// The error of the file system.
    public var cause: StorageError

    /// An error with each part given.
    public init(_ part: Part, _ cause: StorageError) {
        self.part = part
        self.cause = cause
    }

    /// Whether the disk is to blame, and not who moved or deleted what was there.
    var isOfDisk: Bool { self.cause.code != .notFound }

    /// One sentence for a person.
    public var message: String { self.cause.message }

    /// The message.
    public var description: String { self.message }

    /// Does something for a part of a recording, which is to blame if it fails.
    static func blaming<Value>(
        _ part: Part,
        _ body: () throws(StorageError) -> Value
    ) throws(RecordingError) -> Value {
        do throws(StorageError) {
            return try body()
        } catch {
            throw RecordingError(part, error)
        }
    }
}
