// SPDX-License-Identifier: Apache-2.0

internal import Platform

extension Finding {
    /// Whether the file of the key that certificates are signed with holds one; blocks as long as its disk does.
    init(signingKey path: String) {
        do throws(KeyFailure) {
            self.init(.storage, "signing", .ok, "\(path) has the key \(try SigningKey(file: path).fingerprint)")
        } catch {
            self.init(
                .storage,
                "signing",
                .warning,
                error.description,
                meaning: "certificates of recordings are not signed",
                remedy: "openssl genpkey -algorithm ed25519 makes a key"
            )
        }
    }
}
