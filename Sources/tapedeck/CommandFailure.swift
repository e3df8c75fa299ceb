// SPDX-License-Identifier: Apache-2.0

import Export
import Foundation
import GStreamer
import Media
import RoomServer
import Signalling
import Storage
import Worker

/// The exit codes that users see.
enum ExitCode: Int32 {
    case success = 0
    /// Something else is in the way that may pass: worth another try.
    case unavailable = 1
    case usage = 2
    case notJoined = 3
    case noMedia = 4
    case incomplete = 5
    case belowThreshold = 6
    case interrupted = 130
}

/// The end of a command that did not do what it was asked: one sentence for the person, one code for the script.
struct CommandFailure: Error {
    var code: ExitCode
    var message: String
    /// The status of the daemon's answer that said so; nil if no daemon did.
    var status: Int?

    init(_ code: ExitCode, _ message: String) {
        self.code = code
        self.message = message
    }

    init(_ error: SignallingError) {
        self.init(error.code == .invalidURL ? .usage : .notJoined, error.message)
    }

    /// Whatever else can be thrown at a command: settings, files and libraries of this host.
    init(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let error as SignallingError: self.init(error)
        case let error as StorageError: self.init(.usage, error.message)
        case let error as ExportError where error.blame == .request: self.init(.usage, error.message)
        case let error as ExportError: self.init(error.code == .nothingRecorded ? .noMedia : .incomplete, error.message)
        case let error as GStreamerError: self.init(.usage, error.message)
        case let error as RoomPlanError: self.init(.usage, error.message)
        case let error as CaptureError: self.init(.usage, error.message)
        case let error as RoomServerError:
            self.init(error.code == .addressInUse ? .unavailable : .usage, error.message)
        // Foundation's own words for a file lack the reason.
        case let error as CocoaError:
            let reason = (error.underlying as? POSIXError).map { String(cString: strerror($0.code.rawValue)) }
            let path = error.filePath.map { "\($0): " } ?? ""
            self.init(.usage, path + (reason ?? "it cannot be read or written"))
        case let error as POSIXError: self.init(.usage, String(cString: strerror(error.code.rawValue)))
        default: self.init(.usage, "\(error)")
        }
    }
}
