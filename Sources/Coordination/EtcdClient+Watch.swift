// SPDX-License-Identifier: Apache-2.0

public import Cluster
import HTTPRequests

extension EtcdClient {
    /// Reports all changes of keys that begin with a prefix, from a revision on.
    ///
    /// Returns after `compacted`, which it reports when events are missing, or when the task is cancelled; throws if etcd
    /// refuses the watch. After a break the client resumes behind the last change that it reported, at the next member if the
    /// member failed, and reports nothing: renewals show the state of the store. A slow reader costs at most 16 MiB and loses
    /// no change.
    ///
    /// - Parameters:
    ///   - revision: the first revision to report; after a list, the next one.
    ///   - onUpdate: takes one update; the client waits until it returns.
    public func watch(
        prefix: String,
        from revision: Revision,
        onUpdate: (StoreWatchUpdate) async -> Void
    ) async throws(StoreError) {
        var machine = EtcdWatchMachine(from: revision, hasUser: self.configuration.user != nil)
        var token: String?
        var renewsToken = false
        while !Task.isCancelled {
            let inbox = EtcdWatchInbox()
            let (member, watch) = self.beginWatch { inbox.end(.interrupted) }
            let end: EtcdWatchMachine.End
            do throws(EtcdFailure) {
                token = try await self.token(with: member.url, insteadOf: renewsToken ? token : nil)
                let call = EtcdCall.watch(prefix: prefix, from: machine.next)
                end = await self.attempt(call, with: member.url, token: token, inbox, &machine, onUpdate)
            } catch {
                end = .failed(error)
            }
            self.endWatch(watch)
            guard !Task.isCancelled else { return }
            switch machine.ended(end) {
            case .again(let wait, let leavesMember, let renews):
                if leavesMember { self.leave(member) }
                renewsToken = renews
                if wait > .zero { try? await Task.sleep(for: wait) }
            case .list: return await onUpdate(.compacted)
            case .refuse(let failure): throw failure.error(for: nil, at: member.url)
            }
        }
    }

    /// Watches until something ends it.
    private func attempt(
        _ call: EtcdCall,
        with url: String,
        token: String?,
        _ inbox: EtcdWatchInbox,
        _ machine: inout EtcdWatchMachine,
        _ onUpdate: (StoreWatchUpdate) async -> Void
    ) async -> EtcdWatchMachine.End {
        var request = Self.request(call, with: url, token: token, limit: self.configuration.silenceLimit)
        // A member that has lost the others then ends the watch; it would be silent otherwise.
        request.headers.append(HTTPClient.Header("Grpc-Metadata-hasleader", "true"))
        return await withDiscardingTaskGroup { [request, http, limit = self.configuration.requestLimit] group in
            group.addTask {
                do throws(HTTPClient.Failure) {
                    let answer = try await http.follow(request) { inbox.add($0) }
                    let failure = EtcdAnswer.failure(status: answer.status, answer.body)
                    inbox.end(.failed(answer.status == 200 ? .lost("the member ended the watch") : failure))
                } catch {
                    inbox.end(error == .timedOut && inbox.hasBegun ? .interrupted : .failed(EtcdFailure(error)))
                }
            }
            group.addTask {
                try? await Task.sleep(for: limit)
                if !inbox.hasBegun { inbox.end(.failed(.lost("no answer in time"))) }
            }
            defer { group.cancelAll() }
            var reader = EtcdWatchReader()
            while let content = await inbox.next() {
                for item in reader.take(content.bytes) {
                    switch machine.take(item) {
                    case .report(let events, let last): await onUpdate(.events(events, last))
                    case .nothing: break
                    case .end(let end): return end
                    }
                }
                if let end = content.end { return end }
            }
            // The task was cancelled.
            return .interrupted
        }
    }
}
