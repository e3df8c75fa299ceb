// SPDX-License-Identifier: Apache-2.0

internal import CCurl
internal import Foundation
internal import Synchronization

/// The thread that all requests of a lane run on, and the connections that are kept for later ones.
///
/// It begins with a request, and ends with its idle connections when nothing was asked for a while.
final class TransferLoop: Sendable {
    typealias Continuation = CheckedContinuation<Result<HTTPClient.Answer, HTTPClient.Failure>, Never>

    /// Connections without a request that are kept.
    private static let maximumIdleConnections = 8
    /// How long the thread waits for another request, and connections with it.
    private static let idleMilliseconds: Int32 = 30_000
    private static let busyMilliseconds: Int32 = 1000

    private struct State {
        var orders: [(TransferOrder, Continuation)] = []
        var hasThread = false
        /// Wakes the thread; nil before it begins and after its end.
        var bell: Bell?
    }

    /// The call in which the thread sleeps, for others to wake it.
    private struct Bell: @unchecked Sendable {
        // `curl_multi_wakeup` is the only function that any thread may call while another uses the handle.
        let multi: UnsafeMutableRawPointer

        func ring() { curl_multi_wakeup(self.multi) }
    }

    private let name: String
    private let state = Mutex(State())

    init(_ name: String) {
        self.name = name
        curl_global_init(Int(CURL_GLOBAL_DEFAULT))
    }

    /// Any thread.
    func begin(_ order: TransferOrder, _ continuation: Continuation) {
        let startsThread = self.state.withLock { state in
            state.orders.append((order, continuation))
            state.bell?.ring()
            defer { state.hasThread = true }
            return !state.hasThread
        }
        guard startsThread else { return }
        let thread = Thread { self.run() }
        thread.name = self.name
        thread.start()
    }

    /// Has the thread look for requests that were cancelled; any thread.
    func wake() {
        self.state.withLock { $0.bell?.ring() }
    }

    // MARK: - The thread's side

    private func run() {
        guard let multi = curl_multi_init() else { preconditionFailure("libcurl has no memory") }
        CCurl_limit_idle(multi, Self.maximumIdleConnections)
        let bell = Bell(multi: multi)
        self.state.withLock { $0.bell = bell }
        var transfers: [UnsafeMutableRawPointer: Transfer] = [:]
        var isIdle = false
        while let orders = self.takeOrders(orEnd: isIdle) {
            for (order, continuation) in orders {
                let transfer = Transfer(order, continuation)
                if let failure = transfer.prepare() {
                    transfer.end(failure)
                } else {
                    transfers[transfer.handle] = transfer
                    curl_multi_add_handle(multi, transfer.handle)
                }
            }
            for (handle, transfer) in transfers {
                guard let failure = transfer.interruption else { continue }
                curl_multi_remove_handle(multi, handle)
                transfers[handle] = nil
                transfer.end(failure)
            }
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            var waiting: Int32 = 0
            while let message = curl_multi_info_read(multi, &waiting) {
                guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle else { continue }
                let result = CCurl_result(message)
                curl_multi_remove_handle(multi, handle)
                transfers.removeValue(forKey: handle)?.end(result)
            }
            isIdle = transfers.isEmpty
            var events: Int32 = 0
            curl_multi_poll(multi, nil, 0, isIdle ? Self.idleMilliseconds : Self.busyMilliseconds, &events)
        }
        curl_multi_cleanup(multi)
    }

    /// The requests since the last call; nil if there are none and the thread is to end.
    private func takeOrders(orEnd ends: Bool) -> [(TransferOrder, Continuation)]? {
        self.state.withLock { state in
            guard state.orders.isEmpty, ends else {
                defer { state.orders = [] }
                return state.orders
            }
            (state.bell, state.hasThread) = (nil, false)
            return nil
        }
    }
}
