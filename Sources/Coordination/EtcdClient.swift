// SPDX-License-Identifier: Apache-2.0

import Basics
public import Cluster
import HTTPRequests
import Synchronization

/// The store of a cluster: an etcd, by the JSON gateway that every member has since 3.4.
///
/// One member is asked until it fails, then the next; the watches go with it. All requests have a lane of their own: nothing
/// else of the process delays a renewal. Any thread.
public final class EtcdClient: Sendable {
    /// A member, and its place in the configuration.
    struct Member: Sendable, Hashable {
        var index: Int
        var url: String
    }

    private struct State {
        var members: EtcdMembers
        /// Watches, and what tells them that their member is left.
        var watches: [Int: @Sendable () -> Void] = [:]
        var lastWatch = 0

        var member: Member { Member(index: self.members.current, url: self.members.urls[self.members.current]) }
    }

    let configuration: EtcdConfiguration
    let http: HTTPClient
    private let state: Mutex<State>
    private let credentials = EtcdCredentials()

    /// A client; nothing is open before its first request.
    public init(_ configuration: EtcdConfiguration) {
        self.configuration = configuration
        let identity = configuration.certificateFile.map {
            HTTPClient.Identity(certificateFile: $0, keyFile: configuration.keyFile ?? $0)
        }
        self.http = HTTPClient(
            trustedCertificatesFile: configuration.authorityFile,
            identity: identity,
            connectTimeout: configuration.requestLimit,
            lane: HTTPClient.Lane("etcd")
        )
        self.state = Mutex(State(members: EtcdMembers(configuration.members)))
    }

    /// Asks the store.
    ///
    /// A transaction is sent to another member only if it cannot have reached the first, everything else until a member answers,
    /// each in its time. Cancelling the task ends a request, which may have been carried out.
    public func perform(_ request: StoreRequest) async throws(StoreError) -> StoreAnswer {
        let transaction: EtcdCall?
        if case .transact(let wanted) = request { transaction = try EtcdCall.transaction(wanted) } else { transaction = nil }
        do throws(EtcdRefusal) {
            switch request {
            case .list(let prefix):
                let (values, revision) = try await self.list(prefix)
                return .listed(values, revision)
            case .transact(let wanted):
                return .transacted(try await self.ask(transaction ?? .status) { body throws(EtcdFailure) in
                    try EtcdAnswer.result(body, of: wanted)
                })
            case .grant(let duration):
                let (lease, duration) = try await self.ask(.grant(duration), EtcdAnswer.granted)
                return .granted(lease, duration: duration)
            case .keepAlive(let lease):
                return .renewed(try await self.ask(.keepAlive(lease)) { body throws(EtcdFailure) in
                    try EtcdAnswer.renewed(body, lease)
                })
            case .revoke(let lease):
                try await self.ask(.revoke(lease)) { _ in }
                return .revoked
            }
        } catch {
            if case .revoke = request, case .answered(EtcdFailure.Code.notFound, _) = error.failure { return .revoked }
            throw error.error(for: request)
        }
    }

    /// What each member says of itself, in the order of the configuration.
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

    /// The member that is asked now, and the way out of a watch when it is left: `leave` is called once at most.
    func beginWatch(leave: @escaping @Sendable () -> Void) -> (Member, watch: Int) {
        self.state.withLock { state in
            state.lastWatch += 1
            state.watches[state.lastWatch] = leave
            return (state.member, state.lastWatch)
        }
    }

    /// The watch has ended.
    func endWatch(_ watch: Int) {
        self.state.withLock { $0.watches[watch] = nil }
    }

    /// Leaves a member that failed.
    func leave(_ member: Member) {
        let leaves = self.state.withLock { state in
            guard state.members.hasFailed(member.index) else { return [@Sendable () -> Void]() }
            defer { state.watches = [:] }
            return Array(state.watches.values)
        }
        for leave in leaves { leave() }
    }

    // MARK: - Calls

    /// Sends a call to one member after the other, until one gives a result.
    private func ask<Result>(
        _ call: EtcdCall,
        _ read: ([UInt8]) throws(EtcdFailure) -> Result
    ) async throws(EtcdRefusal) -> Result {
        let count = self.configuration.members.count
        var turn = 1
        while true {
            let member = self.state.withLock { $0.member }
            do throws(EtcdFailure) {
                return try read(try await self.exchange(call, with: member.url))
            } catch {
                let refusal = EtcdRefusal(failure: error, url: member.url)
                guard !Task.isCancelled else { throw refusal }
                if error.isOfMember { self.leave(member) }
                guard turn < count, error.isWorthAnother(call.isRepeatable) else { throw refusal }
                turn += 1
            }
        }
    }

    /// Sends a call as the user, with a new token if the one at hand is refused.
    private func exchange(_ call: EtcdCall, with url: String) async throws(EtcdFailure) -> [UInt8] {
        // A renewal needs no token, and has no time for it.
        let token = call.isRenewal ? await self.credentials.token : try await self.token(with: url)
        do throws(EtcdFailure) {
            return try await self.exchange(call, with: url, token: token)
        } catch {
            guard self.configuration.user != nil, error.isOfToken else { throw error }
            let other = try await self.token(with: url, insteadOf: token)
            return try await self.exchange(call, with: url, token: other)
        }
    }

    /// The user's token, or another one instead of one that was refused; nil where there is no user.
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
    /// Most keys that are asked for at once; fewer after an answer that was too large.
    private static let page = 250
    /// Most keys of a list.
    static let maximumKeys = 100_000
    /// Most bytes of all values of a list.
    private static let maximumListBytes = 256 << 20
    /// How often a list is begun again when the revision that it reads is compacted meanwhile.
    private static let turns = 3

    private func list(_ prefix: String) async throws(EtcdRefusal) -> ([StoredValue], Revision) {
        var turn = 1
        while true {
            do throws(EtcdRefusal) {
                return try await self.listOnce(prefix)
            } catch {
                guard case .answered(EtcdFailure.Code.outOfRange, _) = error.failure, turn < Self.turns else { throw error }
                turn += 1
            }
        }
    }

    /// All pages, at the revision of the first.
    private func listOnce(_ prefix: String) async throws(EtcdRefusal) -> ([StoredValue], Revision) {
        var values: [StoredValue] = []
        var bytes = 0
        var revision: Revision?
        var next: [UInt8]?
        var limit = Self.page
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
                throw EtcdRefusal(failure: .tooLarge, url: prefix)
            }
            let read = revision ?? page.revision
            guard page.hasMore, let last = page.lastKey else { return (values, read) }
            (revision, next) = (read, EtcdCall.following(last))
        }
    }
}
