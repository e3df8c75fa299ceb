// SPDX-License-Identifier: Apache-2.0

import Catalogue
import ConfigurationFile
import Control
import Foundation
import Storage

extension Daemon {
    /// Whether another start would fail as this one did until an operator changes something: the configuration, a
    /// permission, a certificate.
    ///
    /// A full disk, too few descriptors and failures of other kinds may pass: those are worth another start.
    public static func needsChange(after error: any Error) -> Bool {
        switch error {
        case is ConfigurationError: true
        case let error as ControlServerError:
            switch error.code {
            case .tokenRequired, .identity, .listen: true
            case .addressNotFree, .exhausted: false
            }
        case let error as CatalogueError: error.code == .denied
        case let error as StorageError:
            switch error.code {
            case .denied, .notFound, .exists, .invalid: true
            case .noSpace, .inputOutput, .closed, .system: false
            }
        case let error as CocoaError:
            Self.unwritable.contains(error.code)
                || (error.underlying as? POSIXError).map { Self.refusals.contains($0.code) } == true
        case let error as POSIXError: Self.refusals.contains(error.code)
        default: false
        }
    }

    /// What Foundation says of a directory that cannot be made where it should be.
    private static let unwritable: Set<CocoaError.Code> = [
        .fileWriteNoPermission, .fileReadNoPermission, .fileWriteVolumeReadOnly, .fileWriteFileExists,
        .fileWriteInvalidFileName, .fileNoSuchFile,
    ]
    private static let refusals: Set<POSIXErrorCode> = [
        .EACCES, .EPERM, .EROFS, .ENOTDIR, .EEXIST, .ELOOP, .ENAMETOOLONG,
    ]
}
