// SPDX-License-Identifier: Apache-2.0

import Matroska
import Storage

/// Why a recording could not be exported.
public struct ExportError: Error, Sendable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The spec has a problem.
        case invalidSpec
        /// No track has a single unit.
        case nothingRecorded
        /// No participant, or more than one, of that name was in the call.
        case noSuchParticipant
        /// The recording is not of a series, or the layout is not made of one.
        case noSeries
        /// Nothing was recorded in that range.
        case emptySelection
        /// A codec does not go into the kind of file that was asked for.
        case unsuitableContainer
        /// More tracks than a Matroska file takes.
        case tooManyTracks
        /// Another export to the same place is under way.
        case busy
        /// A file could not be read or written.
        case storage
        /// The export is whole and at its final path, but the recording's manifest or certificate could not be written.
        case notNoted
        /// A file of another kind, which cannot be examined.
        case notMatroska
        /// The written file does not read back as it should.
        case verificationFailed
        /// A program that makes such files is not on this host.
        case notInstalled
        /// A program that makes such files failed.
        case programFailed
        /// It needs more than it may use.
        case overLimit
    }

    /// The party at fault.
    public enum Blame: String, Sendable, Hashable {
        /// Ours.
        case ours
        /// The requested part is not in the recording.
        case request
        /// The recording has not what it takes.
        case recording
        /// The disk's, its size, or its permissions.
        case destination
    }

    /// The kind of failure.
    public var code: Code
    /// One sentence for a person.
    public var message: String
    /// The error beneath.
    public var cause: (any Error)?

    /// An error with each part given.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The error for a file that could not be read or written.
    init(_ error: StorageError) {
        self.init(.storage, error.message, cause: error)
    }

    /// The error for a track file that could not be read, or a block that could not be written.
    init(_ error: MatroskaError, file: String) {
        self.init(.storage, "\(file): \(error.message)", cause: error)
    }

    /// The party at fault.
    public var blame: Blame {
        switch self.code {
        case .invalidSpec, .noSuchParticipant, .noSeries, .emptySelection, .unsuitableContainer, .notMatroska,
            .notInstalled:
            .request
        case .nothingRecorded, .tooManyTracks, .overLimit: .recording
        case .busy, .storage, .notNoted: .destination
        case .verificationFailed, .programFailed: .ours
        }
    }

    /// Whether the same attempt may succeed later.
    public var isRetriable: Bool {
        switch self.code {
        case .invalidSpec, .nothingRecorded, .noSuchParticipant, .noSeries, .emptySelection, .unsuitableContainer,
            .tooManyTracks, .notMatroska, .verificationFailed, .notInstalled, .overLimit:
            false
        case .busy: true
        case .storage, .notNoted, .programFailed: self.storageError?.isRetriable ?? false
        }
    }

    /// The error of the disk, also where a track was read.
    private var storageError: StorageError? {
        self.cause as? StorageError ?? (self.cause as? MatroskaError)?.cause as? StorageError
    }

    /// The message.
    public var description: String { self.message }
}
