// SPDX-License-Identifier: Apache-2.0

import Logging
import Observability
import Platform
import Storage
import Synchronization

/// Signs the certificates of finished recordings, if the configuration names a key.
///
/// The daemon reads the key for each signature; processes that read media have no use for it. A key that cannot be used is
/// logged once, and stops nothing.
final class CertificateSigner: Sendable {
    private let logger: Logger
    private let shared = Mutex(Shared())

    private struct Shared {
        var path: String?
        /// What was logged last.
        var problem: String?
    }

    init(_ logger: Logger) {
        self.logger = logger
    }

    /// Where the key is; about once a second.
    func use(_ path: String?) {
        let isNew = self.shared.withLock { shared in
            defer { shared.path = path }
            if shared.path != path { shared.problem = nil }
            return shared.path != path
        }
        guard isNew, let path, let key = self.key(path) else { return }
        self.logger.notice("certificates are signed", metadata: .tagged([.detail: "key \(key.fingerprint)"]))
    }

    /// Signs a recording's certificate that has no signature; reads and writes files.
    func sign(_ folder: RecordingFolder) {
        guard let path = self.shared.withLock({ $0.path }), let key = self.key(path) else { return }
        do throws(StorageError) {
            _ = try folder.sign(with: key)
        } catch {
            self.report(error.message)
        }
    }

    private func key(_ path: String) -> SigningKey? {
        do throws(KeyFailure) {
            return try SigningKey(file: path)
        } catch {
            self.report(error.description)
            return nil
        }
    }

    private func report(_ problem: String) {
        let isNew = self.shared.withLock { shared in
            defer { shared.problem = problem }
            return shared.problem != problem
        }
        guard isNew else { return }
        self.logger.error("certificates are not signed", metadata: .tagged([.errorMessage: "\(problem)"]))
    }
}
