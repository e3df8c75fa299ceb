// SPDX-License-Identifier: Apache-2.0

public import Cluster
import HTTPRequests

extension EtcdClient {
    /// Tells all changes of keys that begin with a prefix, from a revision on.
    ///
    /// It goes on until what is missing cannot be had (`compacted` comes last), until the task is cancelled, or until etcd refuses
    /// it, which is thrown. After a break it is begun again behind the last change that was told, at the next member if its
    /// member failed. Meanwhile it tells nothing: renewals say how the store is. A reader that is slow costs 16 MiB at most, and
    /// loses nothing.
    ///
    /// - Parameters:
    ///   - revision: the first one that is told: after a list, the one behind the list's.
    ///   - onUpdate: takes one update after the other; the next one waits until it returns.
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
        // A member that has lost the others ends it, in place of hanging.
        request.headers.append(HTTPClient.Header("Grpc-Metadata-hasleader", "true"))
        return await withDiscardingTaskGroup { [request, http, limit = self.configuration.requestLimit] group in
            group.addTask {
                do throws(HTTPClient.Failure) {
                    let answer = try await http.follow(request) { inbox.add($0) }
                    let failure = EtcdAnswer.failure(status: answer.status, answer.body)
                    inbox.end(.failed(answer.status == 200 ? .lost("it ended the watch") : failure))
                } catch {
                    inbox.end(error == .timedOut && inbox.hasBegun ? .interrupted : .failed(EtcdFailure(error)))
                }
            }
            group.addTask {
                try? await Task.sleep(for: limit)
                if !inbox.hasBegun { inbox.end(.failed(.lost("it does not answer in time"))) }
            }
            defer { group.cancelAll() }
            var reader = EtcdWatchReader()
            while let content = await inbox.next() {
                for item in reader.take(content.bytes) {
                    switch machine.take(item) {
                    case .tell(let events, let last): await onUpdate(.events(events, last))
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
