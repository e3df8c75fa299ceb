// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Coordination

@Suite struct EtcdMembersTests {
    @Test func theNextIsAskedWhenOneFails() {
        var members = EtcdMembers(["http://a:2379/", "http://b:2379", "http://c:2379//"])
        #expect(members.urls == ["http://a:2379", "http://b:2379", "http://c:2379"])
        #expect(members.current == 0)
        // Whoever else was there says the same.
        #expect([0, 0, 2].map { members.hasFailed($0) } == [true, false, false])
        #expect(members.current == 1)
        #expect([1, 2, 1].map { members.hasFailed($0) } == [true, true, false])
        #expect(members.current == 0)
    }

    @Test func oneAloneIsNeverLeft() {
        var members = EtcdMembers(["http://a:2379"])
        #expect(!members.hasFailed(0) && members.current == 0)
    }
}
