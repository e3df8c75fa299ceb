// SPDX-License-Identifier: Apache-2.0

import Basics
import Cluster
import ConfigurationFile
import Control
import HTTPRequests
import Model
import Synchronization

/// The other hosts of the cluster, for clients that ask this one.
final class ClusterPeers: Sendable {
    /// Hosts that are asked at the same time.
    private static let mostAtOnce = 16
    /// Recordings whose host is kept in mind.
    private static let mostPlaces = 10_000

    /// This host.
    let host: String
    private let cluster: ClusterService
    private let token: Secret?
    private let client: HTTPClient
    /// The hosts of recordings, by id: where they were seen last.
    private let places = Mutex<[String: String]>([:])
    /// Hosts that were in the cluster since this one began.
    private let seen = Mutex<Set<String>>([])

    init(of cluster: ClusterService, _ configuration: ClusterConfiguration) {
        (self.host, self.cluster, self.token) = (configuration.host, cluster, configuration.token)
        self.client = HTTPClient(trustedCertificatesFile: configuration.authority, lane: HTTPClient.Lane("peers"))
    }

    /// The rooms of this host and of all others.
    func rooms(_ own: [RoomResource]) async -> RoomList {
        let (view, cluster) = (await self.cluster.view, await self.cluster.resource)
        let answers = await self.ask(self.hosts(of: view)) { host throws(PeerHost.Failure) in try await host.rooms() }
        return ClusterListing.rooms(own, of: self.host, answers, cluster.rooms) {
            view.rooms[$0]?.record?.definition
        }
    }

    /// The page of this host and those of all others, as one.
    func recordings(_ own: RecordingPage, _ query: RecordingQuery) async -> RecordingPage {
        let view = await self.cluster.view
        let answers = await self.ask(self.hosts(of: view)) { host throws(PeerHost.Failure) in try await host.page(query)
        }
        let page = ClusterListing.recordings(own, of: self.host, answers, gone: self.gone(view), limit: query.limit)
        for recording in page.recordings { self.note(recording.id, at: recording.host) }
        return page
    }

    /// The host that answers for a room; nil if this one does.
    ///
    /// - Parameter isHere: whether this host is in the room, or about to be.
    func host(ofRoom name: String, isHere: Bool) async throws(ControlError) -> PeerHost? {
        let view = await self.cluster.view
        let owner = view.claims[name]?.record?.host
        if let owner, let peer = self.hosts(of: view).first(where: { $0.name == owner }) { return peer }
        guard !isHere, owner != nil || view.rooms[name] != nil else { return nil }
        throw ControlError(.unavailable, "no host is in the room \(name) at present")
    }

    /// The host that has a recording which this one does not have; nil if no host has it.
    func host(ofRecording id: String) async throws(ControlError) -> PeerHost? {
        let hosts = self.hosts(of: await self.cluster.view)
        if let name = self.places.withLock({ $0[id] }), let known = hosts.first(where: { $0.name == name }) {
            return known
        }
        let answers = await self.ask(hosts) { host throws(PeerHost.Failure) in
            try await host.has(recording: id)
        } until: {
            $0
        }
        if let (name, _) = answers.first(where: { (try? $0.result.get()) == true }) {
            self.note(id, at: name)
            return hosts.first { $0.name == name }
        }
        let silent = answers.compactMap { host, result -> String? in
            guard case .failure(let failure) = result else { return nil }
            return "\(host): \(failure)"
        }
        guard silent.isEmpty else {
            let message = "the recording may be on a host that does not answer"
            throw ControlError(.unavailable, message, problems: silent)
        }
        return nil
    }

    // MARK: Parts

    /// The other hosts that live, by name.
    private func hosts(of view: ClusterView) -> [PeerHost] {
        PeerHost.others(than: self.host, in: view, token: self.token, client: self.client)
    }

    /// Hosts that are known and not in the cluster any more: their recordings cannot be listed.
    private func gone(_ view: ClusterView) -> [String] {
        let owners = Set(view.owners.values.compactMap { $0.record?.host })
        let known = self.seen.withLock { seen in
            seen.formUnion(view.hosts.keys)
            return seen
        }
        return known.union(owners).subtracting(view.hosts.keys).subtracting([self.host]).sorted()
    }

    private func note(_ recording: String, at host: String?) {
        guard let host, host != self.host else { return }
        self.places.withLock { places in
            if places.count >= Self.mostPlaces { places = [:] }
            places[recording] = host
        }
    }

    /// Asks hosts at the same time; what they answer, by name.
    ///
    /// - Parameter isEnough: whether no more answers are waited for.
    private func ask<Value: Sendable>(
        _ hosts: [PeerHost],
        _ question: @escaping @Sendable (PeerHost) async throws(PeerHost.Failure) -> Value,
        until isEnough: (Value) -> Bool = { _ in false }
    ) async -> [ClusterListing.Answer<Value>] {
        await withTaskGroup(of: ClusterListing.Answer<Value>.self) { group in
            var waiting = hosts[...]
            var answers: [ClusterListing.Answer<Value>] = []
            for host in waiting.prefix(Self.mostAtOnce) { group.addTask { await Self.answer(of: host, question) } }
            waiting = waiting.dropFirst(Self.mostAtOnce)
            for await answer in group {
                answers.append(answer)
                if case .success(let value) = answer.result, isEnough(value) { break }
                if let host = waiting.popFirst() { group.addTask { await Self.answer(of: host, question) } }
            }
            group.cancelAll()
            return answers.sorted { $0.host < $1.host }
        }
    }

    private static func answer<Value: Sendable>(
        of host: PeerHost,
        _ question: @Sendable (PeerHost) async throws(PeerHost.Failure) -> Value
    ) async -> ClusterListing.Answer<Value> {
        do throws(PeerHost.Failure) {
            return (host.name, .success(try await question(host)))
        } catch {
            return (host.name, .failure(error))
        }
    }
}
