// SPDX-License-Identifier: Apache-2.0

import Basics
import Cluster
import FoundationEssentials
import HTTPRequests
import Model
import Storage
import Timeline

/// Another host of the cluster, by its HTTP API.
struct PeerHost: Sendable {
    /// Why it did not give what it was asked for, in words.
    struct Failure: Error, Sendable, CustomStringConvertible {
        static let tooFast = Failure(description: "it answers that requests come too fast")

        var description: String
    }

    /// Its name in the cluster.
    let name: String
    /// Where its API is, without a slash at the end; nil if only the host itself can reach it.
    let url: String?
    /// The token of the cluster; nil where hosts ask for none.
    let token: Secret?
    private let client: HTTPClient

    init(name: String, url: String?, token: Secret?, client: HTTPClient = HTTPClient()) {
        (self.name, self.url, self.token, self.client) = (name, url, token, client)
    }

    /// The hosts of a cluster but one, by name.
    ///
    /// - Parameter boot: of the kernel of this host.
    static func others(
        than own: String,
        in view: ClusterView,
        boot: String? = BootID.current,
        token: Secret?,
        client: HTTPClient
    ) -> [PeerHost] {
        view.hosts.sorted { $0.key < $1.key }.compactMap { name, host in
            guard name != own, let record = host.record else { return nil }
            // At a loopback address of another host this host would meet itself.
            let isReachable = record.boot == boot || !Self.isLoopback(record.url)
            return PeerHost(name: name, url: isReachable ? record.url : nil, token: token, client: client)
        }
    }

    private static func isLoopback(_ url: String) -> Bool {
        let host = URLComponents(string: url)?.host ?? ""
        return host == "localhost" || host.hasPrefix("127.") || host == "::1" || host == "[::1]"
    }

    /// The most bytes of an answer: a range of a file, a page of recordings, or all about one.
    private static let maximumBytes = 8 << 20
    /// The first line of a journal is within this many bytes.
    private static let beginningBytes: UInt64 = 64 << 10
    /// The most pages of recordings that are looked through.
    private static let maximumPages = 50
    /// Answers that requests come too fast, in a row.
    private static let maximumWaits = 30

    /// One recording; nil if the host does not have it.
    func recording(_ id: String) async throws -> RecordingResource? {
        guard let answer = try await self.get("/v1/recordings/\(PercentCoding.encode(id))") else { return nil }
        return try self.decoded(RecordingResource.self, answer)
    }

    /// The recordings of a room that began at a time or later, as a listing has them, newest first; at most 10 000.
    func recordings(of room: String, since: UTCTime) async throws -> [RecordingResource] {
        var recordings: [RecordingResource] = []
        var cursor: String?
        for _ in 0..<Self.maximumPages {
            var path = "/v1/recordings?limit=200&room=\(PercentCoding.encode(room))"
            path += "&from=\(PercentCoding.encode(since.iso8601))"
            if let cursor { path += "&cursor=\(PercentCoding.encode(cursor))" }
            guard let answer = try await self.get(path) else { break }
            let page = try self.decoded(RecordingPage.self, answer)
            recordings += page.recordings
            guard let next = page.next else { break }
            cursor = next
        }
        return recordings
    }

    /// How a recording began, as its journal says; nil if that cannot be read.
    func beginning(of id: String) async throws -> RecordingStarted? {
        let bytes = try await self.bytes(of: "journal.jsonl", of: id, 0..<Self.beginningBytes)
        guard let line = bytes?.split(separator: UInt8(ascii: "\n"), maxSplits: 1).first,
            let entry = try? JSONDecoder().decode(JournalEntry.self, from: Data(line)),
            case .recordingStarted(let record) = entry.record
        else { return nil }
        return record
    }

    /// A range of a file, as far as the file has it; nil if there is no such file.
    func bytes(of file: String, of id: String, _ range: Range<UInt64>) async throws -> [UInt8]? {
        let path = "/v1/recordings/\(PercentCoding.encode(id))/files/\(PercentCoding.encode(file, keeping: "/"))"
        return try await self.get(path, range)
    }

    /// The body of an answer of success; nil if there is nothing at the path.
    private func get(_ path: String, _ range: Range<UInt64>? = nil) async throws -> [UInt8]? {
        var request = HTTPClient.Request("GET", path)
        request.timeout = .seconds(60)
        if let range { request.headers.append(.init("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")) }
        for _ in 0..<Self.maximumWaits {
            let answer = try await self.answer(to: request)
            switch answer.status {
            case 200 where range.map { UInt64(answer.body.count) <= UInt64($0.count) } ?? true, 206: return answer.body
            case 404, 416: return nil
            case 429: try await Task.sleep(for: .seconds(1))
            default: throw Failure(description: "it answers \(answer.status)")
            }
        }
        throw Failure.tooFast
    }

    /// The answer to a request whose URL is a path; the host answers of itself alone.
    func answer(to request: HTTPClient.Request) async throws(Failure) -> HTTPClient.Answer {
        guard let url = self.url else {
            throw Failure(description: "its API is at a loopback address: set api.listen, or cluster.url, on that host")
        }
        var request = request
        request.url = url + request.url
        request.maximumBodyBytes = Self.maximumBytes
        request.headers.append(.init("Tapedeck-Local", "true"))
        if let token = self.token { request.headers.append(.init("Authorization", "Bearer \(token.value)")) }
        let answer: HTTPClient.Answer
        do throws(HTTPClient.Failure) {
            answer = try await self.client.send(request)
        } catch {
            throw Failure(description: error.reason)
        }
        guard answer.status != 401, answer.status != 403 else {
            throw Failure(description: "it refuses the cluster.token of this host (\(answer.status))")
        }
        return answer
    }

    func decoded<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) throws(Failure) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(bytes))
        } catch {
            throw Failure(description: "its answer cannot be read")
        }
    }
}
