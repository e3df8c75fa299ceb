// SPDX-License-Identifier: Apache-2.0

extension SignallingAction {
    /// Something had no effect; `detail` is shortened.
    static func ignored(_ what: String, _ detail: String) -> SignallingAction {
        .event(.ignored(what: what, detail: String(detail.prefix(200))))
    }
}
