// SPDX-License-Identifier: Apache-2.0

import Basics
public import Cluster
import HTTPRequests
import Synchronization

/// The store of a cluster: an etcd, through the JSON gateway that each member has since version 3.4.
///
/// The client asks one member until that fails, then the next, and the watches follow. Its requests have a separate lane, so
/// no other request of the process delays a renewal. Any thread.
public final class EtcdClient: Sendable {
    /// A member, and its position in the configuration.
    struct Member: Sendable, Hashable {
        var index: Int
        var url: String
    }

    private struct State {
        var members: EtcdMembers
        /// For each watch, the function that interrupts it when the client leaves its member.
        var watches: [Int: @Sendable () -> Void] = [:]
        var lastWatch = 0

        var member: Member { Member(index: self.members.current, url: self.members.urls[self.members.current]) }
    }

    let configuration: EtcdConfiguration
    let http: HTTPClient
    private let state: Mutex<State>
    private let credentials = EtcdCredentials()

    /// A client; it opens nothing before its first request.
    public init(_ configuration: EtcdConfiguration) {
        self.configuration = configuration
        self.http = HTTPClient(
            trustedCertificatesFile: configuration.authorityFile,
            identity: configuration.identity,
            connectTimeout: configuration.requestLimit,
            lane: HTTPClient.Lane("etcd")
        )
        self.state = Mutex(State(members: EtcdMembers(configuration.members)))
    }

    /// Sends a request and returns the store's answer.
    ///
    /// Each member gets one try within the limit of the configuration. A transaction is sent to another member only if it
    /// cannot have reached the one before. Cancelling the task ends the request, which the store may have carried out.
    public func perform(_ request: StoreRequest) async throws(StoreError) -> StoreAnswer {
        switch request {
        case .list(let prefix):
            let (values, revision) = try await self.answer(to: request) { () throws(EtcdRefusal) in
                try await self.list(prefix)
            }
            return .listed(values, revision)
        case .transact(let transaction):
            let call = try EtcdCall.transaction(transaction)
            return .transacted(
                try await self.answer(to: request, call) { body throws(EtcdFailure) in
                    try EtcdAnswer.result(body, of: transaction)
                }
            )
        case .grant(let duration):
            let (lease, granted) = try await self.answer(to: request, .grant(duration), EtcdAnswer.granted)
            return .granted(lease, duration: granted)
        case .keepAlive(let lease):
            return .renewed(
                try await self.answer(to: request, .keepAlive(lease)) { body throws(EtcdFailure) in
                    try EtcdAnswer.renewed(body, lease)
                }
            )
        case .revoke(let lease):
            do throws(StoreError) {
                try await self.answer(to: request, .revoke(lease)) { _ in }
            } catch .leaseNotFound {
                // It ended before.
            }
            return .revoked
        }
    }

    /// The status of each member, in the order of the configuration.
    public func status() async -> [(member: String, status: Result<EtcdStatus, StoreError>)] {
        let urls = self.state.withLock { $0.members.urls }
        return await withTaskGroup { group in
            for (index, url) in urls.enumerated() {
                group.addTask { (index, await self.status(of: url)) }
            }
            let all = await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            return urls.enumerated().compactMap { index, url in all[index].map { (url, $0) } }
        }
    }

    private func status(of url: String) async -> Result<EtcdStatus, StoreError> {
        do throws(EtcdFailure) {
            return .success(try EtcdAnswer.status(try await self.exchange(.status, with: url, token: nil)))
        } catch {
            return .failure(error.error(for: nil, at: url))
        }
    }

    // MARK: - Members

    /// Registers a watch of the current member; `interrupt` is called at most once, when the client leaves that member.
    func beginWatch(interrupt: @escaping @Sendable () -> Void) -> (Member, watch: Int) {
        self.state.withLock { state in
            state.lastWatch += 1
            state.watches[state.lastWatch] = interrupt
            return (state.member, state.lastWatch)
        }
    }

    /// Forgets a watch.
    func endWatch(_ watch: Int) {
        self.state.withLock { $0.watches[watch] = nil }
    }

    /// Leaves a member that failed.
    func leave(_ member: Member) {
        let interrupts = self.state.withLock { state in
            guard state.members.hasFailed(member.index) else { return [@Sendable () -> Void]() }
            defer { state.watches = [:] }
            return Array(state.watches.values)
        }
        for interrupt in interrupts { interrupt() }
    }

    // MARK: - Calls

    private func answer<Answer>(
        to request: StoreRequest,
        _ call: EtcdCall,
        _ read: ([UInt8]) throws(EtcdFailure) -> Answer
    ) async throws(StoreError) -> Answer {
        try await self.answer(to: request) { () throws(EtcdRefusal) in try await self.ask(call, read) }
    }

    private func answer<Answer>(
        to request: StoreRequest,
        _ body: () async throws(EtcdRefusal) -> Answer
    ) async throws(StoreError) -> Answer {
        do throws(EtcdRefusal) {
            return try await body()
        } catch {
            throw error.failure.error(for: request, at: error.url)
        }
    }

    /// Sends a call to one member after the other until `read` accepts an answer.
    private func ask<Answer>(
        _ call: EtcdCall,
        _ read: ([UInt8]) throws(EtcdFailure) -> Answer
    ) async throws(EtcdRefusal) -> Answer {
        var turn = 1
        while true {
            let member = self.state.withLock { $0.member }
            do throws(EtcdFailure) {
                return try read(try await self.exchange(call, with: member.url))
            } catch {
                let refusal = EtcdRefusal(failure: error, url: member.url)
                guard !Task.isCancelled else { throw refusal }
                if error.isOfMember { self.leave(member) }
                guard turn < self.configuration.members.count, error.isWorthAnother(call.isRepeatable) else {
                    throw refusal
                }
                turn += 1
            }
        }
    }

    /// Sends a call as the user, with a new token if the member refuses the present one.
    private func exchange(_ call: EtcdCall, with url: String) async throws(EtcdFailure) -> [UInt8] {
        // etcd renews leases without a token, and a renewal has no time to get one.
        let token = call.isRenewal ? await self.credentials.token : try await self.token(with: url)
        do throws(EtcdFailure) {
            return try await self.exchange(call, with: url, token: token)
        } catch {
            guard self.configuration.user != nil, error.isOfToken else { throw error }
            let other = try await self.token(with: url, insteadOf: token)
            return try await self.exchange(call, with: url, token: other)
        }
    }

    /// The user's token, or a new one in place of one that was refused; nil if there is no user.
    func token(with url: String, insteadOf refused: String? = nil) async throws(EtcdFailure) -> String? {
        guard let user = self.configuration.user else { return nil }
        return try await self.credentials.token(insteadOf: refused) { () throws(EtcdFailure) in
            try EtcdAnswer.token(try await self.exchange(.authenticate(user), with: url, token: nil))
        }
    }

    private func exchange(_ call: EtcdCall, with url: String, token: String?) async throws(EtcdFailure) -> [UInt8] {
        let limit = call.isRenewal ? self.configuration.renewalLimit : self.configuration.requestLimit
        let request = Self.request(call, with: url, token: token, limit: limit)
        let answer: HTTPClient.Answer
        do throws(HTTPClient.Failure) { answer = try await self.http.send(request) } catch { throw EtcdFailure(error) }
        guard answer.status == 200 else { throw EtcdAnswer.failure(status: answer.status, answer.body) }
        return answer.body
    }

    /// A call as a request to a member.
    static func request(_ call: EtcdCall, with url: String, token: String?, limit: Duration) -> HTTPClient.Request {
        var request = HTTPClient.Request("POST", url + call.path)
        request.body = Array(call.body.text.utf8)
        request.headers = [HTTPClient.Header("Content-Type", "application/json")]
        if let token { request.headers.append(HTTPClient.Header("Authorization", token)) }
        request.timeout = limit
        request.maximumBodyBytes = Self.maximumAnswerBytes
        request.isRepeatable = call.isRepeatable
        return request
    }

    // MARK: - Lists

    /// Most bytes of an answer.
    private static let maximumAnswerBytes = 8 << 20
    /// Most keys in one answer; a quarter of it after an answer that was too large.
    private static let pageKeys = 250
    /// Most keys of a list.
    private static let maximumKeys = 100_000
    /// Most bytes of all values of a list.
    private static let maximumListBytes = 256 << 20
    /// How often the client starts a list; it starts again when etcd compacts the revision that the list reads.
    private static let listStarts = 3

    private func list(_ prefix: String) async throws(EtcdRefusal) -> ([StoredValue], Revision) {
        var start = 1
        while true {
            do throws(EtcdRefusal) {
                return try await self.pages(prefix)
            } catch {
                guard case .answered(EtcdFailure.Code.outOfRange, _) = error.failure, start < Self.listStarts else {
                    throw error
                }
                start += 1
            }
        }
    }

    /// All pages, each at the revision of the first.
    private func pages(_ prefix: String) async throws(EtcdRefusal) -> ([StoredValue], Revision) {
        var values: [StoredValue] = []
        var bytes = 0
        var revision: Revision?
        var next: [UInt8]?
        var limit = Self.pageKeys
        while true {
            let call = EtcdCall.range(prefix: prefix, from: next, limit: limit, at: revision)
            let page: EtcdAnswer.Page
            do throws(EtcdRefusal) {
                page = try await self.ask(call, EtcdAnswer.page)
            } catch {
                guard error.failure == .tooLarge, limit > 1 else { throw error }
                limit = max(1, limit / 4)
                continue
            }
            values += page.values
            bytes += page.values.reduce(0) { $0 + $1.value.utf8.count }
            guard values.count <= Self.maximumKeys, bytes <= Self.maximumListBytes else {
                throw EtcdRefusal(failure: .tooLarge, url: self.configuration.members[0])
            }
            let read = revision ?? page.revision
            guard page.hasMore, let last = page.lastKey else { return (values, read) }
            (revision, next) = (read, EtcdCall.following(last))
        }
    }
}
