// SPDX-License-Identifier: Apache-2.0

internal import CStrophe
internal import Foundation
internal import Signalling

/// A stream's life on its thread: everything here runs on that thread, callbacks of libstrophe too.
///
/// libstrophe waits with `select`, for one socket and a fixed time. Once we are signed in, the thread itself waits, for
/// the socket and for its owner, and calls libstrophe when there is something to do.
final class StropheLoop {
    /// Most memory of libstrophe and its XML parser: the stanza that is being read, and what is sent.
    static let maximumBytes = 8_000_000
    /// The depth of a stanza is limited by its memory: 100 bytes of heap for each level at least, fewer than 400 of stack.
    static let stackBytes = 32 << 20
    /// `select` takes no other.
    private static let maximumDescriptor: Int32 = 1023
    /// A record of TLS (RFC 8446 section 5.1) is read in four pieces, and only the first one shows on the socket.
    private static let readsOfOneRecord = 4
    /// How long the server may take to close its side.
    private static let closingMilliseconds = 1000

    private let request: XMPPRequest
    private let trustedCertificatesFile: String?
    private let owner: XMPPConnection
    private let wakeup: Int32
    private let yield: (XMPPEvent) -> Void

    private var context: OpaquePointer?
    private var connection: OpaquePointer?
    private var notes: StropheNotes
    private var isOpen = false
    private var isClosing = false
    private var isDisconnected = false
    private let usedBytes = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    private let memory = UnsafeMutablePointer<xmpp_mem_t>.allocate(capacity: 1)
    private let log = UnsafeMutablePointer<xmpp_log_t>.allocate(capacity: 1)

    init(
        _ request: XMPPRequest,
        trustedCertificatesFile: String?,
        owner: XMPPConnection,
        wakeup: Int32,
        yield: @escaping (XMPPEvent) -> Void
    ) {
        self.request = request
        self.trustedCertificatesFile = trustedCertificatesFile
        self.owner = owner
        self.wakeup = wakeup
        self.yield = yield
        self.notes = StropheNotes(request)
        self.usedBytes.initialize(to: 0)
        self.memory.initialize(to: Self.countingMemory(self.usedBytes))
        self.log.initialize(to: xmpp_log_t())
    }

    deinit {
        self.usedBytes.deallocate()
        self.memory.deallocate()
        self.log.deallocate()
    }

    /// Opens the stream and stays until it is closed.
    /// - Returns: The error; nil if we closed it.
    func run() -> SignallingError? {
        Self.initialiseLibrary
        // The callback for new sockets is given nothing but the connection.
        Thread.current.threadDictionary[Self.threadKey] = self
        defer { Thread.current.threadDictionary[Self.threadKey] = nil }
        let failure = self.connect()
        while failure == nil, !self.isDisconnected {
            let orders = self.owner.takeOrders()
            guard !orders.isCancelled else { break }
            if let failure = self.limitFailure(orders) {
                self.notes.failure = failure
                break
            }
            self.perform(orders)
            self.turn()
            // Other ways to sign in would send the same password, and count as another try.
            if self.notes.isPasswordWrong { break }
        }
        self.release()
        return failure ?? (self.owner.takeOrders().isCancelled ? nil : self.notes.error(hasOpened: self.isOpen))
    }

    private static let threadKey = "xmpp"

    /// Once in the process; OpenSSL is not taken down again, because others use it too.
    private static let initialiseLibrary: Void = xmpp_initialize()

    private func limitFailure(_ orders: XMPPConnection.Orders) -> SignallingError? {
        if orders.hasOverflowed {
            return self.notes.failure(.overloaded, "does not take what we send.", .peer)
        }
        if self.usedBytes.pointee > Self.maximumBytes {
            return self.notes.failure(.protocolViolation, "sent a stanza that is larger than the limit.", .peer)
        }
        return nil
    }

    // MARK: - Connecting

    /// Begins to connect to the first address that takes it.
    ///
    /// - Returns: Why that did not even begin.
    private func connect() -> SignallingError? {
        for address in self.addresses() {
            self.release()
            guard self.makeConnection(), let connection = self.connection else {
                return SignallingError(.overloaded, "There is no memory for an XMPP stream.", blame: .ours)
            }
            guard self.owner.setResolving(address == nil) else { return nil }
            self.notes.beginConnecting()
            self.isDisconnected = false
            let userdata = Unmanaged.passUnretained(self).toOpaque()
            let result = xmpp_connect_client(connection, address, UInt16(self.request.port), Self.onEvent, userdata)
            guard self.owner.setResolving(false) else { return nil }
            guard result == XMPP_EOK else { continue }
            // One address after the other, because libstrophe does not try the next when one refuses.
            while !self.isDisconnected, !self.notes.isConnected, self.owner.setResolving(false) {
                xmpp_run_once(self.context, 1000)
            }
            if self.notes.isConnected { return nil }
        }
        self.isDisconnected = true
        return nil
    }

    /// Numeric addresses; nil lets libstrophe look for the domain's records.
    private func addresses() -> [String?] {
        let name = self.request.host ?? self.request.account.domain
        guard self.owner.setResolving(true) else { return [] }
        let found = HostAddresses.of(name)
        guard self.owner.setResolving(false) else { return [] }
        if found.isEmpty, self.request.host != nil { self.notes.isUnknownHost = true }
        let numeric: [String?] = found
        return self.request.host == nil ? [nil] + numeric : numeric
    }

    private func makeConnection() -> Bool {
        self.log.pointee.handler = Self.onLog
        self.log.pointee.userdata = Unmanaged.passUnretained(self).toOpaque()
        guard let context = xmpp_ctx_new(self.memory, self.log) else { return false }
        self.context = context
        guard let connection = xmpp_conn_new(context) else { return false }
        self.connection = connection
        var flags = XMPP_CONN_FLAG_MANDATORY_TLS | XMPP_CONN_FLAG_DISABLE_SM
        if !self.request.verifiesCertificate { flags |= XMPP_CONN_FLAG_TRUST_TLS }
        _ = xmpp_conn_set_flags(connection, Int(flags))
        xmpp_conn_set_jid(connection, "\(self.request.account)")
        xmpp_conn_set_pass(connection, self.request.password)
        if let file = self.trustedCertificatesFile { xmpp_conn_set_cafile(connection, file) }
        xmpp_conn_set_sockopt_callback(connection, Self.onSocket)
        return true
    }

    private func release() {
        if let connection = self.connection { xmpp_conn_release(connection) }
        if let context = self.context { xmpp_ctx_free(context) }
        (self.connection, self.context) = (nil, nil)
    }

    // MARK: - Turning

    private func perform(_ orders: XMPPConnection.Orders) {
        guard let connection = self.connection else { return }
        for stanza in orders.stanzas where self.isOpen && !self.isClosing {
            StropheStanza.send(stanza, connection, self.context)
        }
        if orders.closes, !self.isClosing {
            self.isClosing = true
            xmpp_disconnect(connection)
        }
    }

    /// Waits until there is something to do, and lets libstrophe do it.
    private func turn() {
        if !self.isOpen {
            // libstrophe wakes for the socket; cancelling shuts the socket down.
            return xmpp_run_once(self.context, 1000)
        }
        var quietTurns = 0
        while quietTurns < Self.readsOfOneRecord, !self.isDisconnected, self.owner.mayRead,
            self.usedBytes.pointee <= Self.maximumBytes
        {
            let isReadable = self.isReadable
            xmpp_run_once(self.context, 0)
            quietTurns = isReadable ? 0 : quietTurns + 1
        }
        guard !self.isDisconnected else { return }
        self.sleep(self.isClosing ? Self.closingMilliseconds : -1)
    }

    /// Whether the socket has something to read.
    private var isReadable: Bool {
        var socket = pollfd(fd: self.owner.socket, events: Int16(POLLIN), revents: 0)
        return poll(&socket, 1, 0) > 0
    }

    /// Waits for the socket and the owner, or only for the owner while it has enough stanzas.
    ///
    /// Orders are taken after every sleep, so no call of the owner is slept over.
    private func sleep(_ milliseconds: Int) {
        let hasQueue = self.connection.map { xmpp_conn_send_queue_len($0) > 0 } ?? false
        var descriptors = [
            pollfd(fd: self.wakeup, events: Int16(POLLIN), revents: 0),
            pollfd(
                fd: self.owner.mayRead ? self.owner.socket : -1,
                events: Int16(POLLIN) | (hasQueue ? Int16(POLLOUT) : 0),
                revents: 0
            ),
        ]
        guard poll(&descriptors, nfds_t(descriptors.count), Int32(milliseconds)) > 0 else { return }
        if descriptors[0].revents != 0 {
            var count: UInt64 = 0
            _ = Foundation.read(self.wakeup, &count, MemoryLayout.size(ofValue: count))
        }
    }
}

// MARK: - Callbacks

extension StropheLoop {
    private static func loop(_ userdata: UnsafeMutableRawPointer?) -> StropheLoop? {
        userdata.map { Unmanaged<StropheLoop>.fromOpaque($0).takeUnretainedValue() }
    }

    private static let onEvent: xmpp_conn_handler = { connection, event, _, streamError, userdata in
        guard let connection, let loop = StropheLoop.loop(userdata) else { return }
        switch event {
        case XMPP_CONN_CONNECT: loop.opened(connection)
        case XMPP_CONN_DISCONNECT, XMPP_CONN_FAIL:
            loop.isDisconnected = true
            if let streamError { loop.notes.streamEnded(streamError.pointee) }
        default: break
        }
    }

    private static let onStanza: xmpp_handler = { _, stanza, userdata in
        if let stanza, let loop = StropheLoop.loop(userdata), let read = StropheStanza.read(stanza) {
            loop.owner.countUnread()
            loop.yield(.received(read))
        }
        return 1
    }

    private static let onLog: xmpp_log_handler = { userdata, _, _, message in
        guard let message, let loop = StropheLoop.loop(userdata) else { return }
        loop.notes.heard(message)
    }

    private static let onSocket: xmpp_sockopt_callback = { _, socket in
        guard let loop = Thread.current.threadDictionary[StropheLoop.threadKey] as? StropheLoop,
            let descriptor = socket?.load(as: Int32.self), descriptor <= StropheLoop.maximumDescriptor,
            loop.owner.adopt(socket: descriptor)
        else { return -1 }
        // A server that fails silently is noticed even if neither side sends anything.
        let options: [(level: Int32, name: Int32, value: Int32)] = [
            (SOL_SOCKET, SO_KEEPALIVE, 1), (Int32(IPPROTO_TCP), TCP_KEEPIDLE, 30),
            (Int32(IPPROTO_TCP), TCP_KEEPINTVL, 10),
            (Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, 60_000), (Int32(IPPROTO_TCP), TCP_NODELAY, 1),
        ]
        for option in options {
            var value = option.value
            // They help, but nothing depends on them.
            _ = setsockopt(descriptor, option.level, option.name, &value, socklen_t(MemoryLayout.size(ofValue: value)))
        }
        return 0
    }

    private func opened(_ connection: OpaquePointer) {
        let bound = xmpp_conn_get_bound_jid(connection).flatMap { String(validatingCString: $0) }.flatMap(JID.init)
        self.isOpen = true
        // For all stanzas: one function can be a handler only once.
        xmpp_handler_add(connection, Self.onStanza, nil, nil, nil, Unmanaged.passUnretained(self).toOpaque())
        self.yield(.opened(bound ?? self.request.account))
    }

    /// Memory from the system, counted.
    private static func countingMemory(_ used: UnsafeMutablePointer<Int>) -> xmpp_mem_t {
        xmpp_mem_t(
            alloc: { size, used in
                let block = malloc(size)
                used?.assumingMemoryBound(to: Int.self).pointee += malloc_usable_size(block)
                return block
            },
            free: { block, used in
                used?.assumingMemoryBound(to: Int.self).pointee -= malloc_usable_size(block)
                free(block)
            },
            realloc: { block, size, used in
                let before = malloc_usable_size(block)
                guard let moved = realloc(block, size) else { return nil }
                used?.assumingMemoryBound(to: Int.self).pointee += malloc_usable_size(moved) - before
                return moved
            },
            userdata: used
        )
    }
}
