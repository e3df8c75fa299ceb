// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Reports the state of the service to systemd: the datagrams of sd_notify(3).
///
/// Without `NOTIFY_SOCKET` in the environment it does nothing. Each call is one datagram that is sent or dropped, never
/// waited for, so that a service manager in trouble does not stop the service. Safe to use from any thread.
public struct ServiceNotifier: Sendable {
    /// How often the service manager wants `watchdog()`; `nil` if it does not watch this process.
    ///
    /// A service should call it at half of this or more often.
    public let watchdogInterval: Duration?
    private let socket: DatagramSocket?

    /// A notifier for the environment of a service (`NOTIFY_SOCKET`, `WATCHDOG_USEC`, `WATCHDOG_PID`).
    ///
    /// - Parameter processID: Whom `WATCHDOG_PID` must name; this process if left out.
    public init(environment: [String: String], processID: Int32? = nil) {
        self.socket = environment["NOTIFY_SOCKET"].flatMap(DatagramSocket.init(path:))
        let isForUs = environment["WATCHDOG_PID"].map { Int32($0) == processID ?? getpid() } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap(Int64.init) ?? 0
        self.watchdogInterval = isForUs && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// Whether a service manager listens.
    public var isActive: Bool { self.socket != nil }

    /// The service is up, or done with reloading.
    @discardableResult
    public func ready(status: String? = nil) -> Bool {
        self.send(["READY=1"] + Self.status(status))
    }

    /// The service reads its configuration again; `ready()` must follow.
    ///
    /// Carries the time at which it began, as `Type=notify-reload` wants it.
    @discardableResult
    public func reloading() -> Bool {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return self.send(["RELOADING=1", "MONOTONIC_USEC=\(now.tv_sec * 1_000_000 + now.tv_nsec / 1000)"])
    }

    /// The service ends; `status` says what it still does.
    ///
    /// - Parameter limit: how long that may take, where it is more than the service manager would wait otherwise.
    @discardableResult
    public func stopping(status: String? = nil, within limit: Duration? = nil) -> Bool {
        let more = limit.map { ["EXTEND_TIMEOUT_USEC=\($0.components.seconds * 1_000_000)"] } ?? []
        return self.send(["STOPPING=1"] + Self.status(status) + more)
    }

    /// The text in `systemctl status`: one line, shortened to 500 characters.
    @discardableResult
    public func status(_ text: String) -> Bool {
        self.send(Self.status(text))
    }

    /// The service is alive; the service manager ends a service that says so too seldom.
    @discardableResult
    public func watchdog() -> Bool {
        self.send(["WATCHDOG=1"])
    }

    private static func status(_ text: String?) -> [String] {
        guard let text else { return [] }
        return ["STATUS=" + String(text.prefix(500).map { $0.isNewline ? " " : $0 })]
    }

    private func send(_ lines: [String]) -> Bool {
        self.socket?.send(Array(lines.joined(separator: "\n").utf8)) ?? false
    }
}
