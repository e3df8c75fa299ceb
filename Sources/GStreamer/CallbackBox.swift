// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer

/// The user data of a C callback: a Sendable closure and nothing else.
///
/// C owns one reference from the registration until it calls the destroy notification, so the box outlives every call.
/// The closure is written outside any actor: a closure of a MainActor context would die when GStreamer calls it from
/// its own thread.
final class CallbackBox<Value>: Sendable {
    let call: @Sendable (Value) -> Void

    init(_ call: @escaping @Sendable (Value) -> Void) {
        self.call = call
    }

    /// Gives C its reference.
    ///
    /// Balanced by `releaseClosure` or `release`.
    func retained() -> UnsafeMutableRawPointer {
        Unmanaged.passRetained(self).toOpaque()
    }

    static func from(_ user: UnsafeMutableRawPointer?) -> CallbackBox<Value>? {
        user.map { Unmanaged<CallbackBox<Value>>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// Destroy notification of `g_signal_connect_data`: drops C's reference to a box of any type.
func releaseClosure(_ user: gpointer?, _ closure: UnsafeMutablePointer<GClosure>?) {
    release(user)
}

/// Destroy notification (`GDestroyNotify`): drops C's reference to a box of any type.
func release(_ user: gpointer?) {
    guard let user else { return }
    Unmanaged<AnyObject>.fromOpaque(user).release()
}
